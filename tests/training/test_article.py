"""Whole runs by the recipe ``article``: what they tell is what Icefield's own tell. Needs torch and accelerate."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")
pytest.importorskip("accelerate")

from tests.training.tiny import write_data, write_tiny_model
from tests.training.whole_run import run_ranks

ROWS, DEV, BATCH, EPOCHS, LENGTH = 45, 9, 4, 2, 24


def _run(base: Path, recipe: str, world_size: int, kind: str = "classification", **settings: Any) -> dict[str, Any]:
    if not (base / kind).exists():
        write_data(base / kind, kind, train=ROWS, dev=DEV)
    if not (base / "bert").exists():
        write_tiny_model(base / "bert")
    name = "-".join(map(str, (recipe, world_size, kind, *sorted(settings.items())))).replace(" ", "")
    options: dict[str, Any] = {
        "epochs": EPOCHS,
        "per_device_batch_size": BATCH,
        "learning_rate": 3e-3,
        "max_length": LENGTH,
        "precision": "fp32",
        **settings,
    }
    if not (base / name).exists():
        data, model = str(base / kind), str(base / "bert")
        run_ranks(base / name, world_size, data_dir=data, model=model, recipe=recipe, **options)
    found: dict[str, Any] = json.loads((base / name / "metrics.json").read_text())
    return found


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("article")


@pytest.mark.parametrize("world_size", [1, 2])
def test_both_recipes_tell_the_same_of_the_same_job(base: Path, world_size: int) -> None:
    article, own = (_run(base, recipe, world_size, measure_only=True) for recipe in ("article", "icefield"))
    assert set(article) == set(own)
    # 45 rows by 4 on each rank: 12 and 6 steps for an epoch, the last of them smaller.
    assert article["steps"] == own["steps"] == EPOCHS * (12 if world_size == 1 else 6)
    for name in ("samples", "tokens", "global_batch_size", "world_size", "train_rows", "dev_rows", "seed", "baseline"):
        assert article[name] == own[name], name
    assert (article["recipe"], article["precision"], article["samples"]) == ("article", "fp32", EPOCHS * ROWS)
    assert article["collectives"] == "gloo"


def test_rows_are_padded_to_the_whole_length(base: Path) -> None:
    article, own = (_run(base, recipe, 1, measure_only=True) for recipe in ("article", "icefield"))
    assert article["padded_tokens"] == EPOCHS * ROWS * LENGTH
    assert article["tokens"] <= own["padded_tokens"] < article["padded_tokens"]


def test_it_learns_as_well_as_ours(base: Path) -> None:
    # Enough steps that both know the answer, by whatever order of rows.
    article, own = (_run(base, recipe, 2, "regression", epochs=12) for recipe in ("article", "icefield"))
    assert article["pearson"] > 0.7
    assert article["pearson"] == pytest.approx(own["pearson"], abs=0.2)
    assert article["final_train_loss"] == pytest.approx(own["final_train_loss"], abs=0.3)


def test_gradients_are_sent_whole(base: Path) -> None:
    article, own = (_run(base, recipe, 2, measure_only=True) for recipe in ("article", "icefield"))
    assert article["bytes_sent_per_step"] > own["bytes_sent_per_step"] > 0
    assert _run(base, "article", 1, measure_only=True)["bytes_sent_per_step"] == 0


def test_passes_are_accumulated(base: Path) -> None:
    found = _run(base, "article", 2, per_device_batch_size=2, gradient_accumulation_steps=2)
    assert (found["steps"], found["passes"], found["global_batch_size"]) == (EPOCHS * 6, 2, 8)


def test_the_time_of_steps_is_that_of_their_parts(base: Path) -> None:
    for recipe in ("article", "icefield"):
        found = _run(base, recipe, 2, measure_only=True)
        assert sum(found["step_seconds"].values()) * found["steps"] == pytest.approx(found["train_seconds"], rel=0.2)
        assert found["step_seconds"]["communication"] > 0
        assert found["gemm_share"] > 0
        assert found["job_seconds"] < found["wall_seconds"]


def test_a_limit_of_steps_and_a_seed_hold(base: Path) -> None:
    found = _run(base, "article", 2, max_steps=3, seed=7)
    assert (found["steps"], found["samples"], found["epochs"], found["seed"]) == (3, 24, 1, 7)
