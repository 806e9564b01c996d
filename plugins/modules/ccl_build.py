#!/usr/bin/python
"""Ansible module: oneCCL, and the backend of torch.distributed over it, built for an environment's torch."""

from __future__ import annotations

DOCUMENTATION = r"""
module: ccl_build
short_description: Install oneCCL beside an environment and build the backend for its torch
description:
  - uv, taken from the wheelhouse, installs oneCCL's packages into a folder of their own, so that the launcher and the
    libraries of MPI that come with them do not take the place of the environment's. The environment's Python then
    compiles the backend, whose package C(icefield_ccl) lies in C(python) of that folder.
  - What a run does not need, most of the packages' size, is removed at the end; licences stay.
  - A marker, written last, tells that all is complete for this torch.
options:
  path:
    description: Folder of oneCCL.
    type: path
    required: true
  env:
    description: The environment.
    type: path
    required: true
  lock:
    description: Text of the lock of oneCCL's packages.
    type: str
    required: true
  sources:
    description: Digest of the backend's sources.
    type: str
    required: true
  wheelhouse:
    description: Folder with the wheels and their manifest; not needed while only asking (C(query)).
    type: path
  source:
    description: Where packages come from.
    type: str
    choices: [wheelhouse, index]
    default: wheelhouse
  query:
    description: Only tell whether it is there.
    type: bool
    default: false
author: Icefield
"""

RETURN = r"""
ready:
  description: Whether all is there (before the module acted, with C(query)).
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
    from ansible.module_utils import ccl_marker, pushed_wheels
except ImportError:  # imported by tests, from the checkout
    from plugins.module_utils import ccl_marker, pushed_wheels

# Of the packages' files, what ranks load, and the terms under which they may.
KEPT = (
    "lib/libccl.so*",
    "lib/libfabric.so*",
    "lib/libtcp-fi.so",
    "lib/icefield_ccl/**/*",
    "lib/python*/site-packages/*.dist-info/*",
    "python/**/*",
    "share/doc/**/*",
)


def run(command: list[str], **variables: str) -> None:
    """Run a command.

    Raises:
        ValueError: it failed; the text is its last lines.
    """
    done = subprocess.run(command, env=os.environ | variables, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        lines = (done.stderr or done.stdout).strip().splitlines() or [f"{command[0]}: exit code {done.returncode}"]
        raise ValueError(" ".join(lines[-3:]))


def clear(path: Path) -> None:
    """Remove what an earlier build has left; the package that was pushed stays."""
    for entry in path.iterdir():
        if entry.name != "python":
            shutil.rmtree(entry) if entry.is_dir() else entry.unlink()


def install(module: AnsibleModule, path: Path, env: Path, wheelhouse: Path) -> None:
    """Install the packages and build.

    Raises:
        ValueError: a step failed; the text is its last lines.
    """
    python = str(env / "bin" / "python")
    with tempfile.TemporaryDirectory() as temporary:
        uv = pushed_wheels.unpack_uv(wheelhouse, Path(temporary))
        lock = Path(temporary) / "lock.txt"
        lock.write_text(module.params["lock"])
        where = ["--offline", "--no-index", "--find-links", str(wheelhouse)]
        options = where if module.params["source"] == "wheelhouse" else []
        command = [str(uv), "pip", "install", "--prefix", str(path), "--python", python, "--no-deps", "--no-build"]
        # Of an environment that conda manages too; nothing is put into it.
        command.append("--break-system-packages")
        run([*command, "--link-mode", "copy", *options, "-r", str(lock)], **pushed_wheels.UV_ENVIRONMENT)
    run([python, "-m", "icefield_ccl"], PYTHONPATH=str(path / "python"), ICEFIELD_CCL_PREFIX=str(path))
    prune(path)


def prune(path: Path) -> None:
    """Remove all files but those that are kept, and folders that are empty then."""
    kept = {file for pattern in KEPT for file in path.glob(pattern)}
    for entry in sorted(path.rglob("*"), reverse=True):
        if entry.is_dir() and not entry.is_symlink():
            if not any(entry.iterdir()):
                entry.rmdir()
        elif entry not in kept:
            entry.unlink()


def main() -> None:
    """Run the module."""
    module = AnsibleModule(
        argument_spec={
            "path": {"type": "path", "required": True},
            "env": {"type": "path", "required": True},
            "lock": {"type": "str", "required": True},
            "sources": {"type": "str", "required": True},
            "wheelhouse": {"type": "path"},
            "source": {"type": "str", "choices": ["wheelhouse", "index"], "default": "wheelhouse"},
            "query": {"type": "bool", "default": False},
        },
        supports_check_mode=True,
    )
    path, env = Path(module.params["path"]), Path(module.params["env"])
    acts = not (module.params["query"] or module.check_mode)
    try:
        want = ccl_marker.wanted(env, module.params["lock"], module.params["sources"])
    except ValueError as error:
        # A check of a node that has no environment yet has nothing to compare with.
        if acts:
            module.fail_json(msg=str(error))
        module.exit_json(changed=not module.params["query"], ready=False)
    ready = ccl_marker.is_ready(path, want)
    if ready or not acts:
        module.exit_json(changed=not ready and not module.params["query"], ready=ready)
    if not module.params["wheelhouse"]:
        module.fail_json(msg="wheelhouse is needed to install")
    wheelhouse = Path(module.params["wheelhouse"])
    try:
        pushed_wheels.verify(wheelhouse)
        clear(path)
        install(module, path, env, wheelhouse)
        (path / ccl_marker.NAME).write_text(want + "\n")
    except (OSError, ValueError) as error:
        module.fail_json(msg=str(error))
    module.exit_json(changed=True, ready=True)


if __name__ == "__main__":
    main()
