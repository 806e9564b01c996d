"""A cluster of two containers for all tests that need one."""

import contextlib
import json
import os
import shutil
import subprocess
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
RUNS = "/opt/icefield/runs"


class Cluster:
    """A cluster of the checkout, driven by its playbooks as a user does."""

    def __init__(self, name, nodes):
        self.name = name
        self.run_ids = set()
        self.nodes = [f"{name}-{number}" for number in range(1, nodes + 1)]

    def start(self, playbook, **settings):
        if "run_id" in settings:
            self.run_ids.add(settings["run_id"])
        command = ["ansible-playbook", playbook, "-e", f"cluster_name={self.name}"]
        for key, value in settings.items():
            command += ["-e", f"{key}={value}"]
        return subprocess.Popen(
            command,
            cwd=ROOT,
            env={**os.environ, "ANSIBLE_CONFIG": str(ROOT / "ansible.cfg"), "ANSIBLE_NOCOLOR": "1"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def play(self, playbook, **settings):
        process = self.start(playbook, **settings)
        output, _ = process.communicate(timeout=600)
        return process.returncode, output

    def on(self, node, script, user="root"):
        command = ["podman", "exec", "--user", user, node, "sh", "-c", script]
        return subprocess.run(command, capture_output=True, text=True, check=False).stdout

    def events(self, run_id):
        text = self.on(self.nodes[0], f"cat {RUNS}/{run_id}/events.jsonl 2>/dev/null")
        return [json.loads(line) for line in text.splitlines() if line.endswith("}")]

    def wait_for_step(self, run_id, step, seconds=120):
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            if any(event["event"] == "step" and event["step"] >= step for event in self.events(run_id)):
                return
            time.sleep(0.3)
        raise AssertionError(f"run {run_id} did not reach step {step}: {self.events(run_id)[-3:]}")

    def processes(self, node, run_id):
        """Return the ids of the run's processes on a node, found by their environment."""
        # As the user that trains: a container's root may not look into other users' processes.
        script = f"grep -lsz '^ICEFIELD_RUN_ID={run_id}$' /proc/[0-9]*/environ | grep -v self | cut -d/ -f3"
        return [int(pid) for pid in self.on(node, script, user="icefield").split()]

    def training_pid(self, node, run_id, rank):
        status = json.loads(self.on(node, f"cat {RUNS}/{run_id}/status/rank-{rank}.json"))
        return status["pid"]


def cluster_name():
    # scripts/cluster-tests gives a name, so that it can clean up after an interrupted test.
    return os.environ.get("ICEFIELD_TEST_CLUSTER", f"test{os.getpid() % 10000}")


@contextlib.contextmanager
def provisioned(name, seconds=600, **settings):
    """Give a cluster of two nodes, ``said`` of which is what provision.yml printed; remove it and its runs."""
    cluster = Cluster(name, 2)
    process = cluster.start("provision.yml", nodes=2, **settings)
    cluster.said, _ = process.communicate(timeout=seconds)
    assert process.returncode == 0, cluster.said
    yield cluster
    for run_id in cluster.run_ids:
        shutil.rmtree(ROOT / "runs" / run_id, ignore_errors=True)
    code, output = cluster.play("destroy.yml")
    assert code == 0, output


@pytest.fixture(scope="session")
def cluster():
    with provisioned(cluster_name()) as cluster:
        yield cluster
