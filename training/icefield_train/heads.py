"""The head of a pretrained model: whether the task can use it, and in which order its classes stand."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import torch

from icefield_train.showing import shown_names

# Names that transformers makes up where a model has none.
_NAMELESS = re.compile(r"label_\d+")


def output_layer(model: torch.nn.Module) -> torch.nn.Linear:
    """Return the layer that has an output for each class.

    Raises:
        ValueError: there is none outside the encoder.
    """
    inside = f"{model.base_model_prefix}."
    layers = [
        layer
        for name, layer in model.named_modules()
        if isinstance(layer, torch.nn.Linear)
        and layer.out_features == model.config.num_labels
        and not name.startswith(inside)
    ]
    if not layers:
        raise ValueError(f"{type(model).__name__} has no linear layer with {model.config.num_labels} outputs")
    # Heads of several layers are defined in the order in which they calculate.
    return layers[-1]


def class_order(found: Sequence[str], wanted: Sequence[str]) -> list[int] | None:
    """Return for each wanted class its place among those found, by name; None where the names are not the same.

    Names count as the same whatever their case, and whether parts are joined by blanks, "-" or "_".
    """
    places = {_plain(name): place for place, name in enumerate(found)}
    order = [places.get(_plain(name), -1) for name in wanted]
    return order if sorted(order) == list(range(len(found))) else None


def fit_head(model: torch.nn.Module, found: Sequence[str], wanted: Sequence[str], *, pretrained: bool) -> str:
    """Make a head answer with the classes of the task, in their order; return in words what that took.

    Args:
        model: a classifier with the task's number of classes.
        found: names of the classes in the folder that the model comes from.
        wanted: names of the task's classes, none for a number as the answer.
        pretrained: False where the head is new, the folder having none of this size.
    """
    if not pretrained:
        return "new head"
    order = class_order(found, wanted)
    if not wanted or all(_NAMELESS.fullmatch(_plain(name)) for name in found):
        return "pretrained head, whose classes have no names"
    if order is None:
        _renew(output_layer(model), model.config)
        return f"new head, the pretrained one answers with {shown_names(found)}"
    if order == list(range(len(order))):
        return "pretrained head"
    reorder(model, order)
    return f"pretrained head, its classes {shown_names(found)} put into the order of the data"


def reorder(model: torch.nn.Module, order: Sequence[int]) -> None:
    """Put the outputs into another order: the first will be the one at ``order[0]``, and so on."""
    layer = output_layer(model)
    with torch.no_grad():
        layer.weight.copy_(layer.weight[list(order)].clone())
        if layer.bias is not None:
            layer.bias.copy_(layer.bias[list(order)].clone())


def names_of(config: object) -> list[str]:
    """Return the names of the classes of a model's config, in their order."""
    names: Mapping[int, str] = getattr(config, "id2label", None) or {}
    return [names[place] for place in sorted(names)]


def _renew(layer: torch.nn.Linear, config: object) -> None:
    # As the encoders themselves are initialised (BERT: 0.02).
    torch.nn.init.normal_(layer.weight, std=getattr(config, "initializer_range", 0.02))
    if layer.bias is not None:
        torch.nn.init.zeros_(layer.bias)


def _plain(name: str) -> str:
    return re.sub(r"[\s_-]+", "_", name.strip().casefold())
