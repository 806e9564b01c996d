"""A stack at each run: whether the nodes have it, as its file says. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from plugins.module_utils import commands, stack_rules
from plugins.module_utils.stack_file import Stack


def fault(stack: Stack, host: str, answer: Mapping[str, Any], size: int, options: Mapping[str, Any]) -> str:
    """Return the line that refuses to run with a stack on a node, or "".

    Args:
        stack: the stack.
        host: name of the node.
        answer: what it answered to ``run_query``; a node that was not asked yet, or is not provisioned, is not judged.
        size: number of nodes of the cluster.
        options: ``cluster`` and ``inventory`` for the command that is told.
    """
    if not answer.get("tuning"):
        return ""
    repair = f"run: {commands.playbook('provision', f'nodes={size}', *stack.given(), **options)}"
    if not answer["packages"]:
        return f"{host} has no environment of the stack '{stack.name}'; {repair}"
    if faults := stack_rules.node_faults(stack, host, python=answer["python"], isa=answer["isa"]):
        return faults[0]
    if faults := stack_rules.pin_faults(stack, host, answer["packages"]):
        more = f" (and {len(faults) - 1} more)" if len(faults) > 1 else ""
        return f"{faults[0]}{more}; {repair}"
    return ""
