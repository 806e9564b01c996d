"""Metrics on predictions, by scikit-learn."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence


def compute(names: Sequence[str], labels: Sequence[int], predicted: Sequence[int]) -> dict[str, float]:
    """Return the named metrics ("accuracy", "f1" of class 1), each from 0 to 1."""
    # Imported here: it takes most of a second, which ranks that compute no metrics need not spend.
    from sklearn.metrics import accuracy_score, f1_score

    functions = {
        "accuracy": lambda: accuracy_score(labels, predicted),
        "f1": lambda: f1_score(labels, predicted, pos_label=1, zero_division=0),
    }
    return {name: float(functions[name]()) for name in names}


def majority(names: Sequence[str], labels: Sequence[int]) -> dict[str, float]:
    """Return the metrics of always answering the most frequent label: what a model has to beat."""
    most_frequent = Counter(labels).most_common(1)[0][0]
    return compute(names, labels, [most_frequent] * len(labels))
