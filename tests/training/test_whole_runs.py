"""Whole runs as their launchers start them: the commands, on ranks of this machine. Needs torch."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

from tests.training.tiny import make_rows, write_data, write_rows, write_tiny_model
from tests.training.whole_run import run_ranks

SETTINGS: dict[str, Any] = {"global_batch_size": 12, "epochs": 2, "learning_rate": 1e-3, "max_length": 24}


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    base = tmp_path_factory.mktemp("runs")
    # With dropout, as models come.
    write_tiny_model(base / "bert", hidden_dropout_prob=0.1)
    write_tiny_model(base / "gpt2", "causal")
    for kind in ("classification", "causal"):
        write_data(base / kind, kind)
    write_rows(base / "classification/dev_mm.jsonl", make_rows("classification", 5, 9))
    path = base / "classification/task.json"
    about = {**json.loads(path.read_text()), "dev": {"dev": "dev.jsonl", "dev_mm": "dev_mm.jsonl"}}
    path.write_text(json.dumps(about))
    return base


def _run(base: Path, name: str, data: str, model: str, world_size: int = 1, **settings: Any) -> Path:
    return run_ranks(
        base / name, world_size, data_dir=str(base / data), model=str(base / model), **{**SETTINGS, **settings}
    )


def _metrics(run_dir: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((run_dir / "metrics.json").read_text())
    return found


def _events(run_dir: Path, name: str) -> list[dict[str, Any]]:
    events = map(json.loads, (run_dir / "events.jsonl").read_text().splitlines())
    return [event for event in events if event["event"] == name]


@pytest.fixture(scope="module")
def twice(base: Path) -> list[Path]:
    return [_run(base, f"run-{number}", "classification", "bert", world_size=2) for number in (1, 2)]


def _timeless(value: Any) -> Any:
    if isinstance(value, dict):
        return {
            name: _timeless(part) for name, part in value.items() if "seconds" not in name and "per_second" not in name
        }
    return value


def test_the_same_seed_on_as_many_ranks_gives_the_same_metrics(twice: list[Path]) -> None:
    first, second = map(_metrics, twice)
    assert _timeless(first) == _timeless(second)
    assert first["accuracy"] != first["dev"]["dev_mm"]["accuracy"]
    assert (twice[0] / "model/model.safetensors").read_bytes() == (twice[1] / "model/model.safetensors").read_bytes()


def test_each_dev_split_is_told_and_the_first_is_the_main_one(twice: list[Path]) -> None:
    metrics = _metrics(twice[0])
    assert {name: split["dev_rows"] for name, split in metrics["dev"].items()} == {"dev": 9, "dev_mm": 5}
    main = metrics["dev"]["dev"]
    assert {name: metrics[name] for name in main} == main
    assert [event["split"] for event in _events(twice[0], "evaluate")] == ["dev", "dev_mm"]


def test_the_saved_model_scores_in_one_process_what_the_run_said(twice: list[Path], base: Path) -> None:
    command = [sys.executable, "-m", "icefield_train", "evaluate", "--json", "--data", str(base / "classification")]
    done = subprocess.run([*command, "--model", str(twice[0] / "model")], capture_output=True, text=True, check=True)
    again, said = json.loads(done.stdout), _metrics(twice[0])
    for name, split in said["dev"].items():
        for metric in ("accuracy", "f1", "loss"):
            assert again["dev"][name][metric] == pytest.approx(split[metric], rel=1e-5)


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_a_model_with_adapters_is_judged_as_it_is_saved_to_the_last_digit(base: Path, precision: str) -> None:
    run_dir = _run(
        base,
        f"adapted-{precision}",
        "classification",
        "bert",
        world_size=2,
        lora=True,
        lora_r=4,
        learning_rate=0.02,
        precision=precision,
    )
    command = [sys.executable, "-m", "icefield_train", "evaluate", "--json", "--data", str(base / "classification")]
    command += ["--model", str(run_dir / "model"), "--precision", precision]
    threads = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=threads)
    again, said = json.loads(done.stdout), _metrics(run_dir)
    for name, split in said["dev"].items():
        for metric in ("accuracy", "f1", "loss"):
            assert again["dev"][name][metric] == split[metric]


def test_tokens_are_made_before_the_ranks_meet(twice: list[Path]) -> None:
    phases = [event["phase"] for event in _events(twice[0], "phase")]
    assert phases == ["start", "tokenise", "rendezvous", "load", "step", "evaluate", "save", "done"]


def test_a_language_model_with_adapters_leaves_both(base: Path) -> None:
    run_dir = _run(base, "causal-run", "causal", "gpt2", lora=True, lora_r=2, per_device_batch_size=5)
    metrics = _metrics(run_dir)
    assert metrics["perplexity"] < 600
    assert metrics["baseline_name"] == "frequencies of tokens"
    assert metrics["passes"] == 3
    assert (run_dir / "adapters/adapter_model.safetensors").stat().st_size < 20_000
    assert json.loads((run_dir / "model/config.json").read_text())["architectures"] == ["GPT2LMHeadModel"]
    plan = _events(run_dir, "plan")[0]
    assert (plan["global_batch_size"], plan["steps"], plan["passes"]) == (12, 8, 3)
