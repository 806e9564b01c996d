"""Exchange of gradients: by rows it is that of whole tensors, in 16 bits it adds up in 32. Needs torch."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

import numpy as np  # noqa: E402

from icefield_train import distributed, loop  # noqa: E402
from icefield_train.chunk_exchange import ChunkExchange  # noqa: E402
from icefield_train.config import TrainConfig  # noqa: E402
from icefield_train.data import EncodedRows, encoded_rows  # noqa: E402
from icefield_train.distributed import Dist  # noqa: E402
from icefield_train.embedding_rows import choose_embedding  # noqa: E402
from icefield_train.encoding import encode  # noqa: E402
from icefield_train.model import adapted, fitting_rows, freeze_unused, new_model  # noqa: E402
from icefield_train.staged_task import task_from  # noqa: E402
from icefield_train.tokenizer import load_tokenizer  # noqa: E402
from icefield_train.wire import wire_of  # noqa: E402
from tests.training import whole_run  # noqa: E402
from tests.training.ranks import run_ranks  # noqa: E402
from tests.training.tiny import LABELS, METRICS, make_rows, write_data, write_tiny_model  # noqa: E402

WORLDS = (2, 3, 4)
# 50 rows in batches of 16: in the last of an epoch two of four ranks have no row.
ROWS, BATCH, STEPS = 50, 16, 8
WORDS = "bert.embeddings.word_embeddings.weight"
# Name of a way -> options of the exchange, settings of the run.
WAYS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "dense": ({}, {}),
    "sparse": ({"embedding": WORDS}, {}),
    "sparse accumulated": ({"embedding": WORDS}, {"per_device_batch_size": 2}),
    "dense accumulated": ({}, {"per_device_batch_size": 2}),
    "dense bf16": ({"wire_format": "bf16"}, {}),
    "sparse bf16": ({"wire_format": "bf16", "embedding": WORDS}, {}),
    "sparse fp16": ({"wire_format": "fp16", "embedding": WORDS}, {}),
    "sparse bf16 accumulated": ({"wire_format": "bf16", "embedding": WORDS}, {"per_device_batch_size": 2}),
    "small buckets": ({"wire_format": "bf16", "embedding": WORDS, "bucket_mb": 1}, {}),
}
# Fewer numbers than ranks, a number of them that leaves a rest, more than a cache line; scale of the numbers.
TENSORS = ((1, 1.0), (3, 1.0), (1001, 1.0), (1001, 1e-20), (1001, 1e30))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    base = tmp_path_factory.mktemp("models")
    # Wide enough for several buckets of 1 MiB.
    write_tiny_model(base / "encoder", hidden_size=128, intermediate_size=1024)
    write_tiny_model(base / "causal", "causal")
    return base


def _loaded(base: Path, kind: str = "classification", **settings: Any) -> tuple[Any, EncodedRows, TrainConfig]:
    config = TrainConfig(epochs=5, global_batch_size=BATCH, learning_rate=1e-3, **settings)
    task = task_from({"kind": kind, "labels": LABELS[kind], "metrics": METRICS[kind]}, "")
    home = base / ("causal" if kind == "causal" else "encoder")
    model = adapted(new_model(home, task, 7)[0], task, config)
    rows = encoded_rows(encode(make_rows(kind, ROWS, 1), kind, load_tokenizer(home, kind), 24), kind)
    rows = fitting_rows(model, rows)
    freeze_unused(model, rows)
    return model, rows, config


def _trained(base: Path, ranks: Dist, options: dict[str, Any], settings: dict[str, Any]) -> tuple[bytes, list[float]]:
    model, rows, config = _loaded(base, **settings)
    losses: list[float] = []
    loop.train(
        distributed.parallel(ranks, model, **options),
        rows,
        config,
        ranks,
        precision="fp32",
        steps=STEPS,
        on_step=lambda step: losses.append(step.loss),
    )
    weights = torch.cat([weight.detach().flatten() for weight in model.parameters()])
    return weights.numpy().tobytes(), losses


def _values(rank: int, size: int, scale: float) -> np.ndarray:
    # Of different size on each rank and along the tensor.
    dice = np.random.default_rng([rank, size])
    return (dice.standard_normal(size) * np.logspace(-3, 0, size) * scale * (rank + 1)).astype(np.float32)


def _averaged(ranks: Dist, wire: str) -> list[bytes]:
    exchange = ChunkExchange(wire_of(wire), distributed.timedelta(seconds=60), ranks.group)
    found = []
    # Each twice: buffers serve again.
    for _ in range(2):
        waiting = [
            exchange.average(torch.from_numpy(_values(ranks.rank, size, scale)), place)
            for place, (size, scale) in enumerate(TENSORS)
        ]
        found += [future.wait().numpy().tobytes() for future in waiting]
    return found


def _lost(base: Path, ranks: Dist) -> str:
    model, rows, _ = _loaded(base)
    model = distributed.parallel(ranks, model, embedding=WORDS)
    distributed.begin_step(model, lambda: torch.tensor([0, 2, 3]))
    try:
        model(**rows.inputs([0]))
    except RuntimeError as error:
        return str(error)
    return ""


class Scenario:
    """All ways in one process group: processes are slow to start."""

    def __init__(self, base: Path) -> None:
        self.base = base

    def __call__(self, ranks: Dist) -> dict[str, Any]:
        return {
            **{name: _trained(self.base, ranks, *way) for name, way in WAYS.items()},
            **({wire: _averaged(ranks, wire) for wire in ("bf16", "fp16")} if ranks.world_size > 1 else {}),
            "lost": _lost(self.base, ranks),
        }


@pytest.fixture(scope="module")
def results(folder: Path) -> dict[int, list[dict[str, Any]]]:
    return {world_size: run_ranks(world_size, Scenario(folder)) for world_size in (1, *WORLDS)}


def _weights(result: dict[str, Any], way: str) -> np.ndarray:
    return np.frombuffer(result[way][0], dtype=np.float32)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("world_size", WORLDS)
def test_all_ranks_end_with_the_same_bits(results: dict[int, Any], world_size: int, way: str) -> None:
    first, *others = results[world_size]
    assert all(other[way] == first[way] for other in others)


@pytest.mark.parametrize("suffix", ["", " accumulated"])
def test_rows_give_the_bits_of_whole_tensors_on_two_ranks(results: dict[int, Any], suffix: str) -> None:
    result = results[2][0]
    assert result[f"sparse{suffix}"] == result[f"dense{suffix}"]


@pytest.mark.parametrize("suffix", ["", " accumulated"])
@pytest.mark.parametrize("world_size", (3, 4))
def test_rows_give_the_weights_of_whole_tensors(results: dict[int, Any], world_size: int, suffix: str) -> None:
    result, alone = results[world_size][0], results[1][0]
    assert result[f"sparse{suffix}"][1] == pytest.approx(result[f"dense{suffix}"][1], rel=1e-5)
    assert result[f"sparse{suffix}"][1] == pytest.approx(alone[f"dense{suffix}"][1], rel=1e-4)
    # AdamW makes steps of some 1e-3 of gradients of any size, also of those that are nothing but rounding.
    changes = np.abs(_weights(result, f"sparse{suffix}") - _weights(result, f"dense{suffix}"))
    assert np.quantile(changes, 0.99) < 1e-5


@pytest.mark.parametrize("way", [way for way, (options, _) in WAYS.items() if "wire_format" in options])
@pytest.mark.parametrize("world_size", WORLDS)
def test_losses_stay_near_with_16_bits_on_the_wire(results: dict[int, Any], world_size: int, way: str) -> None:
    found = results[world_size][0]
    assert found[way][1] == pytest.approx(found["dense"][1], rel=0.03)
    # They did travel in 16 bits.
    assert found[way][0] != found["dense"][0]


def _round(values: np.ndarray, wire: str) -> np.ndarray:
    if wire == "bf16":
        return torch.from_numpy(values).bfloat16().float().numpy()
    largest = float(np.abs(values).max()) if len(values) else 0.0
    scale = np.float32(2.0 ** (14 - math.floor(math.log2(largest)))) if largest else np.float32(1)
    return (values * scale).astype(np.float16).astype(np.float32) / scale


@pytest.mark.parametrize("wire", ["bf16", "fp16"])
@pytest.mark.parametrize("world_size", WORLDS)
def test_means_are_those_of_rounded_numbers_added_up_in_32_bits(
    results: dict[int, Any], world_size: int, wire: str
) -> None:
    for number, (size, scale) in enumerate([*TENSORS, *TENSORS]):
        values = [_values(rank, size, scale) for rank in range(world_size)]
        expected = []
        for owner, part in enumerate(np.array_split(np.arange(size), world_size)):
            total = np.zeros(len(part), dtype=np.float32)
            for rank in range(world_size):
                total += values[rank][part] if rank == owner else _round(values[rank][part], wire)
            expected.append(_round(total * np.float32(1 / world_size), wire))
        for result in results[world_size]:
            assert result[wire][number] == np.concatenate(expected).tobytes()


def test_numbers_of_any_size_keep_their_precision_in_16_bits() -> None:
    wire = wire_of("fp16")
    for scale in (1e-38, 1e-30, 1e-6, 1.0, 1e20, 3e38):
        values = torch.linspace(0.5, 1.0, 100) * scale
        data, found = torch.empty(101, dtype=wire.dtype), torch.empty(100)
        wire.encode(values, data)
        wire.decode(data, found)
        assert torch.allclose(found, values, rtol=2**-11, atol=0.0), scale


@pytest.mark.parametrize("name", ["bf16", "fp16"])
def test_what_is_not_a_number_arrives_as_such(name: str) -> None:
    wire = wire_of(name)
    values = torch.tensor([1.0, float("nan"), float("inf"), 0.0])
    data, found = torch.empty(4 + wire.header, dtype=wire.dtype), torch.empty(4)
    wire.encode(values, data)
    wire.decode(data, found)
    assert found.tolist() == pytest.approx([1.0, float("nan"), float("inf"), 0.0], nan_ok=True)


def test_an_unknown_format_is_refused() -> None:
    with pytest.raises(ValueError, match="'fp8' is no 16-bit format of the wire; give one of bf16, fp16"):
        wire_of("fp8")


def test_a_word_that_nobody_was_told_of_ends_the_step(results: dict[int, Any]) -> None:
    for result in results[2]:
        assert "looks up words that the step does not have" in result["lost"]


@pytest.mark.parametrize(
    ("kind", "settings", "words"),
    [
        ("classification", {}, "sparse, "),
        ("causal", {}, "dense, the word embeddings are also other weights"),
        ("causal", {"lora": True}, "none, word embeddings are not trained"),
        ("classification", {"lora": True}, "none, word embeddings are not trained"),
    ],
)
def test_rows_are_exchanged_where_nothing_else_uses_the_weights(
    folder: Path, kind: str, settings: dict[str, Any], words: str
) -> None:
    model, rows, _ = _loaded(folder, kind, **settings)
    choice = choose_embedding(model, rows, "auto", 2)
    assert choice.words.startswith(words)
    assert choice.parameter == (WORDS if words == "sparse, " else "")
    assert all(weight.grad is None for weight in model.parameters())


def test_rows_are_not_exchanged_where_they_need_not_be(folder: Path) -> None:
    model, rows, _ = _loaded(folder)
    assert choose_embedding(model, rows, "dense", 2).parameter == ""
    assert choose_embedding(model, rows, "auto", 1).parameter == ""


def test_rows_are_refused_where_others_have_gradients(folder: Path) -> None:
    model, rows, _ = _loaded(folder, "causal")
    with pytest.raises(ValueError, match=r"'embedding_exchange': value 'sparse' .* give auto or dense: the word emb"):
        choose_embedding(model, rows, "sparse", 2)
    model, rows, _ = _loaded(folder)
    # As a model does that looks up a word of its own.
    model.get_input_embeddings().register_forward_hook(lambda layer, inputs, found: found + layer.weight[399])
    with pytest.raises(ValueError, match="words that are not in a row have a gradient"):
        choose_embedding(model, rows, "sparse", 2)


class _Bytes:
    """Bytes of a step of a model of MiniLM's size: 64 rows of 50 tokens, all over the vocabulary."""

    def __call__(self, ranks: Dist) -> dict[str, int]:
        from transformers import BertConfig, BertForSequenceClassification

        found = {}
        for name, options in {
            "dense": {},
            "lossless": {"embedding": WORDS},
            "bf16": {"embedding": WORDS, "wire_format": "bf16"},
        }.items():
            torch.manual_seed(1)
            config = BertConfig(hidden_size=384, num_hidden_layers=6, intermediate_size=1536)
            model = distributed.parallel(ranks, BertForSequenceClassification(config), **options)
            tokens = torch.randint(config.vocab_size, (64, 50))
            distributed.begin_step(model, tokens.unique)
            with distributed.exchange(model, last=True):
                model(tokens[ranks.rank :: ranks.world_size][:2]).logits.sum().backward()
            found[name] = distributed.bytes_sent(model)
        return found


def test_the_bytes_of_a_step_of_minilm() -> None:
    for found in run_ranks(2, _Bytes()):
        # 22,713,986 weights, and 2 (n - 1) / n = 1 times each.
        assert found["dense"] == 4 * 22_713_986
        assert found["lossless"] <= 0.55 * found["dense"]
        assert found["bf16"] <= 0.28 * found["dense"]
        # One rank of two sends its peer's part of each tensor, then its own.
        assert found["bf16"] == pytest.approx(found["lossless"] / 2, rel=1e-4)


def test_a_run_tells_what_it_sent(tmp_path: Path) -> None:
    write_tiny_model(tmp_path / "bert")
    write_data(tmp_path / "data", "classification")
    run_dir = whole_run.run_ranks(
        tmp_path / "run",
        2,
        data_dir=str(tmp_path / "data"),
        model=str(tmp_path / "bert"),
        wire_format="bf16",
        global_batch_size=12,
        epochs=1,
        max_length=24,
    )
    metrics = json.loads((run_dir / "metrics.json").read_text())
    (plan,) = (event for line in (run_dir / "events.jsonl").open() if (event := json.loads(line))["event"] == "plan")
    embedding = 400 * 16
    dense = plan["parameters"] - embedding
    assert metrics["wire_format"] == "bf16"
    assert metrics["embedding_exchange"] == "sparse, the rows of a step's tokens"
    assert 2 * dense < metrics["bytes_sent_per_step"] < 2 * dense + 2 * embedding / 2
