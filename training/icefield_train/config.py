"""Settings of a run: one frozen object, checked when it is made, saved as config.json."""

from __future__ import annotations

import dataclasses
import difflib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from icefield_train import json_text
from icefield_train.rules import Rule, choice, number, read_whole, refusal, whole
from icefield_train.showing import SETTING_WIDTH, shown
from icefield_train.tasks import TASKS

PRECISIONS = ("auto", "fp32", "bf16")
PROBLEMS = ("auto", "classification", "regression", "multilabel")
DIALECTS = ("auto", "csv", "csv-semicolon", "tsv", "tsv-quoted")
EMPTY_CELLS = ("auto", "drop", "empty", "fail")
WIRE_FORMATS = ("fp32", "bf16", "fp16")
EMBEDDING_EXCHANGES = ("auto", "sparse", "dense")
COLLECTIVES = ("gloo", "ccl", "auto")
LR_SCALINGS = ("none", "linear", "sqrt")
# Recipe -> module whose ``run`` goes through a run by it.
RECIPES = {"icefield": "icefield_train.run", "article": "icefield_train.recipes.article"}


@dataclass(frozen=True, kw_only=True, slots=True)
class TrainConfig:
    """Everything that decides a run.

    Raises:
        ValueError: a setting has a value that is not accepted; one line names setting, value and what is accepted.
    """

    task: str = "paraphrase"
    """What is learned; a name of ``tasks.TASKS``."""
    data_dir: str = ""
    """Folder of the data; on a node the staged one (train.jsonl, dev.jsonl, task.json)."""
    train_file: str = ""
    """Own data: file of the training rows, in data_dir or by its path."""
    dev_file: str = ""
    """Own data: file of the dev rows."""
    test_file: str = ""
    """Own data: file of rows to predict."""
    text_column: str = ""
    """Own data: column of the (first) text."""
    text_pair_column: str = ""
    """Own data: column of the second text."""
    label_column: str = ""
    """Own data: column of the labels; several, with commas between them, where each class has its own."""
    problem: str = "auto"
    """Own data: what labels are; one of PROBLEMS."""
    dialect: str = "auto"
    """Own data: how tables of text are written; one of DIALECTS; auto: by the file's ending."""
    dev_share: float = 0.1
    """Own data: share of the training rows that become dev rows where there are none."""
    empty_cells: str = "auto"
    """What becomes of rows with an empty text or label; one of EMPTY_CELLS."""
    predict: bool = False
    """Predict the rows without labels in the end."""
    model: str = "all-MiniLM-L6-v2"
    """Pretrained encoder; on a node the staged folder."""
    model_name: str = ""
    """Name of the model as the user gave it, for reports."""
    epochs: int = 3
    """Passes over the training rows."""
    learning_rate: float = 5e-5
    """Peak learning rate, before ``lr_scaling``."""
    lr_scaling: str = "none"
    """How the learning rate follows the global batch: none, linear or sqrt."""
    lr_reference_batch_size: int = 32
    """Global batch for which ``learning_rate`` is meant."""
    weight_decay: float = 0.01
    """Weight decay of AdamW; biases and layer norms have none."""
    warmup_ratio: float = 0.0
    """Share of the steps over which the learning rate rises from 0."""
    global_batch_size: int = 0
    """Rows per optimizer step, over all ranks; 0 = ``batch_plan`` works it out."""
    per_device_batch_size: int = 0
    """Most rows in one forward and backward pass of a rank; 0 = all that it has of the global batch."""
    gradient_accumulation_steps: int = 1
    """Passes of a rank per optimizer step, at least."""
    max_length: int = 128
    """Tokens at which a row is cut."""
    precision: str = "auto"
    """auto (bf16 where the CPUs of all ranks have it), fp32 or bf16."""
    seed: int = 42
    """Seed of everything random."""
    max_steps: int = 0
    """Stop after so many optimizer steps; 0 = no limit."""
    train_rows: int = 0
    """Use only the first so many training rows; 0 = all."""
    length_grouping: bool = True
    """Put rows of similar length into one batch."""
    collectives: str = "gloo"
    """Backend of what ranks exchange; one of COLLECTIVES; auto: the faster of both, measured."""
    wire_format: str = "fp32"
    """Format in which gradients are sent; one of WIRE_FORMATS."""
    embedding_exchange: str = "auto"
    """Which rows of the word embeddings' gradients are sent; one of EMBEDDING_EXCHANGES."""
    bucket_mb: int = 5
    """MiB of gradients that are sent together."""
    lora: bool = False
    """Train low-rank adapters instead of the weights."""
    lora_r: int = 16
    """Rank of the adapters."""
    lora_alpha: int = 32
    """Their output is multiplied by this over their rank."""
    lora_dropout: float = 0.05
    """Share of their inputs that is left out in training."""
    lora_target_modules: str = ""
    """Names of the layers that get one, separated by commas; "" = all linear ones but the head."""
    recipe: str = "icefield"
    """How it is trained; a name of RECIPES. article: as stock libraries do it, to compare with."""
    measure_only: bool = False
    """Measure in the end how fast the ranks multiply matrices, and keep no model."""
    tokens_dir: str = ""
    """Folder of tokenised rows; "" = below ``run_dir``."""
    run_id: str = ""
    """Name of the run."""
    run_dir: str = ""
    """Folder that the run writes into."""
    deadline_rendezvous: int = 60
    """Seconds that ranks wait for each other at the start."""
    deadline_step: int = 120
    """Seconds that ranks wait for each other in a training step."""
    deadline_evaluate: int = 600
    """Seconds that ranks wait for each other in an evaluation."""
    deadline_save: int = 120
    """Seconds that ranks wait for rank 0 to save."""
    git_commit: str = ""
    """Commit of Icefield that made the run."""
    command: str = ""
    """Command that repeats the run."""
    tuned: str = ""
    """In words, where settings come from that the user left open; "" where they are the built-in ones."""
    data_digest: str = ""
    """Digest of the staged data."""
    model_digest: str = ""
    """Digest of the staged model."""

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            rule = RULES.get(field.name, TEXT)
            if not rule.test(value):
                raise ValueError(refusal(field.name, value, rule.words))

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> TrainConfig:
        """Make a config of plain values; numbers and booleans may be text, as a command line gives them.

        Raises:
            ValueError: a setting is unknown (the nearest known one is named) or has a value that is not accepted.
        """
        known = {field.name: field.type for field in fields(cls)}
        for name, value in data.items():
            if name not in known:
                near = difflib.get_close_matches(name, known, n=1, cutoff=0.6)
                hint = f"did you mean '{near[0]}'?" if near else f"give one of {', '.join(known)}"
                raise ValueError(f"setting '{shown(name)}' (value '{shown(value)}') is not known; {hint}")
        return cls(**{name: _READERS[str(known[name])](value) for name, value in data.items()})

    def to_dict(self) -> dict[str, Any]:
        """Return the plain values, ready for JSON."""
        return dataclasses.asdict(self)


def load_config(path: Path) -> TrainConfig:
    """Read a config.json.

    Raises:
        ValueError: the file can't be read, is not a JSON object, or holds a setting that is not accepted.
    """
    return TrainConfig.from_dict(load_settings(path))


def load_settings(path: Path) -> dict[str, Any]:
    """Read a JSON object of settings.

    Raises:
        ValueError: the file can't be read or is not a JSON object.
    """
    try:
        data = json_text.parse(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ValueError(
            f"setting 'config': value '{shown(path, SETTING_WIDTH)}' can't be read ({error.strerror}); give a JSON file"
        ) from None
    except ValueError:
        data = None
    if not isinstance(data, dict):
        raise ValueError(refusal("config", path, "a file with a JSON object"))
    return data


_FLAG = Rule(words="true or false", test=lambda value: isinstance(value, bool))
TEXT = Rule(words="text", test=lambda value: isinstance(value, str))
_NAMES = Rule(
    words="names with commas between them",
    test=lambda value: isinstance(value, str) and (not value or any(part.strip() for part in value.split(","))),
)
RULES: dict[str, Rule] = {
    "task": choice(tuple(TASKS)),
    "problem": choice(PROBLEMS),
    "dialect": choice(DIALECTS),
    "dev_share": number("above 0 and below 1", lambda value: 0 < value < 1),
    "empty_cells": choice(EMPTY_CELLS),
    "predict": _FLAG,
    "model": Rule(
        words="all-MiniLM-L6-v2, a folder with a model, pip:PACKAGE, or a model's name on the hub",
        test=lambda value: isinstance(value, str) and value.strip() != "",
    ),
    "epochs": whole(1),
    "learning_rate": number("above 0", lambda value: value > 0),
    "weight_decay": number("of at least 0", lambda value: value >= 0),
    "warmup_ratio": number("of at least 0 and below 1", lambda value: 0 <= value < 1),
    "global_batch_size": whole(0, zero="per_device_batch_size x processes where that is given, else 32"),
    "per_device_batch_size": whole(0, zero="all that a process has of the global batch"),
    "gradient_accumulation_steps": whole(1),
    "lr_scaling": choice(LR_SCALINGS),
    "lr_reference_batch_size": whole(1),
    "max_length": whole(8, 4096),
    "precision": choice(PRECISIONS),
    "seed": whole(0, 2**32 - 1),
    "max_steps": whole(0, zero="no limit"),
    "train_rows": whole(0, zero="all"),
    "length_grouping": _FLAG,
    "collectives": choice(COLLECTIVES),
    "wire_format": choice(WIRE_FORMATS),
    "embedding_exchange": choice(EMBEDDING_EXCHANGES),
    "bucket_mb": whole(1, 1024),
    "recipe": choice(tuple(RECIPES)),
    "measure_only": _FLAG,
    "lora": _FLAG,
    "lora_r": whole(1),
    "lora_alpha": whole(1),
    "lora_dropout": number("of at least 0 and below 1", lambda value: 0 <= value < 1),
    "label_column": _NAMES,
    "lora_target_modules": _NAMES,
    **{f"deadline_{phase}": whole(1) for phase in ("rendezvous", "step", "evaluate", "save")},
}


def _read_float(value: Any) -> Any:
    try:
        # Float takes "1_0" for 10.
        return value if isinstance(value, bool) or "_" in str(value) else float(value)
    except (TypeError, ValueError):
        return value


def _read_bool(value: Any) -> Any:
    words = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}
    return words.get(value.strip().lower(), value) if isinstance(value, str) else value


# By the annotation's text. What can't be read is passed on as it is: the rules refuse it with its own words.
_READERS: dict[str, Callable[[Any], Any]] = {
    "int": read_whole,
    "float": _read_float,
    "bool": _read_bool,
    "str": lambda v: v,
}
