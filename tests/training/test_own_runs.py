"""From a user's file to a trained model and its predictions, by the commands. Needs torch."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

from icefield_train.config import TrainConfig
from icefield_train.doctor.findings import Findings
from icefield_train.staged_data import stage_data
from tests.training.tiny import LABELS, make_rows, write_tiny_model
from tests.training.whole_run import run_ranks


def _own_rows(kind: str, count: int, seed: int) -> list[dict[str, Any]]:
    """Return rows as a user has them: classes by their names."""
    rows = []
    for row in make_rows(kind, count, seed):
        label = row.pop("label")
        if kind == "classification":
            label = LABELS[kind][label]
        elif kind == "multilabel":
            label = [name for name, chosen in zip(LABELS[kind], label, strict=True) if chosen]
        elif kind == "tokens":
            label = [LABELS[kind][tag] for tag in label]
        rows.append({**row, "label": label})
    return rows


def _write(path: Path, rows: list[dict[str, Any]]) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


@pytest.mark.parametrize("kind", ["classification", "regression", "multilabel", "tokens"])
def test_a_file_becomes_a_model_whose_answers_are_the_same_from_the_run_and_from_the_command(
    kind: str, tmp_path: Path
) -> None:
    model = write_tiny_model(tmp_path / "bert")
    _write(tmp_path / "own/train.jsonl", _own_rows(kind, 60, 1))
    unlabelled = [{name: value for name, value in row.items() if name != "label"} for row in _own_rows(kind, 7, 2)]
    _write(tmp_path / "own/test.jsonl", unlabelled)
    task = "tokens" if kind == "tokens" else "text"
    config = TrainConfig(task=task, data_dir=str(tmp_path / "own"), dev_share=0.2)
    staged = stage_data(config, tmp_path / "cache", Findings())
    assert staged.data.kind == kind
    run_dir = run_ranks(
        tmp_path / "run",
        2,
        data_dir=str(staged.path),
        model=str(model),
        epochs=4,
        learning_rate=3e-3,
        max_length=24,
        precision="fp32",
        predict=True,
    )
    metrics = json.loads((run_dir / "metrics.json").read_text())
    assert metrics["dev_rows"] + metrics["train_rows"] == 60
    names = json.loads((run_dir / "model/config.json").read_text()).get("id2label")
    assert kind == "regression" or list(names.values()) == list(staged.data.labels)
    said = (run_dir / "predictions/test.tsv").read_text()
    lines = said.splitlines()
    assert lines[0] == "index\tprediction"
    assert [line.split("\t")[0] for line in lines[1:]] == [str(index) for index in range(7)]
    for line, row in zip(lines[1:], unlabelled, strict=True):
        answer = line.split("\t")[1]
        if kind == "tokens":
            assert len(answer.split(" ")) == len(row["tokens"])
            assert set(answer.split(" ")) <= {*LABELS["tokens"], "_"}
        elif kind == "regression":
            assert float(answer) == pytest.approx(2, abs=5)
        else:
            assert set(filter(None, answer.split("|"))) <= set(LABELS[kind])
    command = [sys.executable, "-m", "icefield_train", "predict", "--precision", "fp32"]
    places = ["--model", run_dir / "model", "--data", staged.path, "--out", tmp_path / "again"]
    done = subprocess.run([*command, *map(str, places)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, f"{tmp_path}/again/test.tsv  7 rows\n")
    again = (tmp_path / "again/test.tsv").read_text()
    if kind != "regression":
        assert again == said
    else:
        for ours, theirs in zip(again.splitlines()[1:], lines[1:], strict=True):
            assert float(ours.split("\t")[1]) == pytest.approx(float(theirs.split("\t")[1]), rel=1e-4, abs=1e-4)
