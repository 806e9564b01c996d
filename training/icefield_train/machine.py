"""What a rank runs on, for the record and for the choice of precision."""

from __future__ import annotations

import os
import platform
from importlib import metadata
from pathlib import Path
from typing import Any

# Instruction sets that decide the speed of training.
_ISA = (
    "avx2",
    "avx512f",
    "avx512_vnni",
    "avx512_bf16",
    "avx512_fp16",
    "amx_tile",
    "amx_bf16",
    "amx_int8",
    "sve",
    "bf16",
)
_PACKAGES = ("torch", "transformers", "tokenizers", "safetensors", "numpy", "scikit-learn", "accelerate", "datasets")


def machine_facts(host: str, threads: int, cpuinfo: Path = Path("/proc/cpuinfo")) -> dict[str, Any]:
    """Return host, CPU model, instruction sets, threads, cores that may be used and how much of
    them, and network interface of this rank.
    """
    model, flags = _cpu(cpuinfo)
    return {
        "host": host,
        "cpu": model,
        "isa": [name for name in _ISA if name in flags],
        "threads": threads,
        "cores": sorted(os.sched_getaffinity(0)),
        # A quota may leave less; the plan knows what the node has measured.
        "cpus": float(os.environ.get("ICEFIELD_CPUS") or len(os.sched_getaffinity(0))),
        "interface": os.environ.get("GLOO_SOCKET_IFNAME", ""),
        "preload": os.environ.get("LD_PRELOAD", ""),
    }


def versions() -> dict[str, str]:
    """Return the versions of Python and of the packages that training uses."""
    found = {"python": platform.python_version()}
    for package in _PACKAGES:
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return found


def _cpu(cpuinfo: Path) -> tuple[str, frozenset[str]]:
    try:
        lines = cpuinfo.read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.machine(), frozenset()
    values = dict(
        reversed([(name.strip(), value.strip()) for name, _, value in (line.partition(":") for line in lines)])
    )
    # x86 says "flags", Arm "Features".
    flags = values.get("flags") or values.get("Features") or ""
    return values.get("model name") or platform.machine(), frozenset(flags.split())
