"""Placement groups, which moto 5.2.1 does not have."""

from __future__ import annotations

import fnmatch
import secrets
import weakref
from typing import Any

from moto.core.responses import ActionResult, EmptyResult
from moto.ec2 import utils
from moto.ec2.exceptions import EC2ClientError
from moto.ec2.models.core import TaggedEC2Resource
from moto.ec2.responses import EC2Response

_ALIVE = {"pending", "running", "stopping", "stopped"}
_GROUPS: weakref.WeakKeyDictionary[Any, dict[str, PlacementGroup]] = weakref.WeakKeyDictionary()


class PlacementGroup(TaggedEC2Resource):
    """A placement group; attributes are named as the answer's fields."""

    def __init__(self, backend: Any, name: str, strategy: str, partition_count: int | None, region: str) -> None:
        self.ec2_backend = backend
        self.id = f"pg-{secrets.token_hex(8)}0"
        self.group_id = self.id
        self.group_name = name
        self.strategy = strategy
        self.partition_count = partition_count
        self.state = "available"
        self.group_arn = f"arn:aws:ec2:{region}:{backend.account_id}:placement-group/{name}"

    def values(self, name: str) -> list[str]:
        """Return what a filter of this name looks at."""
        tags = {str(tag["key"]): str(tag["value"]) for tag in self.get_tags()}
        if name.startswith("tag:"):
            return [value for key, value in tags.items() if key == name.removeprefix("tag:")]
        if name == "tag-key":
            return list(tags)
        known = {
            "group-name": self.group_name,
            "group-arn": self.group_arn,
            "state": self.state,
            "strategy": self.strategy,
        }
        if name not in known:
            raise EC2ClientError("InvalidParameterValue", f"The filter '{name}' is invalid")
        return [known[name]]

    def matches(self, filters: dict[str, list[str]]) -> bool:
        """Tell whether each filter has a pattern that fits."""
        return all(
            any(fnmatch.fnmatchcase(value, pattern) for value in self.values(name) for pattern in patterns)
            for name, patterns in filters.items()
        )


def groups(backend: Any) -> dict[str, PlacementGroup]:
    """Return the groups of an account in a region, by name."""
    return _GROUPS.setdefault(backend, {})


def find(backend: Any, name: str) -> PlacementGroup:
    """Return the group of that name, or refuse as EC2 does."""
    if name not in groups(backend):
        raise EC2ClientError("InvalidPlacementGroup.Unknown", f"The Placement Group '{name}' is unknown.")
    return groups(backend)[name]


def create_placement_group(self: Any) -> ActionResult:
    """CreatePlacementGroup."""
    name = self._get_param("GroupName")
    tags = self._parse_tag_specification("placement-group").get("placement-group", {})
    self.error_on_dryrun()
    known = groups(self.ec2_backend)
    if name in known:
        raise EC2ClientError("InvalidPlacementGroup.Duplicate", f"The Placement Group '{name}' already exists.")
    group = PlacementGroup(
        self.ec2_backend, name, self._get_param("Strategy", "cluster"), self._get_param("PartitionCount"), self.region
    )
    group.add_tags(tags)
    known[name] = group
    return ActionResult({"PlacementGroup": group})


def describe_placement_groups(self: Any) -> ActionResult:
    """DescribePlacementGroups."""
    names, ids = self._get_param("GroupNames", []), self._get_param("GroupIds", [])
    filters = self._filters_from_querystring()
    self.error_on_dryrun()
    for name in names:
        find(self.ec2_backend, name)
    found = [
        group
        for group in groups(self.ec2_backend).values()
        if (not names or group.group_name in names) and (not ids or group.id in ids) and group.matches(filters)
    ]
    return ActionResult({"PlacementGroups": found})


def delete_placement_group(self: Any) -> ActionResult:
    """DeletePlacementGroup."""
    name = self._get_param("GroupName")
    self.error_on_dryrun()
    find(self.ec2_backend, name)
    users = [instance for instance in self.ec2_backend.all_instances() if instance.placement.group_name == name]
    if any(instance.state in _ALIVE for instance in users):
        raise EC2ClientError("InvalidPlacementGroup.InUse", f"The placement group '{name}' is in use.")
    group = groups(self.ec2_backend).pop(name)
    self.ec2_backend.tags.pop(group.id, None)
    return EmptyResult()


def install() -> None:
    """Teach moto placement groups."""
    for action in (create_placement_group, describe_placement_groups, delete_placement_group):
        setattr(EC2Response, action.__name__, action)
    # The generic tag calls know a resource by the prefix of its id.
    utils.EC2_RESOURCE_TO_PREFIX["placement-group"] = "pg"
    utils.EC2_PREFIX_TO_RESOURCE["pg"] = "placement-group"
