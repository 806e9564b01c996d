#!/usr/bin/python
"""Ansible module: a known_hosts file whose keys are read inside the containers."""

from __future__ import annotations

DOCUMENTATION = r"""
module: podman_known_hosts
short_description: Write a known_hosts file from the public host keys of containers
description:
  - The keys are read by C(podman exec), a channel that nobody on the network can stand in, so that the very first ssh
    connection is already verified.
options:
  path:
    description: The known_hosts file; it holds these hosts and no others afterwards.
    type: path
    required: true
  hosts:
    description: Containers with C(name) and C(address).
    type: list
    elements: dict
    required: true
  timeout:
    description: Seconds to wait for a container to have made its key.
    type: int
    default: 120
author: Icefield
"""

RETURN = r"""
entries:
  description: Number of lines written.
  returned: always
  type: int
"""

import os
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from ansible.module_utils.basic import AnsibleModule

KEY = "/etc/ssh/ssh_host_ed25519_key.pub"


class NodeNotReadyError(Exception):
    """A container has no host key and will not get one."""


def read_key(module: AnsibleModule, podman: str, name: str) -> str:
    """Return ``ssh-ed25519 AAAA…`` of a container, waiting for it to be made.

    Raises:
        NodeNotReadyError: the container has stopped, or the time is over.
    """
    deadline = time.monotonic() + module.params["timeout"]
    while True:
        code, out, err = module.run_command([podman, "exec", name, "cat", KEY])
        if code == 0 and out.startswith("ssh-ed25519 "):
            return " ".join(out.split()[:2])
        _, state, _ = module.run_command([podman, "inspect", "--format", "{{.State.Status}}", name])
        if state.strip() != "running" or time.monotonic() > deadline:
            _, logs, log_err = module.run_command([podman, "logs", "--tail", "3", name])
            said = " / ".join((logs + log_err).split("\n")).strip(" /")
            raise NodeNotReadyError(f"{name} ({state.strip() or 'absent'}) has no ssh host key: {said or err.strip()}")
        time.sleep(0.1)


def write(path: Path, text: str) -> None:
    """Replace the file in one step, readable by its owner alone."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent)
    with os.fdopen(handle, "w") as file:
        file.write(text)
    Path(temporary).replace(path)


def main() -> None:
    """Run the module."""
    module = AnsibleModule(
        argument_spec={
            "path": {"type": "path", "required": True},
            "hosts": {"type": "list", "elements": "dict", "required": True},
            "timeout": {"type": "int", "default": 120},
        },
        supports_check_mode=True,
    )
    path, hosts = Path(module.params["path"]), module.params["hosts"]
    if module.check_mode:
        module.exit_json(changed=not path.exists(), entries=len(hosts))
    podman = module.get_bin_path("podman", True)
    try:
        with ThreadPoolExecutor(max_workers=8) as pool:
            keys = list(pool.map(lambda host: read_key(module, podman, host["name"]), hosts))
    except NodeNotReadyError as error:
        module.fail_json(msg=str(error))
    lines = [f"{host['name']},{host['address']} {key}\n" for host, key in zip(hosts, keys, strict=True)]
    text = "".join(sorted(lines))
    changed = not path.exists() or path.read_text() != text
    if changed:
        write(path, text)
    module.exit_json(changed=changed, entries=len(lines))


if __name__ == "__main__":
    main()
