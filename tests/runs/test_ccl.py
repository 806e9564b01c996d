"""Runs over oneCCL on two nodes, beside the same over gloo: the role, both launchers, the choice, a rank that dies."""

import json
import re
import time
import uuid

import pytest

from tests.conftest import ROOT, cluster_name, provisioned

pytestmark = pytest.mark.cluster

LAUNCHERS = ("torchrun", "mpirun")
# The same as with gloo: nothing of the run is left on any node so many seconds after the failure.
PROMISE = 10
SETTINGS = {"max_steps": 6, "train_rows": 96, "global_batch_size": 16, "precision": "fp32"}


@pytest.fixture(scope="module")
def ccl_cluster():
    # Beside the other tests' cluster, whose nodes have another image.
    with provisioned(f"{cluster_name()}-ccl", ccl="true") as cluster:
        yield cluster


def run(cluster, **settings):
    run_id = f"ccl-{uuid.uuid4().hex[:8]}"
    code, output = cluster.play("train.yml", run_id=run_id, **{**SETTINGS, **settings})
    assert code == 0, output
    folder = ROOT / "runs" / run_id
    events = [json.loads(line) for line in (folder / "events.jsonl").read_text().splitlines()]
    losses = [event["loss"] for event in events if event["event"] == "step"]
    return losses, json.loads((folder / "metrics.json").read_text()), folder


@pytest.fixture(scope="module")
def over_gloo(ccl_cluster):
    return run(ccl_cluster)


@pytest.mark.parametrize("launcher", LAUNCHERS)
def test_a_run_over_oneccl_has_the_losses_of_one_over_gloo(ccl_cluster, over_gloo, launcher):
    losses, metrics, folder = run(ccl_cluster, collectives="ccl", launcher=launcher)
    assert len(losses) == 6
    # On two ranks sums have the same bits.
    assert losses == over_gloo[0]
    assert (metrics["collectives"], metrics["collectives_reason"]) == ("ccl", "as asked for")
    assert metrics["bytes_sent_per_step"] == over_gloo[1]["bytes_sent_per_step"]
    assert metrics["f1"] == over_gloo[1]["f1"]
    interfaces = [host["interface"] for host in json.loads((folder / "environment.json").read_text())["hosts"]]
    assert interfaces == ["eth0", "eth0"]
    assert "<th>collectives</th><td>ccl: as asked for</td>" in (folder / "report.html").read_text()


def test_nodes_without_oneccl_are_refused_with_the_command_that_puts_it_there(cluster):
    code, output = cluster.play("train.yml", collectives="ccl")
    assert code != 0
    last = [line for line in output.splitlines() if line.strip()][-1]
    assert "setting 'collectives': value 'ccl' is not accepted; give gloo or auto: " in last
    command = f"ansible-playbook provision.yml -e nodes=2 -e ccl=true -e cluster_name={cluster.name}"
    assert f"{cluster.nodes[0]} has no oneCCL; this puts it there: {command}" in last


@pytest.mark.long
def test_without_oneccl_the_choice_is_gloo_and_the_reason_is_told(cluster):
    _, metrics, _ = run(cluster, collectives="auto")
    assert metrics["collectives"] == "gloo"
    assert metrics["collectives_reason"].startswith(
        f"ccl cannot be used on {cluster.nodes[0]}, nor on 1 more: it has no oneCCL (provision.yml with -e ccl=true"
    )
    assert "collectives_timings" not in metrics


@pytest.mark.long
def test_provisioning_again_builds_nothing(ccl_cluster):
    code, output = ccl_cluster.play("provision.yml", nodes=2, ccl="true")
    assert code == 0, output
    assert re.findall(r"changed=(\d+)", output.split("PLAY RECAP")[1])
    assert set(re.findall(r"changed=(\d+)", output.split("PLAY RECAP")[1])) == {"0"}, output


@pytest.mark.long
@pytest.mark.parametrize("wire_format", ["fp32", "bf16"])
def test_the_choice_is_told_with_what_was_measured(ccl_cluster, over_gloo, wire_format):
    losses, metrics, folder = run(ccl_cluster, collectives="auto", wire_format=wire_format)
    assert metrics["collectives"] in ("gloo", "ccl")
    bucket, small = metrics["collectives_timings"]
    assert (bucket["bytes"], small["bytes"]) == (5 << 20, 16)
    # What the setting bucket_mb makes of the gradients of all weights but the word embeddings.
    assert 8 < bucket["per_step"] < 10
    faster = all(each["ccl_seconds"] < 0.8 * each["gloo_seconds"] for each in (bucket, small))
    assert metrics["collectives"] == "ccl" or not faster
    if wire_format == "fp32":
        assert losses == over_gloo[0]
    page = (folder / "report.html").read_text()
    assert f"{1000 * bucket['ccl_seconds']:.2f}" in page
    assert re.search(r"(gloo|ccl): exchanges of a step take [0-9.]+ ms with ccl, [0-9.]+ ms with gloo", page)


@pytest.mark.long
@pytest.mark.parametrize("launcher", LAUNCHERS)
def test_a_killed_rank_ends_the_run_everywhere_and_is_named(ccl_cluster, launcher):
    run_id = f"ccl-{uuid.uuid4().hex[:8]}"
    train = ccl_cluster.start("train.yml", run_id=run_id, launcher=launcher, collectives="ccl", epochs=50)
    ccl_cluster.wait_for_step(run_id, 3)
    victim = ccl_cluster.nodes[1]
    ccl_cluster.on(victim, f"kill -KILL {ccl_cluster.training_pid(victim, run_id, 1)}")
    until = time.monotonic() + PROMISE
    while left := [node for node in ccl_cluster.nodes if ccl_cluster.processes(node, run_id)]:
        assert time.monotonic() < until, left
        time.sleep(0.2)
    output, _ = train.communicate(timeout=60)
    assert train.returncode != 0
    last = [line for line in output.splitlines() if line.strip()][-1]
    assert re.search(rf"run '{run_id}' failed: {victim} rank 1 \(step \d+\): .*killed", last), output[-3000:]
    # mpiexec ends the others at once, before they can say anything.
    if launcher == "torchrun":
        page = (ROOT / "runs" / run_id / "report.html").read_text()
        waited = rf"{ccl_cluster.nodes[0]} rank 0 \(step \d+\)</th><td>waited for others in \w+ \(operation \d+\)"
        assert re.search(waited, page), (ROOT / "runs" / run_id / "logs/rank-0.log").read_text()[-2000:]
