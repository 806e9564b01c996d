"""Ansible filter: options of a node's container."""

from __future__ import annotations

import ipaddress
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
        "mac_address": mac_address(spec["address"]),
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


def mac_address(address: str) -> str:
    """Return the hardware address of a node, locally administered, with its IPv4 address in the last four bytes.

    A container gets a new one at each start otherwise, and whoever talked to it before waits until the old one has
    left the neighbour table: half a minute and more.
    """
    return "02:1c:" + ":".join(f"{byte:02x}" for byte in ipaddress.IPv4Address(address).packed)


class FilterModule:
    """Filters on containers."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Return the filters by name."""
        return {"container_options": container_options}
