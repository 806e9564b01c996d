"""The zone that a call is about, also where it names a subnet only."""

from __future__ import annotations

from typing import Any

from moto.core import DEFAULT_ACCOUNT_ID
from moto.ec2.models import ec2_backends

REGION = "us-east-1"


def facts(params: dict[str, Any]) -> dict[str, str]:
    """Return what the flat parameters of an EC2 call imply, so that a fault's ``where`` can name it."""
    subnet_id = params.get("SubnetId") or params.get("NetworkInterface.1.SubnetId")
    if not subnet_id:
        return {}
    for subnets in ec2_backends[DEFAULT_ACCOUNT_ID][REGION].subnets.values():
        if subnet_id in subnets:
            return {"Placement.AvailabilityZone": subnets[subnet_id].availability_zone}
    return {}
