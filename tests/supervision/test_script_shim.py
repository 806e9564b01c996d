"""What a user's unmodified script gets of the article's changes."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

PROCESS = Path(__file__).parents[2] / "training/icefield_train/script_process.py"
# Stand for packages that are not on this machine: what is tested is what the shim does with them.
TORCH = "def init_process_group(backend=None, timeout=None):\n    print(f'backend {backend}, timeout {timeout}')\n"


@pytest.fixture
def run(tmp_path):
    site = tmp_path / "site"
    (site / "torch").mkdir(parents=True)
    (site / "torch/__init__.py").touch()
    (site / "torch/distributed.py").write_text(TORCH)
    (site / "oneccl_bindings_for_pytorch.py").write_text("print('bindings')\n")
    (site / "intel_extension_for_pytorch.py").write_text("print('extension')\n")
    script = tmp_path / "work/train.py"
    script.parent.mkdir()

    def start(text, **variables):
        script.write_text(text)
        env = {**os.environ, "PYTHONPATH": str(site), **variables}
        done = subprocess.run([sys.executable, str(PROCESS), str(script)], env=env, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout.splitlines(), done.stderr.splitlines()

    return start


IPEX = {"ICEFIELD_EXTENSIONS": "intel_extension_for_pytorch"}
BINDINGS = {"ICEFIELD_CCL_MODULE": "oneccl_bindings_for_pytorch"}
MEET = "import torch.distributed as dist\ndist.init_process_group({}timeout=5)\n"


@pytest.mark.parametrize(
    ("given", "used"), [("'gloo', ", "ccl"), ("", "ccl"), ("backend='mpi', ", "ccl"), ("'nccl', ", "nccl")]
)
def test_the_group_of_a_script_is_oneccl_s(run, given, used):
    said, _ = run(MEET.format(given), **IPEX, **BINDINGS)
    assert said == ["extension", "bindings", f"backend {used}, timeout 5"]


def test_with_gloo_extensions_are_imported_and_the_group_is_left_alone(run):
    assert run(MEET.format("'gloo', "), **IPEX)[0] == ["extension", "backend gloo, timeout 5"]


def test_our_backend_is_found_beside_the_environment_and_registered(run, tmp_path):
    (tmp_path / "ccl/python").mkdir(parents=True)
    (tmp_path / "ccl/python/icefield_ccl.py").write_text("def register():\n    print('registered')\n")
    ours = {"ICEFIELD_CCL_MODULE": "icefield_ccl", "ICEFIELD_CCL_PREFIX": str(tmp_path / "ccl")}
    said, _ = run(MEET.format("'gloo', "), **ours)
    assert said == ["registered", "backend ccl, timeout 5"]


def test_a_stack_without_extensions_changes_nothing(run):
    said, _ = run("import json, sys\nprint(json.dumps([sys.path[0], sorted(sys.modules)]))\n")
    place, modules = json.loads(said[0])
    assert place.endswith("/work")
    assert not [name for name in modules if "torch" in name or "shim" in name or "icefield" in name]
