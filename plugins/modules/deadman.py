#!/usr/bin/python
"""Ansible module: the timer that ends a node."""

from __future__ import annotations

DOCUMENTATION = r"""
module: deadman
short_description: Have a node end itself after some hours, whatever becomes of the controller
description:
  - A timer of systemd that powers the node off. On EC2, instances are launched so that power-off terminates them.
  - A timer that runs is left alone, so that provisioning again does not prolong anything. Where it was made for other
    hours, it is set anew if that ends the node sooner.
options:
  hours:
    description: Hours from now.
    type: float
    required: true
  extend:
    description: Set the timer anew also where one runs.
    type: bool
    default: false
author: Icefield
"""

RETURN = r"""
deadline:
  description: When the node ends, in UTC.
  returned: always
  type: str
"""

from datetime import datetime, timedelta, timezone
from pathlib import Path

from ansible.module_utils.basic import AnsibleModule

try:
    from ansible.module_utils import deadman
except ImportError:
    from plugins.module_utils import deadman


def main() -> None:
    """Run the module."""
    module = AnsibleModule(
        argument_spec={
            "hours": {"type": "float", "required": True},
            "extend": {"type": "bool", "default": False},
        },
        supports_check_mode=True,
    )
    systemctl = module.get_bin_path("systemctl", True)
    timer = Path(deadman.FOLDER) / deadman.TIMER
    now = datetime.now(timezone.utc)
    text = timer.read_text() if timer.exists() else ""
    present, noted = deadman.deadline_of(text), deadman.max_hours_of(text)
    active, _, _ = module.run_command([systemctl, "is-active", "--quiet", deadman.TIMER])
    hours, extend = module.params["hours"], module.params["extend"]
    sooner = noted != hours and present is not None and present > now + timedelta(hours=hours)
    if active == 0 and present and present > now and not extend and not sooner:
        module.exit_json(changed=False, deadline=present.isoformat())
    # A time since boot that has passed would end the node at once.
    uptime = float(Path("/proc/uptime").read_text().split()[0])
    units = deadman.units(now, hours, uptime=uptime, max_hours=noted if extend else None)
    if not module.check_mode:
        for path, text in units.items():
            Path(path).write_text(text)
        for command in (["daemon-reload"], ["enable", deadman.TIMER], ["restart", deadman.TIMER]):
            code, out, err = module.run_command([systemctl, *command])
            if code != 0:
                module.fail_json(msg=f"the timer that ends this node cannot be set: {(err or out).strip()}")
    deadline = deadman.deadline_of(units[str(timer)])
    module.exit_json(changed=True, deadline=deadline.isoformat() if deadline else "")


if __name__ == "__main__":
    main()
