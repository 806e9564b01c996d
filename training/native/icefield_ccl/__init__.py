"""The backend "ccl" of torch.distributed for CPU tensors, over oneCCL.

``icefield_ccl.register(interface="eth0")``, then ``torch.distributed.init_process_group("ccl", ...)``.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from icefield_ccl.backend import doing, register, set_timeout

__all__ = ["doing", "register", "set_timeout"]


def __getattr__(name: str) -> Any:
    """Import the backend, and torch with it, when it is first used: ``settings`` and ``build`` do without."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.backend"), name)
