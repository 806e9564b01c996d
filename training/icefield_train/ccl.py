"""oneCCL as the nodes have it: found, made known to torch, asked what this rank waits for.

The plan of the run says by which module: our own backend, or Intel's bindings where the stack has them.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
from datetime import timedelta
from types import ModuleType
from typing import TYPE_CHECKING

from icefield_train.plan import BINDINGS, CCL_MODULE, OWN_BACKEND

if TYPE_CHECKING:
    import torch.distributed as dist

REMEDY = "provision.yml with -e ccl=true puts it there"


def obstacle() -> str:
    """Return why this process cannot use oneCCL, in words, or ""."""
    if has_bindings():
        return "" if importlib.util.find_spec(BINDINGS) else f"it has no {BINDINGS}"
    if importlib.util.find_spec(OWN_BACKEND) is None:
        return f"it has no oneCCL ({REMEDY})"
    try:
        build = importlib.import_module(f"{OWN_BACKEND}.build")
        build.check_packages()
        there = build.built().exists()
    except (ImportError, RuntimeError) as error:
        return str(error)
    # Ranks do not compile: that takes longer than others wait for them.
    return "" if there else f"its oneCCL was built for another torch ({REMEDY})"


def has_bindings() -> bool:
    """Tell whether this rank's backend "ccl" is Intel's."""
    return os.environ.get(CCL_MODULE) == BINDINGS


def register(deadline: float) -> None:
    """Make the backend "ccl" known to torch.

    Args:
        deadline: seconds without a sign of life after which a rank that others wait for counts as gone. Intel's
            bindings know none: there the supervisors alone see to it.

    Raises:
        RuntimeError: it is not there.
        ImportError: the bindings do not go with this torch.
        ValueError: the network interface is not there.
    """
    if words := obstacle():
        raise RuntimeError(words)
    if has_bindings():
        importlib.import_module(BINDINGS)
    else:
        _package().register(deadline=deadline)


def set_timeout(group: dist.ProcessGroup, timeout: timedelta) -> None:
    """Set how long operations of a group may take from now on; those of the bindings take what the group began with."""
    if not has_bindings():
        _package().set_timeout(group, timeout)


def doing(group: dist.ProcessGroup) -> str:
    """Return the operation that this rank is in, such as "ALLREDUCE (operation 17)", or ""; bindings do not tell."""
    return "" if has_bindings() else str(_package().doing(group))


def _package() -> ModuleType:
    return importlib.import_module(OWN_BACKEND)
