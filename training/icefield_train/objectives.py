"""What the kinds of tasks train for: labels as tensors, losses of rows, answers of a model."""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import torch
from torch.nn import functional

from icefield_train.data import EncodedRows
from icefield_train.encoding import IGNORED

# What stands for a word that a model has not seen, behind the end of what it takes: no class has this number.
UNSEEN = -1


class Objective(ABC):
    """One kind of task."""

    @abstractmethod
    def labels(self, rows: EncodedRows, picked: Sequence[int]) -> torch.Tensor:
        """Return the labels of these rows, as ``losses`` takes them."""

    @abstractmethod
    def counts(self, rows: EncodedRows) -> list[int]:
        """Return by how many the mean loss counts each row: 1, or the tokens with a label; 0 without one."""

    @abstractmethod
    def losses(self, logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        """Return the sum of each row's losses: float32 [rows].

        Args:
            logits: float32 or bf16 [rows, outputs] or [rows, tokens, outputs].
            labels: what ``labels`` returned.
        """

    @abstractmethod
    def answers(self, rows: EncodedRows, picked: Sequence[int], logits: torch.Tensor) -> list[Any]:
        """Return what the model answers for each of these rows, in the form of ``truth``."""

    @abstractmethod
    def truth(self, rows: EncodedRows) -> list[Any]:
        """Return what each row's answer should be, None where it has no label."""


class _OneLabel(Objective):
    def labels(self, rows: EncodedRows, picked: Sequence[int]) -> torch.Tensor:
        return rows.tensors["labels"][list(picked)]


class _Classification(_OneLabel):
    """One class for each row; labels int64 [rows], answers its index."""

    def counts(self, rows: EncodedRows) -> list[int]:
        return (rows.tensors["labels"] != IGNORED).int().tolist()

    def losses(self, logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        return functional.cross_entropy(logits.float(), labels, ignore_index=IGNORED, reduction="none")

    def answers(self, rows: EncodedRows, picked: Sequence[int], logits: torch.Tensor) -> list[Any]:
        return logits.float().argmax(dim=-1).tolist()

    def truth(self, rows: EncodedRows) -> list[Any]:
        return [None if label == IGNORED else label for label in rows.tensors["labels"].tolist()]


class _Regression(_OneLabel):
    """A number for each row; labels float32 [rows]. The loss is the squared error."""

    def counts(self, rows: EncodedRows) -> list[int]:
        return (~rows.tensors["labels"].isnan()).int().tolist()

    def losses(self, logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        answers = logits.float().squeeze(-1)
        # In place of the label that is missing, the answer itself: no error.
        return (answers - torch.where(labels.isnan(), answers, labels)) ** 2

    def answers(self, rows: EncodedRows, picked: Sequence[int], logits: torch.Tensor) -> list[Any]:
        return logits.float().squeeze(-1).tolist()

    def truth(self, rows: EncodedRows) -> list[Any]:
        labels = rows.tensors["labels"]
        return [None if missing else label for label, missing in zip(labels.tolist(), labels.isnan(), strict=True)]


class _MultiLabel(_OneLabel):
    """Any number of classes for each row; labels float32 [rows, classes], 0 or 1. The loss is the mean over classes."""

    def counts(self, rows: EncodedRows) -> list[int]:
        return (~rows.tensors["labels"].isnan().any(dim=1)).int().tolist()

    def losses(self, logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        # Rows of which none has a label have one column, for want of a better number.
        labels = labels.expand_as(logits)
        missing = labels.isnan()
        losses = functional.binary_cross_entropy_with_logits(logits.float(), labels.nan_to_num(), reduction="none")
        return losses.masked_fill(missing, 0.0).mean(dim=1)

    def answers(self, rows: EncodedRows, picked: Sequence[int], logits: torch.Tensor) -> list[Any]:
        # A logit above 0 is a probability above one half.
        return (logits.float() > 0).int().tolist()

    def truth(self, rows: EncodedRows) -> list[Any]:
        labels = rows.tensors["labels"]
        missing = labels.isnan().any(dim=1).tolist()
        return [None if gone else row for row, gone in zip(labels.nan_to_num().int().tolist(), missing, strict=True)]


class _Tokens(Objective):
    """A class for each word, which its first token answers; labels int64 [rows, tokens], answers a list per row."""

    def labels(self, rows: EncodedRows, picked: Sequence[int]) -> torch.Tensor:
        words = rows.padded("words", picked, UNSEEN)
        starts = rows.tensors["label_starts"][list(picked)].unsqueeze(1)
        found = rows.tensors["labels"][(starts + words).clamp(max=max(0, len(rows.tensors["labels"]) - 1))]
        return torch.where(words == UNSEEN, IGNORED, found)

    def counts(self, rows: EncodedRows) -> list[int]:
        words = rows.tensors["words"].long()
        offsets = rows.tensors["label_starts"][:-1].repeat_interleave(torch.tensor(rows.lengths))
        counted = words != UNSEEN
        counted[words != UNSEEN] = rows.tensors["labels"][(offsets + words)[words != UNSEEN]] != IGNORED
        return _sums(counted, rows)

    def losses(self, logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        return _token_losses(logits, labels)

    def answers(self, rows: EncodedRows, picked: Sequence[int], logits: torch.Tensor) -> list[Any]:
        classes = logits.float().argmax(dim=-1).tolist()
        starts = rows.tensors["label_starts"]
        answers = []
        for row, by_token in zip(picked, classes, strict=True):
            by_word = [UNSEEN] * int(starts[row + 1] - starts[row])
            for word, answer in zip(rows.tensors["words"][rows.span(row)].tolist(), by_token, strict=False):
                if word != UNSEEN:
                    by_word[word] = answer
            answers.append(by_word)
        return answers

    def truth(self, rows: EncodedRows) -> list[Any]:
        starts, labels = rows.tensors["label_starts"].tolist(), rows.tensors["labels"].tolist()
        found = [labels[start:end] for start, end in itertools.pairwise(starts)]
        return [None if IGNORED in row else row for row in found]


class _Causal(Objective):
    """The tokens that follow; labels int64 [rows, tokens], the inputs themselves where they are to be learned."""

    def labels(self, rows: EncodedRows, picked: Sequence[int]) -> torch.Tensor:
        wanted = rows.padded("targets", picked, 0)
        return torch.where(wanted == 1, rows.padded("input_ids", picked, IGNORED), IGNORED)

    def counts(self, rows: EncodedRows) -> list[int]:
        counted = rows.tensors["targets"].bool()
        # Nothing comes before a row's first token, of which it could follow.
        counted[rows.starts[:-1]] = False
        return _sums(counted, rows)

    def losses(self, logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        return _token_losses(logits[:, :-1], labels[:, 1:])

    def answers(self, rows: EncodedRows, picked: Sequence[int], logits: torch.Tensor) -> list[Any]:
        # Only the loss judges a language model; what it would write is not asked for.
        return [None] * len(picked)

    def truth(self, rows: EncodedRows) -> list[Any]:
        # The first token of a row follows none.
        spans = [slice(start + 1, end) for start, end in itertools.pairwise(rows.starts)]
        tokens, wanted = rows.tensors["input_ids"], rows.tensors["targets"].bool()
        return [tokens[span][wanted[span]].tolist() for span in spans]


def _sums(counted: torch.Tensor, rows: EncodedRows) -> list[int]:
    """Return how many tokens of each row are counted; bool [tokens of all rows]."""
    sums = torch.cat([torch.zeros(1, dtype=torch.int64), counted.cumsum(0)])
    return (sums[rows.starts[1:]] - sums[rows.starts[:-1]]).tolist()


def _token_losses(logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """Return the sum over the labelled tokens of each row; logits without a label are not even copied."""
    wanted = labels != IGNORED
    losses = functional.cross_entropy(logits[wanted].float(), labels[wanted], reduction="none")
    return torch.zeros(len(labels), dtype=losses.dtype).index_add(0, wanted.nonzero()[:, 0], losses)


OBJECTIVES: dict[str, Objective] = {
    "classification": _Classification(),
    "regression": _Regression(),
    "multilabel": _MultiLabel(),
    "tokens": _Tokens(),
    "causal": _Causal(),
}
