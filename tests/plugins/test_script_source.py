import os

import pytest

from plugins.module_utils import script_source


def refused(tmp_path, script, script_dir=""):
    with pytest.raises(ValueError) as error:
        script_source.stage_script(script, script_dir, tmp_path, tmp_path / "cache")
    line = str(error.value)
    assert "\n" not in line
    return line


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"print('a'\n", "(line 1: '(' was never closed)"),
        (b"#!/bin/sh\nset -e; if true; then echo; fi\n", "(line 2: invalid syntax)"),
        (b"\x7fELF\x00\x01", "(source code string cannot contain null bytes)"),
        (b"x = '\xff'\n", "unicode"),
        (b"# coding: nosuch\n", "(unknown encoding: nosuch)"),
        (b"(" * 100_000, "too many nested"),
        (b" \n", "(it is empty)"),
    ],
    ids=["cut", "shell", "binary", "latin", "coding", "nested", "empty"],
)
def test_what_python_could_not_run_is_refused_with_the_reason(tmp_path, content, why):
    (tmp_path / "t.py").write_bytes(content)
    line = refused(tmp_path, "t.py")
    assert line.startswith("setting 'script': value 't.py' is not accepted; give a Python script on this machine (")
    assert why in line


def test_what_is_no_file_is_refused(tmp_path):
    (tmp_path / "code").mkdir()
    assert refused(tmp_path, "gone.py").endswith(f"({tmp_path}/gone.py is not there)")
    assert refused(tmp_path, "code").endswith(f"({tmp_path}/code is a folder)")
    assert "could not determine home directory" in refused(tmp_path, "~nosuchuser/t.py")


def test_warnings_of_the_user_s_code_are_not_told_here(tmp_path, recwarn):
    (tmp_path / "t.py").write_text("x = 1 is 1\ny = '\\d'\n")
    script_source.stage_script("t.py", "", tmp_path, tmp_path / "cache")
    assert not recwarn.list


def test_syntax_of_the_plugins_own_is_not_put_upon_the_user(tmp_path):
    # With our "annotations" of __future__ this would compile.
    (tmp_path / "t.py").write_text("x: (yield) = 1\n")
    assert "outside function" in refused(tmp_path, "t.py")


def test_a_script_alone_is_staged_without_its_neighbours(tmp_path):
    (tmp_path / "t.py").write_text("x = 1\n")
    (tmp_path / "secret.txt").write_text("s")
    source = script_source.stage_script("t.py", "", tmp_path, tmp_path / "cache")
    assert source.entry == "t.py"
    assert [path.name for path in source.path.iterdir()] == ["t.py"]
    # The digest is that of the content, wherever it lies.
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere/t.py").write_text("x = 1\n")
    assert script_source.stage_script("elsewhere/t.py", "", tmp_path, tmp_path / "cache") == source
    (tmp_path / "t.py").write_text("x = 2\n")
    assert script_source.stage_script("t.py", "", tmp_path, tmp_path / "cache").digest != source.digest


def test_a_folder_is_staged_without_history_and_environments(tmp_path):
    for name in ("src/train.py", "src/meta/README.md", ".git/HEAD", "src/.venv/bin/python", "src/__pycache__/x.pyc"):
        (tmp_path / "p" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "p" / name).write_text("x = 1\n")
    tool = tmp_path / "p/tool.sh"
    tool.write_text("echo\n")
    tool.chmod(0o755)
    source = script_source.stage_script("p/src/train.py", "p", tmp_path, tmp_path / "cache")
    files = {str(path.relative_to(source.path)) for path in source.path.rglob("*") if path.is_file()}
    assert files == {"src/train.py", "src/meta/README.md", "tool.sh"}
    assert source.entry == "src/train.py"
    assert os.access(source.path / "tool.sh", os.X_OK)
    assert not os.access(source.path / "src/train.py", os.X_OK)


def test_a_folder_that_the_script_is_not_in_or_that_is_none_is_refused(tmp_path):
    (tmp_path / "t.py").write_text("x = 1\n")
    (tmp_path / "other").mkdir()
    assert refused(tmp_path, "t.py", "other").endswith(f"({tmp_path}/t.py is not in {tmp_path}/other)")
    assert refused(tmp_path, "t.py", "gone").endswith(f"({tmp_path}/gone is not there)")
    assert refused(tmp_path, "t.py", "t.py").endswith(f"({tmp_path}/t.py is a file)")


def test_a_folder_that_is_too_large_is_refused_with_its_largest_file(tmp_path, monkeypatch):
    (tmp_path / "p").mkdir()
    (tmp_path / "p/t.py").write_text("x = 1\n")
    with (tmp_path / "p/weights.bin").open("wb") as file:
        file.truncate(150 << 20)
    line = refused(tmp_path, "p/t.py", "p")
    assert "at most 100 MiB (it has 150, of which weights.bin 150); give data by data_dir" in line
    (tmp_path / "p/weights.bin").unlink()
    monkeypatch.setattr(script_source, "MOST_FILES", 1)
    (tmp_path / "p/u.py").touch()
    assert "at most 1 files (it has 2)" in refused(tmp_path, "p/t.py", "p")


def test_links_that_cannot_be_copied_are_refused(tmp_path):
    (tmp_path / "p").mkdir()
    (tmp_path / "p/t.py").write_text("x = 1\n")
    (tmp_path / "p/gone").symlink_to("nowhere")
    assert f"({tmp_path}/p/gone is a link to nothing)" in refused(tmp_path, "p/t.py", "p")
    (tmp_path / "p/gone").unlink()
    (tmp_path / "p/round").symlink_to(tmp_path / "p")
    assert f"({tmp_path}/p/round is a link to a folder that it lies in)" in refused(tmp_path, "p/t.py", "p")
