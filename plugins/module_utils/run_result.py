"""How a run ended, for people: the table of a finished run, the one line of a failed one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from icefield_train.events import read_events
from plugins.module_utils.commands import playbook
from plugins.module_utils.run_folder import read_json
from plugins.module_utils.run_progress import counted, duration


def outcome(results: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return how the run ended, of each node's result; the head's, which comes first, counts most.

    A head that is out of reach says nothing; then a worker's result tells why the run ended.

    Raises:
        ValueError: no node has told anything.
    """
    if not results:
        raise ValueError("no node has told how the run ended")
    told = [dict(result) for result in results if result["state"] != "lost"]
    return told[0] if told else dict(results[0])


def result_table(run_dir: Path) -> list[str]:
    """Return the lines of the table of a finished run, made of ``metrics.json``, ``config.json``, ``result.json``."""
    metrics, config, result = (read_json(run_dir / f"{name}.json") for name in ("metrics", "config", "result"))
    splits = metrics.get("dev") or {"": metrics}
    scores = [row for name, split in splits.items() for row in _scores(split, name if len(splits) > 1 else "")]
    rows = [
        ("run", config.get("run_id", run_dir.name), ""),
        (
            "task",
            config.get("task", ""),
            f"{metrics.get('train_rows')} training rows, {metrics.get('dev_rows')} dev rows",
        ),
        ("model", config.get("model_name", ""), ""),
        ("nodes", str(metrics.get("nodes")), counted(metrics.get("world_size"), "rank")),
        # Together with the metrics below: a speed-up that is paid for with accuracy is none.
        (
            "steps",
            str(metrics.get("steps")),
            f"{counted(metrics.get('epochs'), 'epoch')}, global batch {metrics.get('global_batch_size')}, "
            f"learning rate {metrics.get('learning_rate', 0):.3g}",
        ),
        ("precision", str(metrics.get("precision")), f"seed {metrics.get('seed')}"),
        (
            "speed",
            f"{metrics.get('samples_per_second', 0):.1f} samples/s",
            f"{metrics.get('tokens_per_second', 0):.0f} tokens/s",
        ),
        *_collectives(metrics),
        *_gradients(metrics),
        *([("settings", config["tuned"], "")] if config.get("tuned") else []),
        ("time", duration(metrics.get("wall_seconds", 0)), f"training {duration(metrics.get('train_seconds', 0))}"),
        *scores,
    ]
    if "usd" in result:
        rows.append(("cost", f"${result['usd']:.4f}", f"${result['usd_hour']:.4f} per hour on demand"))
    widths = [max(len(row[column]) for row in rows) for column in (0, 1)]
    return [f"{name.ljust(widths[0])}  {value.ljust(widths[1])}  {note}".rstrip() for name, value, note in rows]


def _collectives(metrics: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    # What one rank does not exchange, and what older runs did not know, is not told.
    if metrics.get("world_size", 1) == 1 or "collectives" not in metrics:
        return []
    return [("collectives", metrics["collectives"], metrics.get("collectives_reason", ""))]


def _gradients(metrics: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    # What one rank does not send, and what older runs did not count, is not told.
    size = metrics.get("bytes_sent_per_step")
    note = f"per step and rank, in {metrics.get('wire_format')}, word embeddings {metrics.get('embedding_exchange')}"
    return [("gradients", f"{size / 1e6:.1f} MB", note)] if size else []


def cost(run_dir: Path, usd_hours: Sequence[float | str | None]) -> dict[str, float]:
    """Return ``usd`` and ``usd_hour`` of a run on nodes that are paid by the hour; {} where a price is unknown.

    Args:
        run_dir: folder of the run; its time is that of ``metrics.json``, or what the events of a failed run span.
        usd_hours: dollars per hour of each node; nothing where it is unknown.
    """
    prices = [float(price) for price in usd_hours if price]
    if not prices or len(prices) < len(usd_hours):
        return {}
    times = [event["time"] for event in read_events(run_dir / "events.jsonl")]
    seconds = read_json(run_dir / "metrics.json").get("wall_seconds") or (max(times) - min(times) if times else 0)
    return {"usd": round(sum(prices) * seconds / 3600, 4), "usd_hour": round(sum(prices), 4)}


def _scores(split: Mapping[str, Any], name: str) -> list[tuple[str, str, str]]:
    """Return the metrics of a dev split beside those of the best answer without a model."""
    baseline, word = split.get("baseline", {}), split.get("baseline_name", "")
    return [
        (f"{name} {metric}".strip(), f"{split[metric]:.4f}", f"({word} {baseline[metric]:.4f})")
        for metric in baseline
        if metric in split
    ]


def status_table(
    nodes: Sequence[Mapping[str, Any]],
    answers: Sequence[Mapping[str, Any]],
    stopped: Sequence[Mapping[str, Any]] = (),
    options: Mapping[str, Any] | None = None,
) -> list[str]:
    """Return a line for each node, then one for each run that any of them knows.

    Args:
        nodes: ``name`` and ``address`` of each node, the head first.
        answers: what each answered to ``run_query``, in the same order; {} from a node that did not answer.
        stopped: ``name`` and ``address`` of nodes that exist and do not run.
        options: ``cluster`` and ``inventory`` for the commands that are told.
    """
    if not nodes and not stopped:
        return [f"the cluster has no nodes; make some: {playbook('provision', 'nodes=2', **(options or {}))}"]
    lines = []
    runs: dict[str, Mapping[str, Any]] = {}
    for node, answer in zip(nodes, answers, strict=True):
        lines.append(f"{node['name']}  {node['address']}  {_node_state(answer)}")
        for run in answer.get("runs", []):
            # The head's word first: it knows why a run ended, unless it was lost itself.
            if runs.get(run["run_id"], run)["state"] == "lost":
                runs[run["run_id"]] = run
            runs.setdefault(run["run_id"], run)
    lines += [f"{node['name']}  {node['address']}  does not run" for node in stopped]
    lines += [_run_line(runs[name]) for name in sorted(runs)]
    if stopped:
        back = playbook("provision", f"nodes={len(nodes) + len(stopped)}", **(options or {}))
        lines.append(f"bring back what does not run: {back}")
    return lines


def _node_state(answer: Mapping[str, Any]) -> str:
    if not answer or answer.get("unreachable"):
        return "out of reach"
    tuning = answer.get("tuning", {})
    if not tuning:
        return "not provisioned"
    memory = f"{tuning['memory_bytes'] / (1 << 30):.1f} GiB"
    doing = f"busy with run {answer['active']}" if answer["active"] else "idle"
    return f"{tuning['cpus']:g} CPUs  {memory}  {doing}"


def _run_line(run: Mapping[str, Any]) -> str:
    state = run["state"]
    if state == "running" and run["phase"] == "run":
        return f"run {run['run_id']}: running a script"
    if state == "running":
        return f"run {run['run_id']}: {run['phase'] or 'start'} {run['step'] or 0}/{run['steps'] or '?'}"
    return f"run {run['run_id']}: {state}{': ' + run['line'] if run['line'] else ''}"
