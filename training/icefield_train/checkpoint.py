"""The trained model as a folder."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import torch


def save_model(model: torch.nn.Module, tokenizer: Any, folder: Path) -> int:
    """Write weights (safetensors), config with the labels' names, and tokeniser; return the bytes written.

    The folder has its name only when it is complete.
    """
    aside = folder.with_name(f".{folder.name}-unfinished")
    shutil.rmtree(aside, ignore_errors=True)
    model.save_pretrained(aside)
    tokenizer.save_pretrained(aside)
    shutil.rmtree(folder, ignore_errors=True)
    aside.replace(folder)
    return sum(path.stat().st_size for path in folder.iterdir())
