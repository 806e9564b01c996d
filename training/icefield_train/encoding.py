"""Rows to tokens, by kind of task. Needs the tokeniser's libraries and numpy, not torch."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

Rows = Sequence[dict[str, Any]]
# Name of a value for each token -> the values of each row.
Fields = dict[str, list[list[int]]]

# A label that counts nothing, as torch's losses take it.
IGNORED = -100
# Rows that the tokeniser gets at a time; its output is lists of Python numbers, many times the size of what is kept.
CHUNK_ROWS = 1000
# Fields that say something about tokens without being inputs of a model.
TOKEN_FIELDS = ("words", "targets")


@dataclass(frozen=True, kw_only=True, slots=True)
class Encoded:
    """Tokenised rows as flat arrays."""

    arrays: dict[str, np.ndarray]
    """``starts`` int64 [rows + 1]: where each row starts; for each input of the model, and for ``words`` (kind tokens:
    number of the word that begins with the token, else -1) or ``targets`` (kind causal: 1 where the token is to be
    learned), int32 [tokens of all rows]; ``labels``: int64 or float32 [rows], float32 [rows, classes] (multilabel), or
    int64 [words of all rows] (tokens), in which ``label_starts`` int64 [rows + 1] tells the rows apart."""
    padding: dict[str, int]
    """Name of the input -> value behind the end of a row."""


def encode(
    rows: Rows, kind: str, tokenizer: Any, max_length: int, on_chunk: Callable[[int], None] = lambda done: None
) -> Encoded:
    """Tokenise rows; none has more than ``max_length`` tokens.

    Args:
        rows: staged rows; a label that is None counts nothing.
        kind: a name of ``kinds.KINDS``.
        tokenizer: of transformers.
        max_length: sentences are cut at their end, the longer one first; prompts at their beginning.
        on_chunk: called with the number of rows that are done, again and again.

    Raises:
        ValueError: the tokeniser lacks what the kind needs, or a row does not fit the kind.
    """
    names = [name for name in tokenizer.model_input_names if name != "attention_mask"]
    padding = {name: _padding(tokenizer) if name == "input_ids" else 0 for name in names}
    flat: dict[str, array[int]] = {}
    starts = array("q", [0])
    for first in range(0, len(rows), CHUNK_ROWS):
        chunk = rows[first : first + CHUNK_ROWS]
        fields = _TOKENISERS.get(kind, _sentences)(chunk, tokenizer, max_length)
        for name in (*names, *TOKEN_FIELDS):
            for values in fields.get(name, ()):
                flat.setdefault(name, array("i")).extend(values)
        for row, values in zip(chunk, fields["input_ids"], strict=True):
            if not values:
                raise ValueError(f"row {row['id']} has no tokens")
            starts.append(starts[-1] + len(values))
        on_chunk(first + len(chunk))
    arrays = {name: np.array(values, dtype=np.int32) for name, values in flat.items()}
    return Encoded(
        arrays={"starts": np.array(starts, dtype=np.int64), **arrays, **_LABELS[kind](rows)},
        padding={name: value for name, value in padding.items() if name in arrays},
    )


def _padding(tokenizer: Any) -> int:
    if tokenizer.pad_token_id is None:
        raise ValueError("the model's tokeniser has no padding token; batches of several rows can't be made")
    return int(tokenizer.pad_token_id)


def _sentences(chunk: Rows, tokenizer: Any, max_length: int) -> Fields:
    texts, pairs = [row["text"] for row in chunk], [row["text_pair"] for row in chunk]
    whole = [pair for pair in pairs if pair is not None]
    if whole and len(whole) < len(pairs):
        row = chunk[pairs.index(None)]
        raise ValueError(f"row {row['id']} has no second sentence, others have one")
    fields: Fields = tokenizer(texts, whole or None, truncation=True, max_length=max_length)
    return fields


def _words(chunk: Rows, tokenizer: Any, max_length: int) -> Fields:
    if not tokenizer.is_fast:
        raise ValueError("the model's tokeniser does not tell words apart; give a model with a tokenizer.json")
    encoded = tokenizer(
        [row["tokens"] for row in chunk], is_split_into_words=True, truncation=True, max_length=max_length
    )
    words = []
    for place in range(len(chunk)):
        numbers = [-1 if number is None else int(number) for number in encoded.word_ids(place)]
        # A word is answered by its first token.
        words.append(
            [number if number != before else -1 for before, number in zip([-1, *numbers], numbers, strict=False)]
        )
    return {**encoded, "words": words}


def _prompts(chunk: Rows, tokenizer: Any, max_length: int) -> Fields:
    """Tokenise prompts and what follows them apart, as they are when the model is asked; only the latter is learned."""
    end = [tokenizer.eos_token_id] if tokenizer.eos_token_id is not None else []
    prompts = _plain(tokenizer, [row["text"] for row in chunk], special=True)
    completions = _plain(tokenizer, [row["text_pair"] or "" for row in chunk], special=False)
    fields: Fields = {"input_ids": [], "targets": []}
    for row, prompt, completion in zip(chunk, prompts, completions, strict=True):
        if end and prompt[-1:] == end:
            prompt.pop()
        if row["text_pair"] is None:
            tokens = (prompt + end)[:max_length]
            learned = len(tokens)
        else:
            answer = (completion + end)[: max_length - 1]
            tokens = _cut(prompt, max_length - len(answer), tokenizer.bos_token_id) + answer
            learned = len(answer)
        fields["input_ids"].append(tokens)
        fields["targets"].append([0] * (len(tokens) - learned) + [1] * learned)
    return fields


def _plain(tokenizer: Any, texts: list[str], *, special: bool) -> list[list[int]]:
    tokens: list[list[int]] = tokenizer(texts, add_special_tokens=special, truncation=False, verbose=False)["input_ids"]
    return tokens


def _cut(prompt: list[int], room: int, begin: int | None) -> list[int]:
    """Return the end of a prompt, which stands next to its answer; the token that begins a text stays."""
    if len(prompt) <= room:
        return prompt
    kept = prompt[:1] if prompt[0] == begin and room > 1 else []
    return kept + prompt[len(prompt) - room + len(kept) :]


def _numbers(rows: Rows, missing: float, dtype: type) -> np.ndarray:
    return np.array([missing if row["label"] is None else row["label"] for row in rows], dtype=dtype)


def _one_class(rows: Rows) -> dict[str, np.ndarray]:
    return {"labels": _numbers(rows, IGNORED, np.int64)}


def _number(rows: Rows) -> dict[str, np.ndarray]:
    return {"labels": _numbers(rows, np.nan, np.float32)}


def _several_classes(rows: Rows) -> dict[str, np.ndarray]:
    classes = next((len(row["label"]) for row in rows if row["label"] is not None), 1)
    return {
        "labels": np.array(
            [[np.nan] * classes if row["label"] is None else row["label"] for row in rows], dtype=np.float32
        )
    }


def _classes_of_words(rows: Rows) -> dict[str, np.ndarray]:
    labels, starts = array("q"), array("q", [0])
    for row in rows:
        found = [IGNORED] * len(row["tokens"]) if row["label"] is None else row["label"]
        if len(found) != len(row["tokens"]):
            raise ValueError(f"row {row['id']} has {len(row['tokens'])} words and {len(found)} labels")
        labels.extend(found)
        starts.append(len(labels))
    return {"labels": np.array(labels, dtype=np.int64), "label_starts": np.array(starts, dtype=np.int64)}


_TOKENISERS: dict[str, Callable[[Rows, Any, int], Fields]] = {"tokens": _words, "causal": _prompts}
_LABELS: dict[str, Callable[[Rows], dict[str, np.ndarray]]] = {
    "classification": _one_class,
    "regression": _number,
    "multilabel": _several_classes,
    "tokens": _classes_of_words,
    "causal": lambda rows: {},
}
