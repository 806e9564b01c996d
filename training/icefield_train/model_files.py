"""The files of a model: which of them training needs, and whether they are whole. Reads no weights, needs no torch."""

from __future__ import annotations

import re
import struct
from pathlib import Path
from typing import Any

from icefield_train import json_text
from icefield_train.kinds import DEFAULT_KIND
from icefield_train.showing import shown

# Encoders that transformers gives a head for rows and one for words, by their "model_type".
ENCODERS = (
    *("albert", "bert", "camembert", "convbert", "data2vec-text", "deberta", "deberta-v2", "distilbert", "electra"),
    *("ernie", "eurobert", "fnet", "ibert", "megatron-bert", "mobilebert", "modernbert", "mpnet", "mra", "nomic_bert"),
    *("nystromformer", "rembert", "roberta", "roberta-prelayernorm", "roc_bert", "roformer", "squeezebert"),
    *("xlm-roberta", "xlm-roberta-xl", "yoso"),
)
# Language models that write from left to right.
DECODERS = (
    *("bloom", "codegen", "cohere", "cohere2", "exaone4", "falcon", "gemma", "gemma2", "gemma3_text", "glm", "glm4"),
    *("gpt2", "gpt_bigcode", "gpt_neo", "gpt_neox", "gptj", "granite", "helium", "llama", "ministral", "mistral"),
    *("nemotron", "olmo", "olmo2", "olmo3", "opt", "phi", "phi3", "qwen2", "qwen3", "smollm3", "stablelm"),
    *("starcoder2", "xglm"),
)
# They read characters, bytes, pictures or sound as they are; data here is text that a tokeniser has cut up.
_WITHOUT_TOKENISER = (
    *("canine", "perceiver", "charformer", "blt", "vit", "deit", "beit", "swin", "swinv2", "convnext", "resnet"),
    *("dinov2", "clip_vision_model", "siglip_vision_model", "wav2vec2", "wav2vec2-bert", "hubert", "wavlm", "whisper"),
    *("audio-spectrogram-transformer", "patchtst", "timesfm"),
)
# Of these, positions are counted from behind the padding token's number: some of them can't be used.
_POSITIONS_FROM_PADDING = (
    *("camembert", "data2vec-text", "ibert", "mpnet", "roberta", "roberta-prelayernorm", "xlm-roberta"),
    "xlm-roberta-xl",
)
# Their code mixes precisions and fails where some of it calculates in bf16.
_FP32_ONLY = ("deberta",)
TOKENIZER_FILES = (
    *("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "added_tokens.json", "vocab.txt"),
    *("vocab.json", "merges.txt", "spiece.model", "sentencepiece.bpe.model", "spm.model"),
)
WEIGHTS, WEIGHTS_INDEX = "model.safetensors", "model.safetensors.index.json"
# What a tokeniser's words are in; one of them has to be there.
_VOCABULARIES = ("tokenizer.json", "vocab.txt", "vocab.json", "spiece.model", "sentencepiece.bpe.model", "spm.model")
# How the tensors are called that hold a row for each word.
_EMBEDDINGS = ("word_embeddings.weight", "tok_embeddings.weight", "embed_tokens.weight")
# No model has a header near this long; a file that claims one isn't in the format.
_MAX_HEADER_BYTES = 100_000_000
_COUNTS = ("num_hidden_layers", "num_attention_heads", "hidden_size", "vocab_size", "max_position_embeddings")
# Parts of a model are staged by name, next to its index.
_IN_FOLDER = re.compile(r"[^/\\]+\.safetensors")


def needed_files(folder: Path, kind: str = DEFAULT_KIND) -> list[Path]:
    """Return the files of a model's folder that training needs, after checking that they are there and whole.

    Args:
        folder: folder of the model.
        kind: the kind of task that it is to be trained for, a name of ``kinds.KINDS``.

    Raises:
        ValueError: the folder is no model that can be trained; the message says what was found and what is expected.
    """
    config = _read_json(folder / "config.json")
    _check_type(config.get("model_type", ""), DECODERS if kind == "causal" else ENCODERS)
    if config.get("auto_map"):
        raise ValueError("config.json: auto_map found; models that bring their own code are not run")
    _check_values(config)
    tokenizer = [folder / name for name in TOKENIZER_FILES if (folder / name).is_file()]
    if not any(path.name in _VOCABULARIES for path in tokenizer):
        raise ValueError(f"it has no tokenizer: one of {', '.join(_VOCABULARIES)} expected")
    _check_tokenizer(folder)
    weights = _weights(folder)
    shapes: dict[str, list[int]] = {}
    for path in weights:
        if path.suffix == ".safetensors":
            shapes |= check_safetensors(path)
    _check_sizes(config, shapes)
    return sorted([folder / "config.json", *tokenizer, *weights])


def _check_values(config: dict[str, Any]) -> None:
    """Refuse values of a form that libraries, which are on the nodes only, do not take."""
    for name in ("id2label", "label2id"):
        if not isinstance(config.get(name) or {}, dict):
            raise ValueError(f"config.json: {name} is no object, names of classes by their numbers expected")
    padding = config.get("pad_token_id")
    if padding is not None and type(padding) is not int:
        raise ValueError(f"config.json: pad_token_id '{shown(padding)}' found, a whole number expected")
    for name in _COUNTS:
        if config.get(name) is not None and (type(config[name]) is not int or config[name] < 1):
            raise ValueError(f"config.json: {name} '{shown(config[name])}' found, a whole number from 1 expected")


def _check_type(found: str, wanted: tuple[str, ...]) -> None:
    """Refuse a model of another type than those wanted."""
    if found in _WITHOUT_TOKENISER:
        raise ValueError(
            f"config.json: model_type '{shown(found)}' takes no text from a tokeniser; nothing else is trained on here"
        )
    if found not in wanted:
        raise ValueError(f"config.json: model_type '{shown(found)}' found, one of {', '.join(wanted)} expected")


def takes_bf16(folder: Path) -> bool:
    """Tell whether a model can calculate in bf16.

    Raises:
        ValueError: it has no config.
    """
    return _read_json(folder / "config.json").get("model_type") not in _FP32_ONLY


def most_tokens(folder: Path) -> int:
    """Return the most tokens that the model takes in one row; 0 where its config sets no limit."""
    config = _read_json(folder / "config.json")
    positions = _size(config, "max_position_embeddings", "n_positions")
    if not positions:
        return 0
    if config["model_type"] in _POSITIONS_FROM_PADDING:
        positions -= int(config.get("pad_token_id") or 0) + 1
    return positions


def _check_tokenizer(folder: Path) -> None:
    """Refuse a tokenizer.json without words; the library that reads it is on the nodes only."""
    if not (folder / "tokenizer.json").is_file():
        return
    model = _read_json(folder / "tokenizer.json").get("model")
    vocabulary = model.get("vocab") if isinstance(model, dict) else None
    if not isinstance(vocabulary, dict | list) or not vocabulary:
        raise ValueError("tokenizer.json: no vocabulary found, the object model.vocab expected")


def _check_sizes(config: dict[str, Any], shapes: dict[str, list[int]]) -> None:
    """Refuse a config that contradicts itself or the weights; a size that it leaves out is the model's own default."""
    width, heads = (
        _size(config, "hidden_size", "dim", "n_embd"),
        _size(config, "num_attention_heads", "n_heads", "n_head"),
    )
    if width and heads and width % heads:
        raise ValueError(f"config.json: hidden_size {width} found, a multiple of its {heads} attention heads expected")
    rows, columns = _size(config, "vocab_size"), _size(config, "input_embedding_size", "embedding_size") or width
    for name, shape in shapes.items():
        if not name.endswith(_EMBEDDINGS) or len(shape) != 2:
            continue
        if (rows or shape[0], columns or shape[1]) != tuple(shape):
            raise ValueError(
                f"{shown(name)} has the shape {shape[0]} x {shape[1]}, config.json says {rows or shape[0]} x "
                f"{columns or shape[1]} (vocab_size, and embedding_size or hidden_size)"
            )


def _size(config: dict[str, Any], *names: str) -> int:
    """Return the first of these sizes that the config has, 0 where it has none."""
    return next((config[name] for name in names if type(config.get(name)) is int and config[name] > 0), 0)


def check_safetensors(path: Path) -> dict[str, list[int]]:
    """Compare a file's size with what its header says; return the shape of each tensor.

    Raises:
        ValueError: the file is cut off, or is not in the safetensors format.
    """
    size = path.stat().st_size
    with path.open("rb") as file:
        start = file.read(8)
        length = struct.unpack("<Q", start)[0] if len(start) == 8 else _MAX_HEADER_BYTES
        try:
            header: Any = json_text.parse(file.read(length)) if length < _MAX_HEADER_BYTES else None
            ends = [entry["data_offsets"][1] for name, entry in header.items() if name != "__metadata__"]
            shapes = {name: list(entry["shape"]) for name, entry in header.items() if name != "__metadata__"}
            expected = 8 + length + max(ends)
        except (ValueError, TypeError, KeyError, IndexError, AttributeError):
            raise ValueError(f"{path.name} is damaged: it has no readable safetensors header") from None
    if size != expected:
        raise ValueError(f"{path.name} is damaged: {size} bytes found, {expected} expected")
    return shapes


def _weights(folder: Path) -> list[Path]:
    if (folder / WEIGHTS).is_file():
        return [folder / WEIGHTS]
    if (folder / WEIGHTS_INDEX).is_file():
        names = _parts(_read_json(folder / WEIGHTS_INDEX))
        missing = [name for name in names if not (folder / name).is_file()]
        if missing:
            raise ValueError(f"{shown(missing[0])} is missing, {WEIGHTS_INDEX} expects it")
        return [folder / WEIGHTS_INDEX, *(folder / name for name in names)]
    if (folder / "pytorch_model.bin").is_file():
        raise ValueError(f"{WEIGHTS} is missing (pytorch_model.bin is not read: convert it to safetensors)")
    raise ValueError(f"{WEIGHTS} is missing")


def _parts(index: dict[str, Any]) -> list[str]:
    """Return the names of the files that an index of weights names."""
    places = index.get("weight_map")
    if not isinstance(places, dict) or not places:
        raise ValueError(f"{WEIGHTS_INDEX}: no object weight_map with the file of each weight found")
    odd = [name for name in places.values() if not isinstance(name, str) or not _IN_FOLDER.fullmatch(name)]
    if odd:
        raise ValueError(
            f"{WEIGHTS_INDEX}: '{shown(odd[0])}' found in weight_map, the name of a file beside it expected"
        )
    if not isinstance(index.get("metadata"), dict):
        raise ValueError(f"{WEIGHTS_INDEX}: no object metadata found, which loading needs")
    return sorted(set(places.values()))


def _read_json(path: Path) -> dict[str, Any]:
    try:
        data = json_text.parse(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ValueError(f"{path.name} is missing") from None
    except (OSError, ValueError):
        raise ValueError(f"{path.name} can't be read as JSON") from None
    if not isinstance(data, dict):
        raise ValueError(f"{path.name} is no JSON object")
    return data
