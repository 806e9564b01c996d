"""What ``evaluate`` and ``predict`` refuse: damaged models and data, and those that do not belong together."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from icefield_train.answering import load_answering  # noqa: E402
from icefield_train.evaluate_command import main as evaluate_main  # noqa: E402
from icefield_train.node_cpu import threads_alone  # noqa: E402
from icefield_train.predict_command import main as predict_main  # noqa: E402
from icefield_train.staged_task import read_task  # noqa: E402
from tests.training.tiny import LABELS, make_rows, tiny_config, write_data, write_rows, write_tiny_model  # noqa: E402

KINDS = ("classification", "regression", "multilabel", "tokens", "causal")
_HEADS = {"tokens": transformers.AutoModelForTokenClassification, "causal": transformers.AutoModelForCausalLM}
_PROBLEMS = {"classification": "single_label", "regression": "regression", "multilabel": "multi_label"}


def _write_trained(folder: Path, kind: str) -> Path:
    """Write a model as training leaves it: with a head, its names and its tokeniser."""
    write_tiny_model(folder, kind)
    about: dict[str, Any] = {"num_labels": 1} if kind == "regression" else {}
    if LABELS[kind]:
        about = {"id2label": dict(enumerate(LABELS[kind])), "label2id": {n: i for i, n in enumerate(LABELS[kind])}}
    if kind in _PROBLEMS:
        about["problem_type"] = _PROBLEMS[kind] + "_classification" * (kind != "regression")
    maker = _HEADS.get(kind, transformers.AutoModelForSequenceClassification)
    maker.from_config(tiny_config("gpt2" if kind == "causal" else "bert", **about)).save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Path, Path]]:
    """Return model and data for each kind."""
    top = tmp_path_factory.mktemp("answering")
    return {kind: (_write_trained(top / kind, kind), write_data(top / f"{kind}-data", kind)) for kind in KINDS}


def _refusal(model: Path, data: Path, capsys: pytest.CaptureFixture[str]) -> str:
    code = evaluate_main(["--model", str(model), "--data", str(data)])
    out, err = capsys.readouterr()
    assert (code, out, err.count("\n")) == (2, "", 1)
    return err.removesuffix("\n").replace(str(model), "MODEL").replace(str(data), "DATA")


@pytest.mark.parametrize("kind", KINDS)
def test_a_model_answers_the_data_of_its_own_kind_alone(
    kind: str, folders: dict[str, tuple[Path, Path]], capsys: pytest.CaptureFixture[str]
) -> None:
    data = folders[kind][1]
    for other, (model, _) in folders.items():
        if other == kind:
            assert evaluate_main(["--model", str(model), "--data", str(data), "--json"]) == 0
            assert json.loads(capsys.readouterr().out)["dev_rows"] == 9
        else:
            start = "setting 'model': value 'MODEL' is not accepted; give a folder with a trained model ("
            assert _refusal(model, data, capsys).startswith(start)


def _edit_config(folder: Path, **changes: Any) -> None:
    content = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**content, **changes}))


def _cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:500])


_MODELS: dict[str, tuple[Callable[[Path], object], str]] = {
    "config is a list": (lambda f: (f / "config.json").write_text("[]"), "config.json is no JSON object"),
    "config is cut off": (lambda f: (f / "config.json").write_text("{"), "config.json can't be read as JSON"),
    "config is gone": (lambda f: (f / "config.json").unlink(), "config.json is missing"),
    "config has words for sizes": (lambda f: _edit_config(f, num_hidden_layers="x"), "config.json: num_hidden_layers"),
    "config has more layers": (
        lambda f: _edit_config(f, num_hidden_layers=3),
        "it has no weights that fit config.json for bert.encoder.layer.2",
    ),
    "config has other classes": (
        lambda f: _edit_config(f, id2label={"0": "a", "1": "b", "2": "c"}),
        "it has no weights that fit config.json for classifier.bias and 1 more)",
    ),
    "weights are cut off": (lambda f: _cut(f / "model.safetensors"), "model.safetensors is damaged"),
    "weights are gone": (lambda f: (f / "model.safetensors").unlink(), "model.safetensors is missing"),
    "tokeniser is gone": (lambda f: [path.unlink() for path in f.glob("tokenizer*")], "it has no tokenizer"),
    "tokeniser is empty": (lambda f: (f / "tokenizer.json").write_text("{}"), "tokenizer.json: no vocabulary found"),
    "tokeniser is damaged": (
        lambda f: (f / "tokenizer.json").write_text('{"model": {"type": "Nonsense", "vocab": {"a": 0}}}'),
        "its tokeniser can't be loaded: ",
    ),
}


@pytest.mark.parametrize("name", _MODELS)
def test_a_damaged_model_is_refused_in_one_line(
    name: str, folders: dict[str, tuple[Path, Path]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model, data = folders["classification"]
    shutil.copytree(model, tmp_path / "model")
    damage, words = _MODELS[name]
    damage(tmp_path / "model")
    start = f"setting 'model': value 'MODEL' is not accepted; give a folder with a trained model ({words}"
    assert _refusal(tmp_path / "model", data, capsys).startswith(start)


def test_a_model_whose_answers_are_not_numbers_is_refused(
    folders: dict[str, tuple[Path, Path]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from safetensors.torch import load_file, save_file

    model, data = folders["classification"]
    shutil.copytree(model, tmp_path / "model")
    weights = load_file(tmp_path / "model" / "model.safetensors")
    weights["classifier.weight"].fill_(float("nan"))
    save_file(weights, tmp_path / "model" / "model.safetensors", metadata={"format": "pt"})
    assert _refusal(tmp_path / "model", data, capsys).startswith("what the model answers is not a number: ")


def test_staged_text_that_no_file_should_have_is_refused(
    folders: dict[str, tuple[Path, Path]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model, _ = folders["classification"]
    data = write_data(tmp_path / "data", "classification")
    write_rows(data / "dev.jsonl", [{**_ROW, "text": "\ud800"}])
    assert _refusal(model, data, capsys) == "DATA/dev.jsonl line 1: half a character found, text expected"


@pytest.mark.parametrize("kind", ["classification", "regression"])
def test_an_encoder_without_a_head_is_refused(
    kind: str, folders: dict[str, tuple[Path, Path]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model = write_tiny_model(tmp_path / "bert")
    assert _refusal(model, folders[kind][1], capsys).endswith(
        "(it is a BertModel, a BertForSequenceClassification expected)"
    )
    _edit_config(model, architectures=None, num_labels=1 if kind == "regression" else 2)
    assert "(it has no weights that fit config.json for classifier." in _refusal(model, folders[kind][1], capsys)


_ROW = {"id": 0, "text": "a", "text_pair": None, "label": 1}
_DATA: dict[str, tuple[str, str | None, str]] = {
    "task is gone": ("task.json", None, "setting 'data_dir': value 'DATA' is not accepted; give a folder with"),
    "task is empty": ("task.json", "{}", "DATA/task.json: no list of names 'labels' found"),
    "task is a list": ("task.json", "[]", "setting 'data_dir': value 'DATA' is not accepted; give a folder with"),
    "task is nested too deeply": (
        "task.json",
        "[" * 100_000,
        "setting 'data_dir': value 'DATA' is not accepted; give a folder with train.jsonl, dev.jsonl and task.json",
    ),
    "task has a list for files": (
        "task.json",
        '{"labels": ["no", "yes"], "metrics": [], "dev": ["dev.jsonl"]}',
        "DATA/task.json: 'dev' is no object with the names of files",
    ),
    "rows are gone": ("dev.jsonl", None, "DATA/dev.jsonl: can't be read (No such file or directory)"),
    "rows are empty": ("dev.jsonl", "", "DATA/dev.jsonl: no rows found, at least 1 expected"),
    "a row is of another kind": (
        "dev.jsonl",
        json.dumps(_ROW) + '\n{"a": 1}\n\n',
        'DATA/dev.jsonl line 2: no texts "text" and "text_pair" found, the second of which may be null (and line 3)',
    ),
    "a row is cut off": ("dev.jsonl", '{"id": 0, "te', "DATA/dev.jsonl line 1: no JSON object found, a row expected"),
    "a label is beyond the classes": (
        "dev.jsonl",
        json.dumps({**_ROW, "label": 2}),
        "DATA/dev.jsonl line 1: label 2 found, the index of a class expected",
    ),
    "a label is a name": (
        "dev.jsonl",
        json.dumps({**_ROW, "label": "yes"}),
        'DATA/dev.jsonl line 1: label "yes" found, the index of a class expected',
    ),
}


@pytest.mark.parametrize("name", _DATA)
def test_damaged_data_is_refused_in_one_line(
    name: str, folders: dict[str, tuple[Path, Path]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model, data = folders["classification"]
    shutil.copytree(data, tmp_path / "data")
    file, content, words = _DATA[name]
    if content is None:
        (tmp_path / "data" / file).unlink()
    else:
        (tmp_path / "data" / file).write_text(content)
    assert _refusal(model, tmp_path / "data", capsys).startswith(words)


@pytest.mark.parametrize("kind", ["regression", "multilabel", "tokens"])
@pytest.mark.parametrize("label", ["x", [2], [0, 1], True, {}])
def test_a_label_of_another_kind_is_refused(
    kind: str,
    label: Any,
    folders: dict[str, tuple[Path, Path]],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    model, data = folders[kind]
    shutil.copytree(data, tmp_path / "data")
    rows = make_rows(kind, 5, 1)
    rows[3]["label"] = label
    if kind == "tokens":
        rows[3]["tokens"] = ["a", "b", "c"]
    write_rows(tmp_path / "data/dev.jsonl", rows)
    assert _refusal(model, tmp_path / "data", capsys).startswith("DATA/dev.jsonl line 4: label ")


@pytest.mark.parametrize("given", ["", "3"])
def test_it_calculates_with_the_threads_of_a_rank_unless_told_otherwise(
    given: str, folders: dict[str, tuple[Path, Path]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", given)
    before = torch.get_num_threads()
    # As OpenMP itself does where the variable is set before torch is loaded.
    torch.set_num_threads(3)
    try:
        model, data = folders["classification"]
        load_answering(model, read_task(data), "fp32")
        assert torch.get_num_threads() == (3 if given else threads_alone())
    finally:
        torch.set_num_threads(before)


def test_rows_to_predict_are_looked_at_as_well(
    folders: dict[str, tuple[Path, Path]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    model, _ = folders["classification"]
    data = write_data(tmp_path / "data", "classification", predict={"test": "test.jsonl"})
    arguments = ["--model", str(model), "--data", str(data), "--out", str(tmp_path / "out")]
    assert predict_main(arguments) == 2
    assert capsys.readouterr().err == f"{data}/test.jsonl: can't be read (No such file or directory)\n"
    write_rows(data / "test.jsonl", [{**_ROW, "label": None}, {**_ROW, "text": ""}])
    assert predict_main(arguments) == 0
    assert len((tmp_path / "out/test.tsv").read_text().splitlines()) == 3
