"""Tests of a benchmark's figures and of its table, on known numbers."""

from __future__ import annotations

from typing import Any

import pytest

from plugins.module_utils.benchmark_alike import Run
from plugins.module_utils.benchmark_figures import spread, summary
from plugins.module_utils.benchmark_table import cells, lines, markdown

# Seconds of the repeats, for 1200 rows.
TIMES = {
    ("article", 1): [100.0, 120.0, 110.0],
    ("article", 2): [50.0, 60.0, 55.0],
    ("icefield", 1): [20.0, 24.0, 22.0],
    ("icefield", 2): [12.5, 12.0, 11.0],
}


def runs(*pairs: tuple[str, int], **metrics: Any) -> list[Run]:
    """Return the runs of some recipes and numbers of nodes."""
    return [
        Run(
            f"{recipe}-{nodes}-{repeat}",
            recipe,
            nodes,
            repeat,
            {
                "config": {"per_device_batch_size": 32},
                "metrics": {
                    "job_seconds": seconds,
                    "job_samples_per_second": 1200 / seconds,
                    "baseline": {"f1": 0.5},
                    "precision": "fp32" if recipe == "article" else "bf16",
                    "steps": 12 // nodes,
                    "global_batch_size": 32 * nodes,
                    "f1": 0.8,
                    **metrics,
                },
                "environment": {},
                "result": {"usd": 0.25} if recipe == "article" else {},
            },
        )
        for recipe, nodes in pairs
        for repeat, seconds in enumerate(TIMES[recipe, nodes], 1)
    ]


def rows(found: dict[str, Any]) -> dict[tuple[str, int], dict[str, Any]]:
    """Return the rows by recipe and number of nodes."""
    return {(row["recipe"], row["nodes"]): row for row in found["rows"]}


def test_the_spread_has_the_middle_and_both_ends() -> None:
    assert spread([3.0, 1.0, 2.5]) == {"median": 2.5, "least": 1.0, "most": 3.0}
    assert spread([1.0, 2.0])["median"] == 1.5


def test_speedups_are_taken_within_a_repeat() -> None:
    row = rows(summary(runs(*TIMES)))["icefield", 2]
    # 20/12.5, 24/12, 22/11
    assert row["speedup_tuned"] == {"median": 2.0, "least": 1.6, "most": 2.0}
    assert row["speedup_own"] == row["speedup_tuned"]
    assert row["efficiency"] == {"median": 1.0, "least": 0.8, "most": 1.0}
    # 100/12.5, 120/12, 110/11; 50/12.5, 60/12, 55/11
    assert row["speedup_article"] == pytest.approx({"median": 10.0, "least": 8.0, "most": 10.0})
    assert row["speedup_article_same_nodes"] == pytest.approx({"median": 5.0, "least": 4.0, "most": 5.0})


def test_the_efficiency_of_a_recipe_is_against_itself() -> None:
    row = rows(summary(runs(*TIMES)))["article", 2]
    assert row["efficiency"]["median"] == 1.0
    assert row["speedup_tuned"] == pytest.approx({"median": 0.4, "least": 0.4, "most": 0.4})


def test_no_speedup_without_its_peer() -> None:
    row = rows(summary(runs(("icefield", 2), ("article", 2))))["icefield", 2]
    assert not {"speedup_own", "speedup_tuned", "speedup_article", "efficiency"} & set(row)
    assert row["speedup_article_same_nodes"]["median"] == 5.0


def test_a_figure_that_one_run_lacks_is_left_out() -> None:
    found = runs(("icefield", 1), bytes_sent_per_step=5e6)
    assert summary(found)["rows"][0]["bytes_sent_per_step"]["median"] == 5e6
    del found[1].files["metrics"]["bytes_sent_per_step"]  # type: ignore[attr-defined]
    assert "bytes_sent_per_step" not in summary(found)["rows"][0]


def test_unlike_runs_have_no_summary() -> None:
    with pytest.raises(ValueError, match="training rows"):
        summary([*runs(("icefield", 1)), *runs(("icefield", 2), train_rows=5)])


def test_the_parts_of_a_step_and_the_padding_are_told() -> None:
    parts = {"compute": 0.5, "communication": 0.25, "data": 0.1, "other": 0.05}
    row = rows(summary(runs(("icefield", 2), step_seconds=parts, tokens=600, padded_tokens=800)))["icefield", 2]
    assert row["step_seconds"]["communication"] == {"median": 0.25, "least": 0.25, "most": 0.25}
    assert row["padding"]["median"] == 0.25


def test_with_a_limit_of_steps_more_rows_in_the_same_time_are_a_speedup() -> None:
    one, two = runs(("icefield", 1))[:1], runs(("icefield", 2))[:1]
    two[0].files["metrics"].update(job_seconds=20.0, job_samples_per_second=2400 / 20.0)  # type: ignore[attr-defined]
    assert rows(summary([*one, *two]))["icefield", 2]["speedup_own"]["median"] == 2.0


def test_the_table_has_medians_and_spreads() -> None:
    assert markdown(summary(runs(("icefield", 1), ("icefield", 2), wire_bytes_per_step=5e6))) == (
        "| recipe | nodes | precision | steps | global batch | job s | samples/s | against 1 node icefield "
        "| efficiency % | f1 | MB on the wire per step and node |\n"
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n"
        "| icefield | 1 | bf16 | 12 | 32 | 22.0 (20.0 to 24.0) | 54.5 (50.0 to 60.0) | 1.00 | 100 | 0.8000 | 5.0 |\n"
        "| icefield | 2 | bf16 | 6 | 64 | 12.0 (11.0 to 12.5) | 100.0 (96.0 to 109.1) | 2.00 (1.60 to 2.00) "
        "| 100 (80 to 100) | 0.8000 | 5.0 |\n"
        "\n"
        "Median of 3 interleaved repeats, in brackets the least and the most.\n"
        "Held equal: model, data, epochs, seed, versions, learning rate, and a batch of 32 per rank.\n"
        "The global batch, and with it the number of steps, differs by the number of nodes.\n"
        "Time is from the launch of the ranks until the metrics are there, evaluation included.\n"
    )


def test_one_repeat_and_a_limit_of_steps_are_said() -> None:
    found = runs(("icefield", 1))[:1]
    found[0].files["config"]["max_steps"] = 7  # type: ignore[index]
    table = markdown(summary(found))
    assert "One repeat: there is no spread to tell." in table
    assert "Every run ends after 7 steps" in table


def test_the_table_says_that_precision_differs_by_recipe() -> None:
    table = markdown(summary(runs(("icefield", 1), ("article", 1))))
    assert "Precision differs between recipes by design" in table
    assert "| article | 1 | fp32 |" in table


def test_the_price_of_a_run_is_shown_where_it_is_known() -> None:
    head, *rest = cells(summary(runs(("icefield", 1), ("article", 1))))
    assert [row[head.index("$ per run")] for row in rest] == ["0.2500", ""]


def test_a_terminal_gets_the_medians() -> None:
    head, *rest = lines(summary(runs(("icefield", 1), ("article", 1))))
    assert head.split()[:6] == ["recipe", "nodes", "job", "s", "samples/s", "against"]
    assert [line.split() for line in rest] == [
        ["article", "1", "110.0", "10.9", "0.20", "1.00", "1.00", "100", "0.8000"],
        ["icefield", "1", "22.0", "54.5", "1.00", "5.00", "5.00", "100", "0.8000"],
    ]
