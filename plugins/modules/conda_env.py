#!/usr/bin/python
"""Ansible module: a conda environment that equals a lock."""

from __future__ import annotations

DOCUMENTATION = r"""
module: conda_env
short_description: Make a folder hold exactly the conda packages of a lock
description:
  - Installs from packages that lie on the node, each compared with its SHA-256; needs no network.
  - py-rattler, taken from the wheelhouse, does it, or the conda or mamba named by C(program).
  - Another lock makes the environment from nothing, so what was installed into it by other means goes too.
  - No start-up file of a shell is touched; C(bin/activate) in the environment can be sourced.
options:
  path:
    description: The environment.
    type: path
    required: true
  state:
    description: Whether it shall be there. C(absent) leaves folders alone that conda has not made.
    type: str
    choices: [present, absent]
    default: present
  lock:
    description: Text of the lock.
    type: str
    default: ""
  packages:
    description: Folder with the packages; not needed while only asking (C(query)).
    type: path
  wheelhouse:
    description: Folder with the wheel of py-rattler and its manifest.
    type: path
  program:
    description: Path of conda or mamba, to use instead of py-rattler.
    type: path
  query:
    description: Only tell whether the environment equals the lock.
    type: bool
    default: false
author: Icefield
"""

RETURN = r"""
ready:
  description: Whether the environment equals the lock (before the module acted, with C(query)).
  returned: with state=present
  type: bool
"""

import asyncio
import os
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

from ansible.module_utils.basic import AnsibleModule

try:
    from ansible.module_utils import conda_lock, conda_prefix, pushed_wheels
except ImportError:
    from plugins.module_utils import conda_lock, conda_prefix, pushed_wheels

RATTLER_PYTHON = (3, 10)


def verified(packages: list[conda_lock.Package], folder: Path) -> list[Path]:
    """Return the files of the packages.

    Raises:
        ValueError: one is missing or its SHA-256 differs.
    """
    for package in packages:
        path = folder / package.file
        if not path.is_file():
            raise ValueError(f"{package.file} of the lock is not in {folder}")
        if pushed_wheels.sha256(path) != package.sha256:
            raise ValueError(f"{package.file} differs from its SHA-256 in the lock")
    return [folder / package.file for package in packages]


def install_by_rattler(prefix: Path, files: list[Path], wheelhouse: Path) -> None:
    """Install by py-rattler out of its wheel, which is not installed anywhere.

    Raises:
        ValueError: the node's Python is too old, or there is no wheel.
    """
    if sys.version_info < RATTLER_PYTHON:
        version = ".".join(map(str, sys.version_info[:3]))
        raise ValueError(f"py-rattler needs Python 3.10 on the node, this is {version}; give conda_provider=miniforge")
    pushed_wheels.verify(wheelhouse)
    wheel = next(iter(wheelhouse.glob("py_rattler-*.whl")), None)
    if wheel is None:
        raise ValueError(f"no wheel of py-rattler in {wheelhouse}")
    with tempfile.TemporaryDirectory() as temporary:
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(temporary)
        sys.path.insert(0, temporary)
        import rattler  # type: ignore[import-not-found]

        async def install() -> None:
            records = [await rattler.RepoDataRecord.from_package_archive(file) for file in files]
            cache = Path(temporary) / "cache"
            await rattler.install(records, target_prefix=prefix, cache_dir=cache, show_progress=False)

        asyncio.run(install())


def install_by_program(prefix: Path, files: list[Path], program: Path) -> None:
    """Install by conda or mamba, without network, without traces in a home or a package cache that stays.

    Raises:
        ValueError: it failed; the text is its last line.
    """
    with tempfile.TemporaryDirectory() as temporary:
        explicit = Path(temporary) / "explicit.txt"
        explicit.write_text("\n".join([conda_lock.HEAD, *(f"file://{file}" for file in files)]) + "\n")
        environment = {
            "PATH": os.environ.get("PATH", "/usr/bin:/bin"),
            "HOME": temporary,
            "CONDA_PKGS_DIRS": f"{temporary}/pkgs",
            "CONDA_REGISTER_ENVS": "false",
        }
        command = [str(program), "create", "--yes", "--offline", "--prefix", str(prefix), "--file", str(explicit)]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        lines = (done.stderr or done.stdout).strip().splitlines() or [f"exit code {done.returncode}"]
        raise ValueError(f"{program.name} create: {' '.join(lines[-3:])}")


def is_ready(prefix: Path, digest: str) -> bool:
    """Tell whether the environment is complete, of this lock, and can be activated as it would be now."""
    marker, activate = prefix / conda_prefix.MARKER, prefix / "bin" / "activate"
    return (
        marker.is_file()
        and marker.read_text().strip() == digest
        and activate.is_file()
        and activate.read_text() == conda_prefix.activation_text(prefix)
    )


def make_present(module: AnsibleModule, prefix: Path) -> None:
    """Bring the environment to the lock."""
    params = module.params
    try:
        packages = conda_lock.parse(params["lock"])
        digest = conda_lock.digest(params["lock"])
    except ValueError as error:
        module.fail_json(msg=f"cannot read the lock: {error}")
    ready = is_ready(prefix, digest)
    if ready or params["query"] or module.check_mode:
        module.exit_json(changed=not ready and not params["query"], ready=ready)
    if not params["packages"] or not (params["program"] or params["wheelhouse"]):
        module.fail_json(msg="packages, and wheelhouse or program, are needed to install")
    try:
        files = verified(packages, Path(params["packages"]))
        prefix.mkdir(parents=True, exist_ok=True)
        conda_prefix.empty(prefix)
        if params["program"]:
            install_by_program(prefix, files, Path(params["program"]))
        else:
            install_by_rattler(prefix, files, Path(params["wheelhouse"]))
        if not (prefix / "bin" / "python").exists():
            raise ValueError(f"no bin/python came into {prefix}")
        conda_prefix.write_activation(prefix)
        (prefix / conda_prefix.MARKER).write_text(digest + "\n")
    except Exception as error:  # py-rattler's own errors share no base but this
        module.fail_json(msg=f"cannot make the conda environment: {' '.join(str(error).split())}")
    module.exit_json(changed=True, ready=True)


def main() -> None:
    """Run the module."""
    module = AnsibleModule(
        argument_spec={
            "path": {"type": "path", "required": True},
            "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
            "lock": {"type": "str", "default": ""},
            "packages": {"type": "path"},
            "wheelhouse": {"type": "path"},
            "program": {"type": "path"},
            "query": {"type": "bool", "default": False},
        },
        supports_check_mode=True,
    )
    prefix = Path(module.params["path"])
    if module.params["state"] == "present":
        make_present(module, prefix)
    there = conda_prefix.is_conda(prefix)
    if there and not module.check_mode:
        conda_prefix.empty(prefix)
    module.exit_json(changed=there)


if __name__ == "__main__":
    main()
