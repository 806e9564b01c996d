"""What autotune.yml found, kept in one file on the controller; docs/autotune.md describes it. Reads and writes it.

A result holds for its ``key``, and under its ``own``: settings that the user had chosen himself while it was measured.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from icefield_train import __version__, json_text
from icefield_train.config import RULES as TRAINING_RULES
from icefield_train.race import Settings
from icefield_train.status import write_json
from plugins.module_utils import lockfile
from plugins.module_utils.settings_check import RULES
from plugins.module_utils.tunables import AUTO, LAYOUT, TUNABLES, told, untuned

FORMAT = 1
ABOUT = "written by autotune.yml, read by train.yml; docs/autotune.md says what it means"
# What a result is for, in words, in the order in which differences are told.
_WORDS = {
    "nodes": "another number of nodes",
    "node_types": "other nodes",
    "model": "another model",
    "kind": "another kind of task",
    "batch": "another batch",
    "precision": "another precision",
    "lora": "another lora",
    "collectives": "other collectives",
    "torch": "another torch",
    "stack": "another stack",
    "engine": "another version of Icefield",
}
_BATCH = ("global_batch_size", "per_device_batch_size", "gradient_accumulation_steps")
_LORA = ("lora", "lora_r", "lora_target_modules")
_TYPES: dict[str, Any] = {"date": str, "key": dict, "own": dict, "winner": dict, "gain": (int, float)}


def node_type(backend: str, instance_type: str, tuning: Mapping[str, Any]) -> str:
    """Return what kind of node this is: the type that a cloud sells it by, or what it measured about itself.

    Args:
        backend: where the node comes from.
        instance_type: "" where there is none.
        tuning: what the node measured about itself.
    """
    if instance_type:
        return f"{backend} {instance_type}"
    model = tuning.get("cpu_model") or tuning.get("machine", "")
    cores = f"{tuning['cpus']:g} CPUs of {len(tuning['cores'])} cores"
    return f"{backend} {model}, {cores}, {round(tuning['memory_bytes'] / (1 << 30))} GiB"


def key_of(
    settings: Mapping[str, Any], job: Mapping[str, Any], *, node_types: Sequence[str], stack_lock: Path
) -> dict[str, Any]:
    """Return for what a result holds.

    Args:
        settings: converted settings of the user.
        job: what the action ``run_job`` found.
        node_types: of each node of the run.
        stack_lock: the exact packages of the nodes.
    """
    text = stack_lock.read_text(encoding="utf-8")
    pins, digest = lockfile.pins(text), lockfile.digest([text])[:8]
    return {
        "nodes": len(node_types),
        "node_types": sorted(set(node_types)),
        "model": f"{Path(job['model']['name']).name} {job['model']['digest']}",
        "kind": job["data"]["kind"],
        "batch": {name: settings[name] for name in _BATCH},
        "precision": settings["precision"],
        "lora": {name: settings[name] for name in _LORA} if settings["lora"] else {},
        "collectives": settings["collectives"],
        "torch": pins.get("torch", ""),
        "stack": f"{stack_lock.stem} {digest}",
        "engine": __version__,
    }


def load(path: Path) -> list[dict[str, Any]]:
    """Return all results, the newest last.

    Raises:
        ValueError: the file is not one of ours, in one line.
    """
    try:
        data = json_text.parse(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return []
    except (OSError, ValueError) as error:
        raise ValueError(_refused(path, str(error))) from None
    if not isinstance(data, dict) or data.get("format") != FORMAT or not isinstance(data.get("results"), list):
        raise ValueError(_refused(path, f"no object with format {FORMAT} and a list of results"))
    for number, record in enumerate(data["results"], start=1):
        if fault := next(_faults(record), ""):
            raise ValueError(_refused(path, f"result {number}: {fault}"))
    found: list[dict[str, Any]] = data["results"]
    return found


def save(path: Path, record: Mapping[str, Any]) -> None:
    """Keep a result, whole or not at all; one for the same key and the same settings of the user's own is replaced.

    Raises:
        ValueError: the file is not one of ours; it is left as it is.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with _alone(path.parent):
        others = [one for one in load(path) if (one["key"], one["own"]) != (record["key"], record["own"])]
        write_json(path, {"about": ABOUT, "format": FORMAT, "results": [*others, record]})


def find(results: Sequence[Mapping[str, Any]], key: Mapping[str, Any], own: Settings) -> tuple[dict[str, Any], str]:
    """Return the result to use, or {} and why the nearest one is not used; "" where there is none.

    Args:
        results: all of them, the newest last.
        key: for what one is wanted.
        own: settings that could be tuned and that the user has chosen himself.
    """
    reasons = [(list(differences(record, key, own)), record) for record in results]
    fitting = [record for parts, record in reasons if not parts]
    if fitting:
        # Measured under exactly these settings, or else the newest.
        same = [record for record in fitting if record["own"] == own]
        return dict((same or fitting)[-1]), ""
    if not reasons:
        return {}, ""
    parts, nearest = min(reversed(reasons), key=lambda one: len(one[0]))
    return {}, f"what was tuned on {nearest['date'][:10]} is not used: it is for {'; '.join(parts)}"


def differences(record: Mapping[str, Any], key: Mapping[str, Any], own: Settings) -> Iterator[str]:
    """Yield in words for what else a result is than for what it is wanted."""
    old = record["key"]
    for name, words in _WORDS.items():
        if old.get(name) != key.get(name):
            yield f"{words} ({_shown(old.get(name))}, now {_shown(key.get(name))})"
    builtin = {tunable.name: tunable.builtin for tunable in TUNABLES}
    # It was measured under these; where they are others now, something else may be the fastest.
    for name, value in record["own"].items():
        now = own.get(name, builtin[name])
        if now != value:
            yield f"another {name} ({_shown(value)}, now {_shown(now)})"


def applied(settings: Mapping[str, Any], own: Settings, record: Mapping[str, Any]) -> tuple[dict[str, Any], str]:
    """Return the settings of a run with what was tuned where the user left them open, and that in one line.

    Processes and threads of a node belong together: a user's choice of one leaves no tuned value of the other.
    """
    taken = {tunable.name for tunable in LAYOUT} if {tunable.name for tunable in LAYOUT} & set(own) else set()
    used = {name: value for name, value in record["winner"].items() if name not in taken | set(own)}
    kept = {name: own[name] for name in own if name in record["winner"]}
    words = words_of(record)
    if used != record["winner"]:
        words = f"tuned on {record['date'][:10]}: {told(used) if used else 'nothing'}"
        words += f"; your own: {told(kept)}" if kept else ""
    return {**untuned(settings), **used}, words


def words_of(record: Mapping[str, Any]) -> str:
    """Return a result that is used as a whole in one line."""
    winner = record["winner"]
    words = f"{told(winner)} ({100 * record['gain']:+.0f} %)" if winner else "nothing was faster than the defaults"
    return f"tuned on {record['date'][:10]}: {words}"


def _faults(record: Any) -> Iterator[str]:
    """Yield what is wrong with a result; a value that a run would refuse later is refused here."""
    if not isinstance(record, dict):
        yield "not an object"
        return
    for name, kind in _TYPES.items():
        if not isinstance(record.get(name), kind):
            yield f"'{name}' is missing or of another type"
            return
    names = {tunable.name for tunable in TUNABLES}
    for name, value in [*record["own"].items(), *record["winner"].items()]:
        if name not in names:
            yield f"'{name}' is not a setting that can be tuned"
        elif value == AUTO or not {**TRAINING_RULES, **RULES}[name].test(value):
            yield f"{name} is '{_shown(value)}'"


def _refused(path: Path, why: str) -> str:
    return f"{path} is not what autotune.yml writes ({why}); delete it and run autotune.yml again"


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Be the only one that changes the file, as long as this lasts."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def _shown(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name}={part}" for name, part in value.items()) or "none"
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)
