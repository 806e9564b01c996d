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

from ansible_collections.amazon.aws.plugins.module_utils.modules import AnsibleAWSModule
from ansible_collections.amazon.aws.plugins.module_utils.retries import AWSRetry

try:
    from ansible.module_utils import aws_errors, aws_instances
except ImportError:
    from plugins.module_utils import aws_errors, aws_instances

try:
    from botocore.exceptions import BotoCoreError, ClientError
except ImportError:  # AnsibleAWSModule says so.
    pass


def main() -> None:
    """Run the module."""
    module = AnsibleAWSModule(argument_spec={"cluster": {"type": "str", "required": True}}, supports_check_mode=True)
    ec2 = module.client("ec2", retry_decorator=AWSRetry.jittered_backoff(retries=8))
    cluster = module.params["cluster"]
    try:
        tags = ec2.describe_tags(
            aws_retry=True,
            Filters=[{"Name": "key", "Values": [aws_instances.CLUSTER_TAG]}, {"Name": "value", "Values": [cluster]}],
        )["Tags"]
        states = {"Name": "instance-state-name", "Values": [*aws_instances.LIVE, "shutting-down"]}
        mine = {"Name": f"tag:{aws_instances.CLUSTER_TAG}", "Values": [cluster]}
        found = ec2.describe_instances(aws_retry=True, Filters=[mine, states])["Reservations"]
    except (BotoCoreError, ClientError) as error:
        module.fail_json(msg=aws_errors.explain(error))
    alive = {item["InstanceId"] for group in found for item in group["Instances"]}
    gone = ("instance", "network-interface", "spot-instances-request")
    left = {f"{tag['ResourceType']} {tag['ResourceId']}" for tag in tags if tag["ResourceType"] not in gone} | {
        f"instance {name}" for name in alive
    }
    module.exit_json(changed=False, left=sorted(left))


if __name__ == "__main__":
    main()
