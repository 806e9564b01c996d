"""Metrics: by hand-made answers whose scores are known, and what needs no model."""

from __future__ import annotations

import math
from typing import Any

import pytest

pytest.importorskip("sklearn")
pytest.importorskip("nervaluate")

from icefield_train import metrics
from icefield_train.kinds import KINDS
from icefield_train.staged_task import StagedTask, task_from

TAGS = ("O", "B-PER", "I-PER", "B-LOC", "I-LOC")


def _task(kind: str, *names: str, labels: tuple[str, ...] = ()) -> StagedTask:
    return task_from({"kind": kind, "labels": labels, "metrics": names}, "")


def _compute(kind: str, truth: Any, answers: Any, labels: tuple[str, ...] = (), loss: float = 0.5) -> dict[str, float]:
    names = [name for name in KINDS[kind].metrics if name != "f1" or len(labels) == 2]
    return metrics.compute(_task(kind, *names, labels=labels), truth, answers, loss)


def test_two_classes() -> None:
    found = _compute("classification", [1, 1, 1, 0, 0], [1, 1, 0, 0, 1], ("no", "yes"))
    assert found["accuracy"] == found["micro_f1"] == pytest.approx(3 / 5)
    # Right 2, wrong 1, missed 1.
    assert found["f1"] == pytest.approx(2 * 2 / (2 * 2 + 1 + 1))
    assert found["macro_f1"] == pytest.approx((2 / 3 + 2 * 1 / (2 * 1 + 1 + 1)) / 2)
    assert found["matthews"] == pytest.approx((2 * 1 - 1 * 1) / math.sqrt(3 * 3 * 2 * 2))


def test_numbers() -> None:
    found = _compute("regression", [1.0, 2.0, 3.0, 4.0], [2.0, 4.0, 6.0, 80.0])
    assert found["spearman"] == pytest.approx(1.0)
    assert 0.7 < found["pearson"] < 0.9
    assert found["mse"] == pytest.approx((1 + 4 + 9 + 76**2) / 4)


def test_answers_that_do_not_vary_tell_nothing() -> None:
    found = _compute("regression", [1.0, 2.0, 3.0], [2.0, 2.0, 2.0])
    assert (found["pearson"], found["spearman"]) == (0.0, 0.0)


def test_several_classes_for_each_row() -> None:
    found = _compute("multilabel", [[1, 0, 1], [0, 0, 1]], [[1, 1, 1], [0, 0, 1]], ("a", "b", "c"))
    assert found["accuracy"] == pytest.approx(1 / 2)
    assert found["micro_f1"] == pytest.approx(2 * 3 / (2 * 3 + 1))
    assert found["macro_f1"] == pytest.approx((1 + 0 + 1) / 3)


def test_an_entity_is_right_where_both_ends_and_the_type_are() -> None:
    truth = [[1, 2, 0, 3, 4], [0, 1, 0]]
    # Shortened, of another type, right; and a word that was not seen.
    answers = [[1, 0, 0, 1, 2], [0, 1, -1]]
    found = _compute("tokens", truth, answers, TAGS)
    assert found["entity_precision"] == found["entity_recall"] == found["entity_f1"] == pytest.approx(1 / 3)
    assert found["accuracy"] == pytest.approx(4 / 8)


def test_entities_that_touch_are_two_and_one_may_begin_with_i() -> None:
    truth = [[1, 2, 1, 2], [4, 4]]
    assert _compute("tokens", truth, truth, TAGS)["entity_f1"] == 1.0
    assert _compute("tokens", truth, [[1, 2, 2, 2], [3, 4]], TAGS)["entity_f1"] == pytest.approx(2 * 1 / (2 + 3))


def test_the_tags_of_bioes_mean_the_same() -> None:
    tags = ("O", "B-PER", "I-PER", "E-PER", "S-PER")
    truth, answers = [[1, 2, 3, 0, 4, 4]], [[1, 2, 3, 0, 4, 0]]
    found = _compute("tokens", truth, answers, tags)
    assert (found["entity_precision"], found["entity_recall"]) == (1.0, pytest.approx(2 / 3))


def test_a_language_model_is_judged_by_its_loss() -> None:
    assert _compute("causal", [[1]], [None], loss=2.0)["perplexity"] == pytest.approx(math.exp(2.0))
    assert math.isfinite(_compute("causal", [[1]], [None], loss=1e6)["perplexity"])


@pytest.mark.parametrize(
    ("kind", "labels", "truth", "name", "scores"),
    [
        ("classification", ("no", "yes"), [1, 1, 0], "majority class", {"accuracy": 2 / 3}),
        ("regression", (), [1.0, 3.0], "mean", {"pearson": 0.0, "mse": 1.0}),
        ("multilabel", ("a", "b"), [[1, 0], [1, 0], [1, 1]], "most frequent labels", {"micro_f1": 6 / 7}),
        ("tokens", TAGS, [[0, 0, 1], [0]], "most frequent label", {"accuracy": 3 / 4, "entity_f1": 0.0}),
        # Two tokens as often as each other leave a choice of two.
        ("causal", (), [[7, 8], [8, 7]], "frequencies of tokens", {"perplexity": 2.0}),
    ],
)
def test_the_best_answer_without_a_model(
    kind: str, labels: tuple[str, ...], truth: Any, name: str, scores: dict[str, float]
) -> None:
    found = metrics.baseline(_task(kind, *scores, "loss", labels=labels), truth)
    assert found[0] == name
    assert {metric: found[1][metric] for metric in scores} == pytest.approx(scores)
    assert all(math.isfinite(score) for score in found[1].values())


@pytest.mark.parametrize(
    ("about", "line"),
    [
        (
            {"kind": "ranking", "labels": [], "metrics": []},
            "x: kind 'ranking' found, one of classification, regression, multilabel, tokens, causal expected",
        ),
        (
            {"kind": "regression", "labels": [], "metrics": ["f1"]},
            "x: metric 'f1' found, of pearson, spearman, mse, loss for regression",
        ),
        (
            {"labels": ["a", "b", "c"], "metrics": ["f1"]},
            "x: metric 'f1' is for 2 classes, 3 found; give macro_f1 or micro_f1",
        ),
        (
            {"kind": "tokens", "labels": ["O", "NOUN"], "metrics": ["entity_f1"]},
            "x: label 'NOUN' found, O and names that begin with B- or I- expected for entities; "
            "give accuracy as the metric of other tags",
        ),
    ],
)
def test_a_task_that_can_not_be_is_refused(about: dict[str, Any], line: str) -> None:
    with pytest.raises(ValueError) as refusal:
        task_from(about, "x")
    assert str(refusal.value) == line
