"""Which rows of the word embeddings have a gradient: those of a step's tokens, where nothing else uses the weights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

from icefield_train.data import EncodedRows
from icefield_train.objectives import OBJECTIVES
from icefield_train.rules import refusal


@dataclass(frozen=True, kw_only=True, slots=True)
class EmbeddingChoice:
    """How the gradients of the word embeddings are exchanged."""

    parameter: str
    """Name of the weights whose rows are exchanged one by one; "" where they are exchanged like all others."""
    words: str
    """In words, with the reason."""


def choose_embedding(model: Any, rows: EncodedRows, wanted: str, world_size: int) -> EmbeddingChoice:
    """Return how to exchange the word embeddings of this model; the same on every rank.

    Args:
        model: a model of transformers, with adapters or without.
        rows: training rows.
        wanted: "auto" (by rows where that is exact), "sparse" (refused where it is not) or "dense".
        world_size: number of ranks.

    Raises:
        ValueError: "sparse" would not be exact.
    """
    if world_size == 1:
        return EmbeddingChoice(parameter="", words="none, one rank")
    if wanted == "dense":
        return EmbeddingChoice(parameter="", words="dense, as asked for")
    layer = model.get_input_embeddings() if hasattr(model, "get_input_embeddings") else None
    reason = "the model has no table of word embeddings"
    if isinstance(layer, torch.nn.Embedding):
        if not layer.weight.requires_grad:
            return EmbeddingChoice(parameter="", words="none, word embeddings are not trained")
        reason = _obstacle(model, layer, rows)
        if not reason:
            return EmbeddingChoice(
                parameter=_names(model, layer.weight)[0], words="sparse, the rows of a step's tokens"
            )
    if wanted == "sparse":
        raise ValueError(refusal("embedding_exchange", wanted, f"auto or dense: {reason}"))
    return EmbeddingChoice(parameter="", words=f"dense, {reason}")


def step_tokens(rows: EncodedRows, batch: Sequence[int]) -> torch.Tensor:
    """Return each token of a global batch once, the padding included: int64 [tokens], ascending.

    Every rank has all rows, so that none needs to be told the tokens of another.
    """
    found = [rows.tensors["input_ids"][rows.span(row)] for row in batch]
    return torch.cat([*found, torch.tensor([rows.padding["input_ids"]], dtype=found[0].dtype)]).unique().long()


def _obstacle(model: Any, layer: torch.nn.Embedding, rows: EncodedRows) -> str:
    if len(_names(model, layer.weight)) > 1 or _is_head(model, layer.weight):
        return "the word embeddings are also other weights of the model, so that every row has a gradient"
    if layer.sparse or layer.max_norm is not None or layer.scale_grad_by_freq:
        return "the model treats the gradients of its word embeddings in its own way"
    if _others_have_gradients(model, layer.weight, rows):
        return "words that are not in a row have a gradient from it"
    return ""


def _names(model: torch.nn.Module, weight: torch.nn.Parameter) -> list[str]:
    return [name for name, found in model.named_parameters(remove_duplicate=False) if found is weight]


def _is_head(model: Any, weight: torch.nn.Parameter) -> bool:
    head = model.get_output_embeddings() if hasattr(model, "get_output_embeddings") else None
    return getattr(head, "weight", None) is weight


def _others_have_gradients(model: Any, weight: torch.nn.Parameter, rows: EncodedRows) -> bool:
    """Tell whether a row with a label gives gradients to other words than its own, as a model's own tokens do."""
    objective = OBJECTIVES[rows.kind]
    picked = [row for row, count in enumerate(objective.counts(rows)) if count][:1] or [0]
    objective.losses(model(**rows.inputs(picked)).logits, objective.labels(rows, picked)).sum().backward()
    changed = torch.zeros(len(weight), dtype=torch.bool)
    if weight.grad is not None:
        changed = weight.grad.ne(0).any(dim=1)
    model.zero_grad()
    changed[step_tokens(rows, picked)] = False
    return bool(changed.any())
