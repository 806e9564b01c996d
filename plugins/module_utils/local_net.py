"""Addresses of clusters made of containers on this machine."""

from __future__ import annotations

import hashlib
import ipaddress
from collections.abc import Mapping, Sequence
from typing import Any

# RFC 2544 reserves 198.18.0.0/15 for tests of network devices: nothing on the internet or in an office has it.
POOL = "198.18.0.0/15"
# Nothing on the internet has these; a cluster anywhere else would hide addresses that this machine needs.
RANGES = (POOL, "10.0.0.0/8", "100.64.0.0/10", "172.16.0.0/12", "192.168.0.0/16")
_PREFIX = 24
# Hosts .1 (the bridge) to .10 are kept free of nodes; .10 is the builder's.
_FIRST = 10


def is_usable(subnet: str) -> bool:
    """Tell whether a cluster may have this network.

    Raises:
        ValueError: it is no IPv4 network.
    """
    network = ipaddress.IPv4Network(subnet)
    return any(network.subnet_of(ipaddress.IPv4Network(part)) for part in RANGES)


def used_subnets(networks: Sequence[Mapping[str, Any]]) -> dict[str, list[str]]:
    """Map network names to their subnets, from what ``podman network inspect`` prints."""
    return {str(net["name"]): [str(sub["subnet"]) for sub in net.get("subnets") or []] for net in networks}


def cluster_subnet(name: str, networks: Sequence[Mapping[str, Any]], wanted: str = "") -> str:
    """Choose the subnet of the network ``name``: the one it has, else ``wanted``, else a free one of POOL.

    The free one is found from a hash of the name, so that a cluster that is destroyed and made again gets its
    addresses back, and two clusters hardly ever try the same one first.

    Raises:
        ValueError: ``wanted`` is not what the network has, or overlaps another network, or no subnet is free.
    """
    used = used_subnets(networks)
    if used.get(name):
        if wanted and ipaddress.ip_network(wanted) != ipaddress.ip_network(used[name][0]):
            words = f"{used[name][0]}, which the cluster has, or destroy the cluster first"
            raise ValueError(f"setting 'local_subnet': value '{wanted}' is not accepted; give {words}")
        return used[name][0]
    taken = {other: ipaddress.ip_network(net) for other, nets in used.items() for net in nets if ":" not in net}
    if wanted:
        network = ipaddress.ip_network(wanted)
        for other, net in taken.items():
            if network.overlaps(net):
                raise ValueError(f"setting 'local_subnet': value '{wanted}' overlaps {net} of the network '{other}'")
        return wanted
    candidates = list(ipaddress.IPv4Network(POOL).subnets(new_prefix=_PREFIX))
    start = int.from_bytes(hashlib.sha256(name.encode()).digest()[:4], "big") % len(candidates)
    for offset in range(len(candidates)):
        candidate = candidates[(start + offset) % len(candidates)]
        if not any(candidate.overlaps(net) for net in taken.values()):
            return str(candidate)
    raise ValueError(f"no /{_PREFIX} of {POOL} is free; set local_subnet")


def node_address(subnet: str, number: int) -> str:
    """Return the address of node ``number`` (1 = head; 0 = the builder).

    Raises:
        ValueError: the subnet has no room for this node.
    """
    network = ipaddress.ip_network(subnet)
    address = network.network_address + _FIRST + number
    if address not in network or address == network.broadcast_address:
        raise ValueError(f"subnet {subnet} has no room for node {number}; set local_subnet to a wider one")
    return str(address)
