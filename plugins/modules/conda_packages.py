#!/usr/bin/python
"""Ansible module: a folder with the conda packages of a lock."""

from __future__ import annotations

DOCUMENTATION = r"""
module: conda_packages
short_description: Download the packages of a conda lock once, each compared with its SHA-256
options:
  path:
    description: Folder of the packages; what is not in the lock is removed from it.
    type: path
    required: true
  lock:
    description: Text of the lock.
    type: str
    required: true
  timeout:
    description: Seconds without an answer after which a channel counts as unreachable.
    type: int
    default: 30
author: Icefield
"""

RETURN = r"""
packages:
  description: Number of packages.
  returned: always
  type: int
"""

import shutil
import tempfile
from pathlib import Path
from urllib.parse import unquote, urlsplit

from ansible.module_utils.basic import AnsibleModule
from ansible.module_utils.urls import open_url

try:
    from ansible.module_utils import conda_lock, pushed_wheels
except ImportError:
    from plugins.module_utils import conda_lock, pushed_wheels


def fetch(package: conda_lock.Package, folder: Path, timeout: int) -> None:
    """Bring one package into the folder, whole or not at all.

    Raises:
        ValueError: it cannot be had, or is another than the lock's.
    """
    hint = "solve again (delete the lock), or give a conda_lock that fits the channel"
    with tempfile.NamedTemporaryFile(dir=folder, prefix=".", delete=False) as file:
        try:
            if package.url.startswith("file://"):
                with open(unquote(urlsplit(package.url).path), "rb") as source:  # noqa: PTH123
                    shutil.copyfileobj(source, file)
            else:
                shutil.copyfileobj(open_url(package.url, timeout=timeout), file)
            file.flush()
            found = pushed_wheels.sha256(Path(file.name))
            if found != package.sha256:
                raise ValueError(f"{package.url} has SHA-256 {found}, the lock says {package.sha256}; {hint}")
            Path(file.name).chmod(0o644)
            Path(file.name).replace(folder / package.file)
        except OSError as error:
            raise ValueError(f"cannot fetch {package.url}: {error.strerror or error}; {hint}") from error
        finally:
            Path(file.name).unlink(missing_ok=True)


def main() -> None:
    """Run the module."""
    module = AnsibleModule(
        argument_spec={
            "path": {"type": "path", "required": True},
            "lock": {"type": "str", "required": True},
            "timeout": {"type": "int", "default": 30},
        },
        supports_check_mode=True,
    )
    folder = Path(module.params["path"])
    try:
        packages = conda_lock.parse(module.params["lock"])
    except ValueError as error:
        module.fail_json(msg=f"cannot read the lock: {error}")
    wanted = {package.file: package for package in packages}
    there = {path.name for path in folder.glob("*")} if folder.is_dir() else set()
    missing = [
        package
        for name, package in wanted.items()
        if name not in there or pushed_wheels.sha256(folder / name) != package.sha256
    ]
    surplus = [folder / name for name in there - set(wanted)]
    if not module.check_mode:
        folder.mkdir(parents=True, exist_ok=True)
        try:
            for package in missing:
                fetch(package, folder, module.params["timeout"])
        except ValueError as error:
            module.fail_json(msg=str(error))
        for path in surplus:
            path.unlink()
    module.exit_json(changed=bool(missing or surplus), packages=len(wanted))


if __name__ == "__main__":
    main()
