"""The article's stack on two nodes: `make test-ipex`. On demand: several gigabytes, a quarter of an hour."""

import json
import os
import subprocess
import uuid

import pytest

from tests.conftest import ROOT, cluster_name, provisioned

pytestmark = [pytest.mark.cluster, pytest.mark.ipex]

STACK = os.environ.get("ICEFIELD_TEST_STACK", "ipex-pypi")
PYTHON = f"/opt/icefield/env/{STACK}/bin/python"
GIVEN = {"ccl": "true"}
# A folder with wheels that were downloaded before, if there is one.
if "ICEFIELD_TEST_WHEELS" in os.environ:
    GIVEN["wheels_dir"] = os.environ["ICEFIELD_TEST_WHEELS"]


@pytest.fixture(scope="module")
def ipex():
    with provisioned(cluster_name(), seconds=3600, stack=STACK, **GIVEN) as cluster:
        yield cluster


def train(cluster, **settings):
    run_id = f"ipex-{uuid.uuid4().hex[:8]}"
    options = {
        "stack": STACK,
        "run_id": run_id,
        "epochs": 1,
        "train_rows": 3200,
        "global_batch_size": 16,
        "learning_rate": 1e-4,
        **settings,
    }
    code, output = cluster.play("train.yml", **options)
    assert code == 0, output
    folder = ROOT / "runs" / run_id
    steps = [json.loads(line) for line in (folder / "events.jsonl").read_text().splitlines() if '"step"' in line]
    losses = [event["loss"] for event in steps if event["event"] == "step"]
    return folder, losses, output


def test_two_lines_warn_of_it(ipex):
    said = " ".join(ipex.said.split())
    assert "Intel archived its Extension for PyTorch" in said
    assert f"stack '{STACK}' gains: nothing" in said


def test_provisioning_again_changes_nothing(ipex):
    code, output = ipex.play("provision.yml", nodes=2, stack=STACK, **GIVEN)
    assert code == 0, output
    changed = [line for line in output.splitlines() if "changed=" in line]
    assert changed
    assert all("changed=0 " in line for line in changed), changed


@pytest.mark.parametrize(("launcher", "precision"), [("torchrun", "fp32"), ("mpirun", "fp32"), ("torchrun", "bf16")])
def test_the_loss_falls_on_two_nodes(ipex, launcher, precision):
    folder, losses, _ = train(ipex, launcher=launcher, precision=precision)
    quarter = len(losses) // 4
    assert sum(losses[-quarter:]) < 0.9 * sum(losses[:quarter])
    environment = json.loads((folder / "environment.json").read_text())
    assert environment["versions"]["torch"].startswith("2.8.0")
    assert environment["versions"]["transformers"].startswith("4.57.")
    hosts = environment["hosts"]
    assert [host["host"] for host in hosts] == ipex.nodes
    # Both libraries, by paths that were there.
    assert all("libtcmalloc" in host["preload"] and "/libiomp5.so" in host["preload"] for host in hosts)
    assert "with intel_extension_for_pytorch" in (folder / "logs/rank-0.log").read_text()


SHORT = {"precision": "fp32", "max_steps": 6, "train_rows": 96}


@pytest.fixture(scope="module")
def losses_over_gloo(ipex):
    losses = train(ipex, **SHORT)[1]
    assert len(losses) == 6
    return losses


@pytest.mark.parametrize("launcher", ["torchrun", "mpirun"])
def test_a_run_over_oneccl_has_the_losses_of_one_over_gloo(ipex, losses_over_gloo, launcher):
    folder, losses, _ = train(ipex, collectives="ccl", launcher=launcher, **SHORT)
    # On two ranks sums have the same bits.
    assert losses == losses_over_gloo
    assert json.loads((folder / "metrics.json").read_text())["collectives"] == "ccl"


def gradients(cluster, **variables):
    node = cluster.nodes[0]
    cluster.on(node, "rm -rf /tmp/gradients && mkdir /tmp/gradients")
    for source in ("training/icefield_train", "tests/runs/gradients.py"):
        subprocess.run(["podman", "cp", str(ROOT / source), f"{node}:/tmp/gradients/"], check=True, capture_output=True)
    given = " ".join(f"{name}={value}" for name, value in variables.items())
    output = cluster.on(node, f"cd /tmp/gradients && OMP_NUM_THREADS=1 {given} {PYTHON} gradients.py")
    return json.loads(output.splitlines()[-1])


def test_gradients_in_fp32_are_those_of_plain_torch(ipex):
    plain = gradients(ipex)
    changed = gradients(ipex, ICEFIELD_EXTENSIONS="intel_extension_for_pytorch")
    assert (plain["loaded"], changed["loaded"]) == ([], ["intel_extension_for_pytorch"])
    assert plain["torch"] == changed["torch"]
    assert changed["loss"] == pytest.approx(plain["loss"], rel=1e-6)
    assert len(plain["norms"]) > 100
    largest = max(plain["norms"].values())
    # Float error is relative to what is added up; the gradients of some biases are sums that cancel out.
    assert changed["norms"] == pytest.approx(plain["norms"], rel=1e-5, abs=1e-6 * largest)
    for name, part in plain["parts"].items():
        assert changed["parts"][name] == pytest.approx(part, rel=1e-4, abs=1e-6 * largest), name


def test_a_script_gets_the_extension_and_oneccl_without_being_changed(ipex):
    run_id = f"ipex-{uuid.uuid4().hex[:8]}"
    settings = {"script": ROOT / "tests/scripts/ipex/train.py", "launcher": "mpirun", "collectives": "ccl"}
    code, output = ipex.play("train.yml", stack=STACK, run_id=run_id, **settings)
    assert code == 0, output
    found = json.loads((ROOT / "runs" / run_id / "output/found.json").read_text())
    assert found == {"extension": "2.8.0+cpu", "ranks": 2.0, "backend": "ccl"}


def test_the_other_stack_is_refused_where_it_is_not_there(ipex):
    code, output = ipex.play("train.yml", stack="current")
    assert code != 0
    assert f"{ipex.nodes[0]} has no environment of the stack 'current'; run: ansible-playbook provision.yml" in output
