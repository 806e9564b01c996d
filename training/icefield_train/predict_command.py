"""The ``predict`` command: the answers of a trained model to rows without labels, in one process."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from icefield_train import predictions
from icefield_train.answering import load_answering
from icefield_train.answering_arguments import answering_parser
from icefield_train.rules import refusal
from icefield_train.showing import escaped
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
    model = load_answering(model_dir, task, precision)
    written = []
    for name, file in task.predict.items():
        answers = model.answers(read_rows(data_dir / file), batch_size).predicted
        written.append((predictions.write(out, task, name, answers), len(answers)))
    return written


def main(argv: Sequence[str]) -> int:
    """Run the command; a refusal is one line on standard error and exit code 2."""
    description = "Write what a trained model answers to the rows without labels."
    parser = answering_parser("predict", description, data="staged data")
    parser.add_argument("--out", type=Path, required=True, help="folder for the files, such as MRPC.tsv")
    arguments = parser.parse_args(argv)
    try:
        written = predict(
            arguments.model,
            arguments.data,
            arguments.out,
            batch_size=arguments.batch_size,
            precision=arguments.precision,
        )
    except ValueError as error:
        print(escaped(" ".join(str(error).split())), file=sys.stderr)
        return 2
    except OSError as error:
        words = f"a folder that can be written ({error.filename}: {error.strerror})"
        print(refusal("out", arguments.out, words), file=sys.stderr)
        return 2
    for path, rows in written:
        print(f"{path}  {rows} rows")
    return 0
