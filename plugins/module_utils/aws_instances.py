"""Instances as EC2 describes them, brought to the few facts that Icefield uses."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

CLUSTER_TAG, ROLE_TAG, NUMBER_TAG = "icefield:cluster", "icefield:role", "icefield:number"
USER_TAG, PRICE_TAG, PRINT_TAG = "icefield:user", "icefield:usd-hour", "icefield:fingerprint"
# What still exists or may come back; "shutting-down" is on its way out and never counts as a node.
LIVE = ("pending", "running", "stopping", "stopped")


def tags_of(item: Mapping[str, Any]) -> dict[str, str]:
    """Return an item's tags as a mapping."""
    return {tag["Key"]: tag["Value"] for tag in item.get("Tags") or ()}


def tag_list(tags: Mapping[str, str]) -> list[dict[str, str]]:
    """Return a mapping as EC2 wants tags."""
    return [{"Key": key, "Value": value} for key, value in tags.items()]


def normalise(item: Mapping[str, Any]) -> dict[str, Any]:
    """Return what Icefield wants to know of one instance of ``DescribeInstances``.

    ``number`` counts from 1 (the head); 0 is the builder. ``usd_hour`` is in dollars, None where it is unknown.
    """
    tags = tags_of(item)
    price = tags.get(PRICE_TAG, "")
    number = tags.get(NUMBER_TAG, "")
    return {
        "id": item["InstanceId"],
        "name": tags.get("Name", item["InstanceId"]),
        "role": tags.get(ROLE_TAG, "node"),
        "number": int(number) if number.isdigit() else 0,
        "user": tags.get(USER_TAG, ""),
        "usd_hour": float(price) if price else None,
        "state": item["State"]["Name"],
        "reason": (item.get("StateReason") or {}).get("Message", ""),
        "type": item.get("InstanceType", ""),
        "zone": (item.get("Placement") or {}).get("AvailabilityZone", ""),
        "market": "spot" if item.get("InstanceLifecycle") == "spot" else "on demand",
        "image": item.get("ImageId", ""),
        "public": item.get("PublicIpAddress") or "",
        "private": item.get("PrivateIpAddress") or "",
    }


def in_order(items: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return normalised instances, the head first."""
    return sorted((normalise(item) for item in items), key=lambda node: (node["number"], node["id"]))
