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


def load_tokenizer(folder: str | Path, kind: str, max_length: int | None = None) -> Any:
    """Return the tokeniser of a folder for a kind of task; with ``max_length``, one that cuts there and is saved so.

    Raises:
        OSError, ValueError: the folder has none that can be loaded.
    """
    silence_transformers()
    # Words one by one have lost the blanks before them, by which tokenisers of bytes know that a word begins.
    options = {"add_prefix_space": True} if kind == "tokens" else {}
    tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True, **options)
    if options and tokenizer.is_fast:
        _begin_with_blank(tokenizer.backend_tokenizer.pre_tokenizer)
    if kind == "causal" and tokenizer.pad_token is None:
        # Masked, and not to be learned: any token will do.
        tokenizer.pad_token = tokenizer.eos_token
    if max_length is not None:
        tokenizer.model_max_length = max_length
    return tokenizer


def _begin_with_blank(step: Any) -> None:
    """Set what tokenisers of no class of their own do not take as an option."""
    from tokenizers import pre_tokenizers

    if isinstance(step, pre_tokenizers.ByteLevel):
        step.add_prefix_space = True
    elif isinstance(step, pre_tokenizers.Sequence):
        for part in step:
            _begin_with_blank(part)
