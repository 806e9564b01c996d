"""Exactness: one rank and several take the same steps and give the same answers, to each row once. Needs torch."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from icefield_train import distributed, evaluate, loop  # noqa: E402
from icefield_train.config import TrainConfig  # noqa: E402
from icefield_train.data import EncodedRows, encoded_rows  # noqa: E402
from icefield_train.distributed import Dist  # noqa: E402
from icefield_train.encoding import encode  # noqa: E402
from icefield_train.model import adapted, fitting_rows, freeze_unused, new_model  # noqa: E402
from icefield_train.staged_task import StagedTask, task_from  # noqa: E402
from icefield_train.tokenizer import load_tokenizer  # noqa: E402
from tests.training.ranks import run_ranks  # noqa: E402
from tests.training.tiny import LABELS, METRICS, make_rows, write_tiny_model  # noqa: E402

WORLDS = (2, 4)
STEPS = 20
# 50 rows: the last batch of an epoch has 2, fewer than there are ranks.
ROWS, BATCH = 50, 16
KINDS = ("classification", "regression", "multilabel", "tokens", "causal")
# Name of a way to train -> kind and settings. What is accumulated and adapted is the same whatever the kind.
WAYS: dict[str, tuple[str, dict[str, Any]]] = {
    **{kind: (kind, {}) for kind in KINDS},
    "accumulated": ("classification", {"per_device_batch_size": 3}),
    "accumulated tokens": ("tokens", {"gradient_accumulation_steps": 3}),
    "adapted": ("causal", {"lora": True, "lora_r": 4, "lora_dropout": 0.0}),
}
# One row, fewer rows than ranks, k times the ranks and one, k times the rows of a batch and one.
DEV_ROWS = (1, 3, 9, 33)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    base = tmp_path_factory.mktemp("models")
    write_tiny_model(base / "encoder")
    write_tiny_model(base / "causal", "causal")
    return base


def _task(kind: str) -> StagedTask:
    return task_from({"kind": kind, "labels": LABELS[kind], "metrics": METRICS[kind]}, "")


def _model_folder(base: Path, kind: str) -> Path:
    return base / ("causal" if kind == "causal" else "encoder")


def _encoded(base: Path, kind: str, count: int, seed: int) -> EncodedRows:
    tokenizer = load_tokenizer(_model_folder(base, kind), kind)
    return encoded_rows(encode(make_rows(kind, count, seed), kind, tokenizer, 24), kind)


def _model(base: Path, kind: str, config: TrainConfig, rows: EncodedRows) -> tuple[Any, EncodedRows]:
    model = adapted(new_model(_model_folder(base, kind), _task(kind), 7)[0], _task(kind), config)
    rows = fitting_rows(model, rows)
    freeze_unused(model, rows)
    return model, rows


def _losses(base: Path, kind: str, settings: dict[str, Any], ranks: Dist) -> list[float]:
    config = TrainConfig(epochs=5, global_batch_size=BATCH, learning_rate=5e-3, **settings)
    model, rows = _model(base, kind, config, _encoded(base, kind, ROWS, 1))
    losses: list[float] = []
    loop.train(
        distributed.parallel(ranks, model),
        rows,
        config,
        ranks,
        precision="fp32",
        steps=STEPS,
        on_step=lambda step: losses.append(step.loss),
    )
    return losses


def _answers(base: Path, kind: str, ranks: Dist) -> dict[int, Any]:
    found = {}
    for count in DEV_ROWS:
        model, rows = _model(base, kind, TrainConfig(), _encoded(base, kind, count, 2))
        answers = evaluate.predict(model, rows, ranks, precision="fp32")
        found[count] = (answers.labels, answers.predicted, answers.loss)
    return found


class Scenario:
    """All ways to train, and evaluations of all kinds, in one process group: processes are slow to start."""

    def __init__(self, base: Path) -> None:
        self.base = base

    def __call__(self, ranks: Dist) -> tuple[dict[str, list[float]], dict[str, Any]]:
        losses = {name: _losses(self.base, kind, settings, ranks) for name, (kind, settings) in WAYS.items()}
        return losses, {kind: _answers(self.base, kind, ranks) for kind in KINDS}


@pytest.fixture(scope="module")
def results(folder: Path) -> dict[int, list[Any]]:
    return {world_size: run_ranks(world_size, Scenario(folder)) for world_size in (1, *WORLDS)}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("world_size", WORLDS)
def test_several_ranks_take_the_steps_of_one(results: dict[int, list[Any]], world_size: int, way: str) -> None:
    alone = results[1][0][0][way]
    assert len(alone) == STEPS
    for losses, _ in results[world_size]:
        assert losses[way] == pytest.approx(alone, rel=1e-4)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("world_size", WORLDS)
def test_several_ranks_give_the_answers_of_one_to_the_last_digit(
    results: dict[int, list[Any]], world_size: int, kind: str
) -> None:
    alone = results[1][0][1][kind]
    for count in DEV_ROWS:
        truth, answers, loss = alone[count]
        assert len(truth) == len(answers) == count
        for _, found in results[world_size]:
            assert found[kind][count] == (truth, answers, loss)


def test_the_passes_of_a_step_make_one_sum(results: dict[int, list[Any]]) -> None:
    for losses, _ in (results[1][0], *results[4]):
        assert losses["accumulated"] == pytest.approx(losses["classification"], rel=1e-4)
        assert losses["accumulated tokens"] == pytest.approx(losses["tokens"], rel=1e-4)


@pytest.mark.parametrize("way", WAYS)
def test_the_losses_fall(results: dict[int, list[Any]], way: str) -> None:
    losses = results[1][0][0][way]
    # Of the five epochs of four steps, the last against the first, by rows.
    first, last = (
        sum(loss * rows for loss, rows in zip(epoch, (16, 16, 16, 2), strict=True))
        for epoch in (losses[:4], losses[-4:])
    )
    assert last < first


def test_the_answers_are_those_of_the_rows_one_by_one(results: dict[int, list[Any]], folder: Path) -> None:
    # Beside no other row and without padding; only the last digits may differ.
    for kind in ("classification", "tokens", "regression"):
        model, rows = _model(folder, kind, TrainConfig(), _encoded(folder, kind, 9, 2))
        alone = evaluate.predict(model, rows, Dist(rank=0, world_size=1), precision="fp32", batch_size=1)
        truth, answers, loss = results[1][0][1][kind][9]
        assert alone.labels == truth
        assert alone.predicted == (pytest.approx(answers, rel=1e-4) if kind == "regression" else answers)
        assert alone.loss == pytest.approx(loss, rel=1e-4)


def test_a_loss_that_is_no_number_ends_training_with_the_cure(folder: Path) -> None:
    config = TrainConfig(epochs=1, global_batch_size=4)
    model, rows = _model(folder, "classification", config, _encoded(folder, "classification", 8, 1))
    with torch.no_grad():
        next(model.parameters()).fill_(float("nan"))
    with pytest.raises(FloatingPointError, match="at step 1, not a number; lower learning_rate"):
        loop.train(
            model, rows, config, Dist(rank=0, world_size=1), precision="fp32", steps=2, on_step=lambda step: None
        )
