"""Low-rank adapters (LoRA, Hu et al. 2021, arXiv:2106.09685) by peft: small matrices are trained, the model stays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from transformers.pytorch_utils import Conv1D

from icefield_train.kinds import Kind
from icefield_train.model_layers import unknown_layer


def with_adapters(model: Any, kind: Kind, *, r: int, alpha: int, dropout: float, targets: Sequence[str] = ()) -> Any:
    """Return the model with adapters; they and the head are all that is trained.

    Args:
        model: a model of transformers.
        kind: the kind of its task.
        r: rank of the adapters.
        alpha: their output is multiplied by this over ``r``.
        dropout: share of their inputs that is left out in training.
        targets: names of the layers that get one, or ends of names; none = all linear ones of the model but its head.

    Raises:
        ValueError: no layer has such a name, or the model has no linear layers.
    """
    from peft import LoraConfig, get_peft_model

    layers = _linear_layers(model)
    if not layers:
        raise ValueError(f"{type(model).__name__} has no linear layers that could get adapters; set lora=false")
    for target in targets:
        if not any(f".{layer}".endswith(f".{target}") for layer in layers):
            raise ValueError(unknown_layer(target, layers))
    # A language model's head is its embeddings, seen from the other side: it stays as it is.
    heads = [] if kind.name == "causal" else _heads(model)
    config = LoraConfig(
        task_type=kind.peft,
        r=r,
        lora_alpha=alpha,
        lora_dropout=dropout,
        target_modules=list(targets) or layers,
        modules_to_save=heads or None,
        # GPT-2's layers hold their weights the other way round.
        fan_in_fan_out=any(isinstance(layer, Conv1D) for layer in model.modules()),
    )
    return get_peft_model(model, config)


def merged(model: Any) -> Any:
    """Return the model with its adapters added to its weights; loads anywhere without peft. Ends the adapters."""
    return model.merge_and_unload()


def _linear_layers(model: Any) -> list[str]:
    inside = f"{model.base_model_prefix}."
    return [
        name
        for name, layer in model.named_modules()
        if name.startswith(inside) and isinstance(layer, torch.nn.Linear | Conv1D)
    ]


def _heads(model: Any) -> list[str]:
    return [
        name
        for name, part in model.named_children()
        if name != model.base_model_prefix and any(True for _ in part.parameters())
    ]
