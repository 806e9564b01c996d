"""A trained model that answers rows in one process, as the commands ``evaluate`` and ``predict`` use it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from icefield_train.model_files import most_tokens
from icefield_train.part import Rows
from icefield_train.rules import refusal
from icefield_train.staged_task import StagedTask

# Tokens of a row where neither tokeniser nor model says how many it takes.
_MOST_TOKENS = 512


@dataclass(frozen=True, kw_only=True, slots=True)
class Answering:
    """A model with its tokeniser."""

    task: StagedTask
    tokenizer: Any
    model: Any
    max_length: int
    precision: str
    """"fp32" or "bf16"."""

    def answers(self, rows: Rows, batch_size: int) -> Any:
        """Return ``evaluate.Predictions`` of the rows; ``batch_size`` 0 is the kind's own."""
        from icefield_train.data import encoded_rows
        from icefield_train.distributed import Dist
        from icefield_train.encoding import encode
        from icefield_train.evaluate import predict
        from icefield_train.model import fitting_rows

        kind = self.task.kind.name
        encoded = encoded_rows(encode(rows, kind, self.tokenizer, self.max_length), kind)
        return predict(
            self.model,
            fitting_rows(self.model, encoded),
            Dist(rank=0, world_size=1),
            precision=self.precision,
            batch_size=batch_size,
        )


def load_answering(folder: Path, task: StagedTask, precision: str) -> Answering:
    """Return the model of a folder, trained for a task; ``precision`` may be "auto".

    Raises:
        ValueError: it is no such folder, or the model answers with other classes.
    """
    if not (folder / "config.json").is_file():
        raise ValueError(refusal("model", folder, "a folder with a trained model"))
    # Imported here: bad folders are refused before torch is loaded, which takes seconds.
    from icefield_train.machine import machine_facts
    from icefield_train.model import trained_model
    from icefield_train.precision import agreed_precision
    from icefield_train.tokenizer import load_tokenizer

    try:
        tokenizer, model = load_tokenizer(folder, task.kind.name), trained_model(folder, task)
    except (OSError, ValueError) as error:
        raise ValueError(refusal("model", folder, f"a folder with a trained model ({error})")) from None
    return Answering(
        task=task,
        tokenizer=tokenizer,
        model=model,
        # A model that was trained here cuts where it was trained to; others may set no limit, which is a huge number.
        max_length=min(tokenizer.model_max_length, most_tokens(folder) or _MOST_TOKENS),
        precision=agreed_precision(precision, [machine_facts("", 1)["isa"]], folder),
    )
