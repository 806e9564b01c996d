"""Ansible action: works out, shows and refuses the plan of a cluster on EC2, before anything is made."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any, ClassVar

import yaml

from plugins.module_utils import aws_plan
from plugins.module_utils.controller_action import ControllerAction


class ActionModule(ControllerAction):
    """Returns the plan; fails with one line for each reason against it."""

    ARGUMENTS: ClassVar[dict[str, Any]] = {
        "look": {"type": "dict", "required": True},
        "settings": {"type": "dict", "required": True},
        "ssh_cidr": {"type": "str", "required": True},
        "wanted": {"type": "int", "required": True},
        "builder": {"type": "bool", "default": False},
        "types": {"type": "path", "required": True},
        "public_key": {"type": "path", "required": True},
    }

    def act(self, args: dict[str, Any], task_vars: dict[str, Any]) -> dict[str, Any]:
        """Return ``plan``."""
        table = yaml.safe_load(Path(args["types"]).read_text())
        key = Path(args["public_key"])
        # Only what makes the key: its comment does not matter.
        print_ = hashlib.sha256(key.read_text().split()[1].encode()).hexdigest()[:16] if key.exists() else ""
        settings = {**args["settings"], "ssh_cidr": args["ssh_cidr"]}
        wanted = None if args["builder"] else args["wanted"]
        plan = aws_plan.plan(args["look"], settings, wanted, table["nodes_aws_families"], print_)
        if plan["faults"]:
            raise ValueError("\n".join(plan["faults"]))
        price = f"(prices of {table['nodes_aws_types_region']}, {table['nodes_aws_types_date']}; spot costs less)"
        for line in (f"plan of the cluster '{settings['cluster_name']}' {price}:", *plan["lines"]):
            self._display.display(f"  {line}")
        for line in plan["warnings"]:
            self._display.warning(line)
        return {"plan": plan, "key_print": print_}
