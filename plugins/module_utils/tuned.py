"""What autotune.yml found, kept on the controller: for which nodes, model and versions it holds. Reads and writes files."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from icefield_train import __version__
from plugins.module_utils.run_folder import read_json
from plugins.module_utils.run_job import word_of
from plugins.module_utils.tunables import TUNABLES, told

# What a result is for, in words, in the order in which differences are told.
_WORDS = {
    "nodes": "number of nodes",
    "node_types": "nodes",
    "model": "model",
    "kind": "kind of task",
    "batch": "batch",
    "precision": "precision",
    "lora": "lora",
    "own": "settings of your own",
    "torch": "torch",
    "stack": "stack",
    "engine": "version of Icefield",
}
_BATCH = ("global_batch_size", "per_device_batch_size", "gradient_accumulation_steps")
_LORA = ("lora", "lora_r", "lora_target_modules")


def node_type(backend: str, instance_type: str, tuning: Mapping[str, Any]) -> str:
    """Return what kind of node this is: the type that a cloud sells it by, or what it measured about itself.

    Args:
        backend: where the node comes from.
        instance_type: "" where there is none.
        tuning: what the node measured about itself.
    """
    if instance_type:
        return f"{backend} {instance_type}"
    words = [
        f"{backend} {tuning.get('cpu_model') or tuning.get('machine', '')}",
        f"{tuning['cpus']:g} CPUs",
        f"{round(tuning['memory_bytes'] / (1 << 30))} GiB",
    ]
    link = tuning.get("link_mbit")
    return ", ".join([*words, f"{link:g} Mbit/s"] if link else words)


def key_of(
    settings: Mapping[str, Any],
    own: Mapping[str, Any],
    job: Mapping[str, Any],
    *,
    node_types: Sequence[str],
    stack_lock: Path,
) -> dict[str, Any]:
    """Return for what a result holds.

    Args:
        settings: converted settings of the user.
        own: those that could be tuned and that he has chosen himself.
        job: what the action ``run_job`` found.
        node_types: of each node of the run.
        stack_lock: the exact packages of the nodes.
    """
    lock = stack_lock.read_text()
    pins = dict(line.split("==", 1) for line in lock.split() if "==" in line)
    return {
        "nodes": len(node_types),
        "node_types": sorted(set(node_types)),
        "model": f"{Path(job['model']['name']).name} {job['model']['digest']}",
        "kind": job["data"]["kind"],
        "batch": {name: settings[name] for name in _BATCH},
        "precision": settings["precision"],
        "lora": {name: settings[name] for name in _LORA} if settings["lora"] else {},
        "own": dict(own),
        "torch": pins.get("torch", ""),
        "stack": hashlib.sha256(lock.encode()).hexdigest()[:12],
        "engine": __version__,
    }


def path_of(folder: Path, key: Mapping[str, Any]) -> Path:
    """Return the file of a result; its name tells model and number of nodes."""
    digest = hashlib.sha256(json.dumps(key, sort_keys=True).encode()).hexdigest()[:12]
    return folder / f"{word_of(key['model'].split()[0])}-{key['nodes']}-nodes-{digest}.json"


def save(folder: Path, record: Mapping[str, Any]) -> Path:
    """Write a result, whole or not at all; return its file."""
    path = path_of(folder, record["key"])
    folder.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    draft.write_text(json.dumps(record, indent=1) + "\n")
    draft.replace(path)
    return path


def find(folder: Path, key: Mapping[str, Any]) -> tuple[dict[str, Any], str]:
    """Return the result that holds for a key, or {} and why the nearest one does not; "" where there is none.

    A file that is not one of ours, or that names other settings than those which can be tuned, counts for nothing.
    """
    found = [record for path in sorted(folder.glob("*.json")) if _is_whole(record := read_json(path))]
    for record in found:
        if record["key"] == key:
            return record, ""
    if not found:
        return {}, ""
    nearest = min(found, key=lambda record: (len(differences(record["key"], key)), -_age(record)))
    parts = differences(nearest["key"], key)
    return {}, f"what was tuned on {nearest['date'][:10]} is not used: it is for {'; '.join(parts)}"


def differences(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    """Return in words for what else a result is than for what it is asked."""
    return [
        f"another {word} ({_shown(old.get(name))}, now {_shown(new.get(name))})"
        if not word.endswith("s")
        else f"other {word} ({_shown(old.get(name))}, now {_shown(new.get(name))})"
        for name, word in _WORDS.items()
        if old.get(name) != new.get(name)
    ]


def words_of(record: Mapping[str, Any]) -> str:
    """Return a result that is used in one line."""
    winner = record["winner"]
    gain = f" ({100 * record['gain']:+.0f} %)" if winner else " are the fastest"
    return f"tuned on {record['date'][:10]}: {told(winner)}{gain}"


def _is_whole(record: Mapping[str, Any]) -> bool:
    winner, names = record.get("winner"), {tunable.name for tunable in TUNABLES}
    return (
        isinstance(record.get("key"), dict)
        and isinstance(record.get("date"), str)
        and isinstance(record.get("gain"), int | float)
        and isinstance(winner, dict)
        and set(winner) <= names
    )


def _age(record: Mapping[str, Any]) -> int:
    """Return a number that is the larger the newer a result is: dates are written so that they sort as text."""
    return int("".join(char for char in record["date"] if char.isdigit())[:14] or 0)


def _shown(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name}={part}" for name, part in value.items()) or "none"
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)
