"""The page of a run: what it shows, of a finished run and of a failed one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from icefield_train import report

METRICS = {
    "accuracy": 0.826,
    "f1": 0.877,
    "loss": 0.41,
    "baseline": {"accuracy": 0.684, "f1": 0.812},
    "baseline_name": "majority class",
    "steps": 3,
    "global_batch_size": 33,
    "passes": 2,
    "learning_rate": 5e-5,
    "dev_rows": 408,
    "nodes": 2,
    "world_size": 2,
    "precision": "bf16",
    "wire_format": "bf16",
    "embedding_exchange": "sparse, the rows of a step's tokens",
    "bytes_sent_per_step": 35_100_000,
    "samples_per_second": 45.25,
    "tokens_per_second": 2500.4,
    "train_seconds": 230.0,
    "evaluate_seconds": 2.0,
    "wall_seconds": 245.0,
}
CONFIG = {
    "run_id": "mrpc-<4>",
    "task": "mrpc",
    "model_name": "mini & co",
    "seed": 42,
    "command": "ansible-playbook train.yml",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "config.json").write_text(json.dumps(CONFIG))
    steps = [
        {"event": "step", "step": step, "steps": 3, "loss": 0.7 / step, "samples_per_second": 40.0 + step}
        for step in (1, 2, 3)
    ]
    (tmp_path / "events.jsonl").write_text("".join(json.dumps(step) + "\n" for step in steps))
    return tmp_path


def test_the_choice_of_collectives_is_shown_with_what_was_measured_also_of_a_failed_run(folder: Path) -> None:
    bucket = {"bytes": 5 << 20, "per_step": 8.7, "gloo_seconds": 0.0105, "ccl_seconds": 0.00723}
    choice = {"collectives": "ccl", "collectives_reason": "faster", "collectives_timings": [bucket]}
    row = "".join(f'<td class="figure">{cell}</td>' for cell in ("5,242,880", "8.7", "10.50", "7.23"))
    events = (folder / "events.jsonl").read_text()
    (folder / "events.jsonl").write_text(json.dumps({"event": "collectives", **choice}) + "\n" + events)
    page = report.build(folder)
    assert f"<tr>{row}</tr>" in page
    assert "<th>collectives</th><td>ccl: faster</td>" in page
    (folder / "events.jsonl").write_text(events)
    assert "Collectives" not in report.build(folder)
    (folder / "metrics.json").write_text(json.dumps({**METRICS, **choice}))
    assert f"<tr>{row}</tr>" in report.build(folder)


def test_what_the_others_waited_in_when_a_rank_was_gone_is_shown(folder: Path) -> None:
    (folder / "status").mkdir()
    words = {"rank": 0, "host": "node-1", "phase": "step", "step": 17, "message": "waited for others in ALLREDUCE"}
    (folder / "status/waiting-0.json").write_text(json.dumps(words))
    assert "<th>node-1 rank 0 (step 17)</th><td>waited for others in ALLREDUCE</td>" in report.build(folder)


def test_a_finished_run_shows_its_metrics_its_curves_and_how_to_repeat_it(folder: Path) -> None:
    (folder / "metrics.json").write_text(json.dumps(METRICS))
    (folder / "result.json").write_text(json.dumps({"state": "done", "line": ""}))
    assert report.main([str(folder)]) == 0
    page = (folder / "report.html").read_text()
    assert "mrpc-&lt;4&gt;" in page
    assert "<4>" not in page
    assert "mini &amp; co fine-tuned on mrpc, finished" in page
    assert "35.1 MB sent per step and rank, in bf16; word embeddings: sparse, the rows of a step" in page
    assert "3 steps with a global batch of 33 rows: 16 or 17 on each of 2 ranks, in up to 2 passes" in page
    assert "<th>majority class</th>" in page
    assert "87.7%" in page
    assert "81.2%" in page
    assert page.count("<svg") == 2
    assert "3 of 3" in page
    assert "45.2 samples/s, 2,500 tokens/s" in page
    assert "<pre>ansible-playbook train.yml</pre>" in page


def test_the_page_needs_nothing_from_elsewhere(folder: Path) -> None:
    report.main([str(folder)])
    page = (folder / "report.html").read_text()
    assert "<script" not in page
    assert "http" not in page.replace("http://www.w3.org/2000/svg", "")


def test_a_failed_run_says_why_and_shows_how_far_it_came(folder: Path) -> None:
    line = "n-2 rank 1 (step 3): the process was killed by signal 9"
    (folder / "result.json").write_text(json.dumps({"state": "failed", "line": line}))
    report.main([str(folder)])
    page = (folder / "report.html").read_text()
    assert f'<p class="failure">{line}</p>' in page
    assert "mrpc, failed" in page
    assert page.count("<svg") == 2


def test_a_folder_that_is_not_there_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert report.main([str(tmp_path / "gone")]) == 2
    assert capsys.readouterr().err.startswith("setting 'run_dir': value '")


def test_several_dev_splits_and_the_rule_of_the_learning_rate_are_shown(folder: Path) -> None:
    split = {"pearson": 0.81234, "loss": 0.5, "baseline": {"pearson": 0.0}, "baseline_name": "mean", "dev_rows": 7}
    dev = {"dev": split, "dev_mm": {**split, "pearson": 0.7, "dev_rows": 9}}
    (folder / "metrics.json").write_text(json.dumps({**METRICS, **split, "dev": dev}))
    rule = {"learning_rate": 5e-5, "lr_scaling": "linear", "lr_reference_batch_size": 32}
    (folder / "config.json").write_text(json.dumps({**CONFIG, **rule}))
    with (folder / "events.jsonl").open("a") as events:
        events.write(json.dumps({"event": "plan", "learning_rate": 1e-4, "global_batch_size": 64}) + "\n")
    report.main([str(folder)])
    page = (folder / "report.html").read_text()
    assert page.index("on 7 rows of dev<") < page.index("0.8123") < page.index("on 9 rows of dev_mm<")
    assert page.count("<th>mean</th>") == 2
    assert "0.0001 (5e-05 for a global batch of 32, scaled by the rule &#x27;linear&#x27;)" in page
