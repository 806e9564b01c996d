"""What of a node's processors and memory a training run may really use.

lscpu tells what the machine has; a container's quota, a cpuset or an affinity mask leave less. The figures here come
from ``sched_getaffinity`` and from the control groups (v1, v2 and both at once) that hold the calling process.
Standard library only: ``plugins/module_utils`` has a link to this file, for modules that measure nodes.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping
from pathlib import Path

# Some kernels report "no memory limit" as a number near 2**63.
_NO_LIMIT = 1 << 60


def group_dirs(controller: str, proc_cgroup: str, root: Path) -> list[Path]:
    """List the directories of one controller that bind this process, its own group first, then its ancestors.

    Args:
        controller: name of the cgroup v1 controller (``cpu``, ``memory``); v2 has one tree for all.
        proc_cgroup: text of ``/proc/self/cgroup``.
        root: where the cgroup file systems are mounted.
    """
    for line in proc_cgroup.splitlines():
        _, names, path = line.split(":", 2)
        if controller in names.split(","):
            base = root / controller
            break
    else:
        base, path = root, next((ln.split(":", 2)[2] for ln in proc_cgroup.splitlines() if ln.startswith("0::")), "/")
    parts = [part for part in path.split("/") if part and part != ".."]
    # In a container the group's own directory is often mounted as the root, so the path doesn't exist below it.
    chain = [base.joinpath(*parts[:length]) for length in range(len(parts), -1, -1)]
    return [directory for directory in chain if directory.is_dir()]


def _read(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError:
        return ""


def cpu_quota(proc_cgroup: str, root: Path) -> float | None:
    """Return the tightest CPU quota in CPUs (0.5 = half a core), or None where there is no limit."""
    limits = []
    for directory in group_dirs("cpu", proc_cgroup, root):
        v2 = _read(directory / "cpu.max").split()
        if len(v2) == 2 and v2[0] != "max":
            limits.append(int(v2[0]) / int(v2[1]))
        quota, period = _read(directory / "cpu.cfs_quota_us"), _read(directory / "cpu.cfs_period_us")
        if quota and period and int(quota) > 0:
            limits.append(int(quota) / int(period))
    return min(limits, default=None)


def memory_limit(proc_cgroup: str, root: Path) -> int | None:
    """Return the tightest memory limit in bytes, or None where there is no limit."""
    limits = []
    for directory in group_dirs("memory", proc_cgroup, root):
        for name in ("memory.max", "memory.limit_in_bytes"):
            text = _read(directory / name)
            if text.isdigit() and int(text) < _NO_LIMIT:
                limits.append(int(text))
    return min(limits, default=None)


def physical_cores(cpus: Iterable[int], sys_cpu: Path) -> int:
    """Count the cores behind these logical CPUs: hyper-threads of one core share its vector units."""
    return len(cpus_by_core(cpus, sys_cpu))


def cpus_by_core(cpus: Iterable[int], sys_cpu: Path) -> list[list[int]]:
    """Return the logical CPUs of each core, the core of the lowest number first."""
    cores: dict[tuple[str, str], list[int]] = {}
    for cpu in sorted(cpus):
        topology = sys_cpu / f"cpu{cpu}" / "topology"
        package, core = _read(topology / "physical_package_id"), _read(topology / "core_id")
        cores.setdefault((package, core) if core else ("", f"cpu{cpu}"), []).append(cpu)
    return list(cores.values())


def usable_cpus(cores: int, quota: float | None) -> float:
    """Return how many cores the node can keep busy: the quota where it is tighter than the cores."""
    return float(cores) if quota is None else min(float(cores), quota)


def threads_per_rank(cpus: float, nproc_per_node: int) -> int:
    """Return whole threads per rank, at least one: more threads than quota only wait for each other."""
    return max(1, math.floor(cpus / nproc_per_node + 1e-9))


def threads_alone(root: Path = Path("/")) -> int:
    """Return the threads of a rank that has the node, as far as this process may use it, to itself."""
    quota = cpu_quota(_read(root / "proc/self/cgroup"), root / "sys/fs/cgroup")
    cores = physical_cores(os.sched_getaffinity(0), root / "sys/devices/system/cpu")
    return threads_per_rank(usable_cpus(cores, quota), 1)


def isa_flags(cpuinfo: str, wanted: Iterable[str]) -> list[str]:
    """Return those of ``wanted`` that ``/proc/cpuinfo`` lists, sorted."""
    return sorted(set(wanted) & set(all_flags(cpuinfo)))


def all_flags(cpuinfo: str) -> list[str]:
    """Return the flags that ``/proc/cpuinfo`` lists for the first processor."""
    line = next((ln for ln in cpuinfo.splitlines() if ln.startswith(("flags", "Features"))), "")
    return line.partition(":")[2].split()


def allocator_path(ldconfig: str, names: Iterable[str]) -> str:
    """Return the path of the first library of ``names`` that ``ldconfig -p`` lists and that exists, or ''."""
    known: Mapping[str, str] = {
        line.split()[0]: line.rpartition("=> ")[2].strip() for line in ldconfig.splitlines() if "=> " in line
    }
    return next((known[name] for name in names if name in known and os.path.exists(known[name])), "")  # noqa: PTH110
