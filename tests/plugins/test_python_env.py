"""What is proved of an environment after its packages were installed."""

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from plugins.module_utils import stack_file
from plugins.modules import python_env

TEXT = (Path(__file__).parents[2] / "requirements/stacks/ipex.txt").read_text()


@pytest.fixture
def env(tmp_path):
    """Return a function that makes an environment of packages (versions by folder name), and a stack of modules."""

    def make(*imports, **packages):
        site = tmp_path / "lib/python3.11/site-packages"
        for name, version in {"torch": "2.8.0", "intel_extension_for_pytorch": "2.8.0", **packages}.items():
            (site / f"{name}-{version}.dist-info").mkdir(parents=True)
        (tmp_path / "bin").mkdir()
        (tmp_path / "bin/python").symlink_to(sys.executable)
        return replace(stack_file.parse(TEXT, "ipex"), imports=imports), tmp_path

    return make


def test_what_goes_together_and_can_be_imported_is_accepted(env):
    python_env.prove(*env("json", "sqlite3"))


def test_versions_that_do_not_go_together_are_refused_before_anything_is_imported(env):
    words = "the stack 'ipex': intel-extension-for-pytorch 2.8.0 works with torch 2.8 alone, not 2.13.0"
    with pytest.raises(ValueError, match=f"^{words}"):
        python_env.prove(*env("no_module_of_this_name", torch="2.13.0"))


def test_a_module_that_cannot_be_imported_is_named_with_the_reason(env):
    with pytest.raises(ValueError) as error:
        python_env.prove(*env("json", "no_module_of_this_name"))
    assert str(error.value) == (
        "the stack 'ipex' is installed, but no_module_of_this_name can't be imported: "
        "ModuleNotFoundError: No module named 'no_module_of_this_name'"
    )
