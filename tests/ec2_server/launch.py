"""RunInstances as EC2 does it: tokens that make it idempotent, templates, and the properties that moto drops."""

from __future__ import annotations

import copy
import secrets
from collections.abc import Callable
from typing import Any

from moto.core.responses import ActionResult
from moto.ec2.exceptions import EC2ClientError
from moto.ec2.responses.instances import InstanceResponse
from moto.ec2.utils import filter_dict_attribute_mapping, parse_user_data

from tests.ec2_server import placement, templates

Launched = Callable[[Any, list[Any]], None]


def _plain(value: Any) -> Any:
    """Return parameters in a form that compares by value."""
    if isinstance(value, dict):
        return {key: _plain(part) for key, part in value.items()}
    if isinstance(value, list):
        return [_plain(part) for part in value]
    return value if isinstance(value, bool | int | float) else str(value)


def _prepared(response: Any) -> dict[str, Any]:
    """Return the request's parameters with template and image laid under them."""
    backend, params = response.ec2_backend, copy.deepcopy(response.params)
    if params.get("LaunchTemplate"):
        version = backend._get_template_from_args(params["LaunchTemplate"])
        params = templates.merged(version.data, params)
    if params.get("UserData") is not None:
        # A template keeps it in moto's own type, a request as text.
        params["UserData"] = str(parse_user_data(str(params["UserData"])))
    if not params.get("ImageId"):
        raise EC2ClientError("MissingParameter", "The request must contain the parameter ImageId")
    image = backend.describe_images(ami_ids=[params["ImageId"]])
    if not image or image[0].state != "available":
        raise EC2ClientError("InvalidAMIID.Unavailable", f"The image ID '{params['ImageId']}' is not available")
    params["BlockDeviceMappings"] = templates.with_root(params.get("BlockDeviceMappings") or [], image[0])
    group = (params.get("Placement") or {}).get("GroupName")
    if group:
        placement.find(backend, group)
    key = params.get("KeyName")
    if key and key not in backend.key_pairs:
        raise EC2ClientError("InvalidKeyPair.NotFound", f"The key pair '{key}' does not exist")
    _place(backend, params)
    # moto makes the least number, EC2 the greatest it can.
    params["MinCount"] = params.get("MaxCount", params.get("MinCount", 1))
    return params


def _place(backend: Any, params: dict[str, Any]) -> None:
    """Choose a default subnet if the request names none; moto would give an address of no subnet."""
    nics = params.get("NetworkInterfaces") or []
    if params.get("SubnetId") or any(nic.get("SubnetId") or nic.get("NetworkInterfaceId") for nic in nics):
        return
    subnets = backend.get_default_subnets()
    if not subnets:
        raise EC2ClientError("VPCIdNotSpecified", "No default VPC for this user")
    zone = (params.get("Placement") or {}).get("AvailabilityZone") or min(subnets)
    if zone not in subnets:
        raise EC2ClientError("InvalidInput", f"No default subnet for availability zone: '{zone}'.")
    (nics[0] if nics else params)["SubnetId"] = subnets[zone].id


def _complete(backend: Any, instance: Any, params: dict[str, Any]) -> None:
    """Give an instance what moto dropped."""
    where = params.get("Placement") or {}
    instance.placement.group_name = where.get("GroupName", "")
    instance.placement.tenancy = where.get("Tenancy", "default")
    if instance.lifecycle == "spot":
        instance.spot_instance_request_id = f"sir-{secrets.token_hex(4)}"
    tags = {
        row["ResourceType"]: {tag["Key"]: tag.get("Value", "") for tag in row.get("Tags", [])}
        for row in params.get("TagSpecifications") or []
    }
    if not instance.security_groups:
        default = backend.get_security_group_from_name("default", vpc_id=instance.vpc_id)
        instance.security_groups = list(instance.nics[0].group_set) or [default]
    asked = {int(nic.get("DeviceIndex", 0)): nic for nic in params.get("NetworkInterfaces") or []}
    for index, nic in instance.nics.items():
        spec = asked.get(index, {})
        if not spec.get("NetworkInterfaceId"):
            nic.delete_on_termination = spec.get("DeleteOnTermination", True)
        nic.add_tags(tags.get("network-interface", {}))
    wanted = {row["DeviceName"]: row.get("Ebs", {}) for row in params["BlockDeviceMappings"]}
    for device, block in instance.block_device_mapping.items():
        ebs = wanted.get(device, {})
        volume = backend.get_volume(block.volume_id)
        gp3 = volume.volume_type == "gp3"
        volume.iops = ebs.get("Iops") or (3000 if gp3 else volume.iops)
        volume.throughput = ebs.get("Throughput") or (125 if gp3 else None)
        volume.add_tags(tags.get("volume", {}))


def install(launched: Launched) -> None:
    """Put this before moto's RunInstances.

    Args:
        launched: called with the backend and the new instances before the call is answered.
    """
    original = InstanceResponse.run_instances
    answered: dict[tuple[str, str, str], tuple[Any, Any]] = {}

    def run_instances(self: Any) -> ActionResult:
        asked = _plain(self.params)
        token = self.params.get("ClientToken")
        key = (self.current_account, self.region, token)
        if token and key in answered:
            before, reservation = answered[key]
            if before != asked:
                raise EC2ClientError(
                    "IdempotentParameterMismatch",
                    "Arguments on this idempotent request are inconsistent with arguments used in previous request(s).",
                )
            return ActionResult(reservation)
        self.params = _prepared(self)
        result = original(self)
        for instance in result.result.instances:
            _complete(self.ec2_backend, instance, self.params)
        launched(self.ec2_backend, result.result.instances)
        if token:
            answered[key] = (asked, result.result)
        return result

    InstanceResponse.run_instances = run_instances
    filter_dict_attribute_mapping["client-token"] = "client_token"
