"""Ansible filters: the plan of a run and the settings of its training."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from ansible.errors import AnsibleFilterError

from icefield_train.plan import Probe
from plugins.module_utils import run_job, run_plan, script_plan, tunables


def plan_run(
    job: Mapping[str, Any],
    settings: Mapping[str, Any],
    nodes: Sequence[Mapping[str, Any]],
    tunings: Sequence[Mapping[str, Any]],
    home: str,
    probe: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Return the plan of a run as plain values.

    Args:
        job: what the action ``run_job`` found.
        settings: converted settings of the user.
        nodes: ``name`` and ``address`` of each node by rank, the head first.
        tunings: what each of them measured about itself, in the same order.
        home: folder of Icefield on the nodes.
        probe: what the ranks measure in place of training, as the action ``autotune_step`` gives it.
    """
    staged = _staged(job, home)
    run_dir = f"{home}/runs/{job['run_id']}"
    try:
        plan = run_plan.make_plan(
            settings,
            [{**node, "tuning": tuning} for node, tuning in zip(nodes, tunings, strict=True)],
            run_id=job["run_id"],
            python=f"{home}/env/bin/python",
            code=staged["code"],
            run_dir=run_dir,
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
) -> str:
    """Return the line that refuses these nodes for a run: too many processes, or not what a script's packages need.

    ``answers`` are what they answered to ``run_query``; nodes not asked yet or aren't provisioned don't count.
    """
    measured = [
        {**node, "tuning": answer["tuning"]}
        for node, answer in zip(nodes, answers, strict=True)
        if answer.get("tuning", {}).get("memory_bytes")
    ]
    if not measured:
        return ""
    fault = run_plan.ranks_fault(int(settings["nproc_per_node"]), measured)
    return fault or (script_plan.platform_fault(job["script"], measured) if "script" in job else "")


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
    """Return the nodes of a run by rank: the head, then the others as given, ``count`` in all (0 = all)."""
    ordered = sorted(nodes, key=lambda node: node["name"] not in heads)
    return ordered[: int(count)] if int(count) else ordered


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
