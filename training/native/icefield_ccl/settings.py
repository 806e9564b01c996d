"""The environment that oneCCL and libfabric read, all of it set here: nothing is left to what they would pick."""

from __future__ import annotations

import socket
from collections.abc import MutableMapping
from pathlib import Path

LOOPBACK = "lo"


def check_interface(interface: str) -> None:
    """Refuse a network interface that is not there.

    Raises:
        ValueError: this machine has no interface of that name.
    """
    names = [name for _, name in socket.if_nameindex()]
    if interface not in names:
        raise ValueError(f"interface {interface!r} is not on {socket.gethostname()}, which has: {', '.join(names)}")


def environment(library_dir: Path, interface: str, local_rank: int, local_world_size: int) -> dict[str, str]:
    """Return oneCCL's variables.

    Args:
        library_dir: folder of libfabric.so.1 and its providers.
        interface: network interface on which the ranks talk.
        local_rank: this rank among those on its host.
        local_world_size: number of ranks on the host.
    """
    return {
        "CCL_ATL_TRANSPORT": "ofi",
        "CCL_OFI_LIBRARY_PATH": str(library_dir / "libfabric.so.1"),
        "FI_PROVIDER": "tcp",
        "FI_PROVIDER_PATH": str(library_dir),
        "FI_TCP_IFACE": interface,
        # Ranks are told their place, no launcher is asked.
        "CCL_PROCESS_LAUNCHER": "none",
        "CCL_LOCAL_RANK": str(local_rank),
        "CCL_LOCAL_SIZE": str(local_world_size),
        # Threads of its own spin, and take the cores that compute: 8 ms for 4 KB on two cores.
        "CCL_WORKER_OFFLOAD": "0",
        "CCL_WORKER_COUNT": "1",
        "CCL_YIELD": "sched_yield",
        # Otherwise each of these lines is a warning of its own.
        "CCL_LOG_LEVEL": "error",
    }


def apply(env: MutableMapping[str, str], wanted: dict[str, str]) -> None:
    """Set what the user did not set already; a deliberate choice of theirs stays."""
    for name, value in wanted.items():
        env.setdefault(name, value)
