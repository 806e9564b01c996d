import pytest

from icefield_train.plan import plan_from


@pytest.fixture
def make_plan(tmp_path):
    """Return a function that makes a plan of nodes on loopback addresses."""

    def make(names=("a", "b"), **changes):
        nodes = [
            {
                "name": name,
                "address": f"127.0.0.{index + 1}",
                "interface": "lo",
                "first_rank": index * changes.get("nproc_per_node", 1),
                "threads": 1,
                "cores": [[]] * changes.get("nproc_per_node", 1),
                "preload": "",
            }
            for index, name in enumerate(names)
        ]
        data = {
            "run_id": "test-run",
            "launcher": "torchrun",
            "nproc_per_node": 1,
            "rendezvous_port": 29500,
            "control_port": 29501,
            "deadlines": {"start": 5, "rendezvous": 5, "step": 5, "evaluate": 5, "save": 5},
            "python": "/opt/icefield/env/bin/python",
            "code": "/code",
            "run_dir": str(tmp_path),
            "nodes": nodes,
        }
        return plan_from(data | changes)

    return make
