"""Tests of a benchmark's page."""

from __future__ import annotations

from typing import Any

from icefield_train.benchmark_page import build


def row(recipe: str, nodes: int, precision: str, **figures: float) -> dict[str, Any]:
    """Return a row of benchmark.json."""
    found = {name: {"median": value, "least": value, "most": value} for name, value in figures.items()}
    names = [f"b-{recipe}-{nodes}n-1"]
    return {"recipe": recipe, "nodes": nodes, "precision": precision, "run_ids": names, **found}


def page(*rows: dict[str, Any]) -> str:
    """Return the page of some rows."""
    summary = {"task": "mrpc", "model": "x<y", "metrics": ["accuracy", "f1"], "rows": rows}
    return build(summary, [["recipe", "a<b"], ["icefield", "7.5"]], ["Held equal: all.", "1 < 2."])


def test_the_page_has_the_table_and_what_is_held() -> None:
    html = page(row("icefield", 1, "bf16"))
    assert "<p>Held equal: all. 1 &lt; 2.</p>" in html
    assert "x&lt;y fine-tuned on mrpc" in html
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


def test_the_parts_of_a_step_are_a_bar() -> None:
    parts = {"compute": {"median": 0.3}, "communication": {"median": 0.1}}
    html = page({**row("icefield", 2, "bf16"), "step_seconds": parts})
    assert html.count("<svg") == 1
    assert "<title>compute 300.0 ms</title>" in html
    assert ">icefield, 2</text>" in html


def test_runs_are_linked_and_the_command_is_told_where_it_is_known() -> None:
    html = page(row("icefield", 2, "bf16"))
    assert '<a href="b-icefield-2n-1/report.html">b-icefield-2n-1</a>' in html
    assert "Repeat" not in html
    html = build({"metrics": [], "rows": [], "command": "ansible-playbook a.yml -e x='<'"}, [["recipe"]], [])
    assert "<pre>ansible-playbook a.yml -e x=&#x27;&lt;&#x27;</pre>" in html
