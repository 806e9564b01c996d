#!/usr/bin/python
"""Ansible module: Miniforge (conda and mamba) in a folder of its own."""

from __future__ import annotations

DOCUMENTATION = r"""
module: miniforge
short_description: Install Miniforge from its installer, once for each version
description:
  - The installer runs in batch mode (C(-b)), which asks nothing and touches no start-up file of a shell.
options:
  path:
    description: Folder of the installation.
    type: path
    required: true
  sha256:
    description: SHA-256 of the installer; it tells the version too.
    type: str
    required: true
  version:
    description: Version, for the messages and the note that is left.
    type: str
    required: true
  frontend:
    description: The program that has to be there in the end.
    type: str
    choices: [conda, mamba]
    default: conda
  installer:
    description: The installer; not needed while only asking (C(query)).
    type: path
  query:
    description: Only tell whether this version is installed.
    type: bool
    default: false
author: Icefield
"""

RETURN = r"""
ready:
  description: Whether this version is installed (before the module acted, with C(query)).
  returned: always
  type: bool
"""

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from ansible.module_utils.basic import AnsibleModule

try:
    from ansible.module_utils import pushed_wheels
except ImportError:
    from plugins.module_utils import pushed_wheels

MARKER = ".icefield-miniforge"


def run(command: list[str]) -> str:
    """Run a program with a home that is thrown away; return what it printed.

    Raises:
        ValueError: it failed; the text is its last line.
    """
    with tempfile.TemporaryDirectory() as home:
        environment = {"PATH": os.environ.get("PATH", "/usr/bin:/bin"), "HOME": home}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        lines = (done.stderr or done.stdout).strip().splitlines() or [f"exit code {done.returncode}"]
        raise ValueError(f"{Path(command[0]).name} {Path(command[1]).name}: {lines[-1]}")
    return done.stdout


def install(path: Path, installer: Path, sha256: str, frontend: str) -> None:
    """Install into a folder that is made anew.

    Raises:
        ValueError: the installer is another one, failed, or did not bring the program.
    """
    if not installer.is_file():
        raise ValueError(f"{installer} is not there")
    found = pushed_wheels.sha256(installer)
    if found != sha256:
        raise ValueError(f"{installer.name} has SHA-256 {found}, not {sha256}")
    shutil.rmtree(path, ignore_errors=True)
    path.parent.mkdir(parents=True, exist_ok=True)
    run(["bash", str(installer), "-b", "-p", str(path)])
    program = path / "bin" / frontend
    if not program.is_file():
        raise ValueError(f"{installer.name} brought no bin/{frontend}")
    run([str(program), "--version"])


def main() -> None:
    """Run the module."""
    module = AnsibleModule(
        argument_spec={
            "path": {"type": "path", "required": True},
            "sha256": {"type": "str", "required": True},
            "version": {"type": "str", "required": True},
            "frontend": {"type": "str", "choices": ["conda", "mamba"], "default": "conda"},
            "installer": {"type": "path"},
            "query": {"type": "bool", "default": False},
        },
        supports_check_mode=True,
    )
    params = module.params
    path = Path(params["path"])
    marker = path / MARKER
    want = f"{params['version']} {params['sha256']}"
    ready = marker.is_file() and marker.read_text().strip() == want and (path / "bin" / params["frontend"]).is_file()
    if ready or params["query"] or module.check_mode:
        module.exit_json(changed=not ready and not params["query"], ready=ready)
    if not params["installer"]:
        module.fail_json(msg="installer is needed to install")
    try:
        install(path, Path(params["installer"]), params["sha256"], params["frontend"])
    except (OSError, ValueError) as error:
        module.fail_json(msg=f"cannot install Miniforge {params['version']}: {error}")
    marker.write_text(want + "\n")
    module.exit_json(changed=True, ready=True)


if __name__ == "__main__":
    main()
