"""Each architecture that is accepted trains, is saved and comes back as it was. Needs torch."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from icefield_train import loop  # noqa: E402
from icefield_train.checkpoint import save_adapters, save_model  # noqa: E402
from icefield_train.config import TrainConfig  # noqa: E402
from icefield_train.data import EncodedRows, encoded_rows  # noqa: E402
from icefield_train.distributed import Dist  # noqa: E402
from icefield_train.encoding import encode  # noqa: E402
from icefield_train.evaluate import predict  # noqa: E402
from icefield_train.lora import merged  # noqa: E402
from icefield_train.model import (  # noqa: E402
    adapted,
    fitting_rows,
    freeze_unused,
    new_model,
    num_parameters,
    trained_model,
)
from icefield_train.model_files import DECODERS, ENCODERS, needed_files, takes_bf16  # noqa: E402
from icefield_train.precision import agreed_precision, calculating_in  # noqa: E402
from icefield_train.staged_task import StagedTask, task_from  # noqa: E402
from icefield_train.tokenizer import load_tokenizer  # noqa: E402
from tests.training.tiny import LABELS, METRICS, make_rows, write_tiny_model  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")


def _task(kind: str) -> StagedTask:
    return task_from({"kind": kind, "labels": LABELS[kind], "metrics": METRICS[kind]}, "")


def _rows(folder: Path, kind: str) -> EncodedRows:
    return encoded_rows(encode(make_rows(kind, 8, 1), kind, load_tokenizer(folder, kind), 24), kind)


def _train(folder: Path, kind: str, config: TrainConfig) -> tuple[Any, EncodedRows]:
    task = _task(kind)
    model = adapted(new_model(folder, task, 1)[0], task, config)
    rows = fitting_rows(model, _rows(folder, kind))
    freeze_unused(model, rows)
    losses: list[float] = []
    loop.train(
        model,
        rows,
        config,
        Dist(rank=0, world_size=1),
        precision="fp32",
        steps=2,
        on_step=lambda step: losses.append(step.loss),
    )
    assert len(losses) == 2
    assert all(math.isfinite(loss) and loss > 0 for loss in losses)
    return model.eval(), rows


def _logits(model: Any, rows: EncodedRows) -> Any:
    with torch.no_grad():
        return model(**rows.inputs(range(8))).logits


def _comes_back(model: Any, rows: EncodedRows, folder: Path, kind: str, saved: Path) -> None:
    before = _logits(model, rows)
    save_model(model, load_tokenizer(folder, kind, 24), saved)
    again = trained_model(saved, _task(kind)).eval()
    assert torch.allclose(_logits(again, fitting_rows(again, _rows(saved, kind))), before, atol=1e-6)
    # It is a model to start from as well, by the same checks.
    assert saved / "model.safetensors" in needed_files(saved, kind)


@pytest.mark.parametrize("kind", ["classification", "tokens"])
@pytest.mark.parametrize("model_type", ENCODERS)
def test_an_encoder_trains_and_comes_back(tmp_path: Path, model_type: str, kind: str) -> None:
    folder = write_tiny_model(tmp_path / "model", kind, model_type)
    model, rows = _train(folder, kind, TrainConfig(epochs=1, global_batch_size=4))
    assert [model.config.id2label[number] for number in range(len(LABELS[kind]))] == list(LABELS[kind])
    _comes_back(model, rows, folder, kind, tmp_path / "saved")


@pytest.mark.parametrize("kind", ["regression", "multilabel"])
def test_the_config_of_a_saved_model_tells_its_kind(tmp_path: Path, kind: str) -> None:
    folder = write_tiny_model(tmp_path / "model", kind)
    model, rows = _train(folder, kind, TrainConfig(epochs=1, global_batch_size=4))
    assert model.config.problem_type == {"regression": "regression", "multilabel": "multi_label_classification"}[kind]
    assert _logits(model, rows).shape == (8, 1 if kind == "regression" else 3)
    _comes_back(model, rows, folder, kind, tmp_path / "saved")


@pytest.mark.parametrize("model_type", ENCODERS)
def test_a_number_as_an_answer_has_more_digits_than_bf16(tmp_path: Path, model_type: str) -> None:
    folder = write_tiny_model(tmp_path / "model", "regression", model_type)
    model, _ = new_model(folder, _task("regression"), 1)
    rows = fitting_rows(model.eval(), _rows(folder, "regression"))
    alone = Dist(rank=0, world_size=1)
    if not takes_bf16(folder):
        assert agreed_precision("auto", [["avx512_bf16"]], folder) == "fp32"
        with pytest.raises(RuntimeError, match="BFloat16"):
            predict(model, rows, alone, precision="bf16")
        return
    assert agreed_precision("auto", [["avx512_bf16"]], folder) == "bf16"
    exact = predict(model, rows, alone, precision="fp32").predicted
    assert exact == pytest.approx(_logits(model, rows)[:, 0].tolist(), abs=1e-6)
    with calculating_in("bf16"):
        short = _logits(model, rows)
    found = torch.tensor(predict(model, rows, alone, precision="bf16").predicted)
    assert short.dtype == torch.bfloat16
    assert (found.bfloat16().float() != found).any()
    # The same answers, before they are rounded; and rounded again once the context is left.
    assert torch.allclose(found, short[:, 0].float(), rtol=0.02, atol=0.02)
    with calculating_in("bf16"):
        assert torch.equal(_logits(model, rows), short)


@pytest.mark.parametrize("model_type", DECODERS)
def test_a_language_model_trains_by_adapters_and_comes_back_whole(tmp_path: Path, model_type: str) -> None:
    from peft import PeftModel

    folder = write_tiny_model(tmp_path / "model", "causal", model_type)
    config = TrainConfig(epochs=1, global_batch_size=4, learning_rate=0.01, lora=True, lora_r=2, lora_dropout=0.0)
    model, rows = _train(folder, "causal", config)
    start, _ = new_model(folder, _task("causal"), 1)
    assert num_parameters(model) < 0.5 * num_parameters(start)
    before = _logits(model, rows)
    assert not torch.allclose(before, _logits(start.eval(), rows), atol=1e-5)
    save_adapters(model, str(folder), tmp_path / "adapters")
    assert not (tmp_path / "adapters/model.safetensors").exists()
    # The adapters alone, on the model that they belong to.
    assert torch.allclose(
        _logits(PeftModel.from_pretrained(start, tmp_path / "adapters").eval(), rows), before, atol=1e-5
    )
    whole = merged(model)
    assert torch.allclose(_logits(whole, rows), before, atol=1e-5)
    _comes_back(whole, rows, folder, "causal", tmp_path / "saved")
    assert trained_model(tmp_path / "saved", _task("causal")).config.use_cache is True


def test_all_weights_of_a_language_model_train_without_adapters(tmp_path: Path) -> None:
    folder = write_tiny_model(tmp_path / "model", "causal")
    model, rows = _train(folder, "causal", TrainConfig(epochs=1, global_batch_size=4))
    _comes_back(model, rows, folder, "causal", tmp_path / "saved")


@pytest.mark.parametrize("kind", ["classification", "tokens"])
def test_adapters_of_an_encoder_leave_its_inputs_and_train_its_head(tmp_path: Path, kind: str) -> None:
    folder = write_tiny_model(tmp_path / "model", kind)
    config = TrainConfig(epochs=1, global_batch_size=4, lora=True, lora_r=2, lora_target_modules="query, value")
    model, rows = _train(folder, kind, config)
    trained = {name for name, weight in model.named_parameters() if weight.requires_grad}
    assert any("classifier" in name for name in trained)
    assert all("classifier" in name or ".query.lora" in name or ".value.lora" in name for name in trained)
    assert set(rows.padding) == {"input_ids", "token_type_ids"}
    _comes_back(merged(model), rows, folder, kind, tmp_path / "saved")


def test_layers_that_are_not_there_are_named(tmp_path: Path) -> None:
    folder = write_tiny_model(tmp_path / "model")
    config = TrainConfig(lora=True, lora_target_modules="q_proj")
    with pytest.raises(ValueError) as refusal:
        adapted(new_model(folder, _task("classification"), 1)[0], _task("classification"), config)
    assert str(refusal.value) == (
        "setting 'lora_target_modules': value 'q_proj' is not accepted; "
        "give names of layers of this model: dense, key, query, value"
    )


def test_weights_that_nothing_depends_on_stay_as_they_are(tmp_path: Path) -> None:
    # The pooler of this encoder has no part in a classification of words.
    folder = write_tiny_model(tmp_path / "model", "tokens", "squeezebert")
    start, _ = new_model(folder, _task("tokens"), 1)
    pooler = start.transformer.pooler.dense.weight.clone()
    rows = fitting_rows(start, _rows(folder, "tokens"))
    assert freeze_unused(start, rows) == 16 * 16 + 16
    model, _ = _train(folder, "tokens", TrainConfig(epochs=1, global_batch_size=4))
    assert torch.equal(model.transformer.pooler.dense.weight, pooler)


def test_a_tokeniser_of_another_model_is_refused(tmp_path: Path) -> None:
    folder = write_tiny_model(tmp_path / "model", vocab_size=20)
    model, _ = new_model(folder, _task("classification"), 1)
    with pytest.raises(ValueError, match=r"the tokeniser gives token \d+, the model knows 20; they do not belong"):
        fitting_rows(model, _rows(folder, "classification"))


def test_a_tokeniser_that_comes_as_a_sentencepiece_model_is_read(tmp_path: Path) -> None:
    sentencepiece = pytest.importorskip("sentencepiece")
    folder = write_tiny_model(tmp_path / "model", "classification", "deberta-v2")
    for name in ("tokenizer.json", "tokenizer_config.json"):
        (folder / name).unlink()
    text = tmp_path / "text"
    text.write_text("\n".join(row["text"] for row in make_rows("classification", 200, 1)))
    names = {"pad_piece": "[PAD]", "unk_piece": "[UNK]", "bos_piece": "[CLS]", "eos_piece": "[SEP]"}
    sentencepiece.SentencePieceTrainer.train(
        input=str(text),
        model_prefix=str(folder / "spm"),
        vocab_size=60,
        hard_vocab_limit=False,
        minloglevel=9,
        **{"pad_id": 0, "unk_id": 1, "bos_id": 2, "eos_id": 3, **names, "user_defined_symbols": ["[MASK]"]},
    )
    assert folder / "spm.model" in needed_files(folder)
    tokenizer = load_tokenizer(folder, "classification")
    tokens = tokenizer.convert_ids_to_tokens(tokenizer("ban kor", "mil")["input_ids"])
    assert (tokens[0], tokens[-1], tokens.count("[SEP]"), "[UNK]" in tokens) == ("[CLS]", "[SEP]", 2, False)
    model, rows = _train(folder, "classification", TrainConfig(epochs=1, global_batch_size=4))
    _comes_back(model, rows, folder, "classification", tmp_path / "saved")
