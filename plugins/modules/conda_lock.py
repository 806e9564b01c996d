#!/usr/bin/python
"""Ansible module: the lock of a conda environment."""

from __future__ import annotations

DOCUMENTATION = r"""
module: conda_lock
short_description: Solve a conda environment once, and keep the result as an explicit list with SHA-256
description:
  - Runs on the controller, in a Python that has py-rattler. It is solved for the nodes' platform, not the controller's.
  - An existing lock is left as it is; delete it to have it solved again.
options:
  path:
    description: The lock.
    type: path
    required: true
  channels:
    description: Channels by address (https://, http:// or file://), the preferred first.
    type: list
    elements: str
    required: true
  packages:
    description: What is asked for, as conda writes it, such as python=3.11.
    type: list
    elements: str
    required: true
  platform:
    description: Platform of the nodes.
    type: str
    default: linux-64
  cache_dir:
    description: Where the channels' lists are kept between calls.
    type: path
    required: true
author: Icefield
"""

RETURN = r"""
packages:
  description: Number of packages.
  returned: when it was solved
  type: int
"""

import asyncio
import tempfile
from pathlib import Path
from typing import Any

from ansible.module_utils.basic import AnsibleModule

try:
    from ansible.module_utils import conda_lock
except ImportError:
    from plugins.module_utils import conda_lock

# What the nodes have at least, whatever the controller has: glibc 2.28 is what torch's wheels ask for.
SYSTEM = {"__unix": "0", "__linux": "4.18", "__glibc": "2.28"}
ARCHSPEC = {"linux-64": "x86_64", "linux-aarch64": "aarch64"}


async def solve(params: dict[str, Any]) -> list[tuple[str, str]]:
    """Return address and hex SHA-256 of each package of the solution.

    Raises:
        ValueError: a channel's list tells no SHA-256 of a package.
        RattlerError: a channel cannot be read, or there is no solution.
    """
    import rattler  # type: ignore[import-not-found]
    from rattler.package import BuildString  # type: ignore[import-not-found]

    virtual = [
        rattler.GenericVirtualPackage(rattler.PackageName(name), rattler.Version(version), BuildString(build))
        for name, version, build in [
            *((name, version, "0") for name, version in SYSTEM.items()),
            ("__archspec", "1", ARCHSPEC[params["platform"]]),
        ]
    ]
    records = await rattler.solve(
        params["channels"],
        params["packages"],
        gateway=rattler.Gateway(cache_dir=params["cache_dir"]),
        platforms=[params["platform"], "noarch"],
        virtual_packages=virtual,
    )
    for record in records:
        if not record.sha256:
            raise ValueError(f"the channel tells no SHA-256 of {record.file_name}; index it again")
    return [(record.url, record.sha256.hex()) for record in records]


def write(path: Path, text: str) -> None:
    """Write a file whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile("w", dir=path.parent, delete=False) as file:
        file.write(text)
    Path(file.name).chmod(0o644)
    Path(file.name).replace(path)


def main() -> None:
    """Run the module."""
    module = AnsibleModule(
        argument_spec={
            "path": {"type": "path", "required": True},
            "channels": {"type": "list", "elements": "str", "required": True},
            "packages": {"type": "list", "elements": "str", "required": True},
            "platform": {"type": "str", "choices": list(ARCHSPEC), "default": "linux-64"},
            "cache_dir": {"type": "path", "required": True},
        },
        supports_check_mode=True,
    )
    params = module.params
    path = Path(params["path"])
    if path.is_file() or module.check_mode:
        module.exit_json(changed=not path.is_file())
    where = f"{', '.join(params['packages'])} from {', '.join(params['channels'])} for {params['platform']}"
    try:
        found = asyncio.run(solve(params))
        notes = [f"solved: {where}", f"platform: {params['platform']}"]
        text = conda_lock.render(found, notes)
        conda_lock.python_of(conda_lock.parse(text))
    except Exception as error:  # py-rattler's own errors share no base but this
        hint = "give conda_channels that are reachable and have them (a mirror, or file://), or a conda_lock"
        module.fail_json(msg=f"cannot solve {where}: {' '.join(str(error).split())}; {hint}")
    write(path, text)
    module.exit_json(changed=True, packages=len(found))


if __name__ == "__main__":
    main()
