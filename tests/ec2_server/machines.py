"""What instances run as: nothing at all here, containers in containers.py."""

from __future__ import annotations

from typing import Any


class NoMachines:
    """Instances are records only. Also the list of what a kind of machine has to answer to."""

    def prepare(self) -> None:
        """Make ready before the first call."""

    def launched(self, backend: Any, instances: list[Any]) -> None:
        """Start new instances."""

    def started(self, instances: list[Any]) -> None:
        """Start stopped instances."""

    def stopped(self, instances: list[Any]) -> None:
        """Stop instances."""

    def rebooted(self, instances: list[Any]) -> None:
        """Restart instances."""

    def terminated(self, instances: list[Any]) -> None:
        """Remove instances."""

    def captured(self, image: Any, instance: Any, reboot: bool) -> None:
        """Fill a new image with the disk of an instance."""

    def forgotten(self, ami_id: str) -> None:
        """Remove an image."""

    def vpc_deleted(self, vpc_id: str) -> None:
        """Remove the network of a VPC."""

    def remove_all(self) -> None:
        """Remove everything that was made."""
