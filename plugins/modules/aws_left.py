#!/usr/bin/python
"""Ansible module: what carries a cluster's tag on EC2."""

from __future__ import annotations

DOCUMENTATION = r"""
module: aws_left
short_description: List everything in the region that carries a cluster's tag
description:
  - The proof that nothing is left. Instances that have ended are still listed by EC2 for an hour and do not count.
options:
  cluster:
    description: Name of the cluster.
    type: str
    required: true
author: Icefield
"""

RETURN = r"""
left:
  description: Kind and id of each resource.
  returned: always
  type: list
"""

import contextlib

from ansible_collections.amazon.aws.plugins.module_utils.modules import AnsibleAWSModule
from ansible_collections.amazon.aws.plugins.module_utils.retries import AWSRetry

try:
    from ansible.module_utils import aws_errors, aws_instances
except ImportError:
    from plugins.module_utils import aws_errors, aws_instances

# Where botocore is missing, AnsibleAWSModule says so.
with contextlib.suppress(ImportError):
    from botocore.exceptions import BotoCoreError, ClientError


# Kind, call, list in its answer, id in an item. Not DescribeTags: it may name what is gone for a while.
KINDS = (
    ("launch-template", "describe_launch_templates", "LaunchTemplates", "LaunchTemplateId"),
    ("placement-group", "describe_placement_groups", "PlacementGroups", "GroupName"),
    ("key-pair", "describe_key_pairs", "KeyPairs", "KeyName"),
    ("security-group", "describe_security_groups", "SecurityGroups", "GroupId"),
    ("network-interface", "describe_network_interfaces", "NetworkInterfaces", "NetworkInterfaceId"),
    ("volume", "describe_volumes", "Volumes", "VolumeId"),
    ("image", "describe_images", "Images", "ImageId"),
    ("snapshot", "describe_snapshots", "Snapshots", "SnapshotId"),
    ("vpc", "describe_vpcs", "Vpcs", "VpcId"),
    ("subnet", "describe_subnets", "Subnets", "SubnetId"),
    ("internet-gateway", "describe_internet_gateways", "InternetGateways", "InternetGatewayId"),
    ("route-table", "describe_route_tables", "RouteTables", "RouteTableId"),
)


def main() -> None:
    """Run the module."""
    module = AnsibleAWSModule(argument_spec={"cluster": {"type": "str", "required": True}}, supports_check_mode=True)
    ec2 = module.client("ec2", retry_decorator=AWSRetry.jittered_backoff(retries=8))
    mine = {"Name": f"tag:{aws_instances.CLUSTER_TAG}", "Values": [module.params["cluster"]]}
    states = {"Name": "instance-state-name", "Values": [*aws_instances.LIVE, "shutting-down"]}
    left = []
    try:
        found = ec2.describe_instances(aws_retry=True, Filters=[mine, states])["Reservations"]
        left += [f"instance {item['InstanceId']}" for group in found for item in group["Instances"]]
        # One that has its instance ends with it, some time after it.
        asked = [mine, {"Name": "state", "Values": ["open"]}]
        found = ec2.describe_spot_instance_requests(aws_retry=True, Filters=asked)["SpotInstanceRequests"]
        left += [f"spot-instances-request {item['SpotInstanceRequestId']}" for item in found]
        for kind, call, answer, name in KINDS:
            own = {"Owners": ["self"]} if kind == "image" else {"OwnerIds": ["self"]} if kind == "snapshot" else {}
            items = getattr(ec2, call)(aws_retry=True, Filters=[mine], **own)[answer]
            left += [f"{kind} {item[name]}" for item in items]
    except (BotoCoreError, ClientError) as error:
        module.fail_json(msg=aws_errors.explain(error))
    module.exit_json(changed=False, left=sorted(left))


if __name__ == "__main__":
    main()
