"""GLUE's real MRPC, CoLA and STS-B: every row is read, none warned of but what is known of the files."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

import pytest

from icefield_train.doctor.findings import Findings
from icefield_train.glue import read_glue
from icefield_train.part import Part
from icefield_train.tasks import TASKS

# Not part of the repo: their licences let us use them and not hand them on.
DATA = Path(os.environ.get("ICEFIELD_TEST_DATA", Path(__file__).parents[3] / "shared/data"))


def _read(task: str, folder: str) -> tuple[dict[str, Part], Findings]:
    if not (DATA / folder).is_dir():
        pytest.skip(f"there is no {folder} in {DATA}; set ICEFIELD_TEST_DATA to a folder that has it")
    findings = Findings()
    return read_glue(DATA / folder, TASKS[task], "auto", findings), findings


@pytest.mark.parametrize(
    ("task", "folder"), [("mrpc", "MRPC"), ("mrpc", "MRPC/original"), ("cola", "CoLA"), ("stsb", "STS-B"), ("stsb", "")]
)
def test_every_row_of_the_real_files_is_read(task: str, folder: str) -> None:
    parts, findings = _read(task, folder)
    form = TASKS[task]
    assert {name: len(part.rows) for name, part in parts.items()} == {
        name: split.rows for name, split in {**form.splits, **form.predict}.items()
    }
    assert findings.texts("warning") == []
    assert all(row["label"] is None for row in parts[form.folder].rows)


def test_labels_and_quotation_marks_of_mrpc_are_those_of_the_files() -> None:
    parts, _ = _read("mrpc", "MRPC")
    assert Counter(row["label"] for row in parts["train"].rows) == {1: 2474, 0: 1194}
    assert Counter(row["label"] for row in parts["dev"].rows) == {1: 279, 0: 129}
    assert sum('"' in row["text"] or '"' in row["text_pair"] for row in parts["train"].rows) == 769


def test_mrpcs_original_form_has_the_rows_of_glues_in_other_spelling() -> None:
    glue, original = _read("mrpc", "MRPC")[0], _read("mrpc", "MRPC/original")[0]

    def letters(row: dict[str, str]) -> tuple[str, str, str]:
        plain = ["".join(filter(str.isalnum, row[name].lower())) for name in ("text", "text_pair")]
        return plain[0], plain[1], row["label"]

    for name in ("train", "dev"):
        ours, theirs = (Counter(map(letters, parts[name].rows)) for parts in (original, glue))
        # GLUE's tokeniser spells some currencies and quotation marks out.
        assert sum((ours & theirs).values()) > 0.95 * len(glue[name].rows)


def test_scores_of_stsb_span_its_scale() -> None:
    labels = [row["label"] for row in _read("stsb", "STS-B")[0]["train"].rows]
    assert (min(labels), max(labels)) == (0.0, 5.0)
    assert sum(label != int(label) for label in labels) > 2000
