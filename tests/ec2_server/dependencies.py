"""Refuse to delete what something else still needs, where moto would delete it."""

from __future__ import annotations

from typing import Any

from moto.ec2.exceptions import DependencyViolationError, EC2ClientError
from moto.ec2.models.security_groups import SecurityGroupBackend
from moto.ec2.models.subnets import SubnetBackend
from moto.ec2.models.vpcs import VPCBackend


def install() -> None:
    """Put the refusals before moto's deletions."""
    delete_subnet, delete_vpc = SubnetBackend.delete_subnet, VPCBackend.delete_vpc
    delete_group, create_group = SecurityGroupBackend.delete_security_group, SecurityGroupBackend.create_security_group

    def checked_delete_subnet(self: Any, subnet_id: str) -> Any:
        if any(nic.subnet.id == subnet_id for nic in self.enis.values()):
            raise DependencyViolationError(f"The subnet '{subnet_id}' has dependencies and cannot be deleted.")
        return delete_subnet(self, subnet_id)

    def checked_delete_vpc(self: Any, vpc_id: str) -> Any:
        gateways = any(gateway.vpc and gateway.vpc.id == vpc_id for gateway in self.internet_gateways.values())
        groups = any(group.name != "default" for group in self.groups.get(vpc_id, {}).values())
        if gateways or groups:
            raise DependencyViolationError(f"The vpc '{vpc_id}' has dependencies and cannot be deleted.")
        return delete_vpc(self, vpc_id)

    def checked_delete_group(self: Any, name: str | None = None, group_id: str | None = None) -> None:
        users = (group for nic in self.enis.values() for group in nic.group_set)
        if any(group.id == group_id for group in users):
            raise DependencyViolationError(f"resource {group_id} has a dependent object")
        delete_group(self, name, group_id)

    def checked_create_group(self: Any, *args: Any, **kwargs: Any) -> Any:
        if not (kwargs.get("vpc_id") or self.default_vpc or len(args) > 2):
            raise EC2ClientError("VPCIdNotSpecified", "No default VPC for this user")
        return create_group(self, *args, **kwargs)

    SubnetBackend.delete_subnet = checked_delete_subnet
    VPCBackend.delete_vpc = checked_delete_vpc
    SecurityGroupBackend.delete_security_group = checked_delete_group
    SecurityGroupBackend.create_security_group = checked_create_group
