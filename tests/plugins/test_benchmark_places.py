"""Tests of what a benchmark runs: its refusals, the settings of each run, the command that repeats it."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import pytest

from icefield_train.config import TrainConfig
from plugins.filter.benchmark_runs import FilterModule
from plugins.module_utils import benchmark_places

FILTERS = FilterModule().filters()
DEFAULTS = {
    **asdict(TrainConfig()),
    "launcher": "torchrun",
    "nproc_per_node": "auto",
    "threads_per_process": "auto",
    "bucket_mb": "auto",
    "autotune": True,
    "recipes": "article,icefield",
    "repeats": 3,
    "attach": "",
    "script": "",
}
JOB = {"run_id": "b", "trees": [], "sources": {"data_dir": "/rows"}, "git_commit": "abc"}


def given(**settings: Any) -> dict[str, Any]:
    """Return the settings of a user."""
    return {**DEFAULTS, "task": "mrpc", "run_id": "", **settings}


def runs(**settings: Any) -> list[dict[str, Any]]:
    """Return the runs of a benchmark on a cluster of 4 nodes."""
    found: list[dict[str, Any]] = FILTERS["benchmark_runs"](
        JOB, benchmark_places.completed(given(**settings), 4), DEFAULTS
    )
    return found


def test_without_numbers_of_nodes_they_double_up_to_all() -> None:
    assert benchmark_places.completed(given(), 6)["nodes"] == [1, 2, 4, 6]
    assert benchmark_places.completed(given(nodes=[2, 3]), 6)["nodes"] == [2, 3]


def test_runs_have_their_names_and_folders_in_their_order() -> None:
    found = runs(nodes=[1, 2], repeats=1)
    assert [run["run_id"] for run in found] == [
        "b-article-1n-1",
        "b-icefield-1n-1",
        "b-article-2n-1",
        "b-icefield-2n-1",
    ]
    assert [run["number"] for run in found] == [1, 2, 3, 4]
    assert found[3]["folder"] == "b/b-icefield-2n-1"
    assert found[3]["job"] == {**JOB, "run_id": "b-icefield-2n-1"}
    assert found[3]["settings"]["run_id"] == "b-icefield-2n-1"


def test_recipes_differ_in_tuning_alone() -> None:
    article, icefield = runs(
        nodes=[1],
        repeats=1,
        wire_format="bf16",
        precision="bf16",
        bucket_mb=9,
        threads_per_process=3,
        launcher="mpirun",
        epochs=2,
    )
    differing = {name for name in icefield["settings"] if icefield["settings"][name] != article["settings"][name]}
    assert differing == {"recipe", "run_id", "wire_format", "precision", "bucket_mb", "threads_per_process", "launcher"}
    assert article["settings"]["wire_format"] == "fp32"
    assert (article["settings"]["bucket_mb"], article["settings"]["threads_per_process"]) == (5, "auto")
    assert article["settings"]["measure_only"] is icefield["settings"]["measure_only"] is True


def test_settings_that_are_left_open_have_their_built_in_values() -> None:
    for run in runs(nodes=[2], repeats=1):
        assert {name: run["settings"][name] for name in ("nproc_per_node", "threads_per_process", "bucket_mb")} == {
            "nproc_per_node": 1,
            "threads_per_process": "auto",
            "bucket_mb": 5,
        }


@pytest.mark.parametrize(
    ("settings", "batch"),
    [({}, (0, 32)), ({"global_batch_size": 64}, (64, 0)), ({"per_device_batch_size": 8}, (0, 8))],
)
def test_a_rank_has_the_articles_batch_where_none_is_named(settings: dict[str, int], batch: tuple[int, int]) -> None:
    found = runs(nodes=[2], repeats=1, **settings)[0]["settings"]
    assert (found["global_batch_size"], found["per_device_batch_size"]) == batch


@pytest.mark.parametrize(
    ("settings", "line"),
    [
        ({"attach": "r"}, "setting 'attach': value 'r' is not accepted; give nothing: "),
        ({"script": "a.py"}, "setting 'script': value 'a.py' is not accepted; give nothing: "),
        ({"recipe": "article"}, "setting 'recipe': value 'article' is not accepted; give recipes, a list,"),
        ({"run_id": "r" * 99}, f"setting 'run_id': value '{'r' * 99}' is not accepted; give at most 86 characters"),
        ({"lora": True}, "setting 'lora': value 'True' is not accepted; give false with the article's recipe"),
        ({"global_batch_size": 33}, "setting 'global_batch_size': value '33' is not accepted; give a multiple of 4,"),
        ({"task": "causal"}, "setting 'recipe': value 'article' is not accepted; give icefield, for the article's t"),
    ],
)
def test_what_a_benchmark_cannot_follow_is_refused_in_one_line(settings: dict[str, Any], line: str) -> None:
    lines = list(benchmark_places.faults(given(**settings), [1, 4]))
    assert len(lines) == 1
    assert lines[0].startswith(line)


def test_what_only_the_article_cannot_follow_is_taken_without_it() -> None:
    settings = given(recipes="icefield", lora=True, global_batch_size=33, task="causal")
    assert list(benchmark_places.faults(settings, [1, 4])) == []


def test_the_command_repeats_the_benchmark_and_not_a_run_of_it() -> None:
    values = benchmark_places.completed(given(nodes=[1, 2], repeats=5, recipes="icefield", epochs=1, run_id="b"), 4)
    assert FILTERS["benchmark_command"](JOB, values, DEFAULTS, {}) == (
        "ansible-playbook benchmark.yml -e nodes=1,2 -e data_dir=/rows -e epochs=1 -e per_device_batch_size=32 "
        "-e recipes=icefield -e repeats=5 -e task=mrpc"
    )
