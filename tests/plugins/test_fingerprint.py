"""What makes a node's image another one, and what doesn't."""

import os
import shutil

import pytest
from ansible.errors import AnsibleFilterError

from plugins.filter.fingerprint import fingerprint as fingerprint_filter
from plugins.module_utils.fingerprint import fingerprint


@pytest.fixture
def role(tmp_path):
    for name in ("tasks/main.yml", "templates/a.j2", "README.md", "meta/argument_specs.yml"):
        path = tmp_path / "roles/base" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"content of {name}")
    return tmp_path / "roles/base"


def of(role, *facts):
    return fingerprint([str(role)], facts, str(role.parents[1]))


def test_it_is_twelve_hex_digits(role):
    assert len(of(role)) == 12
    assert int(of(role), 16) >= 0


def test_content_changes_it(role):
    before = of(role)
    (role / "tasks/main.yml").write_text("content of tasks/main.ymL")
    assert of(role) != before


def test_a_name_changes_it(role):
    before = of(role)
    (role / "templates/a.j2").rename(role / "templates/b.j2")
    assert of(role) != before


def test_a_new_file_changes_it(role):
    before = of(role)
    (role / "files").mkdir()
    (role / "files/empty").write_text("")
    assert of(role) != before


def test_facts_and_their_order_change_it(role):
    assert len({of(role), of(role, ""), of(role, "a", "b"), of(role, "b", "a"), of(role, "ab")}) == 5


def test_times_documentation_and_byte_code_do_not_change_it(role):
    before = of(role)
    os.utime(role / "tasks/main.yml", (1, 1))
    (role / "README.md").write_text("other words")
    (role / "meta/argument_specs.yml").write_text("other: words")
    (role / "__pycache__").mkdir()
    (role / "__pycache__/x.pyc").write_bytes(b"1")
    assert of(role) == before


def test_the_place_of_the_checkout_does_not_change_it(role, tmp_path):
    before = of(role)
    (tmp_path / "roles").rename(tmp_path / "moved")
    (tmp_path / "other").mkdir()
    (tmp_path / "moved").rename(tmp_path / "other/roles")
    assert of(tmp_path / "other/roles/base") == before


@pytest.mark.parametrize("place", ["a", "z"])
def test_files_from_outside_do_not_make_the_place_matter(role, tmp_path, place):
    # Between the two checkouts by name, as the system's certificates lie between two folders of users.
    outside = tmp_path / "s.crt"
    outside.write_text("certificate")
    moved = shutil.copytree(tmp_path / "roles", tmp_path / place / "roles")
    digests = [fingerprint([str(roles), str(outside)], [], str(roles.parent)) for roles in (tmp_path / "roles", moved)]
    assert digests[0] == digests[1]


def test_content_that_moves_from_one_file_to_the_next_changes_it(tmp_path):
    (tmp_path / "a").write_text("1")
    (tmp_path / "b").write_text("2")
    before = fingerprint([str(tmp_path)])
    (tmp_path / "a").write_text("12")
    (tmp_path / "b").write_text("")
    assert fingerprint([str(tmp_path)]) != before


def test_a_path_that_does_not_exist_is_an_error(tmp_path):
    with pytest.raises(FileNotFoundError, match="gone: it does not exist"):
        fingerprint([str(tmp_path / "gone")])
    with pytest.raises(AnsibleFilterError, match="gone: it does not exist"):
        fingerprint_filter([str(tmp_path / "gone")])


def test_a_checkout_below_a_folder_of_the_name_of_a_skipped_one_counts_whole(role, tmp_path):
    moved = shutil.copytree(tmp_path / "roles", tmp_path / "meta/roles")
    assert of(moved / "base") == of(role)
    (moved / "base/tasks/main.yml").write_text("other")
    assert of(moved / "base") != of(role)
