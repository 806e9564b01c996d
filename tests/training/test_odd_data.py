"""Bad and odd files, each with what check says of it: ``odd_data/cases.json`` and a folder for each case.

A case has "about" (what is odd), "settings", and either "refused", the one line of the refusal, or what is made of the
data: "kind", "labels", "rows", all "warnings", and those "notes" that are about the case. ``{dir}`` is its folder.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from icefield_train.check import main
from tests.training.folders import write_model, write_wheel

FOLDER = Path(__file__).parent / "odd_data"
CASES: dict[str, dict[str, Any]] = json.loads((FOLDER / "cases.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheels")
    write_wheel(folder, write_model(folder / "model"))
    return folder


def test_every_folder_is_a_case_and_there_are_enough_of_them() -> None:
    assert {path.name for path in FOLDER.iterdir() if path.is_dir()} == set(CASES)
    assert len(CASES) >= 60
    assert sum("refused" in case for case in CASES.values()) >= 60


@pytest.mark.parametrize("name", CASES)
def test_a_bad_file_is_refused_and_an_odd_one_explained(
    name: str, wheels: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    case, folder = CASES[name], FOLDER / name
    settings = {**case["settings"], "data_dir": str(folder)}
    if settings["task"] == "causal":
        settings["model"] = str(write_model(tmp_path / "model", model_type="gpt2"))
    (tmp_path / "settings.json").write_text(json.dumps(settings))
    places = {"--config": tmp_path / "settings.json", "--cache": tmp_path / "cache", "--wheelhouse": wheels}
    code = main([*(str(part) for pair in places.items() for part in pair), "--json"])
    out, err = capsys.readouterr()
    if "refused" in case:
        assert (code, out, err) == (2, "", case["refused"].replace("{dir}", str(folder)) + "\n")
        return
    assert (code, err) == (0, "")
    found = json.loads(out)
    assert found["warnings"] == case["warnings"]
    assert [note for note in case["notes"] if note not in found["doctor"]] == []
    about = json.loads((Path(found["data"]["path"]) / "task.json").read_text())
    assert (about["kind"], about["labels"], about["rows"]) == (case["kind"], case["labels"], case["rows"])
    for split, file in {"train": "train.jsonl", **about["dev"], **about["predict"]}.items():
        lines = (Path(found["data"]["path"]) / file).read_text(encoding="utf-8").split("\n")
        assert len(lines) == case["rows"][split] + 1
