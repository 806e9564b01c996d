"""The instances of a cluster as hosts of an inventory."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from icefield_train.rules import refusal

try:
    import boto3
    from botocore.exceptions import BotoCoreError, ClientError
except ImportError:  # Told in words by cluster().
    boto3 = None

from plugins.module_utils.aws_errors import explain
from plugins.module_utils.aws_instances import LIVE, normalise


class InventoryFaultError(Exception):
    """EC2 could not be asked; the text says why, in one line."""


def cluster(settings: Mapping[str, str]) -> dict[str, Any]:
    """Return what an inventory tells of a cluster.

    Args:
        settings: ``cluster_name``, ``aws_region``, ``aws_profile``, ``aws_endpoint_url``; empty ones are left to boto3;
            ``icefield_state_dir``, where the region of a cluster that was made is remembered.

    Returns:
        ``region``; ``hosts``: ``name``, ``number``, ``builder`` and the variables of each running instance;
        ``stopped``: ``name`` and ``address`` of each node that is stopped.

    Raises:
        InventoryFaultError: no boto3, no region, another region than the cluster's, no credentials, or EC2 refused.
    """
    if boto3 is None:
        raise InventoryFaultError("boto3 is not installed for this Ansible; run: make setup")
    try:
        session = boto3.Session(
            profile_name=settings["aws_profile"] or None, region_name=settings["aws_region"] or None
        )
        remembered = _remembered(Path(settings["icefield_state_dir"]))
        region = session.region_name or remembered
        if remembered and region != remembered:
            words = f"{remembered}, where the cluster '{settings['cluster_name']}' is, or another cluster_name"
            raise InventoryFaultError(refusal("aws_region", region, words))
        if not region:
            raise InventoryFaultError(
                "setting 'aws_region': no region is given; give one such as us-east-1, or set AWS_REGION"
            )
        client = session.client("ec2", region_name=region, endpoint_url=settings["aws_endpoint_url"] or None)
        filters = [
            {"Name": "tag:icefield:cluster", "Values": [settings["cluster_name"]]},
            {"Name": "instance-state-name", "Values": list(LIVE)},
        ]
        pages = client.get_paginator("describe_instances").paginate(Filters=filters)
        found = [item for page in pages for group in page["Reservations"] for item in group["Instances"]]
    except (BotoCoreError, ClientError, ValueError) as error:
        raise InventoryFaultError(explain(error)) from error
    nodes = [normalise(item) for item in found]
    return {
        "region": region,
        "hosts": [_host(node) for node in nodes if node["state"] == "running"],
        "stopped": [
            {"name": node["name"], "address": node["private"]}
            for node in sorted(nodes, key=lambda node: int(node["number"]))
            if node["state"] in ("stopping", "stopped") and node["role"] == "node"
        ],
    }


def _remembered(state: Path) -> str:
    path = state / "region"
    return path.read_text().strip() if path.exists() else ""


def _host(node: Mapping[str, Any]) -> dict[str, Any]:
    """Return one host; its ssh identity is the instance's id, which no other instance ever gets."""
    return {
        "name": node["name"],
        "number": node["number"],
        "builder": node["role"] == "builder",
        "vars": {
            "ansible_host": node["public"] or node["private"],
            "icefield_address": node["private"],
            "icefield_instance": node["id"],
            "icefield_usd_hour": node["usd_hour"],
            "icefield_instance_type": node["type"],
            "ansible_user": node["user"],
        },
    }
