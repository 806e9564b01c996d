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
    "majority": {"accuracy": 0.684, "f1": 0.812},
    "dev_rows": 408,
    "nodes": 2,
    "world_size": 2,
    "precision": "bf16",
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


def test_a_finished_run_shows_its_metrics_its_curves_and_how_to_repeat_it(folder: Path) -> None:
    (folder / "metrics.json").write_text(json.dumps(METRICS))
    (folder / "result.json").write_text(json.dumps({"state": "done", "line": ""}))
    assert report.main([str(folder)]) == 0
    page = (folder / "report.html").read_text()
    assert "mrpc-&lt;4&gt;" in page
    assert "<4>" not in page
    assert "mini &amp; co fine-tuned on mrpc, finished" in page
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
