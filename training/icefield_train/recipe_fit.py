"""Which runs the recipe ``article`` can do, and which settings it does not follow. Standard library only."""

from __future__ import annotations

from dataclasses import fields

from icefield_train.batch_plan import plan_batches
from icefield_train.config import TrainConfig
from icefield_train.rules import refusal

_KINDS = ("classification", "regression", "multilabel")
# Settings that make Icefield's own recipe faster: the article has none of them.
TUNING = ("precision", "length_grouping", "wire_format", "embedding_exchange", "bucket_mb", "collectives")
# What is calculated otherwise than these ask for would be another run than they name.
_REFUSED = {"precision": ("auto", "fp32"), "wire_format": ("fp32",), "collectives": ("gloo",), "lora": (False,)}


def recipe_fault(config: TrainConfig, kind: str, world_size: int) -> str:
    """Return the line that refuses a run by its recipe, or "".

    Args:
        config: settings of the run.
        kind: kind of its task, a name of ``kinds.KINDS``; "" where it is not known yet.
        world_size: number of ranks.
    """
    if config.recipe != "article":
        return ""
    if kind and kind not in _KINDS:
        return refusal("recipe", config.recipe, f"icefield, for the article's takes {', '.join(_KINDS)} and not {kind}")
    for name, taken in _REFUSED.items():
        if getattr(config, name) not in taken:
            words = " or ".join(str(value).lower() for value in taken)
            return refusal(name, getattr(config, name), f"{words} with the article's recipe")
    batches = plan_batches(config, world_size)
    if batches.global_batch_size % (world_size * batches.passes):
        words = (
            f"a multiple of {world_size * batches.passes}, for in the article's recipe each process takes as many rows"
        )
        return refusal("global_batch_size", batches.global_batch_size, words)
    return ""


def recipe_warnings(config: TrainConfig) -> list[str]:
    """Return a line for each setting that was given and that the recipe does not follow."""
    if config.recipe != "article":
        return []
    defaults = {field.name: field.default for field in fields(TrainConfig)}
    return [
        f"setting '{name}': not used by the article's recipe"
        for name in TUNING
        if name not in _REFUSED and getattr(config, name) != defaults[name]
    ]
