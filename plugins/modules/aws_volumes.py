#!/usr/bin/python
"""Ansible module: volumes of a cluster on EC2 that nothing uses."""

from __future__ import annotations

DOCUMENTATION = r"""
module: aws_volumes
short_description: Remove volumes that outlived their instances
description:
  - Those of a cluster, which carry the tag C(icefield:cluster).
options:
  cluster:
    description: Name of the cluster.
    type: str
    required: true
  state:
    description: There is only C(absent).
    type: str
    choices: [absent]
    default: absent
author: Icefield
"""

from ansible_collections.amazon.aws.plugins.module_utils.modules import AnsibleAWSModule

try:
    from ansible.module_utils.aws_parts import Parts, carry_out
except ImportError:
    from plugins.module_utils.aws_parts import Parts, carry_out


class Volumes(Parts):
    """Volumes that are attached to nothing."""

    def absent(self) -> None:
        """Remove them."""
        for item in self.found("describe_volumes", "Volumes", {"Name": "status", "Values": ["available", "error"]}):
            self.do("delete_volume", VolumeId=item["VolumeId"])


def main() -> None:
    """Run the module."""
    module = AnsibleAWSModule(
        argument_spec={
            "cluster": {"type": "str", "required": True},
            "state": {"type": "str", "choices": ["absent"], "default": "absent"},
        },
        supports_check_mode=True,
    )
    volumes = Volumes(module)
    carry_out(module, volumes, volumes.absent)


if __name__ == "__main__":
    main()
