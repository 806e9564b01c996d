"""Token files: made once, found by content, mapped by every rank. Needs torch."""

from __future__ import annotations

import json
import multiprocessing
from dataclasses import replace
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from icefield_train import token_files  # noqa: E402
from icefield_train.config import TrainConfig  # noqa: E402
from icefield_train.data import encoded_rows, load_rows  # noqa: E402
from icefield_train.encoding import encode  # noqa: E402
from icefield_train.staged_rows import read_rows  # noqa: E402
from icefield_train.staged_task import read_task  # noqa: E402
from icefield_train.tokenizer import load_tokenizer  # noqa: E402
from tests.training.tiny import make_rows, write_data, write_rows, write_tokenizer  # noqa: E402


@pytest.fixture
def config(tmp_path: Path) -> TrainConfig:
    data, model = write_data(tmp_path / "data", "tokens"), write_tokenizer(tmp_path / "model")
    return TrainConfig(
        data_dir=str(data),
        model=str(model),
        tokens_dir=str(tmp_path / "tokens"),
        run_dir=str(tmp_path / "run"),
        max_length=16,
    )


def test_a_file_holds_what_the_tokeniser_makes_and_every_rank_maps_the_same(config: TrainConfig) -> None:
    files = token_files.prepare(config)
    assert list(files) == ["train", "dev"]
    rows = load_rows(files["train"], "tokens")
    tokenizer = load_tokenizer(config.model, "tokens")
    data = Path(config.data_dir)
    made = encoded_rows(encode(read_rows(data / "train.jsonl", read_task(data)), "tokens", tokenizer, 16), "tokens")
    assert rows.starts == made.starts
    assert rows.padding == made.padding
    assert {name: values.tolist() for name, values in rows.tensors.items()} == {
        name: values.tolist() for name, values in made.tensors.items()
    }
    assert str(files["train"]) in Path("/proc/self/maps").read_text()


def test_what_is_there_is_not_made_again(config: TrainConfig) -> None:
    told: list[tuple[str, int]] = []
    first = token_files.prepare(config, lambda *chunk: told.append(chunk))
    assert told == [("train", 48), ("dev", 9)]
    again = token_files.prepare(config, lambda *chunk: told.append(chunk))
    assert again == first
    assert len(told) == 2


def test_another_content_another_cut_or_other_rows_make_another_file(config: TrainConfig, tmp_path: Path) -> None:
    files = [token_files.prepare(config)]
    files.append(token_files.prepare(replace(config, max_length=8)))
    files.append(token_files.prepare(replace(config, train_rows=5)))
    assert len(load_rows(files[-1]["train"], "tokens")) == 5
    assert files[-1]["dev"] == files[0]["dev"]
    path = Path(config.model) / "tokenizer.json"
    path.write_text(path.read_text() + "\n")
    files.append(token_files.prepare(config))
    rows = make_rows("tokens", 48, 9)
    write_rows(Path(config.data_dir) / "train.jsonl", rows)
    files.append(token_files.prepare(config))
    assert len({made["train"] for made in files}) == 5
    # The same content in other folders is the same.
    for name in ("data", "model"):
        (tmp_path / name).rename(tmp_path / f"other-{name}")
    moved = replace(config, data_dir=str(tmp_path / "other-data"), model=str(tmp_path / "other-model"))
    assert token_files.prepare(moved) == files[-1]


def _prepare(config: TrainConfig, told: multiprocessing.SimpleQueue[int]) -> None:
    token_files.prepare(config, lambda name, done: told.put(done))


def test_of_several_ranks_at_once_one_tokenises(config: TrainConfig) -> None:
    context = multiprocessing.get_context("spawn")
    told = context.SimpleQueue()
    ranks = [context.Process(target=_prepare, args=(config, told)) for _ in range(2)]
    for rank in ranks:
        rank.start()
    for rank in ranks:
        rank.join(60)
        assert rank.exitcode == 0
    assert sorted([told.get(), told.get()]) == [9, 48]
    assert told.empty()


def test_all_dev_splits_are_tokenised(config: TrainConfig) -> None:
    folder = Path(config.data_dir)
    write_rows(folder / "dev_mm.jsonl", make_rows("tokens", 4, 7))
    about = json.loads((folder / "task.json").read_text())
    (folder / "task.json").write_text(json.dumps({**about, "dev": {"dev": "dev.jsonl", "dev_mm": "dev_mm.jsonl"}}))
    files = token_files.prepare(config)
    assert [len(load_rows(path, "tokens")) for path in files.values()] == [48, 9, 4]


def test_a_damaged_file_is_named(config: TrainConfig) -> None:
    path = token_files.prepare(config)["dev"]
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(ValueError, match=f"{path.name} is damaged .*; remove it"):
        load_rows(path, "tokens")
