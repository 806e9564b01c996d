"""GLUE's files: quotation marks are text, malformed lines are named."""

from __future__ import annotations

from pathlib import Path

import pytest

from icefield_train.glue import read_glue
from icefield_train.tasks import TASKS

MRPC = TASKS["mrpc"]
HEADER = "Quality\t#1 ID\t#2 ID\t#1 String\t#2 String\n"


def _write(folder: Path, *lines: str, header: str = HEADER) -> Path:
    path = folder / "train.tsv"
    path.write_text(header + "".join(lines), encoding="utf-8", newline="")
    return path


def test_a_lone_quotation_mark_is_text_and_swallows_no_row(tmp_path: Path) -> None:
    path = _write(tmp_path, '1\t1\t2\t" He left , she said .\tHe left .\n', '0\t3\t4\tNo quote .\tA " quote " .\n')
    assert read_glue(path, MRPC) == [
        {"id": 0, "text": '" He left , she said .', "text_pair": "He left .", "label": 1},
        {"id": 1, "text": "No quote .", "text_pair": 'A " quote " .', "label": 0},
    ]


def test_characters_that_python_takes_for_line_ends_stay_in_the_sentence(tmp_path: Path) -> None:
    path = _write(tmp_path, "1\t1\t2\tone\u2028two\x85three\rfour\tb\n")
    assert [row["text"] for row in read_glue(path, MRPC)] == ["one\u2028two\x85three\rfour"]


def test_windows_line_ends_a_byte_order_mark_and_a_missing_last_line_end_are_read(tmp_path: Path) -> None:
    path = _write(tmp_path, "1\t1\t2\ta\tb\r\n", "0\t1\t2\tc\td", header="\ufeff" + HEADER.replace("\n", "\r\n"))
    assert [(row["text"], row["text_pair"], row["label"]) for row in read_glue(path, MRPC)] == [
        ("a", "b", 1),
        ("c", "d", 0),
    ]


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["1\t1\t2\ta\tb\n"] * 15 + ["1\t1\t2\ta\n"], "line 17: 4 columns found, 5 expected"),
        (["1\t1\t2\ta\tb\tc\n"], "line 2: 6 columns found, 5 expected"),
        (["1\t1\t2\ta\tb\n", "\n", "1\t1\t2\ta\tb\n"], "line 3: 1 column found, 5 expected"),
        (["2\t1\t2\ta\tb\n"], "line 2: label '2' found, one of 0, 1 expected"),
        (["1\t1\t2\t \tb\n"], "line 2: column '#1 String' is empty, a sentence expected"),
    ],
)
def test_a_malformed_line_is_named_with_what_was_found(tmp_path: Path, lines: list[str], message: str) -> None:
    path = _write(tmp_path, *lines)
    with pytest.raises(ValueError) as refusal:
        read_glue(path, MRPC)
    assert str(refusal.value) == f"{path} {message}"


def test_bytes_that_are_no_text_are_named(tmp_path: Path) -> None:
    path = _write(tmp_path)
    path.write_bytes(path.read_bytes() + b"1\t1\t2\tcaf\xe9\tb\n")
    with pytest.raises(ValueError, match=r"line 2: bytes that are no UTF-8 found, text expected$"):
        read_glue(path, MRPC)


def test_another_header_is_refused(tmp_path: Path) -> None:
    path = _write(tmp_path, header="a\tb\tc\td\te\n")
    with pytest.raises(ValueError) as refusal:
        read_glue(path, MRPC)
    expected = "Quality, #1 ID, #2 ID, #1 String, #2 String"
    assert str(refusal.value) == f"{path} line 1: header a, b, c, d, e found, {expected} expected"


@pytest.mark.parametrize("header", ["", HEADER])
def test_a_file_without_rows_is_refused(tmp_path: Path, header: str) -> None:
    path = _write(tmp_path, header=header)
    with pytest.raises(ValueError) as refusal:
        read_glue(path, MRPC)
    assert str(refusal.value) == f"{path}: no rows found, at least 1 expected"
