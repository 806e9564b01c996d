"""How many floating-point operations a model's training takes, by the usual formula."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch


@dataclass(frozen=True, kw_only=True, slots=True)
class ModelFlops:
    """Operations of forward and backward pass: of a row of n tokens, n x ``per_token`` + n² x ``per_pair``.

    6 for each weight but those of embeddings, which are looked up, and 12 x layers x width for each pair of tokens
    (Chowdhery et al. 2022, arXiv:2204.02311, appendix B; Kaplan et al. 2020, arXiv:2001.08361, section 2.1). Layers
    that see one token of a row (pooler and head) are left out, as is the recalculation of anything.
    """

    per_token: float
    per_pair: float

    def of(self, tokens: int, pairs: int) -> float:
        """Return the operations for rows of so many tokens in all, and so many squares of their lengths in all."""
        return tokens * self.per_token + pairs * self.per_pair


def model_flops(model: Any) -> ModelFlops | None:
    """Return the operations of a transformer; None where they are not known: adapters leave weights as they are."""
    if hasattr(model, "peft_config"):
        return None
    body = getattr(model, model.base_model_prefix, None)
    layers, width = (getattr(model.config, name, None) for name in ("num_hidden_layers", "hidden_size"))
    if body is None or layers is None or width is None:
        return None
    left_out = [part for part in body.modules() if isinstance(part, torch.nn.Embedding)]
    left_out += [part for name, part in body.named_children() if name == "pooler" and part is not None]
    apart = {id(weight) for part in left_out for weight in part.parameters()}
    weights = sum(weight.numel() for weight in body.parameters() if id(weight) not in apart)
    return ModelFlops(per_token=6.0 * weights, per_pair=12.0 * layers * width)
