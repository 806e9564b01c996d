"""A run before it has nodes: its name, its checked data and model, the folders to stage. Runs on the controller."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from icefield_train.config import TrainConfig
from plugins.module_utils.staging import digest_of


def new_run_id(task: str, model: str, now: datetime) -> str:
    """Return a name that sorts by time and tells what was run, such as ``20261202-101500-mrpc-all-MiniLM-L6-v2``."""
    return f"{stamp_of(now)}-{task}-{word_of(Path(model).name) or 'model'}"


def stamp_of(now: datetime) -> str:
    """Return a time as the beginning of a run's name."""
    return f"{now.astimezone(UTC):%Y%m%d-%H%M%S}"


def word_of(name: str) -> str:
    """Return a name as a part of a run's name; "" where nothing in it can be one."""
    return "".join(char if char.isalnum() or char in "._-" else "-" for char in name)[:40].strip("-.")


def training_settings(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return those of the user's settings that the training takes."""
    names = {field.name for field in fields(TrainConfig)}
    return {name: value for name, value in settings.items() if name in names}


def absolute_sources(settings: Mapping[str, Any], called_from: Path) -> dict[str, str]:
    """Return the settings that name a folder or file, as absolute paths where these are, so that they hold anywhere.

    A file of ``data_dir`` stays as it is.
    """
    found = {}
    for name in ("data_dir", "model"):
        found[name] = _absolute(settings[name], called_from, Path.is_dir)
    for name in ("train_file", "dev_file", "test_file"):
        file = Path(settings[name]).expanduser()
        inside = settings["data_dir"] and not file.is_absolute() and (Path(found["data_dir"]) / file).exists()
        found[name] = settings[name] if inside else _absolute(settings[name], called_from, Path.is_file)
    return found


def absolute_paths(settings: Mapping[str, Any], called_from: Path, names: Iterable[str]) -> dict[str, str]:
    """Return settings that name files or folders, as absolute paths where these are, so that they hold anywhere."""
    return {name: _absolute(settings[name], called_from, Path.exists) for name in names}


def _absolute(value: str, called_from: Path, is_there: Callable[[Path], bool]) -> str:
    path = called_from / Path(value).expanduser()
    return str(path.resolve()) if value and is_there(path) else value


def run_check(
    settings: Mapping[str, Any], *, called_from: Path, cache: Path, wheelhouse: Path, world_size: int
) -> dict[str, Any]:
    """Run ``icefield_train check`` and return what it found.

    Raises:
        ValueError: it refuses a setting, the data or the model; its one line says why.
    """
    command = [sys.executable, "-m", "icefield_train", "check", "--config", "/dev/stdin", "--json"]
    command += ["--cache", str(cache), "--wheelhouse", str(wheelhouse), "--world-size", str(world_size)]
    done = subprocess.run(
        command,
        input=json.dumps(training_settings(settings)),
        capture_output=True,
        text=True,
        check=False,
        # Relative paths among the settings are meant from where the user is.
        cwd=called_from,
    )
    if done.returncode != 0:
        lines = [line for line in done.stderr.splitlines() if line.strip()]
        raise ValueError((lines or [f"icefield_train check ended with exit code {done.returncode}"])[-1])
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def code_tree(package: Path) -> dict[str, str]:
    """Return the folder of the training package, which the supervisors come from as well."""
    return {"kind": "code", "src": str(package), "digest": digest_of(package)}


def trees_of(found: Mapping[str, Any], package: Path) -> list[dict[str, str]]:
    """Return the folders that nodes need: the training package, the data, the model; each by kind, path and digest."""
    paths = {"data": Path(found["data"]["path"]), "models": Path(found["model"]["path"])}
    staged = [{"kind": kind, "src": str(path), "digest": digest_of(path)} for kind, path in paths.items()]
    return [code_tree(package), *staged]


def git_commit(root: Path) -> str:
    """Return the commit of the checkout, with ``-dirty`` behind it where files differ, or "" without git."""
    try:
        done = subprocess.run(
            ["git", "-C", str(root), "describe", "--always", "--abbrev=40", "--dirty", "--exclude=*"],
            capture_output=True,
            text=True,
            check=False,
            timeout=10,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""
