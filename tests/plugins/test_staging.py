import shutil

from plugins.module_utils import staging


def test_the_digest_is_of_all_that_is_copied_and_of_nothing_else(tmp_path):
    folder = tmp_path / "meta" / "data"
    (folder / "meta").mkdir(parents=True)
    (folder / "meta/README.md").write_text("one")
    first = staging.digest_of(folder)
    # Neither where the folder lies nor byte code counts.
    shutil.copytree(folder, tmp_path / "copy")
    (tmp_path / "copy/__pycache__").mkdir()
    (tmp_path / "copy/__pycache__/x.pyc").touch()
    assert staging.digest_of(tmp_path / "copy") == first
    (folder / "meta/README.md").write_text("two")
    assert staging.digest_of(folder) != first


def test_names_and_contents_are_told_apart(tmp_path):
    digests = set()
    for number, files in enumerate(({"ab": "c"}, {"a": "bc"}, {"a": "b", "c": ""}, {"a/b": "c"})):
        for name, text in files.items():
            path = tmp_path / str(number) / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        digests.add(staging.digest_of(tmp_path / str(number)))
    assert len(digests) == 4


def test_links_are_what_they_lead_to(tmp_path):
    (tmp_path / "blobs/deep").mkdir(parents=True)
    (tmp_path / "blobs/deep/rows.txt").write_text("rows")
    (tmp_path / "linked").mkdir()
    (tmp_path / "linked/deep").symlink_to(tmp_path / "blobs/deep")
    assert staging.digest_of(tmp_path / "linked") == staging.digest_of(tmp_path / "blobs")
