"""A whole run as its launchers start it: the command, on ranks of this machine. Needs torch."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

from icefield_train.config import TrainConfig


def run_ranks(run_dir: Path, world_size: int, **settings: Any) -> Path:
    """Run all ranks of a run to their end; return its folder."""
    run_dir.mkdir()
    config = TrainConfig(run_dir=str(run_dir), run_id=run_dir.name, **settings)
    (run_dir / "config.json").write_text(json.dumps(config.to_dict()))
    with socket.create_server(("127.0.0.1", 0)) as probe:
        meeting = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(probe.getsockname()[1]), "GLOO_SOCKET_IFNAME": "lo"}
    place = {"WORLD_SIZE": str(world_size), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "icefield_train", "train", "--config", str(run_dir / "config.json")]
    # A rank ends with the process that started it.
    ranks = [
        subprocess.Popen(command, env={**os.environ, **meeting, **place, "RANK": str(rank)})
        for rank in range(world_size)
    ]
    assert [rank.wait(120) for rank in ranks] == [0] * world_size, (run_dir / "logs/rank-0.log").read_text()
    return run_dir
