"""oneCCL as the nodes have it: found, made known to torch, asked what this rank waits for."""

from __future__ import annotations

import importlib
import importlib.util
from datetime import timedelta
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch.distributed as dist

REMEDY = "provision.yml with -e ccl=true puts it there"


def obstacle() -> str:
    """Return why this process cannot use oneCCL, in words, or ""."""
    if importlib.util.find_spec("icefield_ccl") is None:
        return f"it has no oneCCL ({REMEDY})"
    try:
        build = importlib.import_module("icefield_ccl.build")
        build.check_packages()
        there = build.built().exists()
    except (ImportError, RuntimeError) as error:
        return str(error)
    # Ranks do not compile: that takes longer than others wait for them.
    return "" if there else f"its oneCCL was built for another torch ({REMEDY})"


def register(deadline: float) -> None:
    """Make the backend "ccl" known to torch.

    Args:
        deadline: seconds without a sign of life after which a rank that others wait for counts as gone.

    Raises:
        RuntimeError: it is not there.
        ValueError: the network interface is not there.
    """
    if words := obstacle():
        raise RuntimeError(words)
    _package().register(deadline=deadline)


def set_timeout(group: dist.ProcessGroup, timeout: timedelta) -> None:
    """Set how long operations of a group may take from now on."""
    _package().set_timeout(group, timeout)


def doing(group: dist.ProcessGroup) -> str:
    """Return the operation that this rank is in, such as "ALLREDUCE (operation 17)", or ""."""
    return str(_package().doing(group))


def _package() -> ModuleType:
    return importlib.import_module("icefield_ccl")
