"""Ansible filters: settings that Icefield may choose itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from plugins.module_utils import tunables, tuned


def node_type(host: Mapping[str, Any], backend: str) -> str:
    """Return what kind of node a host is, by its variables once it was asked what it has; "" before that."""
    tuning = host.get("__stage", {}).get("tuning")
    return tuned.node_type(backend, str(host.get("icefield_instance_type", "")), tuning) if tuning else ""


class FilterModule:
    """Filters on settings."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Return the filters by name."""
        return {"untuned": tunables.untuned, "own_choices": tunables.own_choices, "node_type": node_type}
