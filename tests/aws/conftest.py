"""The test endpoint without containers, and what the playbooks do there."""

import json
import os
import shutil
import subprocess
import sys
import time
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


class Endpoint:
    """An endpoint that runs, as tests steer it."""

    def __init__(self, url, process):
        self.url = url
        self.process = process
        self.env = {
            "AWS_ENDPOINT_URL": url,
            "AWS_ACCESS_KEY_ID": "testing",
            "AWS_SECRET_ACCESS_KEY": "testing",
            "AWS_DEFAULT_REGION": "us-east-1",
            "AWS_REGION": "us-east-1",
            "AWS_EC2_METADATA_DISABLED": "true",
            "AWS_CONFIG_FILE": os.devnull,
            "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
        }

    def page(self, name, method="GET", data=None):
        body = None if data is None else json.dumps(data).encode()
        request = urllib.request.Request(f"{self.url}/_icefield/{name}", method=method, data=body)
        with urllib.request.urlopen(request, timeout=10) as answer:
            return answer.read().decode()

    def calls(self, action=""):
        """Return the calls so far, all or those of one action."""
        return [call for call in json.loads(self.page("calls")) if action in ("", call["action"])]

    def fault(self, action, **details):
        """Order a fault for the next call of an action."""
        self.page("faults", "POST", [{"action": action, **details}])

    def faults(self):
        """Return the faults that have not happened."""
        return json.loads(self.page("faults"))

    def clear(self):
        """Forget calls and faults; instances and everything else stay."""
        self.page("calls", "DELETE")
        self.page("faults", "DELETE")


def start_endpoint(ready, *options, seconds=20):
    """Start an endpoint and return it when it answers."""
    log = ready.with_suffix(".log")
    with log.open("w") as stream:
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.ec2_server", "--port", "0", "--ready", str(ready), *options],
            cwd=ROOT,
            stderr=stream,
        )
    until = time.monotonic() + seconds
    while not ready.exists():
        assert process.poll() is None, log.read_text()
        assert time.monotonic() < until, f"no endpoint after {seconds} s: {log.read_text()}"
        time.sleep(0.05)
    return Endpoint(ready.read_text().strip(), process)


@pytest.fixture(scope="session")
def endpoint(tmp_path_factory):
    running = start_endpoint(tmp_path_factory.mktemp("ec2") / "ready", "--default-vpc", "198.19.96.0/20")
    before = {name: os.environ.get(name) for name in running.env}
    os.environ.update(running.env)
    yield running
    for name, value in before.items():
        if value is None:
            del os.environ[name]
        else:
            os.environ[name] = value
    running.process.terminate()
    assert running.process.wait(timeout=20) == 0


def _tell(story, folder, default_vpc):
    """Run one story on an endpoint of its own; return its steps."""
    from .cloud import Cloud

    endpoint = start_endpoint(folder / "ready", "--default-vpc", default_vpc)
    cloud = Cloud(endpoint, f"t{os.getpid()}")
    try:
        return story(cloud)
    finally:
        endpoint.process.terminate()
        endpoint.process.wait(timeout=20)
        for cluster in cloud.clusters:
            shutil.rmtree(ROOT / ".state" / cluster, ignore_errors=True)


@pytest.fixture(scope="session")
def stories(tmp_path_factory):
    """Both stories, told at the same time: a playbook waits more than it works."""
    from . import stories as told

    with ThreadPoolExecutor(2) as pool:
        default = pool.submit(_tell, told.with_default_vpc, tmp_path_factory.mktemp("default"), "198.19.96.0/20")
        own = pool.submit(_tell, told.without_default_vpc, tmp_path_factory.mktemp("own"), "none")
        return {"default": default.result(), "own": own.result()}


@pytest.fixture(scope="session")
def default(stories):
    """The steps in a region that has a default VPC."""
    return stories["default"]


@pytest.fixture(scope="session")
def own(stories):
    """The steps in a region that has none."""
    return stories["own"]
