"""Ansible filter: options of a node's container."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any


def container_options(spec: Mapping[str, Any], common: Mapping[str, Any], cluster: str, root: str) -> dict[str, Any]:
    """Return the options of one container: the common ones, and what names it, addresses it and labels it.

    Args:
        spec: ``name``, ``number`` (1 = head, 0 = builder), ``address``, ``kind``, ``image``, ``volumes``.
        common: options that all containers of the cluster share.
        cluster: name of the cluster.
        root: checkout that owns it.
    """
    return {
        **common,
        "name": spec["name"],
        "hostname": spec["name"],
        "image": spec["image"],
        "ip": spec["address"],
        # No volumes are no list at all: podman's module takes an empty one for a difference and makes the node anew.
        **({"volumes": list(spec["volumes"])} if spec["volumes"] else {}),
        "labels": {
            "icefield.kind": spec["kind"],
            "icefield.cluster": cluster,
            "icefield.node_rank": str(int(spec["number"]) - 1),
            "icefield.address": spec["address"],
            "icefield.root": root,
        },
    }


class FilterModule:
    """Filters on containers."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Return the filters by name."""
        return {"container_options": container_options}
