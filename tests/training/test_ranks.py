"""Exactness: one rank and several take the same steps and make the same predictions. Needs torch."""

from __future__ import annotations

import random
import socket
from typing import Any, NoReturn

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from icefield_train import distributed, evaluate, loop  # noqa: E402
from icefield_train.config import TrainConfig  # noqa: E402
from icefield_train.data import EncodedRows  # noqa: E402
from icefield_train.launch_env import Place  # noqa: E402
from icefield_train.train import leave  # noqa: E402


def _rows(count: int, seed: int) -> EncodedRows:
    dice = random.Random(seed)
    lengths = [dice.randint(4, 20) for _ in range(count)]
    starts = [sum(lengths[:row]) for row in range(count + 1)]
    tokens = torch.tensor([dice.randint(1, 99) for _ in range(starts[-1])], dtype=torch.int32)
    return EncodedRows(
        inputs={"input_ids": tokens},
        padding={"input_ids": 0},
        starts=starts,
        labels=torch.tensor([dice.randint(0, 1) for _ in range(count)]),
    )


def _model() -> Any:
    torch.manual_seed(1)
    config = transformers.BertConfig(
        vocab_size=100,
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=64,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
        num_labels=2,
    )
    return transformers.BertForSequenceClassification(config)


def _rank(rank: int, world_size: int, port: int, results: Any) -> NoReturn:
    import os

    torch.set_num_threads(1)
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port), GLOO_SOCKET_IFNAME="lo")
    ranks = distributed.start(Place(rank=rank, world_size=world_size, local_rank=rank), 60)
    model = _model()
    config = TrainConfig(epochs=2, global_batch_size=16, learning_rate=1e-3, precision="fp32")
    losses: list[float] = []
    # 50 rows: the last batch has 2, fewer than there are ranks.
    loop.train(
        distributed.parallel(ranks, model),
        _rows(50, 1),
        config,
        ranks,
        precision="fp32",
        steps=8,
        on_step=lambda step: losses.append(step.loss),
    )
    found = {
        count: evaluate.predict(model, _rows(count, 2), ranks, precision="fp32", batch_size=4) for count in (1, 2, 23)
    }
    distributed.stop(ranks)
    results.put((rank, losses, {count: (p.predicted, p.labels, p.loss) for count, p in found.items()}))
    leave(0)


def _run(world_size: int) -> list[tuple[int, list[float], dict[int, Any]]]:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    context = torch.multiprocessing.get_context("spawn")
    results = context.SimpleQueue()
    processes = [context.Process(target=_rank, args=(rank, world_size, port, results)) for rank in range(world_size)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(120)
    assert [process.exitcode for process in processes] == [0] * world_size
    return sorted((results.get() for _ in processes), key=lambda result: result[0])


@pytest.fixture(scope="module")
def one() -> tuple[int, list[float], dict[int, Any]]:
    return _run(1)[0]


@pytest.mark.parametrize("world_size", [2, 3])
def test_several_ranks_take_the_steps_and_make_the_predictions_of_one(
    world_size: int, one: tuple[int, list[float], dict[int, Any]]
) -> None:
    results = _run(world_size)
    assert len(one[1]) == 8
    for _, losses, predictions in results:
        assert losses == pytest.approx(one[1], rel=1e-4)
        for count, (predicted, labels, loss) in predictions.items():
            assert len(predicted) == count
            assert predicted == one[2][count][0]
            assert labels == one[2][count][1]
            assert loss == pytest.approx(one[2][count][2], rel=1e-3)


def test_the_losses_fall(one: tuple[int, list[float], dict[int, Any]]) -> None:
    # Eight steps on fifty rows of noise: only their own repetition can be learned.
    assert sum(one[1][4:]) < sum(one[1][:4])


def test_a_loss_that_is_no_number_ends_training_with_the_cure() -> None:
    model = _model()
    with torch.no_grad():
        next(model.parameters()).fill_(float("nan"))
    with pytest.raises(FloatingPointError, match="at step 1, not a number; lower learning_rate"):
        loop.train(
            model,
            _rows(8, 1),
            TrainConfig(epochs=1, global_batch_size=4),
            distributed.Dist(rank=0, world_size=1),
            precision="fp32",
            steps=2,
            on_step=lambda step: None,
        )
