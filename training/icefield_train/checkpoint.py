"""The trained model as a folder."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any


def save_model(model: Any, tokenizer: Any, folder: Path) -> int:
    """Write weights (safetensors), config with the labels' names, and tokeniser; return the bytes written.

    The folder has its name only when it is complete.
    """
    if model.can_generate():
        # Off for training; whoever writes texts with the model wants it.
        model.config.use_cache = True
    return _publish(folder, model, tokenizer)


def save_adapters(model: Any, base: str, folder: Path) -> int:
    """Write a model's adapters alone, in the form of peft, for the pretrained model of this name; return the bytes."""
    model.peft_config["default"].base_model_name_or_path = base
    return _publish(folder, model)


def _publish(folder: Path, *parts: Any) -> int:
    aside = folder.with_name(f".{folder.name}-unfinished")
    shutil.rmtree(aside, ignore_errors=True)
    for part in parts:
        part.save_pretrained(aside)
    shutil.rmtree(folder, ignore_errors=True)
    aside.replace(folder)
    return sum(path.stat().st_size for path in folder.iterdir())
