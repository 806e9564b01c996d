"""Small models with random weights, tokenisers and staged data, for tests that need torch."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

WORDS = [f"{start}{end}" for start in ("ba", "ko", "mi", "su", "te", "lo") for end in ("n", "r", "l", "st", "m", "ck")]
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
INPUTS = ["input_ids", "token_type_ids", "attention_mask"]
TAGS = ("O", "B-PER", "I-PER", "B-LOC", "I-LOC")
LABELS = {
    "classification": ("no", "yes"),
    "regression": (),
    "multilabel": ("a", "b", "c"),
    "tokens": TAGS,
    "causal": (),
}
METRICS = {
    "classification": ["accuracy", "f1"],
    "regression": ["pearson", "spearman", "mse"],
    "multilabel": ["micro_f1", "macro_f1"],
    "tokens": ["entity_f1", "accuracy"],
    "causal": ["perplexity"],
}


def write_tokenizer(folder: Path) -> Path:
    """Write a tokeniser of whole words and single letters, as BERT has one."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    letters = sorted({letter for word in WORDS for letter in word})
    vocabulary = [*SPECIAL, *WORDS, *letters, *(f"##{letter}" for letter in letters)]
    tokenizer = Tokenizer(models.WordPiece({word: number for number, word in enumerate(vocabulary)}, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", 2), ("[SEP]", 3)],
    )
    names = {"pad_token": "[PAD]", "unk_token": "[UNK]", "cls_token": "[CLS]", "sep_token": "[SEP]"}
    PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, mask_token="[MASK]", model_input_names=INPUTS, **names
    ).save_pretrained(folder)
    return folder


def write_causal_tokenizer(folder: Path) -> Path:
    """Write a tokeniser of bytes without a padding token, as GPT-2 has one."""
    from tokenizers import ByteLevelBPETokenizer
    from transformers import PreTrainedTokenizerFast

    tokenizer = ByteLevelBPETokenizer()
    tokenizer.train_from_iterator([" ".join(WORDS)] * 20, vocab_size=300, special_tokens=["<|end|>"])
    PreTrainedTokenizerFast(
        tokenizer_object=tokenizer._tokenizer, bos_token="<|end|>", eos_token="<|end|>"
    ).save_pretrained(folder)
    return folder


# Sizes by the names that configs have for them.
_SIZES: dict[str, Any] = {
    **dict.fromkeys(("hidden_size", "dim", "n_embd", "d_model", "embedding_size", "head_dim"), 16),
    **dict.fromkeys(("intermediate_size", "hidden_dim", "n_inner", "ffn_dim", "intermediate_dim"), 32),
    **dict.fromkeys(("num_hidden_layers", "n_layers", "n_layer", "num_layers"), 2),
    **dict.fromkeys(("num_attention_heads", "n_heads", "n_head", "num_key_value_heads"), 2),
    **dict.fromkeys(("max_position_embeddings", "n_positions"), 130),
}
# What of some models has to go with these.
_OWN_SIZES: dict[str, dict[str, Any]] = {
    "codegen": {"rotary_dim": 4},
    "gptj": {"rotary_dim": 4},
    "gpt_neo": {"attention_types": [[["global", "local"], 1]]},
    "helium": {"head_dim": 8},
    "ministral": {"head_dim": 8, "num_key_value_heads": 2},
    "nemotron": {"head_dim": 8, "num_key_value_heads": 2},
    "roc_bert": {"shape_vocab_size": 20, "pronunciation_vocab_size": 20},
    "mobilebert": {"intra_bottleneck_size": 8, "true_hidden_size": 8},
}


def tiny_config(model_type: str, **changes: Any) -> Any:
    """Return a config of a model with some ten thousand weights, without dropout."""
    from transformers import CONFIG_MAPPING

    known = CONFIG_MAPPING[model_type]().to_dict()
    sizes = {name: value for name, value in _SIZES.items() if isinstance(known.get(name), int)}
    dropouts = {name: 0.0 for name, value in known.items() if "drop" in name and isinstance(value, float)}
    ends = {"pad_token_id": 0, "bos_token_id": 2, "eos_token_id": 3}
    return CONFIG_MAPPING[model_type](
        **{**sizes, **dropouts, **ends, "vocab_size": 400, **_OWN_SIZES.get(model_type, {}), **changes}
    )


def write_tiny_model(folder: Path, kind: str = "classification", model_type: str = "", **changes: Any) -> Path:
    """Write a model with random weights, and its tokeniser; its head is that of a language model."""
    import torch
    import transformers

    torch.manual_seed(1)
    causal = kind == "causal"
    config = tiny_config(model_type or ("gpt2" if causal else "bert"), **changes)
    maker = transformers.AutoModelForCausalLM if causal else transformers.AutoModel
    maker.from_config(config).save_pretrained(folder)
    return write_causal_tokenizer(folder) if causal else write_tokenizer(folder)


def make_rows(kind: str, count: int, seed: int, pair: bool = True) -> list[dict[str, Any]]:
    """Return rows of random words; their labels depend on the words, so that there is something to learn."""
    dice = random.Random(f"{kind} {seed}")
    rows = []
    for number in range(count):
        words = [dice.choice(WORDS) for _ in range(dice.randint(2, 12))]
        other = [dice.choice(WORDS) for _ in range(dice.randint(1, 5))]
        row: dict[str, Any] = {"id": number, "text": " ".join(words), "text_pair": " ".join(other) if pair else None}
        if kind == "tokens":
            row = {"id": number, "tokens": words}
        rows.append({**row, "label": _label(kind, words)})
    return rows


def _label(kind: str, words: list[str]) -> Any:
    share = sum(word.startswith("b") for word in words) / len(words)
    return {
        "classification": int(share > 0.15),
        "regression": 5 * share,
        "multilabel": [int(any(word.startswith(letter) for word in words)) for letter in "bkm"],
        "tokens": [{"b": 1, "k": 2, "m": 3, "s": 4}.get(word[0], 0) for word in words],
        "causal": None,
    }[kind]


def write_data(folder: Path, kind: str, train: int = 48, dev: int = 9, **about: Any) -> Path:
    """Write a staged folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for number, (name, count) in enumerate({"train": train, "dev": dev}.items()):
        write_rows(folder / f"{name}.jsonl", make_rows(kind, count, number))
    content = {"task": "own", "kind": kind, "labels": LABELS[kind], "metrics": METRICS[kind], **about}
    (folder / "task.json").write_text(json.dumps(content))
    return folder


def write_rows(path: Path, rows: list[dict[str, Any]]) -> None:
    """Write rows as they are staged."""
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
