#!/usr/bin/python
"""Ansible module: a folder with the wheels of a lock."""

from __future__ import annotations

DOCUMENTATION = r"""
module: wheelhouse
short_description: Download the wheels of a lock once, with a manifest of their SHA-256
description:
  - Runs pip of the controller with the user's own pip configuration, for the nodes' Python and platform.
  - Packages with an index of their own are looked for there first, with a short time-out. The pin of torch carries the
    local version C(+cpu), which no CUDA build has.
options:
  path:
    description: Folder of the wheels; C(manifest.json) lies beside them.
    type: path
    required: true
  locks:
    description: Lock files, exact pins only.
    type: list
    elements: path
    required: true
  indexes:
    description: >-
      Packages with an index of their own, each with C(package), C(url) and C(setting), the name by which the user gives
      that index. An empty address = pip's own indexes only.
    type: list
    elements: dict
    default: []
  wheels_dir:
    description: Folder with wheels; no index is asked for those of the lock that are in it. Empty = none.
    type: str
    default: ""
  instead:
    description: What else the user can do where a package is nowhere to be had, for the message.
    type: str
    default: ""
  python_version:
    description: Python of the nodes, such as 3.11.
    type: str
    required: true
  machine:
    description: Architecture of the nodes.
    type: str
    default: x86_64
author: Icefield
"""

RETURN = r"""
wheels:
  description: Number of wheels.
  returned: always
  type: int
bytes:
  description: Their size.
  returned: always
  type: int
"""

import hashlib
import json
import re
import shutil
import sys
import tempfile
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

from ansible.module_utils.basic import AnsibleModule

try:
    from ansible.module_utils import lockfile, wheels
except ImportError:
    from plugins.module_utils import lockfile, wheels

INDEX_TIMEOUT = 5


def sha256(path: Path) -> str:
    """Return the hex SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def is_complete(path: Path, digest: str) -> bool:
    """Tell whether the manifest is that of these pins and every wheel has its size."""
    try:
        manifest = json.loads((path / "manifest.json").read_text())
    except (OSError, ValueError):
        return False
    return manifest.get("pins") == digest and all(
        (path / name).is_file() and (path / name).stat().st_size == entry["bytes"]
        for name, entry in manifest["wheels"].items()
    )


def pip_download(module: AnsibleModule, target: Path, requirements: list[str], *extra: str) -> tuple[int, str]:
    """Run pip download; return its exit code and its last line of error."""
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--dest", str(target)]
    platform = wheels.platform_args(module.params["python_version"], module.params["machine"])
    command += ["--no-deps", *platform, *extra, *requirements]
    code, _, err = module.run_command(command)
    said = [line for line in err.splitlines() if "ERROR" in line] or err.splitlines() or [""]
    return code, said[-1].strip()


def provided(wheels_dir: str, wanted: dict[str, str]) -> list[str]:
    """Return the pins that a folder has wheels of, whatever machine these are for."""
    # A name that is not a wheel's has no version in it.
    files = sorted(Path(wheels_dir).glob("*-*-*-*-*.whl")) if wheels_dir else []
    there = {
        (re.sub(r"[-_.]+", "-", name).lower(), version) for name, version in (f.name.split("-")[:2] for f in files)
    }
    # A pin without a local version, such as +cpu, is met by any.
    there |= {(name, version.partition("+")[0]) for name, version in there}
    return [name for name, version in wanted.items() if (name, version) in there]


def answers(url: str) -> bool:
    """Tell whether there is anything at an address, be it an error."""
    try:
        with urllib.request.urlopen(url, timeout=INDEX_TIMEOUT):
            return True
    except urllib.error.HTTPError:
        return True
    except (OSError, ValueError):
        return False


def download(module: AnsibleModule, target: Path, wanted: dict[str, str]) -> None:
    """Fetch every pin: from the user's folder, from its own index, then from what pip is configured with."""
    wheels_dir = module.params["wheels_dir"]
    given = provided(wheels_dir, wanted)
    if given:
        pins = [f"{name}=={wanted[name]}" for name in given]
        code, said = pip_download(module, target, pins, "--no-index", "--find-links", wheels_dir)
        if code != 0:
            module.fail_json(msg=f"setting 'wheels_dir': a wheel in {wheels_dir} is not one for the nodes: {said}")
    special = {entry["package"]: entry for entry in module.params["indexes"]}
    for name, entry in special.items():
        if name in wanted and name not in given:
            _download_from(module, target, f"{name}=={wanted[name]}", entry)
    rest = [f"{name}=={version}" for name, version in wanted.items() if name not in special and name not in given]
    code, said = pip_download(module, target, rest) if rest else (0, "")
    if code != 0:
        module.fail_json(
            msg=f"pip could not download the wheels of the lock: {said}; without an index, give a folder with the "
            "wheels by wheels_dir"
        )


def _download_from(module: AnsibleModule, target: Path, pin: str, entry: dict[str, str]) -> None:
    """Fetch a pin from its own index, or from those that pip is configured with."""
    url, code, said = entry["url"], 1, ""
    if url:
        short = ["--timeout", str(INDEX_TIMEOUT), "--retries", "0", "--extra-index-url", url]
        code, said = pip_download(module, target, [pin], *short)
    if code != 0:
        code, said = pip_download(module, target, [pin])
    if code != 0:
        state = "unset" if not url else url if answers(url) else f"{url}, which does not answer"
        instead = f", or {module.params['instead']}" if module.params["instead"] else ""
        module.fail_json(
            msg=f"{pin} is neither at {entry['setting']} ({state}) nor in the indexes that pip is configured with: "
            f"{said}; put its wheel into a folder on the controller and give that by wheels_dir{instead}"
        )


def manifest_of(folder: Path, digest: str) -> dict[str, Any]:
    """Describe the wheels of a folder."""
    wheels = {
        file.name: {"sha256": sha256(file), "bytes": file.stat().st_size} for file in sorted(folder.glob("*.whl"))
    }
    return {"pins": digest, "wheels": wheels}


def main() -> None:
    """Run the module."""
    module = AnsibleModule(
        argument_spec={
            "path": {"type": "path", "required": True},
            "locks": {"type": "list", "elements": "path", "required": True},
            "indexes": {"type": "list", "elements": "dict", "default": []},
            "wheels_dir": {"type": "str", "default": ""},
            "instead": {"type": "str", "default": ""},
            "python_version": {"type": "str", "required": True},
            "machine": {"type": "str", "default": "x86_64"},
        },
        supports_check_mode=True,
    )
    path = Path(module.params["path"])
    try:
        texts = [Path(lock).read_text() for lock in module.params["locks"]]
        wanted = {name: version for text in texts for name, version in lockfile.pins(text).items()}
        digest = lockfile.digest([*texts, f"python=={module.params['python_version']}"])
    except (OSError, ValueError) as error:
        module.fail_json(msg=f"cannot read the lock: {error}")
    changed = not is_complete(path, digest)
    if changed and not module.check_mode:
        path.parent.mkdir(parents=True, exist_ok=True)
        # Downloaded aside and renamed, so that an interrupted download never looks like a wheelhouse.
        target = Path(tempfile.mkdtemp(dir=path.parent, prefix=f".{path.name}."))
        try:
            for wheel in path.glob("*.whl"):  # pip keeps what it finds there, so a new lock downloads its difference
                target.joinpath(wheel.name).hardlink_to(wheel)
            download(module, target, wanted)
            manifest = manifest_of(target, digest)
            (target / "manifest.json").write_text(json.dumps(manifest, indent=1) + "\n")
            shutil.rmtree(path, ignore_errors=True)
            target.chmod(0o755)
            target.replace(path)
        finally:
            shutil.rmtree(target, ignore_errors=True)
    sizes = [file.stat().st_size for file in path.glob("*.whl")]
    module.exit_json(changed=changed, wheels=len(sizes), bytes=sum(sizes))


if __name__ == "__main__":
    main()
