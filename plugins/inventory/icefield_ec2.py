"""Ansible inventory: the nodes of a cluster on EC2."""

from __future__ import annotations

DOCUMENTATION = r"""
name: icefield_ec2
short_description: The EC2 instances of one cluster, in the groups that every backend yields
description:
  - Asks EC2 once for the living instances that carry the tag C(icefield:cluster) of the cluster.
  - Cluster, region, profile and endpoint come from the settings (C(group_vars/all) beside the inventory, or C(-e)), so
    that they stand in one place. C(amazon.aws.aws_ec2) sees neither.
options:
  plugin:
    description: Name of this plugin.
    required: true
    choices: [icefield_ec2]
author: Icefield
"""

from collections.abc import Mapping
from typing import Any

from ansible import constants
from ansible.plugins.inventory import BaseInventoryPlugin
from ansible.template import Templar
from ansible.utils.vars import combine_vars, load_extra_vars
from ansible.vars.plugins import get_vars_from_path

from plugins.module_utils import aws_inventory

SETTINGS = ("cluster_name", "aws_region", "aws_profile", "aws_endpoint_url", "icefield_state_dir")


class InventoryModule(BaseInventoryPlugin):
    """Reads the instances; a fault is handed on to the check of the settings, which says it in one line."""

    NAME = "icefield_ec2"

    def verify_file(self, path: str) -> bool:
        """Tell whether the file may be one of this plugin's."""
        return super().verify_file(path) and path.endswith(("aws_ec2.yml", "aws_ec2.yaml"))

    def parse(self, inventory: Any, loader: Any, path: str, cache: bool = True) -> None:
        """Fill the inventory."""
        super().parse(inventory, loader, path, cache)
        self._read_config_data(path)
        for group in ("backend_aws", "cluster", "head", "workers", "backend_aws_builder"):
            inventory.add_group(group)
        inventory.add_child("backend_aws", "cluster")
        inventory.add_child("backend_aws", "backend_aws_builder")
        inventory.add_child("cluster", "head")
        inventory.add_child("cluster", "workers")
        try:
            settings = self._settings(loader, path)
            found = aws_inventory.cluster(settings)
        except aws_inventory.InventoryFaultError as fault:
            # Failing here would leave an empty inventory, which means the local backend.
            inventory.groups["all"].set_variable("icefield_inventory_fault", str(fault))
            return
        inventory.groups["all"].set_variable("icefield_aws_region", found["region"])
        inventory.groups["all"].set_variable("icefield_stopped", found["stopped"])
        for host in found["hosts"]:
            group = "backend_aws_builder" if host["builder"] else "head" if host["number"] == 1 else "workers"
            inventory.add_host(host["name"], group=group)
            for name, value in host["vars"].items():
                inventory.set_variable(host["name"], name, value)

    def _settings(self, loader: Any, path: str) -> Mapping[str, str]:
        everyone = self.inventory.groups["all"]
        # Of the stage "inventory" there are none, unless RUN_VARS_PLUGINS says so.
        variables = combine_vars(get_vars_from_path(loader, path, [everyone], "task"), load_extra_vars(loader))
        variables["ansible_config_file"] = constants.CONFIG_FILE
        templar = Templar(loader=loader, variables=variables)
        return {name: str(templar.template(variables.get(name, ""))) for name in SETTINGS}
