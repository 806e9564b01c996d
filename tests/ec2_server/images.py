"""The images that the endpoint knows at start, and how images are described."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from moto.core.responses import ActionResult
from moto.ec2.models.amis import Ami, AmiBackend
from moto.ec2.responses.amis import AmisResponse
from moto.ssm.models import Parameter, ParameterDict

AL2023_PARAMETER = "/aws/service/ami-amazon-linux-latest/al2023-ami-kernel-default-x86_64"
DEBIAN, CANONICAL, AMAZON, STRANGER = "136693071363", "099720109477", "137112412989", "666666666666"
USERS = {DEBIAN: "admin", CANONICAL: "ubuntu", AMAZON: "ec2-user"}
_NOBLE = "ubuntu/images/hvm-ssd-gp3/ubuntu-noble-24.04-amd64-server"


@dataclass(frozen=True, kw_only=True, slots=True)
class Seed:
    """An image of a distributor."""

    id: str
    owner: str
    name: str
    day: str
    architecture: str = "x86_64"
    root: str = "/dev/xvda"


SEEDS = (
    Seed(id="ami-0deb1200000000001", owner=DEBIAN, name="debian-12-amd64-20240507-1740", day="2024-05-07"),
    Seed(id="ami-0deb1200000000002", owner=DEBIAN, name="debian-12-amd64-20241004-1890", day="2024-10-04"),
    # What a client must not take: another architecture, and a stranger's image that looks newest.
    Seed(
        id="ami-0deb1200000000003",
        owner=DEBIAN,
        name="debian-12-arm64-20241004-1890",
        day="2024-10-04",
        architecture="arm64",
    ),
    Seed(id="ami-0deb1200000000004", owner=STRANGER, name="debian-12-amd64-20991231-9999", day="2025-06-01"),
    Seed(id="ami-0bb42404000000001", owner=CANONICAL, name=f"{_NOBLE}-20240927", day="2024-09-27", root="/dev/sda1"),
    Seed(id="ami-0bb42404000000002", owner=CANONICAL, name=f"{_NOBLE}-20241109", day="2024-11-09", root="/dev/sda1"),
    Seed(
        id="ami-0a120230000000001",
        owner=AMAZON,
        name="al2023-ami-2023.5.20240916.0-kernel-6.1-x86_64",
        day="2024-09-16",
    ),
)
_AL2023 = SEEDS[-1]


def _load_amis(self: Any) -> None:
    for seed in SEEDS:
        image = Ami(
            self,
            seed.id,
            name=seed.name,
            description=seed.name,
            owner_id=seed.owner,
            owner_alias="amazon" if seed.owner == AMAZON else None,
            public=True,
            virtualization_type="hvm",
            architecture=seed.architecture,
            creation_date=datetime.fromisoformat(f"{seed.day}T12:00:00"),
            image_location=f"{seed.owner}/{seed.name}",
            hypervisor="xen",
            root_device_type="ebs",
            root_device_name=seed.root,
            boot_mode="uefi-preferred",
        )
        image.ebs_snapshot.volume.size = 8
        self.amis[seed.id] = image


def _load_latest_amis(self: Any) -> None:
    parameter = Parameter(
        account_id=self.account_id,
        name=AL2023_PARAMETER,
        value=_AL2023.id,
        parameter_type="String",
        description=None,
        allowed_pattern=None,
        keyid=None,
        last_modified_date=datetime.fromisoformat(_AL2023.day),
        version=1,
        data_type="text",
    )
    dict.__setitem__(self, AL2023_PARAMETER, [parameter])


def _block_device_mappings(self: Any) -> list[dict[str, Any]]:
    snapshot = self.ebs_snapshot
    ebs = {
        "SnapshotId": snapshot.id,
        "VolumeSize": snapshot.volume.size,
        "DeleteOnTermination": True,
        "VolumeType": "gp3",
        "Encrypted": snapshot.encrypted,
    }
    return [{"DeviceName": self.root_device_name, "Ebs": ebs}]


def default_user(image: Any) -> str:
    """Return the user that an image's cloud-init makes."""
    return str(getattr(image, "icefield_user", USERS.get(image.owner_id, "admin")))


def _inherit(image: Any, instance: Any) -> None:
    """Give an image made of an instance what moto leaves at its defaults."""
    source = instance.ec2_backend.amis.get(instance.image_id)
    image.icefield_user = getattr(instance, "icefield_user", default_user(source) if source else "admin")
    image.root_device_name = instance.root_device_name
    image.root_device_type = "ebs"
    image.hypervisor = "xen"
    image.boot_mode = "uefi-preferred"
    root = instance.block_device_mapping.get(instance.root_device_name)
    if root:
        volume = instance.ec2_backend.get_volume(root.volume_id)
        image.ebs_snapshot.volume.size = volume.size
        image.ebs_snapshot.encrypted = volume.encrypted


def install(captured: Callable[[Any, Any, bool], None]) -> None:
    """Replace moto's images, and complete CreateImage.

    Args:
        captured: called with a new image, its instance, and whether the instance may be rebooted.
    """
    AmiBackend._load_amis = _load_amis
    Ami.block_device_mappings = property(_block_device_mappings)
    ParameterDict._load_latest_amis = _load_latest_amis
    original = AmisResponse.create_image

    def create_image(self: Any) -> ActionResult:
        specs = copy.deepcopy(self.params.get("TagSpecifications") or [])
        # moto refuses tags for the snapshot.
        self.params["TagSpecifications"] = [row for row in specs if row["ResourceType"] != "snapshot"]
        instance = self.ec2_backend.get_instance(self.params["InstanceId"])
        result = original(self)
        image = self.ec2_backend.amis[result.result["ImageId"]]
        for row in specs:
            if row["ResourceType"] == "snapshot":
                image.ebs_snapshot.add_tags({tag["Key"]: tag.get("Value", "") for tag in row["Tags"]})
        _inherit(image, instance)
        captured(image, instance, not self.params.get("NoReboot"))
        return result

    AmisResponse.create_image = create_image
