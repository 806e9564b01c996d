#!/usr/bin/python
"""Ansible module: what a node has for a run, and what it is doing."""

from __future__ import annotations

DOCUMENTATION = r"""
module: run_query
short_description: Tell what of a run's files a node has, what it measured about itself and which runs it knows
description: Reads only. One call answers all, because every call is a round trip to every node.
options:
  runs_dir:
    description: Folder of the runs.
    type: path
    required: true
  stage_dir:
    description: Folder of staged files.
    type: path
    default: ""
  tuning_file:
    description: File that the role C(tuning) wrote.
    type: path
    default: ""
  env:
    description: The Python environment; its packages are told where it is given.
    type: path
    default: ""
  ccl_dir:
    description: Folder of oneCCL.
    type: path
    default: ""
  trees:
    description: Staged folders to look for, each with C(kind) and C(digest).
    type: list
    elements: dict
    default: []
author: Icefield
"""

RETURN = r"""
tuning:
  description: What the node measured about itself; empty where it was not provisioned.
  returned: always
  type: dict
ccl:
  description: Whether the node has oneCCL, built for its torch.
  returned: always
  type: bool
missing:
  description: Those of O(trees) that the node lacks.
  returned: always
  type: list
active:
  description: Id of the run that goes on, or an empty text.
  returned: always
  type: str
runs:
  description: The runs on the node, the newest last.
  returned: always
  type: list
packages:
  description: Versions of the packages of O(env), by their normalised names; empty where there is none.
  returned: always
  type: dict
python:
  description: The environment's Python, such as 3.11, or an empty text.
  returned: always
  type: str
isa:
  description: Flags of the processors.
  returned: always
  type: list
disk_free:
  description: Bytes free where runs are kept.
  returned: always
  type: int
"""

import shutil
from pathlib import Path

from ansible.module_utils.basic import AnsibleModule

try:
    from ansible.module_utils import ccl_marker, env_packages, node_cpu, run_folder, staging
except ImportError:  # imported by tests, from the checkout
    from plugins.module_utils import ccl_marker, env_packages, node_cpu, run_folder, staging


def main() -> None:
    """Run the module."""
    module = AnsibleModule(
        argument_spec={
            "runs_dir": {"type": "path", "required": True},
            "stage_dir": {"type": "path", "default": ""},
            "tuning_file": {"type": "path", "default": ""},
            "env": {"type": "path", "default": ""},
            "ccl_dir": {"type": "path", "default": ""},
            "trees": {"type": "list", "elements": "dict", "default": []},
        },
        supports_check_mode=True,
    )
    runs_dir, stage_dir = Path(module.params["runs_dir"]), Path(module.params["stage_dir"])
    env = Path(module.params["env"]) if module.params["env"] else None
    module.exit_json(
        changed=False,
        packages=env_packages.packages_of(env) if env else {},
        python=env_packages.python_of(env) if env else "",
        isa=node_cpu.all_flags(Path("/proc/cpuinfo").read_text()) if env else [],
        tuning=run_folder.read_json(Path(module.params["tuning_file"])),
        ccl=(Path(module.params["ccl_dir"]) / ccl_marker.NAME).is_file(),
        missing=[tree for tree in module.params["trees"] if not staging.is_complete(stage_dir, tree)],
        active=run_folder.active_run(runs_dir),
        runs=run_folder.runs_of(runs_dir),
        disk_free=shutil.disk_usage(runs_dir).free if runs_dir.is_dir() else 0,
    )


if __name__ == "__main__":
    main()
