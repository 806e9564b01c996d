"""The rules of a security group: each with one source, in words by which they can be compared."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

# Kinds of sources, and what one of each kind is called by.
SOURCES = {
    "IpRanges": "CidrIp",
    "Ipv6Ranges": "CidrIpv6",
    "PrefixListIds": "PrefixListId",
    "UserIdGroupPairs": "GroupId",
}


def wanted(group: str, ssh_cidr: str) -> list[dict[str, Any]]:
    """Return the two rules of a cluster as EC2 takes them: everything among the nodes, ssh from one network."""
    return [
        {"IpProtocol": "-1", "UserIdGroupPairs": [{"GroupId": group, "Description": "among the nodes"}]},
        {
            "IpProtocol": "tcp",
            "FromPort": 22,
            "ToPort": 22,
            "IpRanges": [{"CidrIp": ssh_cidr, "Description": "ssh from the controller"}],
        },
    ]


def by_words(permissions: Iterable[Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return each rule by its words; EC2 lumps together those that differ in the source only."""
    found = {}
    for permission in permissions:
        what = {name: permission[name] for name in ("IpProtocol", "FromPort", "ToPort") if name in permission}
        ports = f"{what.get('FromPort', 'all')}-{what.get('ToPort', 'all')}" if what["IpProtocol"] != "-1" else "all"
        for kind, name in SOURCES.items():
            for source in permission.get(kind, ()):
                found[f"{what['IpProtocol']} {ports} {source.get(name, '')}"] = {**what, kind: [dict(source)]}
    return found
