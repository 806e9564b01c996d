#!/usr/bin/python
"""Ansible module: what podman has to be told on this machine."""

from __future__ import annotations

DOCUMENTATION = r"""
module: podman_engine
short_description: Probe podman, and return the options that containers need on this machine
description:
  - Finds the OCI runtime that works with this machine's control groups, and ulimits that this process may set.
author: Icefield
"""

RETURN = r"""
cmd_args:
  description: Global options for every call of podman that makes a container.
  returned: always
  type: list
ulimits:
  description: Values for C(--ulimit).
  returned: always
  type: list
"""

import json
import os
import resource
from pathlib import Path

from ansible.module_utils.basic import AnsibleModule

try:
    from ansible.module_utils import podman
except ImportError:
    from plugins.module_utils import podman  # type: ignore[no-redef]


def main() -> None:
    """Run the module."""
    module = AnsibleModule(argument_spec={}, supports_check_mode=True)
    path = module.get_bin_path("podman")
    if path is None:
        module.fail_json(msg="podman is not installed on this machine; run: make setup")
    if os.geteuid() != 0:
        module.fail_json(msg="clusters of containers need root on this machine; run as root, or list your own servers")
    code, out, err = module.run_command([path, "info", "--format", "json"])
    if code != 0:
        module.fail_json(msg=f"podman does not work on this machine: {err.strip().splitlines()[-1]}")
    try:
        cmd_args = podman.runtime_args(json.loads(out), module.get_bin_path("runc") is not None)
    except ValueError as error:
        module.fail_json(msg=str(error))
    may_raise = podman.has_capability(Path("/proc/self/status").read_text(), podman.CAP_SYS_RESOURCE)
    hard = {
        "nofile": resource.getrlimit(resource.RLIMIT_NOFILE)[1],
        "nproc": resource.getrlimit(resource.RLIMIT_NPROC)[1],
    }
    pid_max = int(Path("/proc/sys/kernel/pid_max").read_text())
    module.exit_json(changed=False, cmd_args=cmd_args, ulimits=podman.ulimit_args(may_raise, hard, pid_max))


if __name__ == "__main__":
    main()
