"""Tell the machines what happens to instances, images and VPCs in moto."""

from __future__ import annotations

from typing import Any

from moto.ec2.exceptions import EC2ClientError
from moto.ec2.models.amis import AmiBackend
from moto.ec2.models.instances import Instance, InstanceBackend, InstanceState
from moto.ec2.models.vpcs import VPCBackend

from tests.ec2_server.machines import NoMachines


def install(machines: NoMachines) -> None:
    """Follow each call that changes a state with the change of the machine."""
    start, stop = InstanceBackend.start_instances, InstanceBackend.stop_instances
    terminate, reboot = InstanceBackend.terminate_instances, InstanceBackend.reboot_instances
    deregister, delete_vpc = AmiBackend.deregister_image, VPCBackend.delete_vpc

    def start_instances(self: Any, instance_ids: list[str]) -> Any:
        _refuse_terminated(self, instance_ids)
        result = start(self, instance_ids)
        machines.started([instance for instance, _ in result])
        return result

    def stop_instances(self: Any, instance_ids: list[str]) -> Any:
        _refuse_terminated(self, instance_ids)
        result = stop(self, instance_ids)
        machines.stopped([instance for instance, _ in result])
        return result

    def terminate_instances(self: Any, instance_ids: list[str]) -> Any:
        instances = self.get_multi_instances_by_id(instance_ids)
        alive = [instance.id for instance in instances if instance.state != "terminated"]
        # A second time is no error and changes nothing; moto would give another reason.
        result = terminate(self, alive) if alive or not instance_ids else []
        machines.terminated([instance for instance, _ in result])
        gone = [(instance, InstanceState("terminated", 48)) for instance in instances if instance.id not in alive]
        return result + gone

    def reboot_instances(self: Any, instance_ids: list[str]) -> Any:
        _refuse_terminated(self, instance_ids)
        result = reboot(self, instance_ids)
        machines.rebooted(result)
        return result

    def deregister_image(self: Any, ami_id: str) -> None:
        deregister(self, ami_id)
        machines.forgotten(ami_id)

    def delete_vpc_too(self: Any, vpc_id: str) -> Any:
        result = delete_vpc(self, vpc_id)
        machines.vpc_deleted(vpc_id)
        return result

    address, interfaces = Instance.private_ip_address, Instance.network_interfaces
    # Both are free again, and may belong to another instance already.
    Instance.private_ip_address = property(lambda self: address.fget(self) if self.state != "terminated" else None)
    Instance.network_interfaces = property(lambda self: interfaces.fget(self) if self.state != "terminated" else [])
    InstanceBackend.start_instances = start_instances
    InstanceBackend.stop_instances = stop_instances
    InstanceBackend.terminate_instances = terminate_instances
    InstanceBackend.reboot_instances = reboot_instances
    AmiBackend.deregister_image = deregister_image
    VPCBackend.delete_vpc = delete_vpc_too


def _refuse_terminated(backend: Any, instance_ids: list[str]) -> None:
    for instance in backend.get_multi_instances_by_id(instance_ids):
        if instance.state == "terminated":
            raise EC2ClientError(
                "IncorrectInstanceState", f"The instance '{instance.id}' is not in a state for this request."
            )
