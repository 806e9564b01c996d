"""Over what a run's collectives go where oneCCL is asked for: the bindings of its stack, or our own backend. Pure.

Nowhere else is this decided; ranks are told the module to import.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from icefield_train.plan import BINDINGS, OWN_BACKEND, Ccl
from icefield_train.rules import refusal
from plugins.module_utils import commands
from plugins.module_utils.stack_file import Stack

# The package whose module BINDINGS is.
_PACKAGE = "oneccl-bind-pt"


def choose(settings: Mapping[str, Any], stack: Stack, folder: str) -> Ccl | None:
    """Return what makes torch's backend "ccl" known to the ranks of a run, or None where it may not use oneCCL.

    Args:
        settings: converted settings of the user.
        stack: the stack of the environment.
        folder: where the role ``ccl`` puts oneCCL and our backend on the nodes.
    """
    if settings["collectives"] == "gloo":
        return None
    if _PACKAGE in stack.pins:
        return Ccl(module=BINDINGS)
    return Ccl(module=OWN_BACKEND, folder=folder)


def fault(
    settings: Mapping[str, Any],
    stack: Stack,
    nodes: Sequence[Mapping[str, Any]],
    size: int,
    options: Mapping[str, Any],
) -> str:
    """Return the line that refuses oneCCL where a node has none, or "".

    Args:
        settings: converted settings of the user.
        stack: the stack of the environment; where it has the bindings, they bring oneCCL.
        nodes: the nodes of the run, each with ``name`` and ``ccl``: whether the role ``ccl`` put oneCCL there.
        size: number of nodes of the cluster.
        options: ``cluster`` and ``inventory`` for the command that is told.
    """
    lacking = [node for node in nodes if not node["ccl"]]
    if settings["collectives"] != "ccl" or _PACKAGE in stack.pins or not lacking:
        return ""
    command = commands.playbook("provision", f"nodes={size}", *stack.given(), "ccl=true", **options)
    accepted = "gloo" if settings.get("script") else "gloo or auto"
    words = f"{accepted}: {lacking[0]['name']} has no oneCCL; this puts it there: {command}"
    return refusal("collectives", "ccl", words)
