"""The tests of the training package that need torch, which is on the nodes and not on the controller."""

import importlib.util
import subprocess
from pathlib import Path

import pytest

from tests.conftest import ROOT

pytestmark = pytest.mark.cluster

# pytest and what it imports, all of it plain Python; carried over rather than fetched.
TOOLS = ("_pytest", "pytest", "py", "pluggy", "iniconfig", "packaging", "pygments")


def test_the_training_package_passes_its_tests_where_torch_is(cluster):
    node = cluster.nodes[0]
    cluster.on(
        node, "rm -rf /tmp/tests && mkdir -p /tmp/tests/tools /tmp/tests/tests && touch /tmp/tests/tests/__init__.py"
    )
    for tool in TOOLS:
        origin = Path(importlib.util.find_spec(tool).origin)
        source = origin.parent if origin.name == "__init__.py" else origin
        subprocess.run(["podman", "cp", str(source), f"{node}:/tmp/tests/tools/"], check=True, capture_output=True)
    for source, target in (("training", ""), ("tests/training", "tests/")):
        subprocess.run(
            ["podman", "cp", str(ROOT / source), f"{node}:/tmp/tests/{target}"], check=True, capture_output=True
        )
    cluster.on(node, "chown -R icefield:icefield /tmp/tests")
    output = cluster.on(
        node,
        "cd /tmp/tests && PYTHONPATH=tools:training OMP_NUM_THREADS=1 "
        "/opt/icefield/env/current/bin/python -m pytest -q -p no:cacheprovider tests/training 2>&1; echo exit code $?",
        user="icefield",
    )
    assert output.rstrip().endswith("exit code 0"), output[-5000:]
    # Not skipped for want of torch, which is what they are here for.
    assert "could not import 'torch'" not in output
