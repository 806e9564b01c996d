#!/usr/bin/python
"""Ansible module: start a run's supervisor on a node, detached."""

from __future__ import annotations

DOCUMENTATION = r"""
module: run_start
short_description: Write a run's folder and start its supervisor, which outlives this call and the connection
options:
  runs_dir:
    description: Folder of the runs.
    type: path
    required: true
  run_id:
    description: Name of the run.
    type: str
    required: true
  node:
    description: Name of this node in the plan.
    type: str
    required: true
  plan:
    description: The plan of the run.
    type: dict
    required: true
  config:
    description: The settings of the training.
    type: dict
    required: true
  token:
    description: Secret by which the supervisors of this run know each other.
    type: str
    required: true
  timeout:
    description: Seconds within which the supervisor has to be up.
    type: int
    default: 30
author: Icefield
"""

RETURN = r"""
pid:
  description: Process id of the supervisor.
  returned: always
  type: int
"""

import json
import os
import subprocess
import time
from pathlib import Path

from ansible.module_utils.basic import AnsibleModule

try:
    from ansible.module_utils import conda_prefix, run_folder
except ImportError:  # imported by tests, from the checkout
    from plugins.module_utils import conda_prefix, run_folder


def write(path: Path, text: str, mode: int = 0o644) -> None:
    """Write a file with these rights from its first byte on."""
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode), "w") as file:
        file.write(text)


def start(run_dir: Path, plan: dict[str, str]) -> subprocess.Popen[bytes]:
    """Start the supervisor in a session of its own.

    Raises:
        ValueError: the conda environment could not be activated.
    """
    # Nothing of the login that happened to start it.
    clean = {
        "PATH": "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin",
        "HOME": os.path.expanduser("~"),  # noqa: PTH111 - Path.home() raises where there is none
        "LANG": "C.UTF-8",
        # The second for what oneCCL is told.
        "PYTHONPATH": f"{plan['code']}:{plan['code']}/native",
    }
    environment = conda_prefix.activated(Path(plan["python"]).parents[1], clean)
    with (run_dir / "logs" / f"supervisor-{(run_dir / 'node').read_text()}.log").open("ab") as log:
        return subprocess.Popen(
            [plan["python"], "-m", "icefield_train", "supervise", "--run-dir", str(run_dir)],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            cwd="/",
            env=environment,
            start_new_session=True,
        )


def main() -> None:
    """Run the module."""
    module = AnsibleModule(
        argument_spec={
            "runs_dir": {"type": "path", "required": True},
            "run_id": {"type": "str", "required": True},
            "node": {"type": "str", "required": True},
            "plan": {"type": "dict", "required": True},
            "config": {"type": "dict", "required": True},
            "token": {"type": "str", "required": True, "no_log": True},
            "timeout": {"type": "int", "default": 30},
        },
        supports_check_mode=True,
    )
    params = module.params
    runs_dir = Path(params["runs_dir"])
    run_dir = runs_dir / params["run_id"]
    if module.check_mode:
        module.exit_json(changed=True, pid=0)
    if active := run_folder.active_run(runs_dir):
        module.fail_json(msg=f"{params['node']} is busy with run '{active}'")
    if (run_dir / "plan.json").exists():
        module.fail_json(msg=f"{params['node']} has a run '{params['run_id']}' already; give another run_id")
    for name in ("logs", "status", "errors"):
        (run_dir / name).mkdir(mode=0o755, parents=True, exist_ok=True)
    write(run_dir / "token", params["token"], 0o600)
    write(run_dir / "node", params["node"])
    write(run_dir / "config.json", json.dumps(params["config"], indent=1) + "\n")
    write(run_dir / "plan.json", json.dumps(params["plan"], indent=1) + "\n")
    try:
        supervisor = start(run_dir, params["plan"])
    except ValueError as error:
        module.fail_json(msg=f"{params['node']}: {error}")
    until = time.monotonic() + params["timeout"]
    while supervisor.poll() is None and run_folder.active_run(runs_dir) != params["run_id"]:
        if time.monotonic() > until:
            supervisor.kill()
            module.fail_json(msg=f"{params['node']}: the supervisor was not up within {params['timeout']} s")
        time.sleep(0.05)
    if supervisor.poll() is not None and not (run_dir / "result.json").exists():
        said = (run_dir / "logs" / f"supervisor-{params['node']}.log").read_text(errors="replace").strip().splitlines()
        module.fail_json(msg=f"{params['node']}: the supervisor did not start: {(said or ['it printed nothing'])[-1]}")
    module.exit_json(changed=True, pid=supervisor.pid)


if __name__ == "__main__":
    main()
