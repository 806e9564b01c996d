"""Locks: exact pins only."""

import pytest

from plugins.module_utils import lockfile

LOCK = """\
# Made by hand.
-r other.txt
Torch==2.13.0+cpu
ruamel_yaml==1.0   # why
zope.interface==5.0

# without: sentence-transformers (only the model is used)
"""


def test_names_are_normalised_and_versions_kept():
    assert lockfile.pins(LOCK) == {"torch": "2.13.0+cpu", "ruamel-yaml": "1.0", "zope-interface": "5.0"}


@pytest.mark.parametrize(
    "line", ["torch", "torch>=2", "torch==2; python_version>'3'", "torch==2 --hash=x", "a b==1", "http://x/y.whl"]
)
def test_a_line_that_is_no_exact_pin_is_refused_with_its_number(line):
    with pytest.raises(ValueError, match=r"^line 2: "):
        lockfile.pins(f"numpy==1\n{line}\n")


def test_order_and_comments_do_not_change_the_digest_and_versions_do():
    assert lockfile.digest(["a==1\nb==2\n"]) == lockfile.digest(["# x\nb==2\nA==1 # y\n"])
    assert lockfile.digest(["a==1\n", "b==2\n"]) == lockfile.digest(["a==1\nb==2\n"])
    assert lockfile.digest(["a==1\nb==2\n"]) != lockfile.digest(["a==1\nb==3\n"])
    assert lockfile.digest(["a==1\n"]) != lockfile.digest(["a==1\nb==2\n"])


def test_a_requirement_is_broken_unless_it_is_left_out_on_purpose():
    without = lockfile.left_out(LOCK)
    assert without == {"sentence-transformers"}
    missing = "The package `gt-model` requires `sentence-transformers>=2`, but it's not installed"
    other = "The package `a` requires `b>=2`, but it's not installed"
    conflict = "The package `a` requires `sentence-transformers>=9`, but `1` is installed"
    output = f"Checked 3 packages\n{missing}\n{other}\n{conflict}\n"
    assert lockfile.broken_requirements(output, without) == [other, conflict]
