"""The tokeniser of a staged model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from transformers import AutoTokenizer
from transformers.utils import logging as transformers_logging


def silence_transformers() -> None:
    """Keep progress bars, and the notice that the classifier is new, out of the logs: it is new by design."""
    transformers_logging.set_verbosity_error()
    transformers_logging.disable_progress_bar()


def load_tokenizer(folder: str | Path, max_length: int | None = None) -> Any:
    """Return the tokeniser of a folder; with ``max_length``, one that cuts there and is saved so.

    Raises:
        OSError, ValueError: the folder has none that can be loaded.
    """
    silence_transformers()
    tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)
    if max_length is not None:
        tokenizer.model_max_length = max_length
    return tokenizer
