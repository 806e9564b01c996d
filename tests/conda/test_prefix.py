"""An environment in a folder: told, emptied, activated, without anything of a user's shell."""

import os

import pytest

from plugins.module_utils import conda_prefix
from plugins.modules import conda_env, python_env, run_start

CLEAN = {"PATH": os.environ["PATH"], "HOME": "/nonexistent"}


@pytest.fixture
def prefix(tmp_path):
    root = tmp_path / "an env"
    for folder in ("bin", "conda-meta", "etc/conda/activate.d"):
        (root / folder).mkdir(parents=True)
    (root / "bin" / "python").symlink_to("/bin/sh")
    conda_prefix.write_activation(root)
    return root


def test_a_folder_that_conda_has_not_made_is_no_environment_of_it(tmp_path, prefix):
    assert conda_prefix.is_conda(prefix)
    (tmp_path / "bin").mkdir()
    assert not conda_prefix.is_conda(tmp_path)
    assert conda_prefix.activated(tmp_path, CLEAN) == CLEAN


def test_activation_sets_what_conda_and_the_packages_set(prefix):
    (prefix / "etc/conda/activate.d/tool.sh").write_text("export TOOL_HOME=$CONDA_PREFIX/share\necho noise\nLOCAL=1\n")
    found = conda_prefix.activated(prefix, CLEAN)
    assert found == {
        **CLEAN,
        "PATH": f"{prefix}/bin:{CLEAN['PATH']}",
        "CONDA_PREFIX": str(prefix),
        "CONDA_DEFAULT_ENV": str(prefix),
        "TOOL_HOME": f"{prefix}/share",
    }


def test_a_script_of_a_package_that_ends_the_shell_is_told(prefix):
    (prefix / "etc/conda/activate.d/tool.sh").write_text("echo 'no licence' >&2\nexit 3\n")
    with pytest.raises(ValueError, match=f"activating {prefix} failed: no licence"):
        conda_prefix.activated(prefix, CLEAN)


def test_a_run_is_started_in_the_activated_environment(prefix, tmp_path):
    (prefix / "etc/conda/activate.d/tool.sh").write_text("export TOOL_HOME=here\n")
    python = prefix / "bin" / "python"
    python.unlink()
    python.write_text('#!/bin/sh\necho "$TOOL_HOME $CONDA_PREFIX $PYTHONPATH"\n')
    python.chmod(0o755)
    (tmp_path / "logs").mkdir()
    (tmp_path / "node").write_text("n1")
    assert run_start.start(tmp_path, {"python": str(python), "code": "/code"}).wait() == 0
    assert (tmp_path / "logs" / "supervisor-n1.log").read_text() == f"here {prefix} /code:/code/native\n"


def test_emptying_keeps_the_folder_and_what_links_lead_to(tmp_path, prefix):
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept" / "file").touch()
    (prefix / "link").symlink_to(tmp_path / "kept")
    inode = prefix.stat().st_ino
    conda_prefix.empty(prefix)
    assert list(prefix.iterdir()) == []
    assert prefix.stat().st_ino == inode
    assert (tmp_path / "kept" / "file").exists()


def test_ready_is_an_environment_of_this_lock_that_is_complete(prefix):
    assert not conda_env.is_ready(prefix, "d1")
    (prefix / conda_prefix.MARKER).write_text("d1\n")
    assert conda_env.is_ready(prefix, "d1")
    assert not conda_env.is_ready(prefix, "d2")
    (prefix / "bin" / "activate").write_text("something else")
    assert not conda_env.is_ready(prefix, "d1")


def test_the_wheels_are_of_this_conda_environment_and_no_other(prefix):
    none = python_env.below(prefix, "conda")
    (prefix / conda_prefix.MARKER).write_text("d1\n")
    first = python_env.below(prefix, "conda")
    (prefix / conda_prefix.MARKER).write_text("d2\n")
    assert len({none, first, python_env.below(prefix, "conda"), python_env.below(prefix, "venv")}) == 4
