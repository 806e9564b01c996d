"""The package needs no other folder of the repository on its path."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

TRAINING = Path(__file__).parents[2] / "training"


@pytest.mark.parametrize("name", ["rank", "preparation", "supervisor", "launchers", "ccl_env", "plan"])
def test_those_who_start_processes_are_imported_from_the_package_alone(name, tmp_path):
    env = {**os.environ, "PYTHONPATH": str(TRAINING)}
    command = [sys.executable, "-c", f"import icefield_train.{name}"]
    done = subprocess.run(command, env=env, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
