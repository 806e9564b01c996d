"""What podman needs to be told on this machine, and how a container is limited while it runs."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

CAP_SYS_RESOURCE = 24
# What podman asks for by default; asking for more than the hard limit needs CAP_SYS_RESOURCE.
_PODMAN_LIMIT = 1048576
_RATE = re.compile(r"^(\d+(?:\.\d+)?)(kbit|mbit|gbit)$")
_RATE_UNITS = {"kbit": 1e3, "mbit": 1e6, "gbit": 1e9}
_SIZE = re.compile(r"^(\d+(?:\.\d+)?)([kmg])$")
_SIZE_UNITS = {"k": 1 << 10, "m": 1 << 20, "g": 1 << 30}


def has_capability(proc_status: str, bit: int) -> bool:
    """Tell whether ``/proc/self/status`` lists this capability as effective."""
    line = next((ln for ln in proc_status.splitlines() if ln.startswith("CapEff:")), "CapEff: 0")
    return bool(int(line.split()[1], 16) >> bit & 1)


def ulimit_args(may_raise: bool, hard_limits: Mapping[str, int], pid_max: int) -> list[str]:
    """Return ``--ulimit`` values (``name=soft:hard``), none where podman's own defaults work.

    Args:
        may_raise: whether CAP_SYS_RESOURCE is there.
        hard_limits: this process's hard limits of nofile and nproc; -1 = unlimited.
        pid_max: the kernel's highest process id; podman lowers its own limit of processes to it before it starts one.
    """
    if may_raise:
        return []
    caps = {"nofile": _PODMAN_LIMIT, "nproc": pid_max}
    capped = {name: caps[name] if hard < 0 else min(hard, caps[name]) for name, hard in hard_limits.items()}
    return [f"{name}={hard}:{hard}" for name, hard in sorted(capped.items())]


def runtime_args(info: Mapping[str, Any], have_runc: bool) -> list[str]:
    """Return podman's global options for this machine.

    crun refuses the control groups of version 1 in hybrid mode; runc takes them.

    Raises:
        ValueError: crun can't work here and runc isn't installed.
    """
    host = info["host"]
    if host.get("cgroupVersion") == "v2" or host["ociRuntime"]["name"] == "runc":
        return []
    if not have_runc:
        raise ValueError(
            f"podman's runtime {host['ociRuntime']['name']} cannot use this machine's cgroup v1; install runc"
        )
    return ["--runtime", "runc"]


def parse_rate(rate: str) -> float:
    """Return bytes per second of a rate like ``1gbit``.

    Raises:
        ValueError: not a number with kbit, mbit or gbit.
    """
    match = _RATE.match(rate)
    if not match or float(match[1]) <= 0:
        raise ValueError(
            f"setting 'local_bandwidth': value '{rate}' is not accepted; give a rate like 400mbit or 1gbit"
        )
    return float(match[1]) * _RATE_UNITS[match[2]] / 8


def parse_size(size: str) -> int:
    """Return bytes of a size like ``4g``.

    Raises:
        ValueError: not a number with k, m or g.
    """
    match = _SIZE.match(size.lower())
    if not match or float(match[1]) <= 0:
        raise ValueError(f"setting 'local_memory': value '{size}' is not accepted; give a size like 512m or 4g")
    return int(float(match[1]) * _SIZE_UNITS[match[2]])


def stopped_nodes(containers: Sequence[Mapping[str, Any]]) -> list[dict[str, str]]:
    """Return ``name`` and ``address`` of the nodes that do not run, of what ``podman ps --all`` lists as JSON."""
    nodes = [row for row in containers if (row.get("Labels") or {}).get("icefield.kind") == "node"]
    found = [row for row in nodes if str(row.get("State", "")).lower() != "running"]
    found.sort(key=lambda row: int(row["Labels"].get("icefield.node_rank", 0)))
    return [{"name": str(row["Names"][0]), "address": str(row["Labels"].get("icefield.address", ""))} for row in found]


def tbf_rate(qdiscs: str) -> float:
    """Return the rate in bytes/s of the tbf at the root of ``tc -j qdisc show``, 0.0 if there is none."""
    for qdisc in json.loads(qdiscs or "[]"):
        if qdisc.get("kind") == "tbf" and qdisc.get("root"):
            return float(qdisc["options"]["rate"])
    return 0.0


def read_limits(cgroup_path: str, root: Path) -> tuple[float, int]:
    """Return (CPUs, bytes of memory) that a container's control group allows now; 0 = no limit."""
    relative = cgroup_path.lstrip("/")
    cpus, memory = 0.0, 0
    for base in (root / "cpu", root):
        directory = base / relative
        if (directory / "cpu.max").exists():
            quota, period = (directory / "cpu.max").read_text().split()
            cpus = 0.0 if quota == "max" else int(quota) / int(period)
            break
        if (directory / "cpu.cfs_quota_us").exists():
            value = int((directory / "cpu.cfs_quota_us").read_text())
            cpus = 0.0 if value < 0 else value / int((directory / "cpu.cfs_period_us").read_text())
            break
    for file in (root / "memory" / relative / "memory.limit_in_bytes", root / relative / "memory.max"):
        if file.exists():
            text = file.read_text().strip()
            memory = int(text) if text.isdigit() and int(text) < 1 << 60 else 0
            break
    return cpus, memory
