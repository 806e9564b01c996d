"""Tests of the refusal to compare unlike runs."""

from __future__ import annotations

from typing import Any

import pytest

from plugins.module_utils.benchmark_alike import Run, check_alike, held_batch


def run(name: str, recipe: str = "icefield", nodes: int = 1, **changes: Any) -> Run:
    """Return a run; ``changes`` are values by ``file__field``."""
    settings = {"model_digest": "m", "data_digest": "d", "max_length": 128, "per_device_batch_size": 32, "epochs": 3}
    files: dict[str, dict[str, Any]] = {
        "config": {**settings},
        "metrics": {
            "train_rows": 100,
            "dev_rows": 10,
            "seed": 42,
            "precision": "bf16",
            "global_batch_size": 32 * nodes,
            "nodes": nodes,
        },
        "environment": {"versions": {"torch": "2.13.0", "numpy": "2.4.6"}},
    }
    for key, value in changes.items():
        file, field = key.split("__")
        files[file][field] = value
    return Run(name, recipe, nodes, 1, files)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"config__model_digest": "n"}, "model is m in the one and n in the other"),
        ({"config__data_digest": "e"}, "data is d in the one and e in the other"),
        ({"config__max_length": 64}, "sequence length is 128 in the one and 64 in the other"),
        ({"config__per_device_batch_size": 16}, "batch is 32 per rank in the one and 16 per rank in the other"),
        ({"config__per_device_batch_size": 0}, "batch is 32 per rank in the one and 64 in all in the other"),
        ({"config__gradient_accumulation_steps": 2}, "passes per step is 1 in the one and 2 in the other"),
        ({"metrics__train_rows": 99}, "training rows is 100 in the one and 99 in the other"),
        ({"metrics__dev_rows": 9}, "dev rows is 10 in the one and 9 in the other"),
        ({"config__epochs": 1}, "epochs is 3 in the one and 1 in the other"),
        ({"config__max_steps": 9}, "limit of steps is None in the one and 9 in the other"),
        ({"metrics__world_size": 4}, "ranks per node is None in the one and 2.0 in the other"),
        ({"environment__hosts": [{"cpu": "x", "cpus": 0.5}]}, "processor is None of None in the one and 0.5 of x"),
        ({"metrics__seed": 1}, "seed is 42 in the one and 1 in the other"),
        ({"metrics__seed": None}, "seed is 42 in the one and None in the other"),
        ({"metrics__precision": "fp32"}, "precision is bf16 in the one and fp32 in the other"),
        (
            {"environment__versions": {"torch": "2.8.0", "numpy": "2.4.6"}},
            r"versions \(torch\) is 2.13.0 in the one and 2.8.0 in the other",
        ),
    ],
)
def test_unlike_runs_are_refused_by_field(change: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=f"runs 'a' and 'b' are not alike and not compared: {words}( in the other)?$"):
        check_alike([run("a"), run("b", nodes=2, **change)])


def test_the_batch_of_all_ranks_may_grow_where_that_of_a_rank_is_held() -> None:
    check_alike([run("a"), run("b", nodes=4)])


def test_the_batch_of_all_ranks_may_not_grow_where_it_is_held() -> None:
    held = {"config__per_device_batch_size": 0}
    with pytest.raises(ValueError, match="batch is 32 in all in the one and 64 in all in the other"):
        check_alike([run("a", **held), run("b", nodes=2, **held)])


def test_precision_differs_between_recipes_only() -> None:
    peers = [run("a"), run("b", "article", metrics__precision="fp32")]
    check_alike(peers)
    with pytest.raises(ValueError, match="'b' and 'c' are not alike and not compared: precision"):
        check_alike([*peers, run("c", "article", 2)])


def test_which_batch_is_held_is_told() -> None:
    assert held_batch(run("a", nodes=2).files) == "32 per rank"
    assert held_batch(run("a", nodes=2, config__per_device_batch_size=0).files) == "64 in all"
    # It is the limit of a pass there.
    assert held_batch(run("a", nodes=2, config__global_batch_size=64).files) == "64 in all"
    assert held_batch(run("a", nodes=2, config__gradient_accumulation_steps=2).files) == "64 per rank"
