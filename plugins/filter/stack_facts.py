"""Ansible filters: what a stack's file says, and whether a node can run it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from plugins.module_utils import stack_file, stack_rules


def stack_indexes(path: str, urls: Mapping[str, str]) -> list[dict[str, str]]:
    """Return the packages of a stack's file that have an index of their own, each with its setting and address.

    Args:
        path: the stack's file.
        urls: addresses by the settings that name them.
    """
    named = {"torch": "torch_index_url", **stack_file.read(Path(path)).indexes}
    return [{"package": package, "setting": setting, "url": urls[setting]} for package, setting in named.items()]


def stack_instead(path: str) -> str:
    """Return what can be done where an index of a stack is not reachable, or ""."""
    instead = stack_file.read(Path(path)).instead
    return f"take stack={instead}, which does without" if instead else ""


def refuse_stack(path: str, host: str, python: str, isa: Sequence[str]) -> str:
    """Return the line that refuses a stack on a node, or ""."""
    faults = stack_rules.node_faults(stack_file.read(Path(path)), host, python=python, isa=list(isa))
    return "\n".join(faults)


class FilterModule:
    """Filters on stacks."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Return the filters by name."""
        return {"stack_indexes": stack_indexes, "stack_instead": stack_instead, "refuse_stack": refuse_stack}
