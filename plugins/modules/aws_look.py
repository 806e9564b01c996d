#!/usr/bin/python
"""Ansible module: what a cluster has on EC2, and what it could be made from."""

from __future__ import annotations

DOCUMENTATION = r"""
module: aws_look
short_description: Read what a cluster has on EC2
description:
  - Changes nothing. One call for each kind of resource, whatever the number of nodes.
  - A cluster's resources are those with the tag C(icefield:cluster).
options:
  cluster:
    description: Name of the cluster.
    type: str
    required: true
  os:
    description: Operating system whose newest official image is looked up.
    type: str
    choices: [debian12, ubuntu2404, al2023]
    default: debian12
  ami:
    description: Image to use instead.
    type: str
    default: ""
  fingerprint:
    description: An image of the cluster's own with this fingerprint comes before the official one.
    type: str
    default: ""
  subnet_id:
    description: The user's own subnet; empty = the default VPC, or else the cluster's own.
    type: str
    default: ""
  images:
    description: Whether images are of interest.
    type: bool
    default: true
author: Icefield
"""

RETURN = r"""
nodes:
  description: Living instances, the head first; the builder has number 0.
  returned: always
  type: list
vpc:
  description: >-
    C(id), C(cidr), C(kind) (own, default, given; missing where one has to be made, unfinished where one was begun).
  returned: always
  type: dict
subnets:
  description: C(id), C(zone), C(cidr), C(public) of the subnets in which nodes may be.
  returned: always
  type: list
zones:
  description: Zones of the region; only where a VPC has to be made or finished.
  returned: always
  type: list
group:
  description: C(id) and C(rules) of the security group; empty where there is none.
  returned: always
  type: dict
key:
  description: Whether EC2 has the cluster's key, and the fingerprint that it was tagged with.
  returned: always
  type: dict
placement:
  description: Whether the placement group exists.
  returned: always
  type: bool
template:
  description: C(id) and C(spec) of the launch template; empty where there is none.
  returned: always
  type: dict
foreign:
  description: What has a name of the cluster's and is not the cluster's.
  returned: always
  type: list
image:
  description: C(id), C(name), C(device), C(user), C(baked) of the image to start from.
  returned: always
  type: dict
baked:
  description: Images that were made for this cluster, with their fingerprints.
  returned: always
  type: list
"""

import contextlib
from typing import Any

from ansible_collections.amazon.aws.plugins.module_utils.modules import AnsibleAWSModule
from ansible_collections.amazon.aws.plugins.module_utils.retries import AWSRetry

try:
    from ansible.module_utils import aws_errors, aws_instances, aws_rules
except ImportError:
    from plugins.module_utils import aws_errors, aws_instances, aws_rules

# Where botocore is missing, AnsibleAWSModule says so.
with contextlib.suppress(ImportError):
    from botocore.exceptions import BotoCoreError, ClientError

# Publishers' account numbers: https://wiki.debian.org/Cloud/AmazonEC2Image and https://ubuntu.com/server/docs.
OFFICIAL = {
    "debian12": {"owner": "136693071363", "name": "debian-12-amd64-2*", "user": "admin"},
    "ubuntu2404": {
        "owner": "099720109477",
        "name": "ubuntu/images/hvm-ssd-gp3/ubuntu-noble-24.04-amd64-server-*",
        "user": "ubuntu",
    },
    # https://docs.aws.amazon.com/linux/al2023/ug/ec2.html: the parameter names the newest image.
    "al2023": {
        "parameter": "/aws/service/ami-amazon-linux-latest/al2023-ami-kernel-default-x86_64",
        "user": "ec2-user",
    },
}


class Looker:
    """Reads through one client with back-off on throttling."""

    def __init__(self, module: AnsibleAWSModule) -> None:
        self.module = module
        self.params = module.params
        self.ec2 = module.client("ec2", retry_decorator=AWSRetry.jittered_backoff(retries=8))
        self.foreign: list[str] = []
        self.mine = [{"Name": "tag:icefield:cluster", "Values": [module.params["cluster"]]}]

    def nodes(self) -> list[dict[str, Any]]:
        """Return the cluster's living instances."""
        states = [{"Name": "instance-state-name", "Values": list(aws_instances.LIVE)}]
        answer = self.ec2.describe_instances(aws_retry=True, Filters=self.mine + states)
        return aws_instances.in_order(item for group in answer["Reservations"] for item in group["Instances"])

    def network(self) -> dict[str, Any]:
        """Return the VPC and the subnets in which nodes may be."""
        wanted = self.params["subnet_id"]
        if wanted:
            found = self.ec2.describe_subnets(aws_retry=True, SubnetIds=[wanted])["Subnets"]
            vpc = {"id": found[0]["VpcId"], "kind": "given", "cidr": ""}
            return {"vpc": vpc, "subnets": [_subnet(item) for item in found], "zones": []}
        vpcs = sorted(self.ec2.describe_vpcs(aws_retry=True)["Vpcs"], key=lambda item: item["VpcId"])
        cluster = self.params["cluster"]
        own = [item for item in vpcs if aws_instances.tags_of(item).get(aws_instances.CLUSTER_TAG) == cluster]
        default = [item for item in vpcs if item.get("IsDefault")]
        if not own + default:
            return self._missing()
        chosen = (own + default)[0]
        vpc = {"id": chosen["VpcId"], "kind": "own" if own else "default", "cidr": chosen["CidrBlock"]}
        mine = self.mine if own else [{"Name": "default-for-az", "Values": ["true"]}]
        answer = self.ec2.describe_subnets(aws_retry=True, Filters=[{"Name": "vpc-id", "Values": [vpc["id"]]}, *mine])
        subnets = sorted((_subnet(item) for item in answer["Subnets"]), key=lambda item: str(item["zone"]))
        if not own and not subnets:
            return self._missing()
        # That a subnet gives public addresses is the last that aws_vpc sees to.
        if own and not (subnets and all(item["public"] for item in subnets)):
            return {"vpc": {**vpc, "kind": "unfinished"}, "subnets": subnets, "zones": self._zones()}
        return {"vpc": vpc, "subnets": subnets, "zones": []}

    def _missing(self) -> dict[str, Any]:
        return {"vpc": {"id": "", "kind": "missing", "cidr": ""}, "subnets": [], "zones": self._zones()}

    def _zones(self) -> list[str]:
        kind = [{"Name": "zone-type", "Values": ["availability-zone"]}]
        zones = self.ec2.describe_availability_zones(aws_retry=True, Filters=kind)["AvailabilityZones"]
        return sorted(zone["ZoneName"] for zone in zones)

    def named(self, name: str) -> list[dict[str, Any]]:
        """Return the filter for what is named like the cluster's own."""
        return [{"Name": name, "Values": [f"icefield-{self.params['cluster']}"]}]

    def is_own(self, item: dict[str, Any]) -> bool:
        """Tell whether a thing has the cluster's tag."""
        return aws_instances.tags_of(item).get(aws_instances.CLUSTER_TAG) == self.params["cluster"]

    def own(self, found: list[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
        """Return the cluster's own; note that there is something else of its name."""
        if any(not self.is_own(item) for item in found):
            self.foreign.append(f"{kind} icefield-{self.params['cluster']}")
        return [item for item in found if self.is_own(item)]

    def group(self, vpc: str) -> dict[str, Any]:
        """Return the security group."""
        found = self.ec2.describe_security_groups(aws_retry=True, Filters=self.named("group-name"))["SecurityGroups"]
        # In another VPC the name is free.
        found = self.own([item for item in found if item.get("VpcId") == vpc or self.is_own(item)], "security group")
        if not found:
            return {}
        rules = sorted(aws_rules.by_words(found[0]["IpPermissions"]))
        return {"id": found[0]["GroupId"], "vpc": found[0].get("VpcId", ""), "rules": rules}

    def key(self) -> dict[str, Any]:
        """Return the key pair."""
        found = self.ec2.describe_key_pairs(aws_retry=True, Filters=self.named("key-name"))["KeyPairs"]
        found = self.own(found, "key pair")
        return {"print": aws_instances.tags_of(found[0]).get(aws_instances.PRINT_TAG, "")} if found else {}

    def template(self) -> dict[str, Any]:
        """Return the launch template."""
        found = self.ec2.describe_launch_templates(aws_retry=True, Filters=self.named("launch-template-name"))
        found = self.own(found["LaunchTemplates"], "launch template")
        if not found:
            return {}
        tags = aws_instances.tags_of(found[0])
        return {"id": found[0]["LaunchTemplateId"], "spec": tags.get(aws_instances.PRINT_TAG, "")}

    def placement(self) -> bool:
        """Tell whether the placement group exists."""
        found = self.ec2.describe_placement_groups(aws_retry=True, Filters=self.named("group-name"))
        return bool(self.own(found["PlacementGroups"], "placement group"))

    def images(self) -> dict[str, Any]:
        """Return the image to start from, and the images made for this cluster."""
        found = self.ec2.describe_images(aws_retry=True, Owners=["self"], Filters=self.mine)["Images"]
        own = [_baked(item) for item in found]
        wanted = self.params["fingerprint"]
        # One that is not available yet comes from a run that was cut off.
        fitting = [item for item in own if wanted and item["fingerprint"] == wanted and item["state"] == "available"]
        user = OFFICIAL[self.params["os"]]["user"]
        if fitting:
            newest = max(fitting, key=lambda item: item["made"])
            return {"baked": own, "image": {**newest, "baked": True}}
        if self.params["ami"]:
            found = self.ec2.describe_images(aws_retry=True, ImageIds=[self.params["ami"]])["Images"]
        else:
            found = self._official()
        if not found:
            return {"baked": own, "image": {}}
        newest = max(found, key=lambda item: item.get("CreationDate", ""))
        return {"baked": own, "image": {**_baked(newest), "user": user, "baked": False}}

    def _official(self) -> list[dict[str, Any]]:
        source = OFFICIAL[self.params["os"]]
        if "parameter" in source:
            ssm = self.module.client("ssm", retry_decorator=AWSRetry.jittered_backoff(retries=8))
            name = ssm.get_parameter(aws_retry=True, Name=source["parameter"])["Parameter"]["Value"]
            return list(self.ec2.describe_images(aws_retry=True, ImageIds=[name])["Images"])
        return list(
            self.ec2.describe_images(
                aws_retry=True,
                Owners=[source["owner"]],
                Filters=[
                    {"Name": "name", "Values": [source["name"]]},
                    {"Name": "architecture", "Values": ["x86_64"]},
                    {"Name": "state", "Values": ["available"]},
                ],
            )["Images"]
        )


def _subnet(item: dict[str, Any]) -> dict[str, Any]:
    return {
        "id": item["SubnetId"],
        "zone": item["AvailabilityZone"],
        "cidr": item["CidrBlock"],
        "public": bool(item.get("MapPublicIpOnLaunch")),
    }


def _baked(item: dict[str, Any]) -> dict[str, Any]:
    tags = aws_instances.tags_of(item)
    disks = [disk["Ebs"] for disk in item.get("BlockDeviceMappings", ()) if disk.get("Ebs", {}).get("SnapshotId")]
    return {
        "id": item["ImageId"],
        "name": item.get("Name", ""),
        "device": item.get("RootDeviceName") or "/dev/xvda",
        "architecture": item.get("Architecture", ""),
        "fingerprint": tags.get(aws_instances.PRINT_TAG, ""),
        "user": tags.get(aws_instances.USER_TAG, ""),
        "state": item.get("State", ""),
        "made": item.get("CreationDate", ""),
        "snapshots": [disk["SnapshotId"] for disk in disks],
    }


def main() -> None:
    """Run the module."""
    module = AnsibleAWSModule(
        argument_spec={
            "cluster": {"type": "str", "required": True},
            "os": {"type": "str", "choices": list(OFFICIAL), "default": "debian12"},
            "ami": {"type": "str", "default": ""},
            "fingerprint": {"type": "str", "default": ""},
            "subnet_id": {"type": "str", "default": ""},
            "images": {"type": "bool", "default": True},
        },
        supports_check_mode=True,
    )
    try:
        look = Looker(module)
        network = look.network()
        result = {
            "nodes": look.nodes(),
            **network,
            "group": look.group(network["vpc"]["id"]),
            "key": look.key(),
            "placement": look.placement(),
            "template": look.template(),
            **(look.images() if module.params["images"] else {"image": {}, "baked": []}),
            "foreign": look.foreign,
        }
    except (BotoCoreError, ClientError) as error:
        code = aws_errors.code_of(error)
        if code.startswith("InvalidSubnet"):
            value = module.params["subnet_id"]
            module.fail_json(
                msg=f"setting 'aws_subnet_id': value '{value}' is not accepted; give a subnet of this region"
            )
        if code.startswith("InvalidAMI"):
            value = module.params["ami"]
            module.fail_json(msg=f"setting 'aws_ami': value '{value}' is not accepted; give an image of this region")
        module.fail_json(msg=aws_errors.explain(error))
    module.exit_json(changed=False, **result)


if __name__ == "__main__":
    main()
