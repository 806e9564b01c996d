"""Run a command beside an endpoint whose instances are containers.

python -m tests.ec2_server.around NAME COMMAND...

The command finds the endpoint's address in ICEFIELD_TEST_ENDPOINT. When it ends, so does the endpoint, with all that it
made; the exit code is the command's.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from types import FrameType

from plugins.module_utils.local_net import cluster_subnet
from tests.ec2_server import podman_cli

# The first start of all makes the image that instances boot from.
_START_SECONDS = 300


def free_vpc(name: str) -> str:
    """Return a range for the default VPC that no network of this machine has."""
    names = podman_cli.call("network", "ls", "--quiet").split()
    return cluster_subnet(f"{name}-vpc", json.loads(podman_cli.call("network", "inspect", *names)) if names else [])


def wait_for(ready: Path, endpoint: subprocess.Popen[bytes]) -> str:
    """Return the endpoint's address when it answers.

    Raises:
        SystemExit: it ended, or the time is over.
    """
    deadline = time.monotonic() + _START_SECONDS
    while not ready.exists():
        if endpoint.poll() is not None or time.monotonic() > deadline:
            raise SystemExit("the endpoint did not start")
        time.sleep(0.2)
    return ready.read_text().strip()


def _stop(signum: int, frame: FrameType | None) -> None:
    raise SystemExit(128 + signum)


def main(name: str, *command: str) -> int:
    """Start the endpoint, run the command, end the endpoint; return the command's exit code."""
    signal.signal(signal.SIGTERM, _stop)
    with tempfile.TemporaryDirectory() as folder:
        ready = Path(folder) / "url"
        options = ["--port", "0", "--ready", str(ready), "--default-vpc", free_vpc(name), "--containers", name]
        # In a session of its own: an interrupt from the keyboard ends the command first.
        endpoint = subprocess.Popen([sys.executable, "-m", "tests.ec2_server", *options], start_new_session=True)
        try:
            # Any credentials do; the user's own must not be what is sent to a test.
            credentials = dict.fromkeys(("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"), "testing")
            environment = os.environ | credentials | {"ICEFIELD_TEST_ENDPOINT": wait_for(ready, endpoint)}
            return subprocess.run(command, env=environment, check=False).returncode
        finally:
            endpoint.terminate()
            endpoint.wait()


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
