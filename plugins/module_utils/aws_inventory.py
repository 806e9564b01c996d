"""The instances of a cluster as hosts of an inventory."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

try:
    import boto3
    from botocore.exceptions import BotoCoreError, ClientError
except ImportError:  # Told in words by hosts().
    boto3 = None

from plugins.module_utils.aws_errors import explain
from plugins.module_utils.aws_instances import LIVE, normalise


class InventoryFaultError(Exception):
    """EC2 could not be asked; the text says why, in one line."""


def hosts(settings: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return ``name``, ``number``, ``builder`` and the variables of each living instance of the cluster.

    Args:
        settings: ``cluster_name``, ``aws_region``, ``aws_profile``, ``aws_endpoint_url``; empty ones are left to boto3.

    Raises:
        InventoryFaultError: no boto3, no region, no credentials, or EC2 refused.
    """
    if boto3 is None:
        raise InventoryFaultError("boto3 is not installed for this Ansible; run: make setup")
    try:
        session = boto3.Session(
            profile_name=settings["aws_profile"] or None, region_name=settings["aws_region"] or None
        )
        if not session.region_name:
            raise InventoryFaultError(
                "setting 'aws_region': no region is given; give one such as us-east-1, or set AWS_REGION"
            )
        client = session.client("ec2", endpoint_url=settings["aws_endpoint_url"] or None)
        filters = [
            {"Name": "tag:icefield:cluster", "Values": [settings["cluster_name"]]},
            {"Name": "instance-state-name", "Values": list(LIVE)},
        ]
        pages = client.get_paginator("describe_instances").paginate(Filters=filters)
        found = [item for page in pages for group in page["Reservations"] for item in group["Instances"]]
    except (BotoCoreError, ClientError, ValueError) as error:
        raise InventoryFaultError(explain(error)) from error
    return [_host(normalise(item)) for item in found if item["State"]["Name"] == "running"]


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
            "ansible_user": node["user"],
        },
    }
