#!/usr/bin/python
"""Ansible module: a Python environment that equals a lock."""

from __future__ import annotations

DOCUMENTATION = r"""
module: python_env
short_description: Make a Python environment hold the packages of a lock
description:
  - uv, taken from the wheelhouse, installs from the wheels there (C(source=wheelhouse), no network) or from the index.
  - A virtual environment (C(manager=venv)) then holds exactly the packages of the lock. A conda environment
    (C(manager=conda)), which the module C(conda_env) made, keeps the Python packages that conda brought beside them; of
    those that the lock has too, the lock's version takes the place.
  - Every wheel is compared with the wheelhouse's manifest before it is used. Byte code is compiled once, here.
  - A marker with the lock's digest, written last, tells a complete environment.
options:
  path:
    description: The environment.
    type: path
    required: true
  lock:
    description: Text of the lock.
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
  index_urls:
    description: Extra indexes for C(source=index).
    type: list
    elements: str
    default: []
  stack:
    description: Name of the stack whose lock it is; its head says what has to be importable. Empty = any lock.
    type: str
    default: ""
  manager:
    description: What the environment is.
    type: str
    choices: [venv, conda]
    default: venv
  query:
    description: Only tell whether the environment equals the lock.
    type: bool
    default: false
  compile:
    description: Compile byte code.
    type: bool
    default: true
author: Icefield
"""

RETURN = r"""
ready:
  description: Whether the environment equals the lock (before the module acted, with C(query)).
  returned: always
  type: bool
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from ansible.module_utils.basic import AnsibleModule

try:
    from ansible.module_utils import conda_prefix, env_packages, lockfile, pushed_wheels, stack_file, stack_rules
except ImportError:
    from plugins.module_utils import conda_prefix, env_packages, lockfile, pushed_wheels, stack_file, stack_rules

MARKER = ".icefield-lock"


def install(module: AnsibleModule, path: Path, wheelhouse: Path) -> None:
    """Make the environment and bring it to the lock.

    Raises:
        ValueError: a step failed; the text is its last line.
    """
    with tempfile.TemporaryDirectory() as temporary:
        uv = pushed_wheels.unpack_uv(wheelhouse, Path(temporary))
        lock = Path(temporary) / "lock.txt"
        lock.write_text(module.params["lock"])
        if module.params["source"] == "wheelhouse":
            where = ["--offline", "--no-index", "--find-links", str(wheelhouse)]
        else:
            extra = [url for url in module.params["index_urls"] if url]
            where = [part for url in extra for part in ("--extra-index-url", url)]
            where += ["--index-strategy", "unsafe-best-match"] if extra else []
        python = str(path / "bin" / "python")
        common = ["--python", python, "--no-build", "--link-mode", "copy", *where]
        if module.params["manager"] == "conda":
            # Not sync, which would take out what conda brought. The lock is complete, so nothing else is resolved.
            steps = [[str(uv), "pip", "install", "--break-system-packages", "--no-deps", *common, "-r", str(lock)]]
        else:
            steps = [
                [sys.executable, "-m", "venv", "--without-pip", str(path)],
                [str(uv), "pip", "sync", *common, str(lock)],
            ]
        environment = os.environ | pushed_wheels.UV_ENVIRONMENT
        for step in steps:
            done = subprocess.run(step, env=environment, capture_output=True, text=True, check=False)
            if done.returncode != 0:
                lines = (done.stderr or done.stdout).strip().splitlines() or [f"exit code {done.returncode}"]
                offline = (
                    "; where nodes reach no index, take runtime_source=wheelhouse"
                    if where[:1] == ["--extra-index-url"]
                    else ""
                )
                raise ValueError(f"{Path(step[0]).name} {' '.join(step[1:3])}: {' '.join(lines[-3:])}{offline}")
        check = [str(uv), "pip", "check", "--python", python]
        done = subprocess.run(check, env=environment, capture_output=True, text=True, check=False)
        text = module.params["lock"]
        broken = lockfile.broken_requirements(done.stderr + done.stdout, lockfile.left_out(text))
        if broken:
            raise ValueError(f"the packages of the lock do not fit together: {' '.join(broken)}")
    if module.params["stack"]:
        prove(stack_file.parse(text, module.params["stack"]), path)
    if module.params["compile"]:
        compile_all(path)


def prove(stack: stack_file.Stack, path: Path) -> None:
    """See that what is installed goes together and can be imported, in a process of its own.

    Raises:
        ValueError: it does not, or not; the text says which, with the last line of the error.
    """
    faults = stack_rules.conflicts(env_packages.packages_of(path))
    if faults:
        raise ValueError(f"the stack '{stack.name}': {faults[0]}")
    for module in stack.imports:
        command = [str(path / "bin" / "python"), "-c", f"import {module}"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            said = done.stderr.strip().splitlines() or [f"exit code {done.returncode}"]
            raise ValueError(f"the stack '{stack.name}' is installed, but {module} can't be imported: {said[-1]}")


def compile_all(path: Path) -> None:
    """Compile byte code on all CPUs; the training user may not write it later.

    Test suites inside packages are never imported by a run and are left out. A file that does not compile (templates,
    code for other Pythons) is no error: it would not be imported either.
    """
    command = [str(path / "bin" / "python"), "-m", "compileall", "-q", "-j", "0", "-x", r"/(tests?|testing/_internal)/"]
    subprocess.run([*command, str(path / "lib")], capture_output=True, check=False)


def below(path: Path, manager: str) -> str:
    """Return, as a pin, what the packages stand on: the node's Python, or the conda environment by its lock."""
    if manager == "venv":
        return f"python=={sys.version_info[0]}.{sys.version_info[1]}"
    marker = path / conda_prefix.MARKER
    return f"conda=={marker.read_text().strip() if marker.is_file() else 'none'}"


def main() -> None:
    """Run the module."""
    module = AnsibleModule(
        argument_spec={
            "path": {"type": "path", "required": True},
            "lock": {"type": "str", "required": True},
            "wheelhouse": {"type": "path"},
            "source": {"type": "str", "choices": ["wheelhouse", "index"], "default": "wheelhouse"},
            "index_urls": {"type": "list", "elements": "str", "default": []},
            "stack": {"type": "str", "default": ""},
            "manager": {"type": "str", "choices": ["venv", "conda"], "default": "venv"},
            "query": {"type": "bool", "default": False},
            "compile": {"type": "bool", "default": True},
        },
        supports_check_mode=True,
    )
    path = Path(module.params["path"])
    marker = path / MARKER
    try:
        want = lockfile.digest([module.params["lock"], below(path, module.params["manager"])])
    except ValueError as error:
        module.fail_json(msg=f"cannot read the lock: {error}")
    ready = marker.is_file() and marker.read_text().strip() == want
    if ready or module.params["query"] or module.check_mode:
        module.exit_json(changed=not ready and not module.params["query"], ready=ready)
    if not module.params["wheelhouse"]:
        module.fail_json(msg="wheelhouse is needed to install")
    wheelhouse = Path(module.params["wheelhouse"])
    if module.params["manager"] == "conda" and not (path / conda_prefix.MARKER).is_file():
        module.fail_json(msg=f"{path} holds no conda environment to install into")
    try:
        pushed_wheels.verify(wheelhouse)
        marker.unlink(missing_ok=True)
        install(module, path, wheelhouse)
    except (OSError, ValueError) as error:
        module.fail_json(msg=str(error))
    marker.write_text(want + "\n")
    module.exit_json(changed=True, ready=True)


if __name__ == "__main__":
    main()
