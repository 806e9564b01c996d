import os
import shutil

import pytest

from plugins.module_utils.fingerprint import fingerprint


@pytest.fixture
def checkout(tmp_path):
    root = tmp_path / "m"
    (root / "roles/base/tasks").mkdir(parents=True)
    (root / "roles/base/tasks/main.yml").write_text("one")
    (root / "lock.txt").write_text("two")
    return root


def of(root, *others, facts=()):
    return fingerprint([str(root / "roles"), str(root / "lock.txt"), *map(str, others)], facts, str(root))


def test_content_names_and_facts_decide(checkout):
    before = of(checkout)
    assert len(before) == 12
    assert of(checkout, facts=["x"]) != before
    (checkout / "lock.txt").write_text("three")
    changed = of(checkout)
    assert changed != before
    (checkout / "roles/base/tasks/main.yml").rename(checkout / "roles/base/tasks/other.yml")
    assert of(checkout) not in (before, changed)


def test_documentation_byte_code_and_times_do_not(checkout):
    before = of(checkout)
    (checkout / "roles/base/README.md").write_text("words")
    (checkout / "roles/base/__pycache__").mkdir()
    (checkout / "roles/base/__pycache__/x.pyc").write_text("code")
    os.utime(checkout / "lock.txt", (0, 0))
    assert of(checkout) == before


@pytest.mark.parametrize("place", ["a", "z"])
def test_checkouts_in_other_places_agree_also_with_files_from_outside(checkout, tmp_path, place):
    # Between the two by name, as the system's certificates lie between two checkouts.
    outside = tmp_path / "n.crt"
    outside.write_text("certificate")
    shutil.copytree(checkout, tmp_path / place / "deeper")
    assert of(tmp_path / place / "deeper", outside) == of(checkout, outside)


def test_a_path_that_is_not_there_is_named(checkout):
    with pytest.raises(FileNotFoundError, match="gone: it does not exist"):
        of(checkout, checkout / "gone")
