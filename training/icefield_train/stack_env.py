"""The variables by which a stack's libraries are told what to do on a node; the article sets them by hand."""

from __future__ import annotations

from pathlib import Path

from icefield_train.plan import Node, Plan

# Modules that a rank imports first; see ``extensions`` and ``script_shim``.
EXTENSIONS = "ICEFIELD_EXTENSIONS"


def libraries(plan: Plan, node: Node) -> list[str]:
    """Return the libraries to preload on this node: the allocator first, then the stack's that are there, resolved."""
    env = Path(plan.python).parents[1]
    found = [(env / name).resolve() for name in plan.stack.preload if (env / name).is_file()]
    return [*([node.preload] if node.preload else []), *map(str, found)]


def variables(plan: Plan, node: Node) -> dict[str, str]:
    """Return the variables of the stack that the ranks on a node get."""
    found = {}
    if preload := libraries(plan, node):
        found["LD_PRELOAD"] = ":".join(preload)
    if plan.stack.extensions:
        found[EXTENSIONS] = ":".join(plan.stack.extensions)
    return found


def pin_domain(plan: Plan) -> str:
    """Return the cores of each rank as Intel MPI takes them, a list of masks; "" where nodes differ or pin nothing.

    The article's is ``[0xfffffff0]``: all 32 cores of a node but the first four.
    """
    masks = [[sum(1 << cpu for cpu in cpus) for cpus in node.cores] for node in plan.nodes]
    if any(mask == 0 or of_node != masks[0] for of_node in masks for mask in of_node):
        return ""
    return "[" + ",".join(f"{mask:#x}" for mask in masks[0]) + "]"
