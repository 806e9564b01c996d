"""Generated data: the same for the same seed, no dev pair in training, and no reward for counting words."""

from __future__ import annotations

import re

import pytest

from icefield_train import paraphrase


@pytest.fixture(scope="module")
def data() -> dict[str, list[dict[str, object]]]:
    return paraphrase.generate()


def test_the_same_seed_gives_the_same_rows_and_another_seed_others() -> None:
    assert paraphrase.generate(50, 20) == paraphrase.generate(50, 20)
    assert paraphrase.generate(50, 20, seed=1) != paraphrase.generate(50, 20)


def test_there_are_several_thousand_rows_with_mrpc_s_share_of_paraphrases(
    data: dict[str, list[dict[str, object]]],
) -> None:
    assert len(data["train"]) == 5000
    assert len(data["dev"]) == 800
    for rows in data.values():
        share = sum(row["label"] for row in rows) / len(rows)  # type: ignore[misc]
        assert share == pytest.approx(0.674, abs=0.03)


def test_no_pair_occurs_twice_and_none_of_dev_in_training(data: dict[str, list[dict[str, object]]]) -> None:
    pairs = {name: [frozenset((row["text"], row["text_pair"])) for row in rows] for name, rows in data.items()}
    assert all(len(pair) == 2 for rows in pairs.values() for pair in rows)
    assert not set(pairs["dev"]) & set(pairs["train"])
    assert len(set(pairs["train"])) == len(pairs["train"])


def test_the_share_of_common_words_tells_hardly_more_than_the_majority_class(
    data: dict[str, list[dict[str, object]]],
) -> None:
    def overlap(row: dict[str, object]) -> float:
        first, second = (set(re.findall(r"\w+", str(row[name]).lower())) for name in ("text", "text_pair"))
        return len(first & second) / len(first | second)

    overlaps = [overlap(row) for row in data["train"]]
    labels = [bool(row["label"]) for row in data["train"]]
    best = max(
        sum((value >= cut) == (label == positive) for value, label in zip(overlaps, labels, strict=True)) / len(labels)
        for cut in (step / 40 for step in range(42))
        for positive in (True, False)
    )
    majority = sum(labels) / len(labels)
    assert best < majority + 0.05
