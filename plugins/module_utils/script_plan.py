"""A user's script on the nodes: where its folders lie there, and what config.json says of it. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from icefield_train.plan import Script
from icefield_train.rules import refusal
from plugins.module_utils import run_plan, script_args, script_job

# The settings that decide a run of a script.
USED = (
    *script_job.SETTINGS,
    "data_dir",
    "model",
    *("stack", "collectives", "launcher", "nproc_per_node", "threads_per_process", "rendezvous_port"),
    *(f"deadline_{phase}" for phase in run_plan.SCRIPT_PHASES),
)
# Kind of a staged folder -> what a script's arguments call it; the variable that tells it is ICEFIELD_ and this.
_PLACES = {"data": "data_dir", "models": "model_dir"}


def make_script(script: Mapping[str, Any], staged: Mapping[str, str], run_dir: str) -> Script:
    """Return the script's part of the plan.

    Args:
        script: what the action ``run_job`` found.
        staged: folders on the nodes by their kind.
        run_dir: folder of the run on the nodes.
    """
    output = f"{run_dir}/work/{script['output']}" if script["output"] else f"{run_dir}/output"
    places = {name: staged[kind] for kind, name in _PLACES.items() if kind in staged}
    return Script(
        source=staged["scripts"],
        entry=script["entry"],
        arguments=script_args.fill(script["arguments"], {**places, "output_dir": output}),
        output=output,
        layer=staged.get("layers", ""),
        environment={f"ICEFIELD_{name.upper()}": folder for name, folder in places.items()},
    )


def platform_fault(script: Mapping[str, Any], nodes: Sequence[Mapping[str, Any]]) -> str:
    """Return the line that refuses a script's packages where a node has another Python or processor, or ""."""
    if not script["packages"]:
        return ""
    for node in nodes:
        python = ".".join(str(node["tuning"]["python"]).split(".")[:2])
        machine = node["tuning"]["machine"]
        if (python, machine) != (script["python"], script["machine"]):
            words = f"nothing, for {node['name']} has Python {python} on {machine}, and packages are taken for Python "
            return refusal(
                "script_requirements", script["packages"][0], f"{words}{script['python']} on {script['machine']}"
            )
    return ""


def config_of(job: Mapping[str, Any], settings: Mapping[str, Any], home: str, command: str) -> dict[str, Any]:
    """Return config.json of a script's run."""
    script = job["script"]
    return {
        "run_id": job["run_id"],
        "run_dir": f"{home}/runs/{job['run_id']}",
        "script": script["name"],
        "script_args": settings["script_args"],
        "script_digest": next(tree["digest"] for tree in job["trees"] if tree["kind"] == "scripts"),
        "packages": script["packages"],
        "launcher": settings["launcher"],
        "git_commit": job["git_commit"],
        "command": command,
    }
