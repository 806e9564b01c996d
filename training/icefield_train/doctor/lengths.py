"""How many rows are longer than ``max_length``, by the model's own tokeniser.

``tokenizers`` is a library without torch, so that this is known before any node is touched.
"""

from __future__ import annotations

import os
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from icefield_train.doctor.findings import Findings, counted
from icefield_train.part import Part
from icefield_train.task_data import TaskData

# Of more rows a sample is taken: so many pairs of sentences take a second, and a share of them is exact to 1 %.
SAMPLE_ROWS = 10_000
_CHUNK_ROWS = 2_000


def tell_lengths(data: TaskData, model: Path, max_length: int, findings: Findings) -> None:
    """Tell the share of training and dev rows that are cut at ``max_length`` tokens, and the longest row."""
    file = model / "tokenizer.json"
    if not file.is_file():
        findings.note("the share of rows that max_length cuts is not known here: the model has no tokenizer.json")
        return
    # The process forks for nothing, but the library warns of forks where it has threads and this is not set.
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "true")
    import tokenizers

    try:
        tokenizer = tokenizers.Tokenizer.from_file(str(file))
    except Exception as error:
        # The library knows but this one kind of error.
        findings.note(f"the share of rows that max_length cuts is not known here: {str(error).splitlines()[0]}")
        return
    tokenizer.no_truncation()
    tokenizer.no_padding()
    for part in (data.train, *data.dev.values()):
        lengths = _lengths(tokenizer, part)
        cut = sum(length > max_length for length in lengths)
        of = f"{len(lengths):,} rows taken at random" if len(lengths) < len(part.rows) else counted(len(lengths), "row")
        share = f"max_length {max_length} cuts {cut:,} of {of} ({cut / len(lengths):.1%})"
        tell = findings.warn if cut * 10 > len(lengths) else findings.note
        tell(f"{part.source}: {share}, the longest has {counted(max(lengths), 'token')}")


def _lengths(tokenizer: Any, part: Part) -> list[int]:
    rows: Sequence[dict[str, Any]] = part.rows
    if len(rows) > SAMPLE_ROWS:
        rows = random.Random(0).sample(rows, SAMPLE_ROWS)
    if "tokens" in rows[0]:
        return _of_words(tokenizer, rows)
    lengths: list[int] = []
    for start in range(0, len(rows), _CHUNK_ROWS):
        inputs: list[Any] = [_input(row) for row in rows[start : start + _CHUNK_ROWS]]
        lengths += [len(one.ids) for one in tokenizer.encode_batch(inputs)]
    return lengths


def _input(row: dict[str, Any]) -> Any:
    return row["text"] if row["text_pair"] is None else (row["text"], row["text_pair"])


def _of_words(tokenizer: Any, rows: Sequence[dict[str, Any]]) -> list[int]:
    """Return the tokens of rows that are divided into words; each word is tokenised for itself, as in training."""
    words = sorted({word for row in rows for word in row["tokens"]})
    encoded = tokenizer.encode_batch(words, add_special_tokens=False)
    by_word = {word: len(one.ids) for word, one in zip(words, encoded, strict=True)}
    special = tokenizer.num_special_tokens_to_add(False)
    return [special + sum(by_word[word] for word in row["tokens"]) for row in rows]
