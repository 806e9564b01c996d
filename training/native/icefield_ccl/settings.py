"""The environment that oneCCL and libfabric read, all of it set here: nothing is left to what they would pick."""

from __future__ import annotations

import socket
from collections.abc import MutableMapping, Sequence
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


def environment(
    interface: str,
    local_rank: int,
    local_world_size: int,
    *,
    library_dir: Path | None = None,
    worker_cpus: Sequence[int] = (),
) -> dict[str, str]:
    """Return oneCCL's variables.

    Args:
        interface: network interface on which the ranks talk.
        local_rank: this rank among those on its host.
        local_world_size: number of ranks on the host.
        library_dir: folder of libfabric.so.1 and its providers; None where whoever brings oneCCL brings them.
        worker_cpus: CPU numbers of oneCCL's own threads, those of the host's first rank first; none: it has no threads.
    """
    found = {
        "CCL_ATL_TRANSPORT": "ofi",
        "FI_PROVIDER": "tcp",
        "FI_TCP_IFACE": interface,
        # Of its own key-value store, where that is used.
        "CCL_KVS_IFACE": interface,
        # Ranks are told their place, no launcher is asked.
        "CCL_PROCESS_LAUNCHER": "none",
        "CCL_LOCAL_RANK": str(local_rank),
        "CCL_LOCAL_SIZE": str(local_world_size),
        "CCL_YIELD": "sched_yield",
        # Otherwise each of these lines is a warning of its own.
        "CCL_LOG_LEVEL": "error",
    }
    if library_dir is not None:
        found |= {"CCL_OFI_LIBRARY_PATH": str(library_dir / "libfabric.so.1"), "FI_PROVIDER_PATH": str(library_dir)}
    if worker_cpus:
        return found | {
            "CCL_WORKER_COUNT": str(len(worker_cpus) // local_world_size),
            "CCL_WORKER_AFFINITY": ",".join(map(str, worker_cpus)),
        }
    # Threads without cores of their own spin, and take the cores that compute: 8 ms for 4 KB on two cores.
    return found | {"CCL_WORKER_COUNT": "1", "CCL_WORKER_OFFLOAD": "0"}


def apply(env: MutableMapping[str, str], wanted: dict[str, str]) -> None:
    """Set what the user did not set already; a deliberate choice of theirs stays."""
    for name, value in wanted.items():
        env.setdefault(name, value)
