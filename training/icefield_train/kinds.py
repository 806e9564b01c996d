"""The kinds of tasks: what a label is, which model learns it, which metrics judge it. Standard library only."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class Kind:
    """One kind of task."""

    name: str
    label: str
    """What a row's label is, in words."""
    metrics: tuple[str, ...]
    """Metrics that make sense; the loss does always."""
    model: str
    """Class of transformers that makes the model of a folder."""
    problem_type: str = ""
    """Name of the kind in the config of a sequence classifier."""
    peft: str
    """Name of the kind in peft."""
    evaluate_rows: int = 32
    """Rows per forward pass of an evaluation. Not a setting: with the batches, the last digits of a sum may change."""


KINDS = {
    kind.name: kind
    for kind in (
        Kind(
            name="classification",
            label="the index of a class",
            metrics=("accuracy", "f1", "macro_f1", "micro_f1", "matthews"),
            model="AutoModelForSequenceClassification",
            problem_type="single_label_classification",
            peft="SEQ_CLS",
        ),
        Kind(
            name="regression",
            label="a number",
            metrics=("pearson", "spearman", "mse"),
            model="AutoModelForSequenceClassification",
            problem_type="regression",
            peft="SEQ_CLS",
        ),
        Kind(
            name="multilabel",
            label="0 or 1 for each class",
            metrics=("accuracy", "macro_f1", "micro_f1"),
            model="AutoModelForSequenceClassification",
            problem_type="multi_label_classification",
            peft="SEQ_CLS",
        ),
        Kind(
            name="tokens",
            label="the index of a class for each word",
            metrics=("accuracy", "entity_f1", "entity_precision", "entity_recall"),
            model="AutoModelForTokenClassification",
            peft="TOKEN_CLS",
        ),
        Kind(
            name="causal",
            label="none: the words that follow",
            metrics=("perplexity",),
            model="AutoModelForCausalLM",
            peft="CAUSAL_LM",
            # The logits of one row are its tokens times the whole vocabulary.
            evaluate_rows=4,
        ),
    )
}
DEFAULT_KIND = "classification"
