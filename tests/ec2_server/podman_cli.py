"""Calls of podman, with the options that this machine needs."""

from __future__ import annotations

import json
import resource
import shutil
import subprocess
from pathlib import Path

from plugins.module_utils import podman


class PodmanError(Exception):
    """A call of podman failed."""


def call(*args: str, feed: bytes = b"", must: bool = True) -> str:
    """Return what a podman command printed.

    Args:
        args: the command.
        feed: its standard input.
        must: raise PodmanError if it fails.
    """
    done = subprocess.run(["podman", *args], input=feed, capture_output=True, check=False)
    if done.returncode != 0 and must:
        raise PodmanError(f"podman {args[0]}: {done.stderr.decode(errors='replace').strip()}")
    return done.stdout.decode(errors="replace")


def runtime_args() -> list[str]:
    """Return the global options for commands that start a container."""
    return podman.runtime_args(json.loads(call("info", "--format", "json")), shutil.which("runc") is not None)


def ulimit_args() -> list[str]:
    """Return the ``--ulimit`` options for commands that make a container."""
    may_raise = podman.has_capability(Path("/proc/self/status").read_text(), podman.CAP_SYS_RESOURCE)
    hard = {
        "nofile": resource.getrlimit(resource.RLIMIT_NOFILE)[1],
        "nproc": resource.getrlimit(resource.RLIMIT_NPROC)[1],
    }
    pid_max = int(Path("/proc/sys/kernel/pid_max").read_text())
    return [part for limit in podman.ulimit_args(may_raise, hard, pid_max) for part in ("--ulimit", limit)]
