"""The ``predict`` command: the answers of a trained model to rows without labels, in one process."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from icefield_train import predictions
from icefield_train.arguments import Parser
from icefield_train.config import PRECISIONS
from icefield_train.rules import refusal
from icefield_train.staged_data import read_rows
from icefield_train.staged_task import read_task


def predict(model_dir: Path, data_dir: Path, out: Path, *, batch_size: int, precision: str) -> list[tuple[Path, int]]:
    """Write a file for each split to predict; return the files, each with its number of rows.

    Raises:
        ValueError: data or model can't be read, do not belong together, or there is nothing to predict.
        OSError: a file can't be written.
    """
    task = read_task(data_dir)
    if not task.predict:
        raise ValueError(refusal("data", data_dir, "staged data that has rows to predict"))
    if not (model_dir / "config.json").is_file():
        raise ValueError(refusal("model", model_dir, "a folder with a trained model"))
    # Imported here: bad folders are refused before torch is loaded, which takes seconds.
    from icefield_train import evaluate
    from icefield_train.data import encoded_rows
    from icefield_train.distributed import Dist
    from icefield_train.encoding import encode
    from icefield_train.machine import machine_facts
    from icefield_train.model import fitting_rows, trained_model
    from icefield_train.precision import agreed_precision
    from icefield_train.tokenizer import load_tokenizer

    try:
        tokenizer, model = load_tokenizer(model_dir, task.kind.name), trained_model(model_dir, task)
    except (OSError, ValueError) as error:
        raise ValueError(refusal("model", model_dir, f"a folder with a trained model ({error})")) from None
    precision = agreed_precision(precision, [machine_facts("", 1)["isa"]])
    written = []
    for name, file in task.predict.items():
        rows = encode(read_rows(data_dir / file), task.kind.name, tokenizer, tokenizer.model_max_length)
        found = evaluate.predict(
            model,
            fitting_rows(model, encoded_rows(rows, task.kind.name)),
            Dist(rank=0, world_size=1),
            precision=precision,
            batch_size=batch_size,
        )
        written.append((predictions.write(out, task, name, found.predicted), len(found.predicted)))
    return written


def main(argv: Sequence[str]) -> int:
    """Run the command; a refusal is one line on standard error and exit code 2."""
    parser = Parser(prog="predict", description="Write what a trained model answers to the rows without labels.")
    parser.add_argument("--model", type=Path, required=True, help="folder of the trained model")
    parser.add_argument("--data", type=Path, required=True, help="staged data")
    parser.add_argument("--out", type=Path, required=True, help="folder for the files, such as MRPC.tsv")
    parser.add_argument("--batch-size", type=int, default=0, help="rows per forward pass (default: 0, as in training)")
    parser.add_argument("--precision", choices=PRECISIONS, default="auto", help="default: auto")
    arguments = parser.parse_args(argv)
    if arguments.batch_size < 0:
        parser.error(refusal("batch-size", arguments.batch_size, "a whole number of at least 0 (0 = as in training)"))
    try:
        written = predict(
            arguments.model,
            arguments.data,
            arguments.out,
            batch_size=arguments.batch_size,
            precision=arguments.precision,
        )
    except ValueError as error:
        print(" ".join(str(error).split()), file=sys.stderr)
        return 2
    except OSError as error:
        words = f"a folder that can be written ({error.filename}: {error.strerror})"
        print(refusal("out", arguments.out, words), file=sys.stderr)
        return 2
    for path, rows in written:
        print(f"{path}  {rows} rows")
    return 0
