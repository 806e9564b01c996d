"""Ansible filter: names and addresses of nodes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any


def node_order(name: str) -> list[tuple[int, int | str]]:
    """Return a sort key by which node-10 comes after node-9."""
    return [(1, int(part)) if part.isdigit() else (0, part) for part in re.split(r"(\d+)", name) if part]


def node_addresses(names: Iterable[str], hostvars: Mapping[str, Mapping[str, Any]]) -> list[dict[str, str]]:
    """Return ``{"name", "address"}`` of each node, in the nodes' natural order.

    The address is ``icefield_address``, by which the nodes dial each other; where an inventory gives none, it is the
    address that the controller uses.
    """
    return [
        {
            "name": name,
            "address": str(hostvars[name].get("icefield_address") or hostvars[name].get("ansible_host") or name),
        }
        for name in sorted(names, key=node_order)
    ]


class FilterModule:
    """Filters on nodes."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Return the filters by name."""
        return {"node_addresses": node_addresses}
