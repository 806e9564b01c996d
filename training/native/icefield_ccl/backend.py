"""Makes the backend known to torch."""

from __future__ import annotations

import importlib.util
import os
import socket
from collections import Counter
from datetime import timedelta
from types import ModuleType
from typing import Any

import torch
import torch.distributed as dist

from icefield_ccl.build import MODULE, build, library_dir
from icefield_ccl.settings import LOOPBACK, apply, check_interface, environment

# Seconds without a sign of life after which a rank counts as gone. Nodes at their limit are late by some.
DEADLINE_SECONDS = 20.0

_given: dict[str, Any] = {}


def register(interface: str | None = None, deadline: float = DEADLINE_SECONDS) -> None:
    """Make the backend "ccl" known to torch; builds the extension where it is not built yet.

    Args:
        interface: network interface on which the ranks talk; without one it is that of ``ICEFIELD_CCL_INTERFACE``.
            Where there is none either, all ranks must be on one host and use its loopback.
        deadline: seconds without a sign of life after which a rank that others wait for counts as gone.

    Raises:
        BuildError: the extension is not there and cannot be built.
        ValueError: the interface is not there, or the deadline is not positive.
    """
    if deadline <= 0:
        raise ValueError(f"deadline {deadline:g}: seconds, more than 0")
    interface = interface or os.environ.get("ICEFIELD_CCL_INTERFACE") or None
    if interface is not None:
        check_interface(interface)
    first = not _given
    _given.update(interface=interface, deadline=deadline)
    if first:
        _given["native"] = _load()
        dist.Backend.register_backend("ccl", _create, extended_api=True, devices=["cpu"])


def set_timeout(group: dist.ProcessGroup, timeout: timedelta) -> None:
    """Set how long operations of a group of this backend may take from now on; torch's own call leaves it out."""
    _given["native"].set_timeout(_backend(group), round(timeout.total_seconds() * 1000))


def doing(group: dist.ProcessGroup) -> str:
    """Return the operation of the group that this rank is in, such as "ALLREDUCE (operation 17)", or ""."""
    return str(_given["native"].doing(_backend(group)))


def _backend(group: dist.ProcessGroup) -> Any:
    return group._get_backend(torch.device("cpu"))


def _load() -> ModuleType:
    spec = importlib.util.spec_from_file_location(MODULE, build())
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _create(options: Any, _backend_options: Any) -> Any:
    """Make a group; torch calls this on each of its ranks."""
    rank, size, store = options.group_rank, options.group_size, options.store
    timeout = options.timeout if isinstance(options.timeout, timedelta) else timedelta(seconds=options.timeout)
    hosts = _meet(store, rank, size, timeout)
    if _given["interface"] is None and len(set(hosts)) > 1:
        raise ValueError(f"backend ccl: ranks are on {', '.join(sorted(set(hosts)))}; an interface must be given")
    same = [other for other in range(size) if hosts[other] == hosts[rank]]
    interface = _given["interface"] or LOOPBACK
    mine = environment(interface, same.index(rank), Counter(hosts)[hosts[rank]], library_dir=library_dir())
    apply(os.environ, mine)
    milliseconds = round(timeout.total_seconds() * 1000)
    deadline = round(_given["deadline"] * 1000)
    return _given["native"].create(store, rank, hosts, milliseconds, deadline, options.group_id)


def _meet(store: Any, rank: int, size: int, timeout: timedelta) -> list[str]:
    """Return the host of each rank.

    Raises:
        RuntimeError: ranks did not come in time.
    """
    # By the name that the run has for the node, where it has one.
    store.set(f"ccl/host/{rank}", os.environ.get("ICEFIELD_NODE") or socket.gethostname())
    try:
        store.wait([f"ccl/host/{other}" for other in range(size)], timeout)
    except dist.DistError as error:
        missing = [str(other) for other in range(size) if not store.check([f"ccl/host/{other}"])]
        raise RuntimeError(
            f"backend ccl: timed out waiting {timeout.total_seconds():g} s for ranks {', '.join(missing)}"
        ) from error
    return [store.get(f"ccl/host/{other}").decode() for other in range(size)]
