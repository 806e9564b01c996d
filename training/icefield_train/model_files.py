"""The files of a model: which of them training needs, and whether they are whole. Reads no weights, needs no torch."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

# Encoders with a classification head in transformers, by their "model_type".
ENCODERS = (
    *("albert", "bert", "camembert", "convbert", "data2vec-text", "deberta", "deberta-v2", "distilbert", "electra"),
    *("ernie", "eurobert", "fnet", "ibert", "megatron-bert", "mobilebert", "modernbert", "mpnet", "mra", "nomic_bert"),
    *("nystromformer", "rembert", "roberta", "roberta-prelayernorm", "roc_bert", "roformer", "squeezebert"),
    *("xlm-roberta", "xlm-roberta-xl", "xmod", "yoso"),
)
# Of these, positions are counted from behind the padding token's number: some of them can't be used.
_POSITIONS_FROM_PADDING = (
    *("camembert", "data2vec-text", "ibert", "mpnet", "roberta", "roberta-prelayernorm", "xlm-roberta"),
    *("xlm-roberta-xl", "xmod"),
)
TOKENIZER_FILES = (
    *("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "added_tokens.json", "vocab.txt"),
    *("vocab.json", "merges.txt", "spiece.model", "sentencepiece.bpe.model", "spm.model"),
)
WEIGHTS, WEIGHTS_INDEX = "model.safetensors", "model.safetensors.index.json"
# No model has a header near this long; a file that claims one isn't in the format.
_MAX_HEADER_BYTES = 100_000_000


def needed_files(folder: Path) -> list[Path]:
    """Return the files of a model's folder that training needs, after checking that they are there and whole.

    Raises:
        ValueError: the folder is no model that can be trained; the message says what was found and what is expected.
    """
    config = _read_json(folder / "config.json")
    kind = config.get("model_type", "")
    if kind not in ENCODERS:
        raise ValueError(f"config.json: model_type '{kind}' found, one of {', '.join(ENCODERS)} expected")
    if config.get("auto_map"):
        raise ValueError("config.json: auto_map found; models that bring their own code are not run")
    tokenizer = [folder / name for name in TOKENIZER_FILES if (folder / name).is_file()]
    if not any(path.name in ("tokenizer.json", "vocab.txt", "vocab.json") for path in tokenizer):
        raise ValueError("tokenizer files (tokenizer.json or vocab.txt) are missing")
    weights = _weights(folder)
    for path in weights:
        if path.suffix == ".safetensors":
            check_safetensors(path)
    return sorted([folder / "config.json", *tokenizer, *weights])


def most_tokens(folder: Path) -> int:
    """Return the most tokens that the model takes in one row; 0 where its config sets no limit."""
    config = _read_json(folder / "config.json")
    positions = config.get("max_position_embeddings", 0)
    if not isinstance(positions, int) or positions <= 0:
        return 0
    if config["model_type"] in _POSITIONS_FROM_PADDING:
        positions -= int(config.get("pad_token_id") or 0) + 1
    return positions


def check_safetensors(path: Path) -> None:
    """Compare a file's size with what its header says.

    Raises:
        ValueError: the file is cut off, or is not in the safetensors format.
    """
    size = path.stat().st_size
    with path.open("rb") as file:
        start = file.read(8)
        length = struct.unpack("<Q", start)[0] if len(start) == 8 else _MAX_HEADER_BYTES
        try:
            header: Any = json.loads(file.read(length)) if length < _MAX_HEADER_BYTES else None
            ends = [entry["data_offsets"][1] for name, entry in header.items() if name != "__metadata__"]
            expected = 8 + length + max(ends)
        except (ValueError, TypeError, KeyError, IndexError, AttributeError):
            raise ValueError(f"{path.name} is damaged: it has no readable safetensors header") from None
    if size != expected:
        raise ValueError(f"{path.name} is damaged: {size} bytes found, {expected} expected")


def _weights(folder: Path) -> list[Path]:
    if (folder / WEIGHTS).is_file():
        return [folder / WEIGHTS]
    if (folder / WEIGHTS_INDEX).is_file():
        names = sorted(set(_read_json(folder / WEIGHTS_INDEX).get("weight_map", {}).values()))
        missing = [name for name in names if not (folder / name).is_file()]
        if missing or not names:
            raise ValueError(f"{missing[0] if missing else 'weight_map'} is missing, {WEIGHTS_INDEX} expects it")
        return [folder / WEIGHTS_INDEX, *(folder / name for name in names)]
    if (folder / "pytorch_model.bin").is_file():
        raise ValueError(f"{WEIGHTS} is missing (pytorch_model.bin is not read: convert it to safetensors)")
    raise ValueError(f"{WEIGHTS} is missing")


def _read_json(path: Path) -> dict[str, Any]:
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ValueError(f"{path.name} is missing") from None
    except (OSError, ValueError):
        raise ValueError(f"{path.name} can't be read as JSON") from None
    if not isinstance(data, dict):
        raise ValueError(f"{path.name} is no JSON object")
    return data
