"""Model and tokeniser, from a staged folder."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from transformers import AutoModelForSequenceClassification, AutoTokenizer
from transformers.utils import logging as transformers_logging


def silence_transformers() -> None:
    """Keep progress bars, and the notice that the classifier is new, out of the logs: it is new by design."""
    transformers_logging.set_verbosity_error()
    transformers_logging.disable_progress_bar()


def load_tokenizer(folder: str | Path, max_length: int | None = None) -> Any:
    """Return the tokeniser of a folder; with ``max_length``, one that cuts there and is saved so."""
    tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)
    if max_length is not None:
        tokenizer.model_max_length = max_length
    return tokenizer


def new_classifier(folder: str | Path, labels: Sequence[str], seed: int) -> torch.nn.Module:
    """Return a pretrained encoder with a new classifier on top, the same for the same seed.

    Raises:
        OSError, ValueError: the folder can't be loaded as such a model.
    """
    torch.manual_seed(seed)
    return AutoModelForSequenceClassification.from_pretrained(
        folder,
        num_labels=len(labels),
        id2label=dict(enumerate(labels)),
        label2id={label: index for index, label in enumerate(labels)},
        dtype=torch.float32,
        local_files_only=True,
        # A classifier of another task in the folder, with other classes, is replaced.
        ignore_mismatched_sizes=True,
    )


def trained_classifier(folder: str | Path) -> torch.nn.Module:
    """Return a classifier as it was saved."""
    return AutoModelForSequenceClassification.from_pretrained(folder, dtype=torch.float32, local_files_only=True)


def num_parameters(model: torch.nn.Module) -> int:
    """Return the number of weights that are trained."""
    return sum(weight.numel() for weight in model.parameters() if weight.requires_grad)
