"""Models, from a staged folder."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
import transformers

from icefield_train.config import TrainConfig
from icefield_train.data import EncodedRows
from icefield_train.heads import class_order, fit_head, names_of, reorder
from icefield_train.lora import with_adapters
from icefield_train.model_layers import listed_targets
from icefield_train.objectives import OBJECTIVES
from icefield_train.showing import shown_names
from icefield_train.staged_task import StagedTask


def new_model(folder: str | Path, task: StagedTask, seed: int) -> tuple[Any, str]:
    """Return a pretrained model with a head for the task, the same for the same seed, and what head that is in words.

    Raises:
        OSError, ValueError: the folder can't be loaded as such a model.
    """
    torch.manual_seed(seed)
    maker = getattr(transformers, task.kind.model)
    if task.kind.name == "causal":
        model = maker.from_pretrained(folder, dtype=torch.float32, local_files_only=True)
        # Kept for writing texts only.
        model.config.use_cache = False
        return model, "head of the language model"
    found = names_of(transformers.AutoConfig.from_pretrained(folder, local_files_only=True))
    model, loaded = maker.from_pretrained(
        folder,
        num_labels=task.num_outputs,
        **_names(task.labels),
        **({"problem_type": task.kind.problem_type} if task.kind.problem_type else {}),
        dtype=torch.float32,
        local_files_only=True,
        # A classifier of another task in the folder, with other classes, is replaced.
        ignore_mismatched_sizes=True,
        output_loading_info=True,
    )
    inside = f"{model.base_model_prefix}."
    new = [*loaded["missing_keys"], *(name for name, *_ in loaded["mismatched_keys"])]
    pretrained = not any(not name.startswith(inside) for name in new)
    return model, fit_head(model, found, task.labels, pretrained=pretrained)


def adapted(model: Any, task: StagedTask, config: TrainConfig) -> Any:
    """Return the model as it is trained: with adapters where they are asked for, their start being the seed's."""
    if not config.lora:
        return model
    torch.manual_seed(config.seed)
    return with_adapters(
        model,
        task.kind,
        r=config.lora_r,
        alpha=config.lora_alpha,
        dropout=config.lora_dropout,
        targets=listed_targets(config.lora_target_modules),
    )


def trained_model(folder: str | Path, task: StagedTask) -> Any:
    """Return a model that was trained for this task; its classes are put into the order of the data, by name.

    Raises:
        OSError, ValueError: the folder can't be loaded as such a model, or it answers with other classes.
    """
    maker = getattr(transformers, task.kind.model)
    model = maker.from_pretrained(folder, dtype=torch.float32, local_files_only=True)
    if not task.labels:
        return model
    found = names_of(model.config)
    order = class_order(found, task.labels)
    if order is None:
        raise ValueError(f"it answers with {shown_names(found)}, the data has {shown_names(task.labels)}")
    reorder(model, order)
    for name, value in _names(task.labels).items():
        setattr(model.config, name, value)
    return model


def fitting_rows(model: Any, rows: EncodedRows) -> EncodedRows:
    """Return rows without inputs that the model does not take, as some tokenisers make them.

    Raises:
        ValueError: they have tokens that the model does not know.
    """
    known = getattr(model.config, "vocab_size", 0)
    most = max(int(rows.tensors["input_ids"].max()), rows.padding["input_ids"])
    if known and most >= known:
        raise ValueError(f"the tokeniser gives token {most}, the model knows {known}; they do not belong together")
    # Adapters pass on what they are given.
    inner = model.get_base_model() if hasattr(model, "get_base_model") else model
    taken = inspect.signature(inner.forward).parameters
    padding = {name: value for name, value in rows.padding.items() if name in taken}
    if "token_type_ids" in padding and int(rows.tensors["token_type_ids"].max()) >= _token_types(model.config):
        # It does not tell first and second sentences apart.
        del padding["token_type_ids"]
    return EncodedRows(kind=rows.kind, tensors=rows.tensors, padding=padding, starts=rows.starts, digest=rows.digest)


def freeze_unused(model: torch.nn.Module, rows: EncodedRows) -> int:
    """Exclude weights from training that no output depends on; return how many.

    Ranks would wait for their gradients, which never come. They stay as they are either way.
    """
    objective = OBJECTIVES[rows.kind]
    labelled = [row for row, count in enumerate(objective.counts(rows)) if count][:1] or [0]
    objective.losses(model(**rows.inputs(labelled)).logits, objective.labels(rows, labelled)).sum().backward()
    unused = [weight for weight in model.parameters() if weight.requires_grad and weight.grad is None]
    model.zero_grad()
    for weight in unused:
        weight.requires_grad_(False)
    return sum(weight.numel() for weight in unused)


def num_parameters(model: torch.nn.Module) -> int:
    """Return the number of weights that are trained."""
    return sum(weight.numel() for weight in model.parameters() if weight.requires_grad)


def _token_types(config: Any) -> int:
    return int(getattr(config, "type_vocab_size", None) or 2)


def _names(labels: Sequence[str]) -> dict[str, Any]:
    if not labels:
        return {}
    return {"id2label": dict(enumerate(labels)), "label2id": {label: place for place, label in enumerate(labels)}}
