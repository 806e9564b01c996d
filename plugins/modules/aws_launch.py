#!/usr/bin/python
"""Ansible module: launch the missing nodes of a cluster on EC2."""

from __future__ import annotations

DOCUMENTATION = r"""
module: aws_launch
short_description: Launch instances, all of one type in one zone of one market
description:
  - Tries the candidates in order. Where one has no room for all nodes, what it gave is ended and the next is tried.
  - The client token of a call stands for all that it says, the node's one-time host key included, so that a repeated
    call makes nothing.
  - Waits until the instances run and have addresses. Their one-time host keys stay in the cluster's state.
options:
  cluster:
    description: Name of the cluster.
    type: str
    required: true
  launch:
    description: New nodes with C(name) and C(number); 0 is the builder.
    type: list
    elements: dict
    required: true
  candidates:
    description: C(type), C(zone), C(market), C(placement), C(usd_hour), in the order to try.
    type: list
    elements: dict
    required: true
  subnets:
    description: Subnet by zone.
    type: dict
    required: true
  template:
    description: Id of the launch template.
    type: str
    required: true
  placement_group:
    description: Name of the placement group.
    type: str
    default: ""
  user:
    description: User of the image.
    type: str
    required: true
  hours:
    description: Hours after which a node ends itself.
    type: float
    required: true
  state_dir:
    description: Folder of the cluster's state on the controller.
    type: path
    required: true
  timeout:
    description: Seconds to wait for the instances to run.
    type: int
    default: 300
author: Icefield
"""

RETURN = r"""
got:
  description: The candidate that had room.
  returned: success
  type: dict
refused:
  description: One line for each candidate that had none.
  returned: always
  type: list
nodes:
  description: The new instances.
  returned: success
  type: list
"""

import contextlib
import hashlib
import json
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ansible_collections.amazon.aws.plugins.module_utils.modules import AnsibleAWSModule
from ansible_collections.amazon.aws.plugins.module_utils.retries import AWSRetry

try:
    from ansible.module_utils import aws_errors, aws_instances, aws_keys, deadman
except ImportError:
    from plugins.module_utils import aws_errors, aws_instances, aws_keys, deadman

# Where botocore is missing, AnsibleAWSModule says so.
with contextlib.suppress(ImportError):
    from botocore.exceptions import BotoCoreError, ClientError

# Restarted, not started: an image of the cluster's own has the timer of the instance that it was made from.
COMMANDS = [
    ["systemctl", word, *units]
    for word, units in (("daemon-reload", []), ("enable", [deadman.TIMER]), ("restart", [deadman.TIMER]))
]


class Launcher:
    """Launches nodes from one candidate after the other."""

    def __init__(self, module: AnsibleAWSModule) -> None:
        self.p = module.params
        self.state = Path(module.params["state_dir"])
        # Throttling and lost connections are retried with back-off; the client token makes that safe.
        retry = AWSRetry.jittered_backoff(retries=8, catch_extra_error_codes=aws_errors.NOT_YET)
        self.ec2 = module.client("ec2", retry_decorator=retry)

    def try_all(self) -> tuple[dict[str, Any], list[str], list[str]]:
        """Return the candidate that had room, the instances' ids, and why earlier candidates had none."""
        refused: list[str] = []
        for candidate in self.p["candidates"]:
            ids: list[str] = []
            try:
                for node in self.p["launch"]:
                    ids.append(self.run(node, candidate))
            except ClientError as error:
                self.undo(ids)
                code = aws_errors.code_of(error)
                if code not in aws_errors.CAPACITY:
                    raise
                refused.append(f"{candidate['type']} in {candidate['zone']}, {candidate['market']}: {code}")
                continue
            return candidate, ids, refused
        return {}, [], refused

    def undo(self, ids: list[str]) -> None:
        """End instances, and forget what they were launched with: a cluster's nodes are all of one kind."""
        for node in self.p["launch"]:
            aws_keys.forget(self.state, node["name"])
        if ids:
            self.ec2.terminate_instances(aws_retry=True, InstanceIds=ids)
            # As long as they are there, they hold the placement group in their zone.
            self.ec2.get_waiter("instance_terminated").wait(InstanceIds=ids)

    def run(self, node: dict[str, Any], candidate: dict[str, Any]) -> str:
        """Launch one node; return the instance's id."""
        repeated = aws_keys.is_kept(self.state, node["name"])
        request = self.request(node, candidate)
        if repeated and self.has_ended(request["ClientToken"]):
            # EC2 would answer with that very instance.
            aws_keys.forget(self.state, node["name"])
            request = self.request(node, candidate)
        return str(self.ec2.run_instances(aws_retry=True, **request)["Instances"][0]["InstanceId"])

    def has_ended(self, token: str) -> bool:
        """Tell whether an instance was launched with this client token and is no more."""
        filters = [
            {"Name": "client-token", "Values": [token]},
            {"Name": "instance-state-name", "Values": ["shutting-down", "terminated"]},
        ]
        return bool(self.ec2.describe_instances(aws_retry=True, Filters=filters)["Reservations"])

    def request(self, node: dict[str, Any], candidate: dict[str, Any]) -> dict[str, Any]:
        """Return the call that launches one node; its client token stands for all of it."""
        files = deadman.units(datetime.now(UTC), self.p["hours"])
        tags = {
            "Name": node["name"],
            aws_instances.CLUSTER_TAG: self.p["cluster"],
            aws_instances.ROLE_TAG: "node" if node["number"] else "builder",
            aws_instances.NUMBER_TAG: str(node["number"]),
            aws_instances.USER_TAG: self.p["user"],
        }
        if candidate["usd_hour"] is not None:
            tags[aws_instances.PRICE_TAG] = str(candidate["usd_hour"])
        kinds = ["instance", "volume", "network-interface"]
        call: dict[str, Any] = {
            "MinCount": 1,
            "MaxCount": 1,
            "LaunchTemplate": {"LaunchTemplateId": self.p["template"], "Version": "$Latest"},
            "InstanceType": candidate["type"],
            "SubnetId": self.p["subnets"][candidate["zone"]],
            "UserData": aws_keys.one_time(self.state, node["name"], files, COMMANDS),
        }
        if candidate["market"] == "spot":
            kinds.append("spot-instances-request")
            call["InstanceMarketOptions"] = {
                "MarketType": "spot",
                "SpotOptions": {"SpotInstanceType": "one-time", "InstanceInterruptionBehavior": "terminate"},
            }
        if candidate["placement"] and self.p["placement_group"]:
            call["Placement"] = {"GroupName": self.p["placement_group"]}
        call["TagSpecifications"] = [{"ResourceType": kind, "Tags": aws_instances.tag_list(tags)} for kind in kinds]
        # 64 characters are what EC2 takes.
        token = hashlib.sha256(json.dumps(call, sort_keys=True).encode()).hexdigest()
        return {**call, "ClientToken": token}

    def wait(self, ids: list[str]) -> list[dict[str, Any]]:
        """Return the instances when they run.

        Raises:
            TimeoutError: one ended, or the time is over; says which and why.
        """
        deadline = time.monotonic() + self.p["timeout"]
        while True:
            answer = self.ec2.describe_instances(aws_retry=True, InstanceIds=ids)
            nodes = aws_instances.in_order(item for group in answer["Reservations"] for item in group["Instances"])
            late = [node for node in nodes if node["state"] != "running"]
            ended = [node for node in late if node["state"] != "pending"]
            if not late:
                return nodes
            if ended or time.monotonic() > deadline:
                node = (ended or late)[0]
                raise TimeoutError(
                    f"{node['name']} ({node['id']}) is {node['state']}: {node['reason'] or 'no reason told'}"
                )
            time.sleep(5)


def main() -> None:
    """Run the module."""
    module = AnsibleAWSModule(
        argument_spec={
            "cluster": {"type": "str", "required": True},
            "launch": {"type": "list", "elements": "dict", "required": True},
            "candidates": {"type": "list", "elements": "dict", "required": True},
            "subnets": {"type": "dict", "required": True},
            "template": {"type": "str", "required": True},
            "placement_group": {"type": "str", "default": ""},
            "user": {"type": "str", "required": True},
            "hours": {"type": "float", "required": True},
            "state_dir": {"type": "path", "required": True},
            "timeout": {"type": "int", "default": 300},
        },
    )
    launcher = Launcher(module)
    refused: list[str] = []
    try:
        got, ids, refused = launcher.try_all()
        if not ids:
            module.fail_json(msg="EC2 has no room for these nodes: " + "; ".join(refused), refused=refused)
        nodes = launcher.wait(ids)
    except TimeoutError as error:
        module.fail_json(msg=str(error), refused=refused)
    except (BotoCoreError, ClientError) as error:
        module.fail_json(msg=aws_errors.explain(error), refused=refused)
    module.exit_json(changed=True, got=got, refused=refused, nodes=nodes)


if __name__ == "__main__":
    main()
