#!/usr/bin/python
"""Ansible module: a VPC of a cluster's own on EC2."""

from __future__ import annotations

DOCUMENTATION = r"""
module: aws_vpc
short_description: Make or remove a VPC with subnets, internet gateway and route table
description:
  - What carries the tag C(icefield:cluster) is the cluster's; nothing else is changed or removed.
  - Makes what is missing, so that it goes on where an earlier run was cut off. Subnets come last and get public
    addresses last of all; where all of them give such addresses, the VPC is whole.
  - One call for each step, where the modules of amazon.aws ask before and after each.
options:
  cluster:
    description: Name of the cluster.
    type: str
    required: true
  state:
    description: C(present) or C(absent).
    type: str
    choices: [present, absent]
    default: present
  cidr:
    description: IPv4 network of a VPC that has to be made.
    type: str
    default: ""
  subnets:
    description: C(zone) and C(cidr) of each subnet.
    type: list
    elements: dict
    default: []
  tags:
    description: Tags of everything that is made.
    type: dict
    default: {}
author: Icefield
"""

RETURN = r"""
vpc:
  description: Id of the VPC.
  returned: when made
  type: str
subnets:
  description: Id of the subnet by zone.
  returned: when made
  type: dict
"""

from typing import Any

from ansible_collections.amazon.aws.plugins.module_utils.modules import AnsibleAWSModule

try:
    from ansible.module_utils.aws_parts import Parts, carry_out
except ImportError:
    from plugins.module_utils.aws_parts import Parts, carry_out

EVERYWHERE = "0.0.0.0/0"


class Network(Parts):
    """The parts of a cluster's own network."""

    def present(self) -> dict[str, Any]:
        """Make what is missing; return ids."""
        vpcs = self.found("describe_vpcs", "Vpcs")
        if vpcs:
            gateways = self.found("describe_internet_gateways", "InternetGateways")
            tables = self.found("describe_route_tables", "RouteTables")
            subnets = self.found("describe_subnets", "Subnets")
        else:
            vpcs = [self.make("create_vpc", "vpc", CidrBlock=self.p["cidr"])["Vpc"]]
            gateways, tables, subnets = [], [], []
        vpc = min(item["VpcId"] for item in vpcs)
        gateway = self._gateway(vpc, gateways)
        table = self._table(vpc, gateway, tables)
        made = [self._subnet(vpc, table, wanted, subnets) for wanted in self.p["subnets"]]
        return {"vpc": vpc, "subnets": {item["AvailabilityZone"]: item["SubnetId"] for item in made}}

    def _gateway(self, vpc: str, there: list[dict[str, Any]]) -> str:
        here = [item for item in there if any(way["VpcId"] == vpc for way in item["Attachments"])]
        free = [item for item in there if not item["Attachments"]]
        if here:
            return str(here[0]["InternetGatewayId"])
        item = free[0] if free else self.make("create_internet_gateway", "internet-gateway")["InternetGateway"]
        self.do("attach_internet_gateway", InternetGatewayId=item["InternetGatewayId"], VpcId=vpc)
        return str(item["InternetGatewayId"])

    def _table(self, vpc: str, gateway: str, there: list[dict[str, Any]]) -> dict[str, Any]:
        here = [item for item in there if item["VpcId"] == vpc]
        table = here[0] if here else self.make("create_route_table", "route-table", VpcId=vpc)["RouteTable"]
        if not any(route.get("DestinationCidrBlock") == EVERYWHERE for route in table["Routes"]):
            self.do(
                "create_route",
                RouteTableId=table["RouteTableId"],
                DestinationCidrBlock=EVERYWHERE,
                GatewayId=gateway,
            )
        return table

    def _subnet(
        self, vpc: str, table: dict[str, Any], wanted: dict[str, str], there: list[dict[str, Any]]
    ) -> dict[str, Any]:
        here = [item for item in there if item["VpcId"] == vpc and item["CidrBlock"] == wanted["cidr"]]
        place = {"VpcId": vpc, "CidrBlock": wanted["cidr"], "AvailabilityZone": wanted["zone"]}
        name = f"icefield-{self.p['cluster']}-{wanted['zone']}"
        subnet = here[0] if here else self.make("create_subnet", "subnet", name=name, **place)["Subnet"]
        bound = {way.get("SubnetId") for way in table.get("Associations", ())}
        if subnet["SubnetId"] not in bound:
            self.do("associate_route_table", RouteTableId=table["RouteTableId"], SubnetId=subnet["SubnetId"])
        if not subnet.get("MapPublicIpOnLaunch"):
            self.do("modify_subnet_attribute", SubnetId=subnet["SubnetId"], MapPublicIpOnLaunch={"Value": True})
        return subnet

    def absent(self) -> None:
        """Remove all parts, what refers to others first."""
        for item in self.found("describe_internet_gateways", "InternetGateways"):
            for way in item["Attachments"]:
                self.do("detach_internet_gateway", InternetGatewayId=item["InternetGatewayId"], VpcId=way["VpcId"])
            self.do("delete_internet_gateway", InternetGatewayId=item["InternetGatewayId"])
        for item in self.found("describe_route_tables", "RouteTables"):
            for way in item["Associations"]:
                self.do("disassociate_route_table", AssociationId=way["RouteTableAssociationId"])
            self.do("delete_route_table", RouteTableId=item["RouteTableId"])
        for item in self.found("describe_subnets", "Subnets"):
            self.do("delete_subnet", SubnetId=item["SubnetId"])
        for item in self.found("describe_vpcs", "Vpcs"):
            self.do("delete_vpc", VpcId=item["VpcId"])


def main() -> None:
    """Run the module."""
    module = AnsibleAWSModule(
        argument_spec={
            "cluster": {"type": "str", "required": True},
            "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
            "cidr": {"type": "str", "default": ""},
            "subnets": {"type": "list", "elements": "dict", "default": []},
            "tags": {"type": "dict", "default": {}},
        },
        required_if=[("state", "present", ("cidr", "subnets"))],
        supports_check_mode=True,
    )
    network = Network(module)
    carry_out(module, network, network.absent if module.params["state"] == "absent" else network.present)


if __name__ == "__main__":
    main()
