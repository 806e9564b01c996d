"""The default VPC of the endpoint, and public addresses that can be reached here."""

from __future__ import annotations

import ipaddress
from typing import Any

from moto.ec2.models.elastic_network_interfaces import NetworkInterface
from moto.ec2.models.subnets import SubnetBackend
from moto.ec2.models.vpcs import VPCBackend

from tests.ec2_server.zones import REGION

ZONES = ("a", "b", "c")


def subnets(block: str) -> list[str]:
    """Return one range per zone: a quarter of the VPC each, the last quarter stays free."""
    return [str(part) for part in ipaddress.IPv4Network(block).subnets(prefixlen_diff=2)][: len(ZONES)]


def _make(backend: Any, block: str) -> Any:
    vpc = backend.create_vpc(cidr_block=block, is_default=True)
    for zone, part in zip(ZONES, subnets(block), strict=True):
        backend.create_subnet(vpc_id=vpc.id, cidr_block=part, availability_zone=f"{REGION}{zone}")
    gateway = backend.create_internet_gateway()
    backend.attach_internet_gateway(gateway.id, vpc.id)
    table = next(iter(backend.describe_route_tables(filters={"vpc-id": vpc.id})))
    backend.create_route(table.id, "0.0.0.0/0", gateway_id=gateway.id)
    return vpc


def install(default_vpc: str) -> None:
    """Set the default VPC.

    Args:
        default_vpc: its range, ``none`` for a region without one, empty for moto's own.
    """
    original, create = VPCBackend.create_default_vpc, SubnetBackend.create_subnet

    def create_default_vpc(self: Any) -> Any:
        # moto calls this once per region and does without the answer where security groups name their VPC.
        if not default_vpc or self.region_name != REGION:
            return original(self)
        return None if default_vpc == "none" else _make(self, default_vpc)

    def create_subnet(self: Any, *args: Any, **kwargs: Any) -> Any:
        # moto takes the first subnet of a zone for a default one, in any VPC.
        subnet = create(self, *args, **kwargs)
        subnet.default_for_az = subnet.map_public_ip_on_launch = bool(self.get_vpc(subnet.vpc_id).is_default)
        return subnet

    def check_auto_public_ip(self: Any) -> None:
        if str(self.public_ip_auto_assign).lower() == "true":
            self.public_ip = self.private_ip_address

    VPCBackend.create_default_vpc = create_default_vpc
    SubnetBackend.create_subnet = create_subnet
    NetworkInterface.check_auto_public_ip = check_auto_public_ip
