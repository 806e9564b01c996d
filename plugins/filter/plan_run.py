"""Ansible filters: the plan of a run and the settings of its training."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ansible.errors import AnsibleFilterError

from icefield_train.plan import Probe
from plugins.module_utils import ccl_choice, run_job, run_plan, script_plan, stack_file, stack_job, tunables


def plan_run(
    job: Mapping[str, Any],
    settings: Mapping[str, Any],
    nodes: Sequence[Mapping[str, Any]],
    tunings: Sequence[Mapping[str, Any]],
    home: str,
    *,
    env: str,
    ccl: str,
    probe: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Return the plan of a run as plain values.

    Args:
        job: what the action ``run_job`` found.
        settings: converted settings of the user.
        nodes: ``name`` and ``address`` of each node by rank, the head first.
        tunings: what each of them measured about itself, in the same order.
        home: folder of Icefield on the nodes.
        env: the stack's Python environment on the nodes.
        ccl: folder of oneCCL and our backend on the nodes.
        probe: what the ranks measure in place of training, as the action ``autotune_step`` gives it.
    """
    staged = _staged(job, home)
    run_dir = f"{home}/runs/{job['run_id']}"
    try:
        plan = run_plan.make_plan(
            settings,
            [{**node, "tuning": tuning} for node, tuning in zip(nodes, tunings, strict=True)],
            run_id=job["run_id"],
            python=f"{env}/bin/python",
            stack=stack_file.read(Path(job["stack_lock"])),
            code=staged["code"],
            run_dir=run_dir,
            ccl=ccl,
            script=script_plan.make_script(job["script"], staged, run_dir) if "script" in job else None,
            probe=_probe(probe) if probe else None,
        )
    except ValueError as error:
        raise AnsibleFilterError(str(error)) from error
    return asdict(plan)


def _probe(probe: Mapping[str, Any]) -> Probe:
    # Ansible's own kinds of dict and list cannot be copied, which asdict does.
    tries, shown = ([dict(one) for one in probe[name]] for name in ("tries", "shown"))
    return Probe(tries=tries, shown=shown, seconds=float(probe["seconds"]), limit=float(probe["limit"]))


def _staged(job: Mapping[str, Any], home: str) -> dict[str, str]:
    """Return where the folders of a run lie on the nodes, by their kind."""
    return {tree["kind"]: f"{home}/stage/{tree['kind']}/{tree['digest']}" for tree in job["trees"]}


def refuse_nodes(
    job: Mapping[str, Any],
    settings: Mapping[str, Any],
    nodes: Sequence[Mapping[str, Any]],
    answers: Sequence[Mapping[str, Any]],
    *,
    size: int,
    commands: Mapping[str, Any],
) -> str:
    """Return the line that refuses these nodes for a run: their stack, too many processes, no oneCCL, a script's needs.

    Args:
        job: what the action ``run_job`` found.
        settings: converted settings of the user.
        nodes: ``name`` and ``address`` of each node.
        answers: what they answered to ``run_query``; nodes not asked yet or aren't provisioned don't count.
        size: number of nodes of the cluster.
        commands: ``cluster`` and ``inventory`` for the commands that are told.
    """
    stack = stack_file.read(Path(job["stack_lock"]))
    for node, answer in zip(nodes, answers, strict=True):
        if fault := stack_job.fault(stack, node["name"], answer, int(size), commands):
            return fault
    measured = [
        {**node, "tuning": answer["tuning"], "ccl": answer.get("ccl", False)}
        for node, answer in zip(nodes, answers, strict=True)
        if answer.get("tuning", {}).get("memory_bytes")
    ]
    if not measured:
        return ""
    fault = run_plan.ranks_fault(int(settings["nproc_per_node"]), measured)
    if not fault and "script" in job:
        fault = script_plan.platform_fault(job["script"], measured)
    return fault or ccl_choice.fault(settings, stack, measured, int(size), commands)


def train_config(
    job: Mapping[str, Any],
    settings: Mapping[str, Any],
    defaults: Mapping[str, Any],
    home: str,
    *,
    nodes: int,
    commands: Mapping[str, Any],
    tuned: str = "",
) -> dict[str, Any]:
    """Return config.json of a run: the user's settings with the staged folders in place of their sources."""
    digests = {tree["kind"]: tree["digest"] for tree in job["trees"]}
    used = script_plan.USED if "script" in job else run_plan.used_settings(settings)
    # What is tuned later shall not make the repeated run another one: what was tuned by now is told by its values.
    told = {**settings, **job["sources"], "autotune": False}
    command = run_plan.repeat_command(told, tunables.untuned(defaults), int(nodes), commands, used)
    if "script" in job:
        return script_plan.config_of(job, settings, home, command)
    staged = _staged(job, home)
    return {
        **run_job.training_settings(settings),
        "data_dir": staged["data"],
        "model": staged["models"],
        "model_name": job["model"]["name"],
        "data_digest": digests["data"],
        "model_digest": digests["models"],
        "run_id": job["run_id"],
        "run_dir": f"{home}/runs/{job['run_id']}",
        "tokens_dir": f"{home}/stage/tokens",
        "git_commit": job["git_commit"],
        "command": command,
        "tuned": tuned,
    }


def head_first(
    nodes: Sequence[Mapping[str, Any]], heads: Sequence[str], count: int | str = 0
) -> list[Mapping[str, Any]]:
    """Return the nodes of a run by rank: the head, then the others as given, ``count`` in all (0 = all).

    Of a benchmark's ``count``, such as 1,2,4, the largest counts.
    """
    ordered = sorted(nodes, key=lambda node: node["name"] not in heads)
    most = max(int(part) for part in str(count).split(","))
    return ordered[:most] if most else ordered


class FilterModule:
    """Filters on runs."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Return the filters by name."""
        return {
            "plan_run": plan_run,
            "train_config": train_config,
            "head_first": head_first,
            "refuse_nodes": refuse_nodes,
        }
