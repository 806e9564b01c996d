"""A stack's extensions of torch, in Icefield's own training: imported first, then asked to optimise.

They are there in the environment of the stack ``ipex`` alone; elsewhere nothing here does anything.
"""

from __future__ import annotations

import importlib
import os
import sys

import torch

from icefield_train.stack_env import EXTENSIONS

_IPEX = "intel_extension_for_pytorch"


def load() -> list[str]:
    """Import the stack's extensions, and return their names.

    Raises:
        ImportError: one cannot be imported; the environment is not the stack's.
    """
    names = [name for name in os.environ.get(EXTENSIONS, "").split(":") if name]
    for name in names:
        importlib.import_module(name)
    return names


def optimized(
    model: torch.nn.Module, optimizer: torch.optim.Optimizer
) -> tuple[torch.nn.Module, torch.optim.Optimizer]:
    """Return model and optimizer, changed in place by ``ipex.optimize`` where Intel's extension was loaded.

    Weights stay in fp32, also where it calculates in bf16 (by autocast, with the extension's kernels): gradients are
    added up over the ranks in fp32. Nor are they packed for oneDNN: packed weights have no gradients of their own names
    to exchange, and were slower.
    """
    if _IPEX not in sys.modules:
        return model, optimizer
    ipex = importlib.import_module(_IPEX)
    result: tuple[torch.nn.Module, torch.optim.Optimizer] = ipex.optimize(
        model,
        optimizer=optimizer,
        dtype=torch.float32,
        inplace=True,
        weights_prepack=False,
        # They know neither AdamW nor weights in fp32.
        fuse_update_step=False,
        split_master_weight_for_bf16=False,
    )
    return result
