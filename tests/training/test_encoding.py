"""Rows to tokens: what is cut, what is learned, which word a token belongs to."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("transformers")
np = pytest.importorskip("numpy")

from icefield_train.encoding import IGNORED, encode  # noqa: E402
from icefield_train.tokenizer import load_tokenizer  # noqa: E402
from tests.training.tiny import make_rows, write_causal_tokenizer, write_tokenizer  # noqa: E402


@pytest.fixture(scope="module")
def words(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return load_tokenizer(write_tokenizer(tmp_path_factory.mktemp("words")), "classification")


@pytest.fixture(scope="module")
def letters(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return load_tokenizer(write_causal_tokenizer(tmp_path_factory.mktemp("letters")), "causal")


def _text(tokenizer: Any, encoded: Any, row: int) -> list[str]:
    span = slice(encoded.arrays["starts"][row], encoded.arrays["starts"][row + 1])
    return tokenizer.convert_ids_to_tokens(encoded.arrays["input_ids"][span].tolist())


def test_rows_lie_end_to_end_and_are_cut_at_the_longer_sentence(words: Any) -> None:
    rows = [
        {"id": 0, "text": "ban kor", "text_pair": "mil", "label": 1},
        {"id": 1, "text": "ban " * 20, "text_pair": "mil sust", "label": None},
    ]
    encoded = encode(rows, "classification", words, 12)
    assert _text(words, encoded, 0) == ["[CLS]", "ban", "kor", "[SEP]", "mil", "[SEP]"]
    assert _text(words, encoded, 1) == ["[CLS]", *["ban"] * 7, "[SEP]", "mil", "sust", "[SEP]"]
    assert encoded.arrays["token_type_ids"][:6].tolist() == [0, 0, 0, 0, 1, 1]
    assert encoded.arrays["labels"].tolist() == [1, IGNORED]
    assert encoded.padding == {"input_ids": 0, "token_type_ids": 0}


def test_a_row_without_the_second_sentence_that_others_have_is_named(words: Any) -> None:
    rows = [
        {"id": 7, "text": "ban", "text_pair": None, "label": 0},
        {"id": 8, "text": "ban", "text_pair": "b", "label": 0},
    ]
    with pytest.raises(ValueError, match="row 7 has no second sentence, others have one"):
        encode(rows, "classification", words, 12)


def test_a_word_is_labelled_by_its_first_token_and_one_that_is_cut_off_by_none(words: Any) -> None:
    row = {"id": 0, "tokens": ["ban", "nab", "kor", "mil"], "label": [0, 1, 2, 3]}
    encoded = encode([row], "tokens", words, 6)
    # "nab" is no word of the tokeniser: it is spelt.
    assert _text(words, encoded, 0) == ["[CLS]", "ban", "n", "##a", "##b", "[SEP]"]
    assert encoded.arrays["words"].tolist() == [-1, 0, 1, -1, -1, -1]
    # All labels are kept: those of words that the model never sees count as missed.
    assert encoded.arrays["labels"].tolist() == [0, 1, 2, 3]
    assert encoded.arrays["label_starts"].tolist() == [0, 4]


def test_words_and_labels_of_a_row_have_to_be_as_many(words: Any) -> None:
    with pytest.raises(ValueError, match="row 3 has 2 words and 1 labels"):
        encode([{"id": 3, "tokens": ["ban", "kor"], "label": [0]}], "tokens", words, 12)


def test_a_language_model_learns_the_answer_and_its_end_and_the_prompt_is_cut_at_its_beginning(letters: Any) -> None:
    end = letters.eos_token_id
    prompt, answer = letters("ban kor mil", add_special_tokens=False)["input_ids"], letters(" sust")["input_ids"]
    rows = [
        {"id": 0, "text": "ban kor mil", "text_pair": " sust", "label": None},
        {"id": 1, "text": "ban kor mil", "text_pair": None, "label": None},
    ]
    whole = encode(rows, "causal", letters, 64).arrays
    assert whole["input_ids"].tolist() == [*prompt, *answer, end, *prompt, end]
    assert whole["targets"].tolist() == [0] * len(prompt) + [1] * (len(answer) + 1 + len(prompt) + 1)
    cut = encode(rows[:1], "causal", letters, len(answer) + 3).arrays
    assert cut["input_ids"].tolist() == [*prompt[-2:], *answer, end]
    # An answer that is longer than all that is allowed leaves the prompt one token.
    short = encode(rows[:1], "causal", letters, 3).arrays
    assert short["input_ids"].tolist() == [prompt[-1], *[*answer, end][:2]]
    assert short["targets"].tolist() == [0, 1, 1]


def test_the_token_that_begins_a_text_is_kept_where_the_prompt_is_cut(letters: Any) -> None:
    from tokenizers import processors

    begin = letters.bos_token_id
    letters._tokenizer.post_processor = processors.TemplateProcessing(
        single="<|end|> $A", special_tokens=[("<|end|>", begin)]
    )
    prompt = letters("ban kor mil")["input_ids"]
    assert prompt[0] == begin
    row = {"id": 0, "text": "ban kor mil", "text_pair": "b", "label": None}
    tokens = encode([row], "causal", letters, 5).arrays["input_ids"].tolist()
    assert tokens[:3] == [begin, *prompt[-2:]]


def test_labels_of_each_kind_have_its_form(words: Any) -> None:
    for kind, dtype, shape in (
        ("classification", np.int64, (5,)),
        ("regression", np.float32, (5,)),
        ("multilabel", np.float32, (5, 3)),
    ):
        labels = encode(make_rows(kind, 5, 1), kind, words, 32).arrays["labels"]
        assert (labels.dtype, labels.shape) == (dtype, shape)


def test_more_rows_than_the_tokeniser_gets_at_once_come_in_order_and_progress_is_told(words: Any) -> None:
    rows = make_rows("classification", 2001, 1)
    told: list[int] = []
    encoded = encode(rows, "classification", words, 64, told.append)
    assert told == [1000, 2000, 2001]
    assert encoded.arrays["labels"].tolist() == [row["label"] for row in rows]
    assert _text(words, encoded, 2000)[1:-1] == f"{rows[2000]['text']} [SEP] {rows[2000]['text_pair']}".split()


def test_a_tokeniser_without_padding_is_refused_for_rows_that_need_it(tmp_path: Path) -> None:
    letters = load_tokenizer(write_causal_tokenizer(tmp_path), "classification")
    with pytest.raises(ValueError, match="no padding token"):
        encode(make_rows("classification", 2, 1), "classification", letters, 32)


def test_words_begin_with_a_blank_for_tokenisers_of_bytes(tmp_path: Path) -> None:
    folder = write_causal_tokenizer(tmp_path)
    settings = json.loads((folder / "tokenizer_config.json").read_text())
    (folder / "tokenizer_config.json").write_text(json.dumps({**settings, "pad_token": "<|end|>"}))
    tokenizer = load_tokenizer(folder, "tokens")
    row = {"id": 0, "tokens": ["ban", "kor"], "label": [0, 1]}
    encoded = encode([row], "tokens", tokenizer, 32)
    assert _text(tokenizer, encoded, 0) == load_tokenizer(folder, "classification").tokenize(" ban kor")
    # So does the tokeniser that is saved with the model.
    tokenizer.save_pretrained(tmp_path / "saved")
    again = load_tokenizer(tmp_path / "saved", "tokens")
    assert encode([row], "tokens", again, 32).arrays["input_ids"].tolist() == encoded.arrays["input_ids"].tolist()
