"""Foreign text within messages: one line, of bounded length, that does nothing to a terminal."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from icefield_train.check import main
from icefield_train.showing import escaped, shown, shown_names
from tests.training.folders import write_model


def test_what_breaks_a_line_or_is_not_seen_is_spelt_out_and_the_rest_is_left() -> None:
    assert escaped("a\tb\nc\x1b[2Jd\u2028e\u202ef\ufeffg\ud800") == (r"a\tb\nc\x1b[2Jd\u2028e\u202ef\ufeffg\ud800")
    assert escaped("naïve, 漢字, 👩\u200d💻, می\u200cروم") == "naïve, 漢字, 👩\u200d💻, می\u200cروم"


def test_a_long_value_is_cut_and_its_length_told() -> None:
    assert shown("x" * 80) == "x" * 80
    assert shown("x" * 3_000_000) == "x" * 80 + "... (3,000,000 characters)"
    assert shown(["\n"], 4) == r"['\n... (6 characters)"


def test_of_many_names_the_others_are_counted() -> None:
    assert shown_names(["a", "b\n"]) == r"a, b\n"
    assert shown_names(range(1234)).endswith("18, 19 and 1,214 more")


@pytest.mark.parametrize(
    "settings",
    [
        {"task": "x\x1b[31m" * 9999},
        {"task": "text", "label_column": "y\n" * 9999},
        {"task": "text", "data_dir": "\x1b[31m/nowhere"},
        {"task": "mrpc", "data_dir": "."},
        {"task": "mrpc", "data_dir": "\x1b[31m/nowhere"},
        {"task": "text", "train_file": "\x1b[31m.csv"},
        {"model": "/\x1b[31m"},
        {"model": "x" * 9999},
        {"z\t" * 9999: "1"},
    ],
)
def test_no_setting_breaks_or_fills_the_line_of_its_refusal(
    settings: dict[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "train.csv").write_text("text,label\n" + "".join(f"text {n},{n % 2}\n" for n in range(9)))
    settings = {"data_dir": str(tmp_path), "model": str(write_model(tmp_path / "model"))} | settings
    (tmp_path / "settings.json").write_text(json.dumps(settings))
    code = main(["--config", str(tmp_path / "settings.json"), "--cache", str(tmp_path / "cache")])
    out, err = capsys.readouterr()
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "\x1b" not in err
    assert len(err) < 3000


def test_the_doctor_names_a_thousand_columns_in_a_line_that_can_be_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    names = [f"\x07column {n}" for n in range(1000)]
    (tmp_path / "train.csv").write_text("\n".join([",".join(names), ",".join("a" for _ in names)]) + "\n")
    code = main(["task=text", f"data_dir={tmp_path}", "--cache", str(tmp_path / "cache")])
    err = capsys.readouterr().err
    assert code == 2
    assert r"\x07column 19 and 980 more" in err
    assert err.count("\n") == 1
