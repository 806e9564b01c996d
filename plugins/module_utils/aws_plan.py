"""What has to be made, started and removed on EC2 to get the cluster that is wanted. Pure: no call is made here."""

from __future__ import annotations

import hashlib
import ipaddress
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from icefield_train.rules import refusal
from plugins.module_utils import aws_rules, aws_types
from plugins.module_utils.run_progress import counted

# A VPC of the cluster's own gets subnets in so many zones: enough for a fall-back, and few calls.
OWN_ZONES = 2
# Kinds of a VPC, as aws_look tells them, with which there is something to do.
UNMADE = ("missing", "unfinished")


def plan(
    look: Mapping[str, Any],
    settings: Mapping[str, Any],
    wanted: int | None,
    families: Mapping[str, Any],
    key_print: str,
    usd_beside: float = 0.0,
) -> dict[str, Any]:
    """Return the plan, which is carried out as it stands.

    Args:
        look: what ``aws_look`` found.
        settings: the user's settings, converted; ``ssh_cidr`` beside them is the network that ssh is let in from.
        wanted: number of nodes; None: the nodes stay as they are, and a builder is launched beside them.
        families: ``nodes_aws_families``.
        key_print: fingerprint of the cluster's public key here, '' where there is none yet.
        usd_beside: dollars per hour of what each node has beside the instance itself.

    Returns:
        ``faults`` and ``warnings`` (lines), ``launch`` (name and number of new nodes), ``start`` and ``remove``
        (instances), ``candidates`` (type, zone, market, placement; in the order to try), ``make`` (names of missing
        resources), ``subnets`` (of a VPC to be made), ``rules``, ``template``, ``usd_hour`` and ``usd_total`` (dollars
        for all nodes, None where a price is unknown), ``lines`` (the plan in words).
    """
    builder = wanted is None
    nodes = [node for node in look["nodes"] if (node["role"] == "builder") == builder]
    wanted = 1 if wanted is None else wanted
    kept = [node for node in nodes if builder or node["number"] <= wanted]
    have = {node["number"] for node in kept}
    names = [("builder", 0)] if builder else [(str(number), number) for number in range(1, wanted + 1)]
    launch = [
        {"name": f"{settings['cluster_name']}-{name}", "number": number} for name, number in names if number not in have
    ]
    candidates = _candidates(look, settings, kept, families)
    template = template_of(look, settings)
    result: dict[str, Any] = {
        "wanted": wanted,
        "launch": launch,
        "start": [node for node in kept if node["state"] in ("stopped", "stopping")],
        "remove": [node for node in nodes if node not in kept],
        "candidates": candidates,
        "subnets": own_subnets(look, settings),
        "rules": wanted_rules(look, settings),
        "template": template,
    }
    result["make"] = list(_missing(look, result, settings, key_print))
    result["usd_hour"] = _price(kept, launch, candidates, families, usd_beside)
    hour = result["usd_hour"]
    result["usd_total"] = None if hour is None else round(hour * settings["max_hours"], 2)
    result["faults"] = list(_faults(look, settings, kept, result, families))
    result["warnings"] = list(_warnings(settings, kept, families))
    result["lines"] = list(_words(look, settings, result, nodes, families))
    return result


def template_of(look: Mapping[str, Any], settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return what all nodes' launches share, and its digest."""
    image = look["image"]
    spec = {
        "image": image.get("id", ""),
        "device": image.get("device", ""),
        "user": settings["aws_ami_user"] or image.get("user", ""),
        "disk_gb": settings["aws_disk_gb"],
    }
    return {**spec, "spec": digest(spec)}


def digest(spec: Mapping[str, Any]) -> str:
    """Return a short digest of a specification."""
    return hashlib.sha256(json.dumps(spec, sort_keys=True).encode()).hexdigest()[:16]


def own_subnets(look: Mapping[str, Any], settings: Mapping[str, Any]) -> list[dict[str, str]]:
    """Return zone and network of each subnet of a VPC that has to be made or finished; [] where none has to."""
    if look["vpc"]["kind"] not in UNMADE:
        return []
    zones = (settings["aws_zones"] or look["zones"])[:OWN_ZONES]
    network = ipaddress.IPv4Network(look["vpc"].get("cidr") or settings["aws_vpc_cidr"])
    extra = max(1, (len(zones) - 1).bit_length())
    parts = network.subnets(prefixlen_diff=extra)
    return [{"zone": zone, "cidr": str(part)} for zone, part in zip(zones, parts, strict=False)]


def wanted_rules(look: Mapping[str, Any], settings: Mapping[str, Any]) -> list[str]:
    """Return the rules of the security group as ``aws_look`` words them."""
    group = look["group"].get("id", "the group itself")
    return sorted(aws_rules.by_words(aws_rules.wanted(group, settings["ssh_cidr"])))


def _zones(look: Mapping[str, Any], settings: Mapping[str, Any]) -> list[str]:
    there = [item["zone"] for item in own_subnets(look, settings) or look["subnets"]]
    return [zone for zone in settings["aws_zones"] if zone in there] if settings["aws_zones"] else there


def _candidates(
    look: Mapping[str, Any],
    settings: Mapping[str, Any],
    kept: Sequence[Mapping[str, Any]],
    families: Mapping[str, Any],
) -> list[dict[str, Any]]:
    """Return what to try, in order. Nodes that exist fix type and zone: a cluster's nodes are identical."""
    types = [settings["aws_instance_type"], *settings["aws_fallback_types"]]
    zones = _zones(look, settings)
    if kept:
        types, zones = [kept[0]["type"]], [kept[0]["zone"]]
    markets = ["spot"] if settings["aws_spot"] else ["on demand"]
    if settings["aws_spot"] and settings["aws_spot_fallback"]:
        markets.append("on demand")
    found = []
    for market in markets:
        for name in types:
            try:
                kind = aws_types.describe(name, families)
            except ValueError:
                continue
            found += [
                {
                    "type": name,
                    "zone": zone,
                    "market": market,
                    "placement": kind.cluster_placement,
                    "usd_hour": kind.usd_hour,
                }
                for zone in zones
            ]
    return found


def _missing(
    look: Mapping[str, Any], result: Mapping[str, Any], settings: Mapping[str, Any], key_print: str
) -> Iterator[str]:
    if look["vpc"]["kind"] in UNMADE:
        yield "vpc"
    if not look["group"] or look["group"]["rules"] != result["rules"]:
        yield "group"
    if not key_print or look["key"].get("print") != key_print:
        yield "key"
    if not result["launch"]:
        return
    if not look["placement"] and any(item["placement"] for item in result["candidates"]):
        yield "placement"
    if look["template"].get("spec") != result["template"]["spec"]:
        yield "template"


def _price(
    kept: Sequence[Mapping[str, Any]],
    launch: Sequence[Mapping[str, Any]],
    candidates: Sequence[Mapping[str, Any]],
    families: Mapping[str, Any],
    usd_beside: float,
) -> float | None:
    """Return dollars per hour for all nodes on demand, by the dearest type that may come; None where one is unknown."""
    prices = [aws_types.describe(node["type"], families).usd_hour for node in kept]
    new = [item["usd_hour"] for item in candidates] if launch else []
    if None in prices or None in new:
        return None
    dearest = max((price for price in new if price is not None), default=0.0)
    beside = (len(kept) + len(launch)) * usd_beside
    return round(sum(price for price in prices if price is not None) + len(launch) * dearest + beside, 4)


def _faults(
    look: Mapping[str, Any],
    settings: Mapping[str, Any],
    kept: Sequence[Mapping[str, Any]],
    result: Mapping[str, Any],
    families: Mapping[str, Any],
) -> Iterator[str]:
    for setting, names in (
        ("aws_instance_type", [settings["aws_instance_type"]]),
        ("aws_fallback_types", settings["aws_fallback_types"]),
    ):
        for name in names:
            try:
                aws_types.describe(name, families)
            except ValueError as error:
                yield f"setting '{setting}': {error}"
    if settings["ssh_cidr"] in ("0.0.0.0/0", "::/0") and not settings["aws_ssh_world"]:
        yield refusal("aws_ssh_cidr", settings["ssh_cidr"], "a smaller network, or say aws_ssh_world=true as well")
    if not look["image"]:
        yield refusal("aws_os", settings["aws_os"], "another one, or aws_ami: this region has no official image of it")
    elif look["image"]["architecture"] not in ("", "x86_64"):
        yield refusal("aws_ami", look["image"]["id"], "an image for x86_64")
    elif settings["aws_ami"] and not result["template"]["user"]:
        yield refusal("aws_ami_user", "", "the user of that image whom ssh may enter as")
    for thing in look.get("foreign", ()):
        yield (
            f"there is a {thing} without the tag icefield:cluster={settings['cluster_name']}, so not Icefield's; "
            "remove it, or take another cluster_name"
        )
    zones = {item["zone"] for item in look["subnets"]}
    if kept and result["launch"] and kept[0]["zone"] not in zones:
        words = f"one in {kept[0]['zone']}, where the nodes are" if settings.get("aws_subnet_id") else "a subnet there"
        yield refusal("aws_subnet_id", settings.get("aws_subnet_id", ""), words)
    if not _zones(look, settings):
        there = ", ".join(item["zone"] for item in look["subnets"]) or "none"
        yield refusal("aws_zones", ", ".join(settings["aws_zones"]), f"zones with a subnet of the network ({there})")
    for differs in ("type", "zone"):
        values = sorted({node[differs] for node in kept})
        if len(values) > 1:
            names = ", ".join(f"{node['name']} {node[differs]}" for node in kept)
            yield f"the nodes differ in their {differs} ({names}), and a cluster's are identical; destroy it first"
    if kept and result["launch"] and settings["aws_instance_type"] != kept[0]["type"]:
        allowed = [settings["aws_instance_type"], *settings["aws_fallback_types"]]
        if kept[0]["type"] not in allowed:
            yield refusal(
                "aws_instance_type", settings["aws_instance_type"], f"{kept[0]['type']}, which the nodes have"
            )
    limit = settings["max_cost_usd"]
    if limit and result["usd_total"] is None:
        yield refusal("max_cost_usd", f"{limit:g}", "types whose price is known (roles/nodes_aws/vars/types.yml), or 0")
    elif limit and result["usd_total"] > limit:
        yield (
            f"setting 'max_cost_usd': {result['wanted']} nodes come to ${result['usd_total']:.2f} in "
            f"{settings['max_hours']:g} h, above ${limit:g}; give fewer nodes, fewer max_hours, or more"
        )


def _warnings(
    settings: Mapping[str, Any], kept: Sequence[Mapping[str, Any]], families: Mapping[str, Any]
) -> Iterator[str]:
    if kept and kept[0]["type"] not in (settings["aws_instance_type"], *settings["aws_fallback_types"]):
        asked = settings["aws_instance_type"]
        yield f"the nodes are {kept[0]['type']} and stay so; for {asked}, destroy the cluster first"
    for name in (settings["aws_instance_type"], *settings["aws_fallback_types"]):
        try:
            if not aws_types.describe(name, families).known:
                yield f"the instance type '{name}' is not in the table: its price and what it can are unknown here"
        except ValueError:
            continue


def _words(
    look: Mapping[str, Any],
    settings: Mapping[str, Any],
    result: Mapping[str, Any],
    nodes: Sequence[Mapping[str, Any]],
    families: Mapping[str, Any],
) -> Iterator[str]:
    network = look["vpc"].get("cidr") or settings["aws_vpc_cidr"]
    named = {
        "vpc": f"VPC {network} with {len(result['subnets'])} subnets, internet gateway, route table",
        "group": f"security group: everything among the nodes, ssh from {settings['ssh_cidr']}",
        "key": "key pair (ed25519)",
        "placement": "placement group (cluster)",
        "template": f"launch template: {look['image'].get('name', '')}, {settings['aws_disk_gb']} GB gp3, encrypted",
    }
    for name in result["make"]:
        yield f"make    {named[name]}"
    if result["launch"] and result["candidates"]:
        first = result["candidates"][0]
        names = ", ".join(item["name"] for item in result["launch"])
        others = len(result["candidates"]) - 1
        more = f", or the next of {counted(others, 'other choice')}" if others else ""
        yield f"launch  {names}: {first['type']} in {first['zone']}, {first['market']}{more}"
    for word in ("start", "remove"):
        if result[word]:
            yield f"{word:7} {', '.join(node['name'] for node in result[word])}"
    if not (result["make"] or result["launch"] or result["start"] or result["remove"]):
        yield f"nothing to do: {counted(result['wanted'], 'node')} there"
    if result["usd_hour"] is None:
        yield "cost    unknown: the table has no price of this type"
    else:
        yield (
            f"cost    ${result['usd_hour']:.2f} an hour for {counted(result['wanted'], 'node')} on demand "
            f"with disks and addresses, ${result['usd_total']:.2f} in max_hours={settings['max_hours']:g}"
        )
