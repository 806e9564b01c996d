"""GLUE's files: quotation marks are text, malformed lines are named, every form of a task gives the same rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from icefield_train.doctor.findings import Findings
from icefield_train.evaluate_command import dev_rows
from icefield_train.glue import find, read_file, read_glue
from icefield_train.part import Part
from icefield_train.tasks import TASKS
from tests.training.folders import HEADER, write_glue

GLUE = [name for name, task in TASKS.items() if task.source == "glue"]


def _write(folder: Path, *lines: str, header: str = HEADER) -> Path:
    path = folder / "train.tsv"
    path.write_text(header + "".join(lines), encoding="utf-8", newline="")
    return path


def _read(path: Path, task: str = "mrpc", split: str = "train", policy: str = "empty") -> tuple[Part, Findings]:
    findings = Findings()
    file = find(path.parent, (TASKS[task].splits | TASKS[task].predict)[split])
    assert file
    return read_file(path.parent / file.name, file, TASKS[task], policy, findings), findings


def _rows(path: Path, **options: Any) -> list[dict[str, Any]]:
    return _read(path, **options)[0].rows


def _refused(path: Path, **options: Any) -> str:
    with pytest.raises(ValueError) as refusal:
        _read(path, **options)
    return str(refusal.value).removeprefix(f"{path}")


def test_a_lone_quotation_mark_is_text_and_swallows_no_row(tmp_path: Path) -> None:
    path = _write(tmp_path, '1\t1\t2\t" He left , she said .\tHe left .\n', '0\t3\t4\tNo quote .\tA " quote " .\n')
    assert _rows(path) == [
        {"id": 0, "text": '" He left , she said .', "text_pair": "He left .", "label": 1},
        {"id": 1, "text": "No quote .", "text_pair": 'A " quote " .', "label": 0},
    ]


def test_characters_that_python_takes_for_line_ends_stay_in_the_sentence(tmp_path: Path) -> None:
    path = _write(tmp_path, "1\t1\t2\tone\u2028two\x85three\rfour\tb\n")
    assert [row["text"] for row in _rows(path)] == ["one\u2028two\x85three\rfour"]


def test_windows_line_ends_a_byte_order_mark_and_a_missing_last_line_end_are_read_and_told(tmp_path: Path) -> None:
    path = _write(tmp_path, "1\t1\t2\ta\tb\r\n", "0\t1\t2\tc\td", header="\ufeff" + HEADER.replace("\n", "\r\n"))
    part, findings = _read(path)
    assert [(row["text"], row["text_pair"], row["label"]) for row in part.rows] == [("a", "b", 1), ("c", "d", 0)]
    assert part.places == [2, 3]
    assert findings.texts("note") == [
        "train.tsv: begins with a byte order mark, which is no part of the text",
        "train.tsv: 2 of 3 lines end as on Windows (CR LF), which is no part of the text",
        "train.tsv: 3 lines = the header + 2 rows",
    ]


def test_a_blank_line_is_counted_and_no_row(tmp_path: Path) -> None:
    part, findings = _read(_write(tmp_path, "1\t1\t2\ta\tb\n", "\n", "0\t1\t2\tc\td\n", "\n"))
    assert part.places == [2, 4]
    assert findings.texts("note") == ["train.tsv: 5 lines = the header + 2 rows + 2 blank"]


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["1\t1\t2\ta\tb\n"] * 15 + ["1\t1\t2\ta\n"], " line 17: 4 columns found, 5 expected"),
        (["1\t1\t2\ta\tb\tc\n"], " line 2: 6 columns found, 5 expected"),
        (["1\n", "1\t1\t2\ta\tb\n", "1\t2\n"], " line 2: 1 column found, 5 expected (and line 4)"),
        (
            ["2\t1\t2\ta\tb\n"] * 30,
            " line 2: label '2' found, one of not_equivalent, equivalent or 0, 1 expected (and lines "
            + ", ".join(map(str, range(3, 23)))
            + " and 9 more)",
        ),
    ],
)
def test_malformed_lines_are_named_with_what_was_found(tmp_path: Path, lines: list[str], message: str) -> None:
    assert _refused(_write(tmp_path, *lines)) == message


def test_an_empty_sentence_is_kept_left_out_or_refused_as_the_user_wishes(tmp_path: Path) -> None:
    path = _write(tmp_path, "1\t1\t2\t \tb\n", "0\t1\t2\tc\td\n", "0\t1\t2\tc\t\n")
    assert [row["text"] for row in _rows(path)] == [" ", "c", "c"]
    part, findings = _read(path, policy="drop")
    assert [(row["id"], row["text_pair"]) for row in part.rows] == [(0, "d")]
    assert part.places == [3]
    assert findings.texts("warning") == [
        "train.tsv line 2: left out: column '#1 String' is empty",
        "train.tsv line 4: left out: column '#2 String' is empty",
    ]
    assert _refused(path, policy="fail") == (
        " line 2: column '#1 String' is empty, a text expected (and line 4); "
        "set empty_cells=drop to leave such rows out"
    )


def test_bytes_that_are_no_text_are_named(tmp_path: Path) -> None:
    path = _write(tmp_path)
    path.write_bytes(path.read_bytes() + b"1\t1\t2\tcaf\xe9\tb\n" + b"1\t1\t2\ta\tb\n" + b"1\t1\t2\ta\t\xff\n")
    assert _refused(path) == (
        " line 2: bytes that are no UTF-8 found (0xe9 at byte 10), text expected (and line 4); "
        "convert the file, such as by iconv -f WINDOWS-1252 -t UTF-8"
    )


def test_another_header_is_refused(tmp_path: Path) -> None:
    path = _write(tmp_path, "1\t1\t2\ta\tb\n", header="a\tb\t#1 String\td\te\n")
    expected = "#2 String, Quality expected among them"
    assert _refused(path) == f" line 1: columns a, b, #1 String, d, e found, {expected}"


@pytest.mark.parametrize("header", ["", HEADER, "\n\n"])
def test_a_file_without_rows_is_refused(tmp_path: Path, header: str) -> None:
    assert _refused(_write(tmp_path, header=header)) == ": no rows found, at least 1 expected"


@pytest.mark.parametrize("name", GLUE)
def test_every_task_is_read_from_files_of_its_form_with_labels_as_words_or_digits(name: str, tmp_path: Path) -> None:
    task, findings = TASKS[name], Findings()
    written = write_glue(tmp_path / name, name)
    parts = read_glue(tmp_path / name, task, "auto", findings)
    assert set(parts) == set(task.splits) | set(task.predict)
    for split, part in parts.items():
        assert [(row["text"], row["text_pair"], row["label"]) for row in part.rows] == written[split]
        assert [row["id"] for row in part.rows] == list(range(len(part.rows)))
    counts = {split: form.rows for split, form in (task.splits | task.predict).items()}
    for split, rows in counts.items():
        said = f"{parts[split].source}: {len(parts[split].rows)} rows found, GLUE's file has {rows:,}"
        assert findings.texts("warning").count(said) == 1
    assert len(findings.texts("warning")) == len(counts)


@pytest.mark.parametrize("name", GLUE)
def test_a_task_is_found_in_its_own_folder_of_glues(name: str, tmp_path: Path) -> None:
    task = TASKS[name]
    write_glue(tmp_path / task.folder, name)
    assert set(read_glue(tmp_path, task, "auto", Findings())) == set(task.splits) | set(task.predict)


def test_qqps_short_rows_are_left_out_and_told_and_those_of_its_test_file_refused(tmp_path: Path) -> None:
    write_glue(tmp_path, "qqp")
    whole = len(read_glue(tmp_path, TASKS["qqp"], "auto", Findings())["train"].rows)
    with (tmp_path / "train.tsv").open("a") as file:
        file.write('77\t1\t2\t"broken\n' + "here\tand on?\t1\n")
    findings = Findings()
    parts = read_glue(tmp_path, TASKS["qqp"], "auto", findings)
    assert len(parts["train"].rows) == whole
    assert findings.texts("warning")[:2] == [
        f"train.tsv line {whole + 2}: left out: 4 columns found, 6 expected",
        f"train.tsv line {whole + 3}: left out: 3 columns found, 6 expected",
    ]
    with (tmp_path / "test.tsv").open("a") as file:
        file.write("9\tshort\n")
    with pytest.raises(ValueError, match=r"test\.tsv line \d+: 2 columns found, 3 expected$"):
        read_glue(tmp_path, TASKS["qqp"], "auto", Findings())


def test_more_than_twenty_rows_that_are_left_out_are_counted(tmp_path: Path) -> None:
    write_glue(tmp_path, "qqp")
    with (tmp_path / "train.tsv").open("a") as file:
        file.write("short\n" * 33)
    findings = Findings()
    read_glue(tmp_path, TASKS["qqp"], "auto", findings)
    told = [line for line in findings.texts("warning") if "left out" in line]
    assert len(told) == 21
    assert told[-1] == "train.tsv: 13 more lines left out for too few columns, 33 in all"


def test_the_diagnostic_set_is_found_where_glues_script_puts_it(tmp_path: Path) -> None:
    write_glue(tmp_path / "MNLI", "mnli")
    (tmp_path / "MNLI/AX.tsv").unlink()
    (tmp_path / "diagnostic").mkdir()
    (tmp_path / "diagnostic/diagnostic.tsv").write_text("index\tsentence1\tsentence2\n0\ta\tb\n")
    rows = read_glue(tmp_path / "MNLI", TASKS["mnli"], "auto", Findings())["AX"].rows
    assert rows == [{"id": 0, "text": "a", "text_pair": "b", "label": None}]


def test_rows_of_mrpcs_original_form_are_divided_by_the_list_of_ids(tmp_path: Path) -> None:
    rows = [f"{number % 2}\t{number}\t{number + 100}\ta {number}\tb {number}\r\n" for number in range(6)]
    (tmp_path / "msr_paraphrase_train.txt").write_text(
        "\ufeff" + HEADER.replace("\n", "\r\n") + "".join(rows), newline=""
    )
    with pytest.raises(ValueError, match=r"^dev_ids\.tsv is missing beside .*msr_paraphrase_train\.txt; "):
        read_glue(tmp_path, TASKS["mrpc"], "auto", Findings())
    (tmp_path / "dev_ids.tsv").write_text("4\t104\n1\t101\n")
    parts = read_glue(tmp_path, TASKS["mrpc"], "auto", Findings())
    assert [row["text"] for row in parts["dev"].rows] == ["a 1", "a 4"]
    assert [row["text"] for row in parts["train"].rows] == ["a 0", "a 2", "a 3", "a 5"]
    assert parts["train"].places == [2, 4, 5, 7]
    assert [row["id"] for row in parts["dev"].rows] == [0, 1]
    (tmp_path / "dev_ids.tsv").write_text("4\t104\n1\t999\n")
    with pytest.raises(
        ValueError, match=r"dev_ids\.tsv: 1 pair of ids that msr_paraphrase_train\.txt has not, such as 1 999$"
    ):
        read_glue(tmp_path, TASKS["mrpc"], "auto", Findings())


def test_numbers_of_a_regression_are_read_and_others_refused(tmp_path: Path) -> None:
    row = "g\tf\t2012\t7\t{}\tone\ttwo"
    (tmp_path / "sts-train.csv").write_text(row.format("3.75") + "\n" + row.format("0") + "\tsource\tsource\n")
    assert [row["label"] for row in _rows(tmp_path / "sts-train.csv", task="stsb")] == [3.75, 0.0]
    (tmp_path / "sts-train.csv").write_text(row.format("nan") + "\n")
    assert (
        _refused(tmp_path / "sts-train.csv", task="stsb") == " line 1: label 'nan' found, a number from 0 to 5 expected"
    )


def test_dev_rows_of_glues_own_files_are_evaluated_by_the_name_of_their_task(tmp_path: Path) -> None:
    written = write_glue(tmp_path, "mnli")
    task, splits = dev_rows(tmp_path, "mnli")
    assert (task.kind.name, task.labels, task.metrics) == ("classification", TASKS["mnli"].labels, ("accuracy",))
    for name in ("dev", "dev_mm"):
        assert [(row["text"], row["text_pair"], row["label"]) for row in splits[name]] == written[name]
    with pytest.raises(ValueError, match=r"give a folder with train\.jsonl, dev\.jsonl and task\.json"):
        dev_rows(tmp_path)
