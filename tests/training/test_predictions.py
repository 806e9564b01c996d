"""Files of predictions: GLUE's form for its tasks, names for a user's own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from icefield_train import predictions
from icefield_train.predict_command import main
from icefield_train.staged_task import task_from
from icefield_train.tasks import TASKS


def _lines(folder: Path, about: dict[str, Any], name: str, answers: list[Any]) -> list[str]:
    task = task_from({"metrics": [], "labels": [], **about}, "task.json")
    text = predictions.write(folder / "out", task, name, answers).read_text()
    assert text.endswith("\n")
    header, *lines = text.removesuffix("\n").split("\n")
    assert header == "index\tprediction"
    return lines


@pytest.mark.parametrize(
    ("name", "answers", "lines"),
    [
        ("cola", [1, 0], ["0\t1", "1\t0"]),
        ("sst2", [1, 0], ["0\t1", "1\t0"]),
        ("mrpc", [0, 1], ["0\t0", "1\t1"]),
        ("qqp", [0, 1], ["0\t0", "1\t1"]),
        ("wnli", [0, 1], ["0\t0", "1\t1"]),
        ("stsb", [2.34567, -0.2, 5.4], ["0\t2.346", "1\t0.000", "2\t5.000"]),
        ("mnli", [0, 1, 2], ["0\tentailment", "1\tneutral", "2\tcontradiction"]),
        ("mnli-mm", [2], ["0\tcontradiction"]),
        ("ax", [0], ["0\tentailment"]),
        ("qnli", [0, 1], ["0\tentailment", "1\tnot_entailment"]),
        ("rte", [1, 0], ["0\tnot_entailment", "1\tentailment"]),
    ],
)
def test_glues_tasks_are_answered_as_its_leaderboard_takes_them(
    name: str, answers: list[Any], lines: list[str], tmp_path: Path
) -> None:
    task = TASKS[name]
    for split in task.predict:
        about = {"task": name, "kind": task.kind, "labels": task.labels}
        assert _lines(tmp_path, about, split, answers) == lines
    names = {path.name for path in (tmp_path / "out").iterdir()}
    expected = {"mnli": {"MNLI-m.tsv", "MNLI-mm.tsv", "AX.tsv"}, "mnli-mm": {"MNLI-mm.tsv"}, "ax": {"AX.tsv"}}
    assert names == expected.get(name, {f"{task.folder}.tsv"})


@pytest.mark.parametrize(
    ("kind", "labels", "answers", "lines"),
    [
        ("classification", ["bad", "good"], [1, 0], ["0\tgood", "1\tbad"]),
        ("regression", [], [-1.23456789, 1234567.0], ["0\t-1.23457", "1\t1.23457e+06"]),
        ("multilabel", ["a", "b", "c"], [[1, 0, 1], [0, 0, 0]], ["0\ta|c", "1\t"]),
        ("tokens", ["O", "B-X"], [[0, 1, -1], []], ["0\tO B-X _", "1\t"]),
    ],
)
def test_own_data_is_answered_by_name(
    kind: str, labels: list[str], answers: list[Any], lines: list[str], tmp_path: Path
) -> None:
    assert _lines(tmp_path, {"task": "text", "kind": kind, "labels": labels}, "test", answers) == lines


def test_what_there_is_nothing_to_predict_of_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--model", str(tmp_path), "--data", str(tmp_path), "--out", str(tmp_path / "out")]
    assert main(arguments) == 2
    line = capsys.readouterr().err
    assert line.startswith(f"setting 'data_dir': value '{tmp_path}' is not accepted; give a folder with train.jsonl")
    (tmp_path / "task.json").write_text('{"kind": "regression", "labels": [], "metrics": []}')
    assert main(arguments) == 2
    assert capsys.readouterr().err == (
        f"setting 'data': value '{tmp_path}' is not accepted; give staged data that has rows to predict\n"
    )
    (tmp_path / "task.json").write_text(
        '{"kind": "regression", "labels": [], "metrics": [], "predict": {"test": "test.jsonl"}}'
    )
    assert main(arguments) == 2
    assert capsys.readouterr().err == f"{tmp_path}/test.jsonl: can't be read (No such file or directory)\n"
    (tmp_path / "test.jsonl").write_text('{"id": 0, "text": "a", "text_pair": null, "label": null}\n')
    assert main(arguments) == 2
    words = "give a folder with a trained model (config.json is missing)"
    assert capsys.readouterr().err == f"setting 'model': value '{tmp_path}' is not accepted; {words}\n"
