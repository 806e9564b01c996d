"""The layers of a model that can get adapters, by the names of its weights. Needs no torch: the controller asks."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from icefield_train.model_files import check_safetensors
from icefield_train.rules import refusal
from icefield_train.showing import shown_names

# Parts of names of tables of vectors, which are two-dimensional as the weights of linear layers are.
_TABLES = ("embed", "wte", "wpe", "relative_attention_bias")
# First parts of names of heads; they are trained whole, or, as a language model's, not at all.
_HEADS = ("classifier", "pre_classifier", "score", "lm_head", "cls", "embed_out", "qa_outputs", "predictions")


def linear_layers(folder: Path) -> list[str]:
    """Return the names of the layers that seem to be linear, heads excepted.

    Raises:
        ValueError: a file of weights is damaged.
    """
    found = []
    for path in sorted(folder.glob("*.safetensors")):
        for name, shape in check_safetensors(path).items():
            parts = name.split(".")
            table = any(word in part for part in parts for word in _TABLES)
            if len(shape) == 2 and parts[-1] == "weight" and len(parts) > 1 and not table and parts[0] not in _HEADS:
                found.append(name.removesuffix(".weight"))
    return found


def check_targets(folder: Path, targets: Sequence[str]) -> None:
    """Refuse names of layers that the model does not have.

    Raises:
        ValueError: there is such a name.
    """
    layers = linear_layers(folder)
    if not layers:
        # Weights under names of another kind; the node, which has the model itself, knows.
        return
    for target in targets:
        if not any(f".{layer}".endswith(f".{target}") for layer in layers):
            raise ValueError(unknown_layer(target, layers))


def unknown_layer(target: str, layers: Sequence[str]) -> str:
    """Return the line that refuses a name of no layer."""
    names = shown_names(sorted({layer.rpartition(".")[2] for layer in layers}))
    return refusal("lora_target_modules", target, f"names of layers of this model: {names}")


def listed_targets(value: str) -> list[str]:
    """Return the names that ``lora_target_modules`` lists."""
    return [name.strip() for name in value.split(",") if name.strip()]
