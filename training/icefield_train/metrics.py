"""Metrics of answers, by scikit-learn, SciPy and nervaluate, and of the answer that needs no model."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from icefield_train.staged_task import StagedTask

_Scores = Callable[[Sequence[Any], Sequence[Any]], float]


def compute(task: StagedTask, truth: Sequence[Any], answers: Sequence[Any], loss: float) -> dict[str, float]:
    """Return the metrics of a task.

    Args:
        task: its kind, labels and the names of its metrics.
        truth: what each row's answer should be: the index of a class, a number, 0 or 1 for each class, or a list with
            the index of each word's class.
        answers: the answers, in the same form; a word's may be -1, for none.
        loss: mean loss; the one of a language model is all that it is judged by.
    """
    given = {"loss": loss, "perplexity": math.exp(min(loss, 700.0))}
    scores = {name: given[name] for name in task.metrics if name in given}
    for name in task.metrics:
        if name.startswith("entity_"):
            scores[name] = _entities(task.labels, truth, answers)[name.removeprefix("entity_")]
        elif name not in given:
            flat = task.kind.name == "tokens"
            scores[name] = float(
                _SCORES[name](*(list(itertools.chain(*rows)) if flat else rows for rows in (truth, answers)))
            )
    return {name: scores[name] for name in task.metrics}


def baseline(task: StagedTask, truth: Sequence[Any]) -> tuple[str, dict[str, float]]:
    """Return the name and the metrics of the best answer that does not look at the rows: what a model has to beat."""
    if task.kind.name == "causal":
        return "frequencies of tokens", compute(task, truth, truth, _entropy(itertools.chain(*truth)))
    name, answers = _CONSTANT[task.kind.name](truth)
    scores = compute(task, truth, answers, math.nan)
    return name, {metric: score for metric, score in scores.items() if metric != "loss"}


def _mean(truth: Sequence[float]) -> tuple[str, list[Any]]:
    return "mean", [sum(truth) / len(truth)] * len(truth)


def _most_frequent_of_words(truth: Sequence[list[int]]) -> tuple[str, list[Any]]:
    most = _most_frequent(itertools.chain(*truth))
    return "most frequent label", [[most] * len(row) for row in truth]


_CONSTANT: dict[str, Callable[[Sequence[Any]], tuple[str, list[Any]]]] = {
    "classification": lambda truth: ("majority class", [_most_frequent(truth)] * len(truth)),
    "regression": _mean,
    "multilabel": lambda truth: ("most frequent labels", [list(_most_frequent(map(tuple, truth)))] * len(truth)),
    "tokens": _most_frequent_of_words,
}


def _most_frequent(values: Any) -> Any:
    return Counter(values).most_common(1)[0][0]


def _entropy(values: Any) -> float:
    """Return the mean loss, in nats, of a model that always answers with the frequencies of these values."""
    counts = Counter(values).values()
    total = sum(counts)
    return -sum(count / total * math.log(count / total) for count in counts)


def _entities(labels: Sequence[str], truth: Sequence[Any], answers: Sequence[Any]) -> dict[str, float]:
    """Return F1, precision and recall of entities, right where both ends and the type are: as in CoNLL's evaluation."""
    from nervaluate import Evaluator

    # Of BIOES the library knows B and I only, which say the same.
    names = [{"S": "B", "E": "I"}.get(label[0], label[0]) + label[1:] for label in labels]
    spelt = [[[names[label] if label >= 0 else "O" for label in row] for row in rows] for rows in (truth, answers)]
    types = sorted({name[2:] for name in names if name != "O"})
    found = Evaluator(*spelt, tags=types, loader="list").evaluate()["overall"]["strict"]
    return {"f1": float(found.f1), "precision": float(found.precision), "recall": float(found.recall)}


def _correlation(name: str) -> _Scores:
    def score(truth: Sequence[Any], answers: Sequence[Any]) -> float:
        from scipy import stats

        # Of something that does not vary it is not defined; it tells nothing then.
        if len(set(truth)) < 2 or len(set(answers)) < 2:
            return 0.0
        return float(getattr(stats, name)(truth, answers).statistic)

    return score


def _sklearn(name: str, **options: Any) -> _Scores:
    def score(truth: Sequence[Any], answers: Sequence[Any]) -> float:
        # Imported here: it takes most of a second, which ranks that compute no metrics need not spend.
        from sklearn import metrics

        return float(getattr(metrics, name)(truth, answers, **options))

    return score


_SCORES: dict[str, _Scores] = {
    "accuracy": _sklearn("accuracy_score"),
    # Of the last of two classes.
    "f1": _sklearn("f1_score", pos_label=1, zero_division=0),
    "macro_f1": _sklearn("f1_score", average="macro", zero_division=0),
    "micro_f1": _sklearn("f1_score", average="micro", zero_division=0),
    "matthews": _sklearn("matthews_corrcoef"),
    "mse": _sklearn("mean_squared_error"),
    "pearson": _correlation("pearsonr"),
    "spearman": _correlation("spearmanr"),
}
