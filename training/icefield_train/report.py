"""The ``report`` command: one page of a run, finished or failed. Self-contained: no script, no font, no network."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

from icefield_train import failures, script_report
from icefield_train.arguments import Parser
from icefield_train.chart import line_chart
from icefield_train.events import read_events
from icefield_train.page import document
from icefield_train.rules import refusal
from icefield_train.status import write_text

_PERCENT = frozenset({"accuracy", "f1", "macro_f1", "micro_f1", "entity_f1", "entity_precision", "entity_recall"})


def build(run_dir: Path) -> str:
    """Return the page of a run's folder; what the folder lacks, as that of a failed run does, is left out."""
    names = ("config", "metrics", "environment", "result")
    config, metrics, environment, result = (_read(run_dir / f"{name}.json") for name in names)
    events = read_events(run_dir / "events.jsonl")
    failure = failure_line(run_dir)
    name = config.get("run_id") or run_dir.name
    is_script = "script" in config
    model = config.get("model_name") or config.get("model") or "?"
    what = config["script"] if is_script else f"{model} fine-tuned on {config.get('task', '?')}"
    done = metrics or result.get("state") == "done"
    state = "failed" if failure else "finished" if done else "unfinished"
    parts = [
        f"<h1>{_text(name)}</h1>",
        f'<p class="lead">{_text(what)}, {state}</p>',
        f'<p class="failure">{_text(failure)}</p>' if failure else "",
        _section("Ranks that waited when the run was ended", _waiting(run_dir)),
        _section("Result", _result(metrics)),
        _section("Run", _table([*_setup(config, metrics, events), ("cost", _cost(result))])),
        _section("Training loss", _chart(events, "loss", "loss of the batch")),
        _section("Speed", _chart(events, "samples_per_second", "samples/s", from_zero=True)),
        _section("Collectives", _collectives(metrics or _last(events, "collectives"))),
        _section("Nodes", _hosts(environment.get("hosts", []))),
        _section("Software", _table(_software(environment, config))),
        _section("Output", script_report.output_section(run_dir) if is_script else ""),
        _section("Last lines of rank 0", script_report.log_section(run_dir, 0) if is_script else ""),
        _section("Repeat", f"<pre>{_text(config['command'])}</pre>" if config.get("command") else ""),
    ]
    return document(name, parts)


def failure_line(run_dir: Path) -> str:
    """Return why a run ended before its end, as one line; "" for one that did not."""
    result = _read(run_dir / "result.json")
    if result.get("state") == "done":
        return ""
    if result.get("line"):
        return str(result["line"])
    first = next(iter(failures.read_errors(run_dir)), result)
    if not first.get("message"):
        return ""
    return f"{first.get('host')} rank {first.get('rank')} ({first.get('phase')}): {first['message']}"


def _waiting(run_dir: Path) -> str:
    """Return who waited in which operation; with gloo nobody can tell, and errors say it."""
    found = [_read(path) for path in sorted((run_dir / "status").glob("waiting-*.json"))]
    rows = [(f"{each['host']} rank {each['rank']} ({each['phase']} {each['step']})", each["message"]) for each in found]
    return _table(rows)


def _collectives(choice: Mapping[str, Any]) -> str:
    """Return the times of exchanges by which the backend was chosen; "" where none was to be chosen."""
    timings = choice.get("collectives_timings", [])
    if not timings:
        return ""
    rows = [
        (
            f"{timing['bytes']:,}",
            f"{timing['per_step']:.1f}",
            f"{1000 * timing['gloo_seconds']:.2f}",
            f"{1000 * timing['ccl_seconds']:.2f}",
        )
        for timing in timings
    ]
    head = "".join(f"<th>{name}</th>" for name in ("bytes of an exchange", "per step", "gloo, ms", "ccl, ms"))
    return f"<table><tr>{head}</tr>{''.join(_row(row) for row in rows)}</table>"


def _result(metrics: Mapping[str, Any]) -> str:
    splits = metrics.get("dev") or {"": metrics}
    tables = "".join(_scores(split, name) for name, split in splits.items())
    return _batch(metrics) + tables if tables else ""


def _batch(metrics: Mapping[str, Any]) -> str:
    """Return the steps and the batch that the metrics below were reached with: no speed is worth more than these."""
    if not metrics.get("steps"):
        return ""
    rows, ranks, passes = (metrics.get(name, 1) for name in ("global_batch_size", "world_size", "passes"))
    each = f"{rows / ranks:g}" if rows % ranks == 0 else f"{rows // ranks} or {rows // ranks + 1}"
    words = f"{metrics['steps']} steps with a global batch of {rows} rows: {each} on each of {ranks} ranks"
    words += f", in up to {passes} passes" if passes > 1 else ""
    rate = f"; peak learning rate {metrics['learning_rate']:.3g}" if "learning_rate" in metrics else ""
    return f"<p>{_text(words + rate)}.</p>"


def _scores(split: Mapping[str, Any], name: str) -> str:
    """Return the table of a dev split, beside the best answer without a model."""
    baseline = split.get("baseline", {})
    rows = [(metric, _figure(metric, split[metric]), _figure(metric, baseline[metric])) for metric in baseline]
    if not rows:
        return ""
    if "loss" not in baseline:
        rows.append(("loss", _figure("loss", split.get("loss")), ""))
    on = f"on {split.get('dev_rows')} rows of {name}" if name else f"on {split.get('dev_rows')} dev rows"
    head = f"<tr><th>{_text(on)}</th><th>model</th><th>{_text(split.get('baseline_name', ''))}</th></tr>"
    return f"<table>{head}{''.join(_row(row) for row in rows)}</table>"


def _setup(
    config: Mapping[str, Any], metrics: Mapping[str, Any], events: Sequence[Mapping[str, Any]]
) -> Iterable[tuple[str, Any]]:
    plan = _last(events, "plan")
    start = _last(events, "start") or _last(events, "script")
    done = _last(events, "step")
    yield "nodes", metrics.get("nodes") or len(start.get("hosts", [])) or None
    yield "ranks", metrics.get("world_size") or start.get("world_size")
    yield from script_report.rows(config, events)
    yield "training rows", plan.get("train_rows")
    yield "global batch size", plan.get("global_batch_size") or config.get("global_batch_size")
    yield "passes per step", plan.get("passes")
    yield "epochs", config.get("epochs")
    yield "steps", f"{done['step']} of {done['steps']}" if done else plan.get("steps")
    yield "precision", metrics.get("precision") or start.get("precision") or config.get("precision")
    yield "learning rate", _learning_rate(config, plan)
    yield "seed", config.get("seed")
    yield "settings", config.get("tuned")
    yield "parameters", f"{plan['parameters']:,}" if "parameters" in plan else None
    yield "head", plan.get("head")
    choice = metrics or _last(events, "collectives")
    if choice.get("collectives"):
        yield "collectives", f"{choice['collectives']}: {choice['collectives_reason']}"
    if metrics.get("bytes_sent_per_step"):
        size = f"{metrics['bytes_sent_per_step'] / 1e6:.1f} MB sent per step and rank, in {metrics['wire_format']}"
        yield "gradients", f"{size}; word embeddings: {metrics['embedding_exchange']}"
    if "train_seconds" in metrics:
        yield "speed", f"{metrics['samples_per_second']:.1f} samples/s, {metrics['tokens_per_second']:,.0f} tokens/s"
        yield (
            "time",
            f"training {metrics['train_seconds']:.1f} s, evaluation {metrics['evaluate_seconds']:.1f} s, "
            f"in all {metrics['wall_seconds']:.1f} s",
        )


def _cost(result: Mapping[str, Any]) -> str:
    return f"${result['usd']:.4f}, at ${result['usd_hour']:.4f} per hour on demand" if "usd" in result else ""


def _learning_rate(config: Mapping[str, Any], plan: Mapping[str, Any]) -> str | None:
    asked, used, rule = config.get("learning_rate"), plan.get("learning_rate"), config.get("lr_scaling", "none")
    if asked is None or used is None or rule == "none":
        return None if asked is None else str(asked)
    reference = config.get("lr_reference_batch_size")
    return f"{used:.3g} ({asked} for a global batch of {reference}, scaled by the rule '{rule}')"


def _software(environment: Mapping[str, Any], config: Mapping[str, Any]) -> Iterable[tuple[str, Any]]:
    yield from environment.get("versions", {}).items()
    yield "Icefield commit", config.get("git_commit")
    yield "data digest", config.get("data_digest")
    yield "model digest", config.get("model_digest")


def _hosts(hosts: Sequence[Mapping[str, Any]]) -> str:
    if not hosts:
        return ""
    rows = [
        (
            rank,
            host.get("host"),
            host.get("cpu"),
            host.get("threads"),
            host.get("interface"),
            " ".join(host.get("isa", [])),
        )
        for rank, host in enumerate(hosts)
    ]
    head = "".join(f"<th>{name}</th>" for name in ("rank", "node", "CPU", "threads", "interface", "instructions"))
    return f"<table><tr>{head}</tr>{''.join(_row(row) for row in rows)}</table>"


def _chart(events: Sequence[Mapping[str, Any]], field: str, label: str, *, from_zero: bool = False) -> str:
    points = [
        (float(event["step"]), float(event[field]))
        for event in events
        if event.get("event") == "step" and field in event and "step" in event
    ]
    return line_chart(points, title=f"{label} by step", x_label="step", y_label=label, from_zero=from_zero)


def _table(rows: Iterable[tuple[str, Any]]) -> str:
    cells = "".join(f"<tr><th>{_text(name)}</th><td>{_text(value)}</td></tr>" for name, value in rows if value)
    return f"<table>{cells}</table>" if cells else ""


def _row(values: Iterable[Any]) -> str:
    return "<tr>" + "".join(f'<td class="figure">{_text(value)}</td>' for value in values) + "</tr>"


def _section(title: str, content: str) -> str:
    return f"<h2>{title}</h2>\n{content}" if content else ""


def _figure(name: str, value: Any) -> str:
    if not isinstance(value, int | float):
        return "?"
    return f"{value:.1%}" if name in _PERCENT else f"{value:.4f}"


def _text(value: object) -> str:
    return escape(str(value), quote=True)


def _last(events: Sequence[Mapping[str, Any]], name: str) -> Mapping[str, Any]:
    return next((event for event in reversed(events) if event.get("event") == name), {})


def _read(path: Path) -> dict[str, Any]:
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return data if isinstance(data, dict) else {}


def main(argv: Sequence[str]) -> int:
    """Write report.html into a run's folder; a refusal is one line on standard error and exit code 2."""
    parser = Parser(prog="report", description="Write report.html of a run.")
    parser.add_argument("run_dir", type=Path, help="folder of the run")
    run_dir: Path = parser.parse_args(argv).run_dir
    if not run_dir.is_dir():
        print(refusal("run_dir", run_dir, "the folder of a run"), file=sys.stderr)
        return 2
    write_text(run_dir / "report.html", build(run_dir))
    return 0
