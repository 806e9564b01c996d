"""A probe as its ranks run it: real steps of two processes. Needs torch."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from icefield_train.config import TrainConfig
from icefield_train.race import rounds_from

pytest.importorskip("torch")
pytest.importorskip("transformers")

from tests.training.tiny import write_data, write_tiny_model


def run_probe(run_dir: Path, world_size: int, probe: dict, **settings) -> tuple[list[int], dict]:
    run_dir.mkdir()
    config = TrainConfig(run_dir=str(run_dir), run_id=run_dir.name, **settings)
    (run_dir / "config.json").write_text(json.dumps(config.to_dict()))
    plan = {
        "run_id": run_dir.name,
        "launcher": "torchrun",
        "nproc_per_node": world_size,
        "rendezvous_port": 1,
        "control_port": 2,
        "deadlines": {},
        "python": sys.executable,
        "code": "",
        "run_dir": str(run_dir),
        "nodes": [],
        "probe": probe,
    }
    (run_dir / "plan.json").write_text(json.dumps(plan))
    with socket.create_server(("127.0.0.1", 0)) as server:
        meeting = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(server.getsockname()[1]), "GLOO_SOCKET_IFNAME": "lo"}
    place = {"WORLD_SIZE": str(world_size), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "icefield_train", "probe", "--run-dir", str(run_dir)]
    ranks = [
        subprocess.Popen(command, env={**os.environ, **meeting, **place, "RANK": str(rank)})
        for rank in range(world_size)
    ]
    codes = [rank.wait(320) for rank in ranks]
    return codes, json.loads((run_dir / "probe.json").read_text())


@pytest.fixture
def inputs(tmp_path):
    write_tiny_model(tmp_path / "bert")
    write_data(tmp_path / "rows", "classification")
    return {"model": str(tmp_path / "bert"), "data_dir": str(tmp_path / "rows"), "global_batch_size": 12}


def test_ranks_measure_the_same_settings_together_and_rank_0_keeps_the_figures(tmp_path, inputs):
    tries, shown = [{"bucket_mb": 1}, {"embedding_exchange": "dense"}], [{"wire_format": "bf16"}]
    # More than it takes: on a busy machine less would leave candidates out.
    probe = {"tries": tries, "shown": shown, "seconds": 300, "limit": 310}
    codes, found = run_probe(tmp_path / "p", 2, probe, collectives="auto", **inputs)
    assert codes == [0, 0], (tmp_path / "p/logs/rank-0.log").read_text()
    rounds = rounds_from(found["rounds"])
    assert [settings for settings, _ in rounds[0]] == [{}, *tries, *shown, {}]
    assert len(rounds) >= 2
    assert all(seconds > 0 for one in rounds for _, seconds in one)
    assert found["trying"] is None
    # Seconds since the plan was written: ranks start, which takes its time, and then measure.
    assert 0 < found["begun"] < found["written"] < 300
    assert found["rows"] == 12
    events = [json.loads(line) for line in (tmp_path / "p/events.jsonl").read_text().splitlines()]
    assert sum(event["event"] == "measured" for event in events) == sum(map(len, rounds))
    # As a run does, and once for all that is tried: this machine has no oneCCL.
    assert [event["collectives"] for event in events if event["event"] == "collectives"] == ["gloo"]


def test_no_time_measures_the_defaults_once(tmp_path, inputs):
    codes, found = run_probe(
        tmp_path / "p", 1, {"tries": [{"bucket_mb": 1}], "shown": [], "seconds": 0.001, "limit": 90}, **inputs
    )
    assert codes == [0]
    assert [[one["settings"] for one in each] for each in found["rounds"]] == [[{}]]


def test_settings_that_fail_are_named_with_what_was_found_before_them(tmp_path, inputs):
    tries = [{"bucket_mb": 1}, {"bucket_mb": 0}]
    codes, found = run_probe(tmp_path / "p", 1, {"tries": tries, "shown": [], "seconds": 60, "limit": 90}, **inputs)
    assert codes == [1]
    assert found["trying"] == {"bucket_mb": 0}
    assert [one["settings"] for one in found["rounds"][0]] == [{}, {"bucket_mb": 1}]
    error = json.loads((tmp_path / "p/errors/rank-0.json").read_text())
    assert error["message"].startswith("setting 'bucket_mb': value '0' is not accepted")
