"""Pretrained heads: their classes are found by name, whatever their order. Needs torch."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from icefield_train.data import encoded_rows  # noqa: E402
from icefield_train.distributed import Dist  # noqa: E402
from icefield_train.encoding import encode  # noqa: E402
from icefield_train.evaluate import predict  # noqa: E402
from icefield_train.evaluate_command import evaluate  # noqa: E402
from icefield_train.heads import class_order  # noqa: E402
from icefield_train.model import new_model, trained_model  # noqa: E402
from icefield_train.staged_task import StagedTask, task_from  # noqa: E402
from icefield_train.tokenizer import load_tokenizer  # noqa: E402
from tests.training.tiny import make_rows, tiny_config, write_data, write_rows, write_tokenizer  # noqa: E402

# As GLUE's MNLI has them, and as some models that were trained on it do.
DATA = ("entailment", "neutral", "contradiction")
MODEL = ("CONTRADICTION", "ENTAILMENT", "NEUTRAL")


def _task(labels: tuple[str, ...]) -> StagedTask:
    return task_from({"labels": labels, "metrics": ["accuracy"]}, "")


def _write(folder: Path, names: tuple[str, ...], model_type: str = "bert") -> Any:
    torch.manual_seed(3)
    config = tiny_config(model_type, num_labels=len(names), id2label=dict(enumerate(names)))
    config.label2id = {name: number for number, name in enumerate(names)}
    model = transformers.AutoModelForSequenceClassification.from_config(config)
    # Far from even, so that the classes differ.
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if weight.shape[:1] == (len(names),) and "bias" in name:
                weight.copy_(torch.arange(len(names)) - 1.0)
    model.save_pretrained(folder)
    write_tokenizer(folder)
    return model.eval()


def _answers(model: Any, folder: Path) -> list[str]:
    rows = encode(make_rows("classification", 20, 5), "classification", load_tokenizer(folder, "classification"), 24)
    found = predict(model, encoded_rows(rows, "classification"), Dist(rank=0, world_size=1), precision="fp32")
    return [model.config.id2label[number] for number in found.predicted]


# Roberta's and Electra's heads have two layers, Deberta's comes behind a pooler of its own.
@pytest.mark.parametrize("model_type", ["bert", "roberta", "electra", "deberta-v2"])
@pytest.mark.parametrize("load", ["new", "trained"])
def test_classes_in_another_order_are_put_into_that_of_the_data(tmp_path: Path, model_type: str, load: str) -> None:
    model = _write(tmp_path, MODEL, model_type)
    if load == "new":
        mapped, head = new_model(tmp_path, _task(DATA), 7)
        assert head == (
            "pretrained head, its classes CONTRADICTION, ENTAILMENT, NEUTRAL put into the order of the data"
        )
    else:
        mapped = trained_model(tmp_path, _task(DATA))
    assert mapped.config.id2label == dict(enumerate(DATA))
    assert _answers(mapped, tmp_path) == [name.lower() for name in _answers(model, tmp_path)]
    # The numbers themselves, too.
    inputs = {"input_ids": torch.arange(5, 12).unsqueeze(0)}
    assert torch.equal(mapped(**inputs).logits, model(**inputs).logits[:, [1, 2, 0]])


def test_a_head_of_the_same_order_is_kept_and_one_without_names_as_it_is(tmp_path: Path) -> None:
    for names, words in (
        (DATA, "pretrained head"),
        (("LABEL_0", "LABEL_1", "LABEL_2"), "pretrained head, whose classes have no names"),
    ):
        model = _write(tmp_path, names)
        kept, head = new_model(tmp_path, _task(DATA), 7)
        assert head == words
        assert torch.equal(kept.classifier.weight, model.classifier.weight)


def test_the_head_of_another_task_is_new_and_the_seed_s(tmp_path: Path) -> None:
    model = _write(tmp_path, ("angry", "glad", "sad"))
    new, head = new_model(tmp_path, _task(DATA), 7)
    assert head == "new head, the pretrained one answers with angry, glad, sad"
    assert not torch.allclose(new.classifier.weight, model.classifier.weight)
    assert new.classifier.weight.std() < 0.1
    assert torch.equal(new.classifier.weight, new_model(tmp_path, _task(DATA), 7)[0].classifier.weight)
    assert not torch.equal(new.classifier.weight, new_model(tmp_path, _task(DATA), 8)[0].classifier.weight)


def test_a_head_of_another_size_is_new(tmp_path: Path) -> None:
    _write(tmp_path, MODEL)
    new, head = new_model(tmp_path, _task(("no", "yes")), 7)
    assert head == "new head"
    assert new.classifier.weight.shape[0] == 2


def test_a_model_from_elsewhere_is_evaluated_on_rows_longer_than_it_takes(tmp_path: Path) -> None:
    _write(tmp_path / "model", ("Yes", "No"))
    data = write_data(tmp_path / "data", "classification")
    rows = make_rows("classification", 4, 5)
    rows[2]["text"] = "ban " * 300
    write_rows(data / "dev.jsonl", rows)
    found = evaluate(tmp_path / "model", data, batch_size=0, precision="fp32")
    assert found["dev_rows"] == 4
    assert found["baseline_name"] == "majority class"


def test_classes_that_differ_in_case_alone_are_not_taken_for_each_other(tmp_path: Path) -> None:
    names = ("Yes", "no", "yes")
    model = _write(tmp_path / "model", names)
    data = write_data(tmp_path / "data", "classification", labels=names, metrics=["accuracy"])
    assert evaluate(tmp_path / "model", data, batch_size=0, precision="fp32")["dev_rows"] == 9
    assert _answers(trained_model(tmp_path / "model", _task(names)), tmp_path / "model") == _answers(
        model, tmp_path / "model"
    )


def test_a_trained_model_that_answers_with_other_classes_is_refused(tmp_path: Path) -> None:
    _write(tmp_path, MODEL)
    with pytest.raises(ValueError, match=r"^it answers with CONTRADICTION, ENTAILMENT, NEUTRAL, the data has no, yes$"):
        trained_model(tmp_path, _task(("no", "yes")))


@pytest.mark.parametrize(
    ("found", "wanted", "order"),
    [
        (["b", "a"], ["a", "b"], [1, 0]),
        (["not equivalent", "Equivalent"], ["equivalent", "not_equivalent"], [1, 0]),
        (["a", "b"], ["a", "c"], None),
        (["a", "b", "c"], ["a", "b"], None),
        (["a"], ["a", "b"], None),
        (["a", "A"], ["a", "b"], None),
        (["B-per", "O"], ["O", "B-PER"], [1, 0]),
        (["Yes", "no", "yes"], ["Yes", "no", "yes"], [0, 1, 2]),
        (["a b", "a-b", "a_b"], ["a-b", "a_b", "a b"], [1, 2, 0]),
        (["Yes", "yes"], ["YES", "yes"], None),
        (["no", "yes"], ["Yes", "yes"], None),
    ],
)
def test_the_order_of_classes_is_found_by_name(found: list[str], wanted: list[str], order: list[int] | None) -> None:
    assert class_order(found, wanted) == order
