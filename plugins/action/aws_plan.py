"""Ansible action: works out, shows and refuses the plan of a cluster on EC2, before anything is made."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any, ClassVar

import yaml

from plugins.module_utils import aws_access, aws_keys, aws_plan, aws_types
from plugins.module_utils.controller_action import ControllerAction


class ActionModule(ControllerAction):
    """Returns the plan; fails with one line for each reason against it."""

    ARGUMENTS: ClassVar[dict[str, Any]] = {
        "look": {"type": "dict", "required": True},
        "settings": {"type": "dict", "required": True},
        "told_address": {"type": "str", "default": ""},
        "wanted": {"type": "int", "required": True},
        "builder": {"type": "bool", "default": False},
        "types": {"type": "path", "required": True},
        "state_dir": {"type": "path", "required": True},
    }

    def act(self, args: dict[str, Any], task_vars: dict[str, Any]) -> dict[str, Any]:
        """Return ``plan``, ``key_print`` and ``ssh_cidr``."""
        table = yaml.safe_load(Path(args["types"]).read_text())
        state = Path(args["state_dir"])
        key = state / "id_ed25519.pub"
        # Only what makes the key: its comment does not matter.
        print_ = hashlib.sha256(key.read_text().split()[1].encode()).hexdigest()[:16] if key.exists() else ""
        settings = {**args["settings"], "ssh_cidr": aws_access.ssh_network(args["settings"], args["told_address"])}
        wanted = None if args["builder"] else args["wanted"]
        beside = aws_types.usd_beside(settings["aws_disk_gb"], table)
        plan = aws_plan.plan(args["look"], settings, wanted, table["nodes_aws_families"], print_, beside)
        # A cluster that was made from elsewhere: its key pair and its rules are that controller's.
        if strangers := aws_keys.strangers(state, args["look"]["nodes"]):
            names = ", ".join(f"{node['name']} ({node['id']})" for node in strangers)
            plan["faults"].append(f"not made by this controller, which has no host key of {names}; work from there")
        if plan["faults"]:
            raise ValueError("\n".join(plan["faults"]))
        found = {"plan": plan, "key_print": print_, "ssh_cidr": settings["ssh_cidr"]}
        if args["builder"] and args["look"]["image"]["baked"]:
            self._display.display(f"  the image {args['look']['image']['name']} is what would be made; nothing to do")
            return found
        price = f"(prices of {table['nodes_aws_types_region']}, {table['nodes_aws_types_date']}; spot costs less)"
        for line in (f"plan of the cluster '{settings['cluster_name']}' {price}:", *plan["lines"]):
            self._display.display(f"  {line}")
        for line in plan["warnings"]:
            self._display.warning(line)
        return found
