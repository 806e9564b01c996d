#!/usr/bin/python
"""Ansible module: the security group of a cluster on EC2."""

from __future__ import annotations

DOCUMENTATION = r"""
module: aws_group
short_description: Make or remove the security group that all nodes of a cluster are in
description:
  - The group lets in everything from its own members, and ssh from one network. Any other rule is taken off.
  - The group is found by the tag C(icefield:cluster).
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
  vpc:
    description: Id of the VPC in which the group is made.
    type: str
    default: ""
  ssh_cidr:
    description: Network from which ssh is let in.
    type: str
    default: ""
  tags:
    description: Tags of the group.
    type: dict
    default: {}
author: Icefield
"""

RETURN = r"""
group:
  description: Id of the group.
  returned: when made
  type: str
"""

from typing import Any

from ansible_collections.amazon.aws.plugins.module_utils.modules import AnsibleAWSModule

try:
    from ansible.module_utils import aws_rules
    from ansible.module_utils.aws_parts import Parts, carry_out
except ImportError:
    from plugins.module_utils import aws_rules
    from plugins.module_utils.aws_parts import Parts, carry_out


class Group(Parts):
    """The security group."""

    def present(self) -> dict[str, Any]:
        """Make the group, and bring its rules to what is wanted."""
        there = self.found("describe_security_groups", "SecurityGroups")
        if there:
            group, rules = str(there[0]["GroupId"]), aws_rules.by_words(there[0]["IpPermissions"])
        else:
            group, rules = str(self._create()["GroupId"]), {}
        wanted = aws_rules.by_words(aws_rules.wanted(group, self.p["ssh_cidr"]))
        self._change("authorize_security_group_ingress", group, wanted, rules)
        self._change("revoke_security_group_ingress", group, rules, wanted)
        return {"group": group}

    def _create(self) -> dict[str, Any]:
        name = f"icefield-{self.p['cluster']}"
        about = f"Icefield cluster {self.p['cluster']}"
        return self.make(
            "create_security_group", "security-group", GroupName=name, Description=about, VpcId=self.p["vpc"]
        )

    def _change(self, call: str, group: str, these: dict[str, Any], but_those: dict[str, Any]) -> None:
        rules = [rule for words, rule in these.items() if words not in but_those]
        if rules:
            self.do(call, GroupId=group, IpPermissions=rules)

    def absent(self) -> None:
        """Remove the group; a rule that refers to it would keep it."""
        for item in self.found("describe_security_groups", "SecurityGroups"):
            self._change(
                "revoke_security_group_ingress", item["GroupId"], aws_rules.by_words(item["IpPermissions"]), {}
            )
            self.do("delete_security_group", GroupId=item["GroupId"])


def main() -> None:
    """Run the module."""
    module = AnsibleAWSModule(
        argument_spec={
            "cluster": {"type": "str", "required": True},
            "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
            "vpc": {"type": "str", "default": ""},
            "ssh_cidr": {"type": "str", "default": ""},
            "tags": {"type": "dict", "default": {}},
        },
        required_if=[("state", "present", ("vpc", "ssh_cidr"))],
        supports_check_mode=True,
    )
    group = Group(module)
    carry_out(module, group, group.absent if module.params["state"] == "absent" else group.present)


if __name__ == "__main__":
    main()
