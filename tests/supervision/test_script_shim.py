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

    def start(text, without=(), **variables):
        for name in without:
            (site / f"{name}.py").unlink()
        script.write_text(text)
        env = {**os.environ, "PYTHONPATH": str(site), **variables}
        done = subprocess.run([sys.executable, str(PROCESS), str(script)], env=env, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout.splitlines(), done.stderr.splitlines()

    return start


BOTH = {"ICEFIELD_EXTENSIONS": "intel_extension_for_pytorch:oneccl_bindings_for_pytorch"}
MEET = "import torch.distributed as dist\ndist.init_process_group({}timeout=5)\n"


@pytest.mark.parametrize(
    ("given", "used"), [("'gloo', ", "ccl"), ("", "ccl"), ("backend='mpi', ", "ccl"), ("'nccl', ", "nccl")]
)
def test_the_group_of_a_script_is_oneccl_s(run, given, used):
    said, _ = run(MEET.format(given), **BOTH, ICEFIELD_COLLECTIVES="ccl")
    assert said == ["extension", "bindings", f"backend {used}, timeout 5"]


def test_with_gloo_extensions_are_imported_and_the_group_is_left_alone(run):
    assert run(MEET.format("'gloo', "), **BOTH)[0] == ["extension", "bindings", "backend gloo, timeout 5"]


def test_without_the_bindings_one_sentence_says_that_gloo_is_used(run):
    said, errors = run(
        MEET.format("'gloo', "), without=["oneccl_bindings_for_pytorch"], **BOTH, ICEFIELD_COLLECTIVES="ccl", RANK="0"
    )
    assert said == ["extension", "backend gloo, timeout 5"]
    assert errors == ["oneccl_bindings_for_pytorch is not in this environment: collectives are gloo's"]


def test_a_stack_without_extensions_changes_nothing(run):
    said, _ = run("import json, sys\nprint(json.dumps([sys.path[0], sorted(sys.modules)]))\n")
    place, modules = json.loads(said[0])
    assert place.endswith("/work")
    assert not [name for name in modules if "torch" in name or "shim" in name or "icefield" in name]
