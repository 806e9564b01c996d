"""Attention with dropout: torch has no fast way for it on a CPU, only one of many small operations."""

from __future__ import annotations

from typing import Any

import torch
from transformers import AttentionInterface
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.masking_utils import AttentionMaskInterface, sdpa_mask

from icefield_train.dropout import can_drop, factors_like

NAME = "icefield"
# What some models add to the scores by a way of their own.
_NOT_OURS = ("position_bias", "softcap", "s_aux")


class _Attention(torch.autograd.Function):
    """softmax(scaling query key^T + mask), some of it dropped, times value (Vaswani et al. 2017, arXiv:1706.03762)."""

    @staticmethod
    def forward(
        ctx: Any,
        query: torch.Tensor,
        key: torch.Tensor,
        value: torch.Tensor,
        mask: torch.Tensor | None,
        scaling: float,
        dropout: float,
    ) -> torch.Tensor:
        rows, heads, length, _ = query.shape
        scaled = torch.empty(query.shape, dtype=query.dtype)
        torch.mul(query, scaling, out=scaled)
        scaled, key, value = (tensor.reshape(rows * heads, -1, tensor.shape[-1]) for tensor in (scaled, key, value))
        # In float32, which on a CPU is also the faster way for lengths that are no multiple of 32.
        scores = torch.bmm(scaled, key.transpose(1, 2)).float()
        if mask is not None:
            scores.view(rows, heads, length, -1).add_(mask)
        weights = torch.softmax(scores, dim=-1).to(query.dtype)
        factors = factors_like(weights, dropout)
        ctx.save_for_backward(scaled, key, value, weights, factors)
        ctx.scaling, ctx.shape = scaling, query.shape
        return torch.bmm(weights * factors, value).view(rows, heads, length, -1)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, gradient: torch.Tensor) -> tuple[torch.Tensor | None, ...]:
        scaled, key, value, weights, factors = ctx.saved_tensors
        rows, heads = ctx.shape[:2]
        gradient = gradient.reshape(rows * heads, -1, gradient.shape[-1])
        of_value = torch.bmm((weights * factors).transpose(1, 2), gradient)
        of_weights = torch.bmm(gradient, value.transpose(1, 2)).mul_(factors)
        of_scores = torch.ops.aten._softmax_backward_data(of_weights, weights, -1, weights.dtype)
        of_query = torch.bmm(of_scores, key).mul_(ctx.scaling)
        of_key = torch.bmm(of_scores.transpose(1, 2), scaled)
        found = (tensor.view(rows, heads, -1, tensor.shape[-1]) for tensor in (of_query, of_key, of_value))
        return (*found, None, None, None)


def attend(
    module: torch.nn.Module,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: torch.Tensor | None,
    dropout: float = 0.0,
    scaling: float | None = None,
    is_causal: bool | None = None,
    **others: Any,
) -> tuple[torch.Tensor, None]:
    """Be an attention function of transformers: [rows, heads, tokens, size] each, result [rows, tokens, heads, size].

    What this module does not do better, torch does: all without dropout, so all that is not training.
    """
    causal = getattr(module, "is_causal", True) if is_causal is None else is_causal
    alike = key.shape[1] == query.shape[1] and key.dtype == value.dtype == query.dtype
    if (
        not (can_drop(query, dropout) and alike)
        or (causal and attention_mask is None)
        or any(others.get(name) is not None for name in _NOT_OURS)
    ):
        result: tuple[torch.Tensor, None] = sdpa_attention_forward(
            module, query, key, value, attention_mask, dropout, scaling, is_causal, **others
        )
        return result
    mask = attention_mask
    if mask is not None and mask.dtype == torch.bool:
        mask = torch.zeros(mask.shape).masked_fill_(~mask, torch.finfo(torch.float32).min)
    factor = query.shape[-1] ** -0.5 if scaling is None else scaling
    # The types are as they are to be: autocast would change some within.
    with torch.autocast("cpu", enabled=False):
        attended = _Attention.apply(query, key, value, mask, factor, dropout)
    return attended.transpose(1, 2), None


def use_attention(model: Any) -> None:
    """Let a model of transformers attend by ``attend`` where it would by torch's function."""
    if getattr(model.config, "_attn_implementation", "") == "sdpa":
        model.set_attn_implementation(NAME)


AttentionInterface.register(NAME, attend)
AttentionMaskInterface.register(NAME, sdpa_mask)
