"""Tests of a benchmark's page."""

from __future__ import annotations

from typing import Any

from icefield_train.benchmark_page import build


def row(recipe: str, nodes: int, precision: str, **figures: float) -> dict[str, Any]:
    """Return a row of benchmark.json."""
    found = {name: {"median": value, "least": value, "most": value} for name, value in figures.items()}
    return {"recipe": recipe, "nodes": nodes, "precision": precision, **found}


def page(*rows: dict[str, Any]) -> str:
    """Return the page of some rows."""
    return build({"metric": "f1", "batch": "32 per rank", "rows": rows}, [["recipe", "a<b"], ["icefield", "7.5"]])


def test_the_page_has_the_table_and_what_is_held() -> None:
    html = page(row("icefield", 1, "bf16"))
    assert "Held constant: a batch of 32 per rank." in html
    assert "<th>a&lt;b</th>" in html
    assert '<td class="figure">7.5</td>' in html
    assert "<svg" not in html


def test_there_is_a_chart_of_each_figure_that_is_known() -> None:
    html = page(
        row("icefield", 1, "bf16", speedup_own=1.0, f1=0.8),
        row("icefield", 2, "bf16", speedup_own=1.5, f1=0.8),
    )
    assert html.count("<svg") == 2
    assert ">ideal</text>" in html
    assert "<h2>Metric: f1</h2>" in html
    assert "samples/s" not in html


def test_a_difference_of_precision_is_said() -> None:
    assert "Precision differs" in page(row("icefield", 1, "bf16"), row("article", 1, "fp32"))
    assert "Precision differs" not in page(row("icefield", 1, "bf16"), row("icefield", 2, "bf16"))
