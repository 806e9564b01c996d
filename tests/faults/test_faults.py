"""What happens when a part of a run dies: it ends everywhere, names the culprit, and its logs are here."""

import re
import subprocess
import time
import uuid

import pytest

from tests.conftest import ROOT

pytestmark = pytest.mark.cluster

# The promise: nothing of the run is left on any node so many seconds after the failure.
PROMISE = 10
# The playbook returns so many seconds later at most; ssh alone takes 20 to find out that a node is gone.
RETURN = 12


def ended_everywhere(cluster, run_id, nodes):
    until = time.monotonic() + PROMISE
    while time.monotonic() < until:
        left = {node: cluster.processes(node, run_id) for node in nodes}
        if not any(left.values()):
            return {}
        time.sleep(0.2)
    return left


def begin(cluster, launcher):
    run_id = f"fault-{uuid.uuid4().hex[:8]}"
    train = cluster.start("train.yml", run_id=run_id, launcher=launcher, epochs=50)
    try:
        cluster.wait_for_step(run_id, 3)
    except AssertionError:
        train.kill()
        print(train.communicate()[0])
        raise
    assert all(cluster.processes(node, run_id) for node in cluster.nodes)
    return run_id, train


def last_line(output):
    return [line for line in output.splitlines() if line.strip()][-1]


@pytest.mark.parametrize("launcher", ["torchrun", "mpirun"])
def test_a_killed_rank_ends_the_run_everywhere_and_is_named(cluster, launcher):
    run_id, train = begin(cluster, launcher)
    victim = cluster.nodes[1]
    cluster.on(victim, f"kill -KILL {cluster.training_pid(victim, run_id, 1)}")
    assert ended_everywhere(cluster, run_id, cluster.nodes) == {}
    output, _ = train.communicate(timeout=60)
    assert train.returncode != 0
    assert re.search(rf"run '{run_id}' failed: {victim} rank 1 \(step \d+\): .*killed", last_line(output)), output[
        -3000:
    ]
    logs = {path.name for path in (ROOT / "runs" / run_id / "logs").iterdir()}
    assert {"rank-0.log", "rank-1.log"} <= logs
    assert (ROOT / "runs" / run_id / "report.html").exists()


@pytest.mark.parametrize("launcher", ["torchrun", "mpirun"])
@pytest.mark.parametrize("index", [0, 1], ids=["head", "worker"])
def test_a_stopped_node_ends_the_run_on_the_others_and_is_named(cluster, launcher, index):
    run_id, train = begin(cluster, launcher)
    victim, other = cluster.nodes[index], cluster.nodes[1 - index]
    subprocess.run(["podman", "stop", "--time", "1", victim], check=True, capture_output=True)
    try:
        assert ended_everywhere(cluster, run_id, [other]) == {}
        output, _ = train.communicate(timeout=RETURN)
        assert train.returncode != 0
        assert re.search(rf"run '{run_id}' failed: {victim} rank {index}.*: the node is gone", last_line(output)), (
            output
        )
        assert (ROOT / "runs" / run_id / "logs" / f"rank-{1 - index}.log").exists()
    finally:
        # What was stopped comes back by the command that made it.
        code, output = cluster.play("provision.yml", nodes=2)
    assert code == 0, output


def test_a_suspended_rank_is_found_by_its_deadline(cluster):
    run_id = f"fault-{uuid.uuid4().hex[:8]}"
    train = cluster.start("train.yml", run_id=run_id, epochs=50, deadline_step=5)
    cluster.wait_for_step(run_id, 3)
    cluster.on(cluster.nodes[1], f"kill -STOP {cluster.training_pid(cluster.nodes[1], run_id, 1)}")
    output, _ = train.communicate(timeout=60)
    assert train.returncode != 0
    assert re.search(rf"failed: {cluster.nodes[1]} rank 1 .*suspended .*deadline_step", last_line(output)), output
    assert ended_everywhere(cluster, run_id, cluster.nodes) == {}


def test_a_run_goes_on_when_the_controller_is_interrupted_and_can_be_stopped(cluster):
    run_id, train = begin(cluster, "torchrun")
    # What Ctrl-C in a terminal does: the whole group of processes gets it.
    train.send_signal(subprocess.signal.SIGINT)
    output, _ = train.communicate(timeout=60)
    assert f"train.yml -e attach={run_id}" in output
    reached = cluster.events(run_id)[-1]["step"]
    cluster.wait_for_step(run_id, reached + 2)

    code, output = cluster.play("train.yml")
    assert code != 0
    assert f"is busy with run '{run_id}'" in last_line(output)

    attached = cluster.start("train.yml", attach=run_id)
    code, output = cluster.play("status.yml", stop=run_id)
    assert code == 0, output
    assert f"run {run_id}: stopped" in output
    output, _ = attached.communicate(timeout=60)
    assert attached.returncode != 0
    assert "stopped on request" in last_line(output)
    assert ended_everywhere(cluster, run_id, cluster.nodes) == {}


def test_a_run_is_not_run_again_under_its_name(cluster):
    run_id = f"once-{uuid.uuid4().hex[:8]}"
    code, output = cluster.play("train.yml", run_id=run_id, max_steps=2, train_rows=64)
    assert code == 0, output
    code, output = cluster.play("train.yml", run_id=run_id, max_steps=2, train_rows=64)
    assert code != 0
    assert "setting 'run_id'" in last_line(output)


def test_a_head_that_does_not_run_is_named_and_neither_a_run_nor_a_stop_goes_on_without_it(cluster):
    head = cluster.nodes[0]
    subprocess.run(["podman", "stop", "--time", "1", head], check=True, capture_output=True)
    try:
        code, output = cluster.play("status.yml")
        assert code == 0
        assert re.search(rf"(?m)^{head} .* does not run$", output), output[-2000:]
        for playbook, settings in (("train.yml", {}), ("status.yml", {"stop": "r"})):
            code, output = cluster.play(playbook, **settings)
            assert code != 0
            assert last_line(output).startswith(f"icefield: {head} of the cluster does not run; bring back"), output[
                -2000:
            ]
    finally:
        code, output = cluster.play("provision.yml", nodes=2)
        assert code == 0, output[-3000:]


def test_a_stop_says_that_the_head_is_out_of_reach(cluster):
    head = cluster.nodes[0]
    # A head that is there and does not answer; what connections there were are closed.
    cluster.on(head, "pkill -STOP -o -x sshd; pkill -KILL -n -x sshd")
    try:
        code, output = cluster.play("status.yml", stop="r")
    finally:
        cluster.on(head, "pkill -CONT -o -x sshd")
    assert code != 0
    assert last_line(output).endswith("(the head is out of reach)"), output[-2000:]


def test_a_node_that_cannot_tokenise_ends_the_run_before_any_rank_starts(cluster):
    run_id = f"fault-{uuid.uuid4().hex[:8]}"
    victim = cluster.nodes[1]
    # Of the data that is staged on the nodes; another cut makes tokens that no run has made yet.
    code, output = cluster.play("train.yml", run_id=f"{run_id}-well", max_steps=2, train_rows=64, max_length=17)
    assert code == 0, output
    cluster.on(victim, "mv /opt/icefield/stage/data /opt/icefield/stage/away; mkdir -p /opt/icefield/stage/data")
    cluster.on(
        victim, "cp -r /opt/icefield/stage/away/. /opt/icefield/stage/data; rm /opt/icefield/stage/data/*/dev.jsonl"
    )
    try:
        code, output = cluster.play("train.yml", run_id=run_id, max_steps=2, train_rows=64, max_length=18)
    finally:
        cluster.on(victim, "rm -r /opt/icefield/stage/data; mv /opt/icefield/stage/away /opt/icefield/stage/data")
    assert code != 0
    assert re.search(rf"run '{run_id}' failed: {victim} \(tokenise\): .*No such file", last_line(output)), output[
        -3000:
    ]
    logs = {path.name for path in (ROOT / "runs" / run_id / "logs").iterdir()}
    assert f"tokenise-{victim}.log" in logs
    assert not [name for name in logs if name.startswith("rank-")]
