"""A user's own data: what is read, guessed and cut, beside the cases of ``odd_data``."""

from __future__ import annotations

import csv
import json
import os
import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from icefield_train.config import TrainConfig
from icefield_train.cut import dev_rows
from icefield_train.doctor.findings import Findings
from icefield_train.doctor.lengths import SAMPLE_ROWS, tell_lengths
from icefield_train.readers.delimited import DIALECTS, read_delimited
from icefield_train.staged_data import read_about, read_rows, stage_data
from icefield_train.task_data import TaskData, read_task

LABELS = ("neg", "neutral", "pos")


def _read(folder: Path, **settings: Any) -> tuple[TaskData, Findings]:
    findings = Findings()
    settings = {"task": "text", "data_dir": str(folder), **settings}
    return read_task(TrainConfig.from_dict(settings), folder, findings), findings


def _refused(folder: Path, **settings: Any) -> str:
    with pytest.raises(ValueError) as refusal:
        _read(folder, **settings)
    return str(refusal.value)


def _write(path: Path, rows: list[dict[str, Any]]) -> Path:
    """Write rows in the form of the path's ending."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    elif path.suffix == ".parquet":
        import pyarrow
        from pyarrow import parquet

        parquet.write_table(pyarrow.Table.from_pylist(rows), path)
    else:
        with path.open("w", newline="", encoding="utf-8") as file:
            tabs = path.suffix == ".tsv"
            quoting = csv.QUOTE_NONE if tabs else csv.QUOTE_MINIMAL
            writer = csv.DictWriter(
                file, list(rows[0]), delimiter="\t" if tabs else ",", quoting=quoting, quotechar=None if tabs else '"'
            )
            writer.writeheader()
            writer.writerows(rows)
    return path


ROWS = [
    {"title": f'Row {number}, "quoted" ünd\u2028more', "body": f"second {number}", "label": LABELS[number % 3]}
    for number in range(30)
]


@pytest.mark.parametrize("ending", ["csv", "tsv", "jsonl", "parquet"])
def test_the_same_rows_in_each_format_are_the_same_data(ending: str, tmp_path: Path) -> None:
    _write(tmp_path / f"train.{ending}", ROWS[:24])
    _write(tmp_path / f"validation.{ending}", ROWS[24:])
    data, _ = _read(tmp_path, text_column="title", text_pair_column="body")
    for part, rows in ((data.train, ROWS[:24]), (data.dev["dev"], ROWS[24:])):
        assert part.rows == [
            {"id": number, "text": row["title"], "text_pair": row["body"], "label": LABELS.index(str(row["label"]))}
            for number, row in enumerate(rows)
        ]
    assert (data.kind, data.labels, data.metrics) == ("classification", LABELS, ("accuracy", "macro_f1"))


def test_files_are_found_by_their_settings_before_their_names(tmp_path: Path) -> None:
    _write(tmp_path / "rows/train.csv", ROWS[:9])
    _write(tmp_path / "rows/dev.csv", ROWS[9:12])
    _write(tmp_path / "rows/better.jsonl", ROWS[:15])
    other = _write(tmp_path / "elsewhere/held-out.csv", ROWS[20:])
    data, _ = _read(tmp_path / "rows", text_column="title", train_file="better.jsonl", dev_file=str(other))
    assert (len(data.train.rows), len(data.dev["dev"].rows)) == (15, 10)
    data, _ = _read(tmp_path, data_dir="", text_column="title", train_file=str(other))
    assert len(data.train.rows) + len(data.dev["dev"].rows) == 10


def test_rows_to_predict_have_no_labels_and_none_of_them_is_left_out(tmp_path: Path) -> None:
    _write(tmp_path / "train.csv", ROWS)
    rows = [{"body": "b", "title": "first"}, {"body": "", "title": ""}, {"body": "b", "title": "third"}]
    _write(tmp_path / "test.csv", rows)
    data, findings = _read(tmp_path, text_column="title", text_pair_column="body")
    assert data.predict["test"].rows == [
        {"id": number, "text": row["title"], "text_pair": row["body"], "label": None} for number, row in enumerate(rows)
    ]
    assert findings.texts("warning") == []


@pytest.mark.parametrize(
    ("columns", "guessed"),
    [
        ({"sentence1": "a", "sentence2": "b", "label": "x"}, ("sentence1", "sentence2", "label")),
        ({"idx": 1, "Review": "a", "Stars": "x"}, ("Review", "", "Stars")),
        ({"premise": "a", "hypothesis": "b", "gold_label": "x"}, ("premise", "hypothesis", "gold_label")),
        ({"kind": "x", "what was said": "a long text"}, ("what was said", "", "kind")),
        ({"text": "a", "kind": "x"}, ("text", "", "kind")),
        ({"question": "a", "category": "x", "id": 1}, ("question", "", "category")),
    ],
)
def test_columns_are_guessed_from_their_names_and_told(
    columns: dict[str, Any], guessed: tuple[str, str, str], tmp_path: Path
) -> None:
    _write(tmp_path / "train.jsonl", [{**columns, guessed[0]: f"{columns[guessed[0]]} {n}"} for n in range(4)])
    # All labels are the same, which only the doctor minds.
    _, findings = _read(tmp_path)
    names = ("text_column", "text_pair_column", "label_column")
    told = ", ".join(f"{setting}: '{column}'" for setting, column in zip(names, guessed, strict=True) if column)
    assert f"guessed from the names of the columns: {told}" in findings.texts("note")


@pytest.mark.parametrize(
    ("cells", "kind", "names"),
    [
        (["1", "0", "1"], "classification", ("0", "1")),
        ([10, 9, 2], "classification", ("2", "9", "10")),
        ([1.0, 2.0, 1.0], "classification", ("1", "2")),
        ([0.5, 1.0, 1.5], "regression", ()),
        (["5", "4.5", "3"], "regression", ()),
        (["5", "n/a", "3"], "classification", ("3", "5", "n/a")),
        ([["b"], ["a", "b"], []], "multilabel", ("a", "b")),
        ([True, False, True], "classification", ("false", "true")),
        (list(range(200)) * 3, "classification", tuple(map(str, range(200)))),
        (list(range(0, 402, 2)), "regression", ()),
    ],
)
def test_the_values_of_labels_decide_what_they_are(
    cells: list[Any], kind: str, names: tuple[str, ...], tmp_path: Path
) -> None:
    _write(tmp_path / "train.jsonl", [{"text": f"t {n}", "label": cell} for n, cell in enumerate(cells * 4)])
    data, findings = _read(tmp_path)
    assert (data.kind, data.labels) == (kind, names)
    assert sum(note.startswith(kind) for note in findings.texts("note")) == 1


def test_labels_are_indices_into_their_names(tmp_path: Path) -> None:
    _write(tmp_path / "train.jsonl", [{"text": f"t {n}", "label": [["b"], ["c", "a"], []][n % 3]} for n in range(9)])
    _write(tmp_path / "dev.jsonl", [{"text": "x", "label": ["c"]}])
    data, _ = _read(tmp_path)
    assert [row["label"] for row in data.train.rows[:3]] == [[0, 1, 0], [1, 0, 1], [0, 0, 0]]
    assert data.dev["dev"].rows[0]["label"] == [0, 0, 1]


def test_a_cut_takes_its_share_of_each_class_and_is_the_same_again() -> None:
    dice = random.Random(3)
    classes = [dice.choice("aaaaaaabbc") for _ in range(1000)]
    chosen = dev_rows(range(1000), classes, 0.2)
    assert chosen == sorted(set(chosen)) == dev_rows(range(1000), classes, 0.2)
    found = Counter(classes[row] for row in chosen)
    for name, count in Counter(classes).items():
        assert abs(found[name] - 0.2 * count) <= 1


def test_a_cut_keeps_rows_of_one_text_together_and_the_last_of_a_class_in_training() -> None:
    contents = [f"text {number // 3}" for number in range(300)] + ["lonely"]
    classes = ["x"] * 300 + ["rare"]
    chosen = set(dev_rows(contents, classes, 0.3))
    assert 300 not in chosen
    assert not {contents[row] for row in chosen} & {contents[row] for row in range(301) if row not in chosen}
    assert 85 <= len(chosen) <= 95
    assert dev_rows(["same"] * 9, ["x"] * 9, 0.5) == []
    assert len(dev_rows(["a", "b"], ["x", "x"], 0.01)) == 1


def test_a_cut_takes_no_more_of_a_class_where_another_could_not_give_its_share() -> None:
    # A single text of class a, said a hundred times, is never cut; class b gives its own share and no more.
    contents = ["again"] * 100 + [f"text {n}" for n in range(20)]
    classes = ["a"] * 100 + ["b"] * 20
    chosen = dev_rows(contents, classes, 0.1)
    assert 2 <= len(chosen) <= 3
    assert {classes[index] for index in chosen} == {"b"}


def test_a_cut_leaves_training_rows_of_each_class_that_texts_of_several_classes_have() -> None:
    # All that is said of class b is said of class a as well.
    contents = [*(f"both {n // 2}" for n in range(4)), *(f"a {n}" for n in range(4))]
    classes = ["a", "b", "a", "b", *"aaaa"]
    for share in (0.1, 0.5, 0.9):
        rest = set(range(8)) - set(dev_rows(contents, classes, share))
        assert {classes[index] for index in rest} == {"a", "b"}


def test_a_cut_of_few_texts_that_repeat_takes_the_smallest_or_none() -> None:
    contents = ["same"] * 12 + ["other"] * 6 + ["third"] * 5
    assert dev_rows(contents, ["x"] * 23, 0.1) == list(range(18, 23))
    assert dev_rows(["same"] * 12 + ["other"] * 6, ["x"] * 18, 0.1) == list(range(12, 18))
    assert dev_rows(contents, ["x", "y"] * 6 + ["x"] * 6 + ["y"] * 5, 0.1) == list(range(18, 23))
    # Pairs are still cut out in due number, though no class alone has the share for one.
    pairs = [f"{n // 2}" for n in range(400)]
    assert 36 <= len(dev_rows(pairs, [n // 4 for n in range(400)], 0.1)) <= 44


def test_the_dev_rows_do_not_depend_on_the_seed_of_the_run(tmp_path: Path) -> None:
    _write(tmp_path / "train.csv", ROWS)
    first, second = (_read(tmp_path, text_column="title", seed=seed)[0] for seed in (1, 2))
    assert first.dev["dev"].rows == second.dev["dev"].rows


def test_a_line_without_end_is_refused(tmp_path: Path) -> None:
    (tmp_path / "train.jsonl").write_bytes(b'{"text": "' + b"x" * 10_000_001)
    assert _refused(tmp_path) == (
        f"{tmp_path}/train.jsonl line 1: 10,000,011 bytes in one line found, at most 10,000,000 accepted"
    )


def test_what_is_no_file_is_refused_rather_than_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "train.csv")
    assert _refused(tmp_path) == f"{tmp_path}/train.csv: not a file"
    assert _refused(tmp_path, text_column="1", label_column="2") == f"{tmp_path}/train.csv: not a file"
    assert _refused(tmp_path, train_file=str(tmp_path)).endswith("(it is no file)")
    assert _refused(tmp_path, train_file="gone.csv").endswith("(there is no such file)")
    (tmp_path / "rows.txt").write_text("a,b\n")
    assert _refused(tmp_path, data_dir=str(tmp_path / "rows.txt")).endswith(
        "(it is a file; give train_file for a file)"
    )
    assert _refused(tmp_path, train_file="rows.txt").endswith("ending in .csv, .tsv, .jsonl, .ndjson, .json, .parquet")


def test_a_dialect_reads_files_of_any_ending(tmp_path: Path) -> None:
    (tmp_path / "rows.txt").write_text("text;label\n" + "".join(f"t {n};{n % 2}\n" for n in range(10)))
    data, _ = _read(tmp_path, train_file="rows.txt", dialect="csv-semicolon")
    assert len(data.train.rows) + len(data.dev["dev"].rows) == 10


def test_numbers_are_names_where_the_header_has_them_and_places_elsewhere(tmp_path: Path) -> None:
    rows = [f"{n},text {n},{n % 2}\n" for n in range(10)]
    (tmp_path / "train.csv").write_text("".join(rows))
    settings = {"text_column": "2", "label_column": "3"}
    data, _ = _read(tmp_path, **settings)
    assert sorted(row["text"] for row in [*data.train.rows, *data.dev["dev"].rows]) == [f"text {n}" for n in range(10)]
    (tmp_path / "train.csv").write_text('"3","2",1\n' + "".join(rows))
    data, _ = _read(tmp_path, text_column="2", label_column="1")
    assert data.labels == ("0", "1")
    assert len(data.train.rows) + len(data.dev["dev"].rows) == 10


def test_what_is_staged_is_the_same_from_wherever_it_was_read(tmp_path: Path) -> None:
    digests = set()
    for name in ("here", "there"):
        _write(tmp_path / name / "train.csv", [*ROWS, {"title": "", "body": "", "label": "pos"}])
        settings = {"task": "text", "data_dir": str(tmp_path / name), "text_column": "title"}
        staged = stage_data(TrainConfig.from_dict(settings), tmp_path / "cache", Findings())
        digests.add(staged.digest)
    assert len(digests) == 1
    about = read_about(staged.path)
    assert about["doctor"][-1]["level"] in ("note", "warning")
    assert {"level": "warning", "text": "train.csv line 32: left out: column 'title' is empty"} in about["doctor"]
    assert len(read_rows(staged.path / "train.jsonl")) == about["rows"]["train"] == 27


def test_the_share_of_rows_that_max_length_cuts_is_that_of_the_tokeniser(tmp_path: Path) -> None:
    tokenizers = pytest.importorskip("tokenizers")
    tokenizer = tokenizers.Tokenizer(tokenizers.models.WordLevel({"[UNK]": 0, "a": 1}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    # Its own limit is not what is asked for.
    tokenizer.enable_truncation(4)
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    _write(
        tmp_path / "train.csv", [{"text": "a " * (5 + 5 * (n % 4 == 0)) + f"x{n}", "label": n % 2} for n in range(20)]
    )
    _write(tmp_path / "dev.csv", [{"text": "a", "label": 0}])
    data, findings = _read(tmp_path), Findings()
    tell_lengths(data[0], tmp_path, 10, findings)
    assert findings.texts("warning") == [
        "train.csv: max_length 10 cuts 5 of 20 rows (25.0%), the longest has 11 tokens"
    ]
    assert findings.texts("note") == ["dev.csv: max_length 10 cuts 0 of 1 row (0.0%), the longest has 1 token"]
    many = [{"id": n, "text": "a a", "text_pair": None, "label": 0} for n in range(SAMPLE_ROWS + 1)]
    data[0].train.rows[:] = many
    findings = Findings()
    tell_lengths(data[0], tmp_path, 1, findings)
    assert "cuts 10,000 of 10,000 rows taken at random (100.0%)" in findings.texts("warning")[0]


def test_tokens_of_tagged_words_are_counted_without_joining_them(tmp_path: Path) -> None:
    tokenizers = pytest.importorskip("tokenizers")
    tokenizer = tokenizers.Tokenizer(tokenizers.models.WordLevel({"[UNK]": 0}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Split("-", "removed")
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    (tmp_path / "train.conll").write_text("a-b B-X\nc O\n\nd O\n")
    (tmp_path / "dev.conll").write_text("e O\n")
    data, findings = _read(tmp_path, task="tokens"), Findings()
    tell_lengths(data[0], tmp_path, 8, findings)
    assert findings.texts("note")[0].endswith("the longest has 3 tokens")


def test_csv_is_read_as_pandas_reads_it(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    cells = ['a "quoted" cell', "commas, too", "two\nlines", "null", "NA", " blanks ", "ünï", "'", '""']
    _write(tmp_path / "train.csv", [{"text": cell, "label": n % 2, "n": n} for n, cell in enumerate(cells * 3)])
    ours = read_delimited(tmp_path / "train.csv", DIALECTS["csv"], Findings())
    theirs = pandas.read_csv(tmp_path / "train.csv", dtype=str, keep_default_na=False)
    assert ours.records == [tuple(row) for row in theirs.to_numpy().tolist()]


def test_a_folder_that_datasets_saved_is_read_with_the_names_of_its_classes(tmp_path: Path) -> None:
    datasets = pytest.importorskip("datasets")
    features = datasets.Features(
        text=datasets.Value("string"), label=datasets.ClassLabel(names=["no", "yes"]), score=datasets.Value("float64")
    )
    rows = [{"text": f"t {n}", "label": n % 2, "score": n / 3} for n in range(10)]
    table = datasets.Dataset.from_list(rows, features=features)
    datasets.DatasetDict(train=table, validation=table.select([3, 4]).shuffle(seed=1)).save_to_disk(tmp_path / "saved")
    data, _ = _read(tmp_path / "saved")
    assert data.labels == ("no", "yes")
    assert [row["label"] for row in data.train.rows] == [row["label"] for row in rows]
    assert {row["text"] for row in data.dev["dev"].rows} == {"t 3", "t 4"}
    table.save_to_disk(tmp_path / "one", num_shards=2)
    data, _ = _read(tmp_path / "one", label_column="score")
    assert data.kind == "regression"
    assert sorted(row["text"] for row in [*data.train.rows, *data.dev["dev"].rows]) == [f"t {n}" for n in range(10)]
    tags = datasets.Features(
        tokens=datasets.List(datasets.Value("string")), ner_tags=datasets.List(datasets.ClassLabel(names=["O", "B-X"]))
    )
    words = [{"tokens": ["a", str(n)], "ner_tags": [0, n % 2]} for n in range(12)]
    datasets.Dataset.from_list(words, features=tags).save_to_disk(tmp_path / "tagged")
    data, _ = _read(tmp_path / "tagged", task="tokens")
    assert data.labels == ("O", "B-X", "I-X")
    assert {tuple(row["label"]) for row in data.train.rows} == {(0, 0), (0, 1)}
