#!/usr/bin/python
"""Ansible module: images of a cluster on EC2."""

from __future__ import annotations

DOCUMENTATION = r"""
module: aws_image
short_description: Keep an instance as an image, or remove images with their snapshots
description:
  - Image and snapshots carry their tags from the first moment on, so that what an interrupted run left is found.
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
  name:
    description: Name of the image; EC2 has no two of one name in an account.
    type: str
    default: ""
  instance:
    description: Id of the instance to keep.
    type: str
    default: ""
  tags:
    description: Tags of the image and its snapshots.
    type: dict
    default: {}
  images:
    description: Ids of the images to remove. Snapshots of the cluster that no image has go with them.
    type: list
    elements: str
    default: []
  timeout:
    description: Seconds to wait for the image.
    type: int
    default: 1800
author: Icefield
"""

RETURN = r"""
image:
  description: Id of the image.
  returned: when made
  type: str
"""

from typing import Any

from ansible_collections.amazon.aws.plugins.module_utils.modules import AnsibleAWSModule

try:
    from ansible.module_utils.aws_parts import Parts, carry_out
except ImportError:
    from plugins.module_utils.aws_parts import Parts, carry_out

# As long as the image that was made of it is on its way out.
IN_USE = "InvalidSnapshot.InUse"
DELAY_SECONDS = 15


class Image(Parts):
    """Images of the cluster, and what they are stored in."""

    def present(self) -> dict[str, Any]:
        """Keep the instance, and wait until the image can be used; one that a cut off run began is waited for."""
        named = {"Name": "name", "Values": [self.p["name"]]}
        begun = self.found("describe_images", "Images", named, Owners=["self"])
        for failed in [item for item in begun if item["State"] not in ("pending", "available")]:
            begun.remove(failed)
            self.do("deregister_image", ImageId=failed["ImageId"])
        if not begun:
            name, instance = self.p["name"], self.p["instance"]
            begun = [self.make("create_image", "image", "snapshot", name=name, Name=name, InstanceId=instance)]
        image = str(begun[0]["ImageId"])
        attempts = max(1, self.p["timeout"] // DELAY_SECONDS)
        waiter = self.ec2.get_waiter("image_available")
        waiter.wait(ImageIds=[image], WaiterConfig={"Delay": DELAY_SECONDS, "MaxAttempts": attempts})
        return {"image": image}

    def absent(self) -> None:
        """Remove images, then the snapshots that none is left for."""
        for image in self.p["images"]:
            self.do("deregister_image", ImageId=image)
        left = self.found("describe_images", "Images", Owners=["self"])
        used = {
            disk.get("Ebs", {}).get("SnapshotId")
            for item in left
            for disk in item["BlockDeviceMappings"]
            if item["ImageId"] not in self.p["images"]
        }
        for item in self.found("describe_snapshots", "Snapshots", OwnerIds=["self"]):
            if item["SnapshotId"] not in used:
                self.do("delete_snapshot", SnapshotId=item["SnapshotId"])


def main() -> None:
    """Run the module."""
    module = AnsibleAWSModule(
        argument_spec={
            "cluster": {"type": "str", "required": True},
            "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
            "name": {"type": "str", "default": ""},
            "instance": {"type": "str", "default": ""},
            "tags": {"type": "dict", "default": {}},
            "images": {"type": "list", "elements": "str", "default": []},
            "timeout": {"type": "int", "default": 1800},
        },
        required_if=[("state", "present", ("name", "instance"))],
        supports_check_mode=True,
    )
    image = Image(module, (IN_USE,))
    carry_out(module, image, image.absent if module.params["state"] == "absent" else image.present)


if __name__ == "__main__":
    main()
