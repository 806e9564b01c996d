"""Tests of a benchmark's folder."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from plugins.module_utils.benchmark_folder import read_run, write
from plugins.module_utils.benchmark_order import Place
from plugins.module_utils.benchmark_table import run_line


def run_dir(folder: Path, nodes: int, seconds: float, seed: int = 42) -> Path:
    """Make the folder of a run."""
    folder.mkdir()
    metrics = {"nodes": nodes, "job_seconds": seconds, "seed": seed, "f1": 0.8}
    metrics |= {"global_batch_size": 32, "baseline": {"f1": 0.5}, "job_samples_per_second": 60 / seconds}
    (folder / "metrics.json").write_text(json.dumps(metrics))
    return folder


def test_what_the_runs_show_is_written(tmp_path: Path) -> None:
    runs = [
        read_run(run_dir(tmp_path / f"r{nodes}", nodes, 12.0 / nodes), Place("icefield", nodes, 1)) for nodes in (1, 2)
    ]
    write(tmp_path / "out", runs, 2, "ansible-playbook benchmark.yml -e nodes=1,2")
    rows = json.loads((tmp_path / "out/benchmark.json").read_text())["rows"]
    assert rows[1]["speedup_own"]["median"] == 2.0
    assert rows[1]["run_ids"] == ["r2"]
    table, page = ((tmp_path / f"out/benchmark.{ending}").read_text() for ending in ("md", "html"))
    assert "| 2.00 | 100 | 0.8000 |" in table
    assert "Unfinished" not in table
    assert '<td class="figure">2.00</td>' in page
    assert '<a href="r2/report.html">r2</a>' in page
    assert "<pre>ansible-playbook benchmark.yml -e nodes=1,2</pre>" in page


def test_a_benchmark_that_ended_early_says_so(tmp_path: Path) -> None:
    run = read_run(run_dir(tmp_path / "r", 1, 12.0), Place("icefield", 1, 1))
    write(tmp_path / "out", [run], 6, "")
    for ending in ("md", "html"):
        assert "Unfinished: 1 of 6 runs are done." in (tmp_path / f"out/benchmark.{ending}").read_text()
    assert run_line(run) == "icefield on 1 node: 12.0 s, 5.0 samples/s, f1 0.8000"


def test_unlike_runs_leave_nothing(tmp_path: Path) -> None:
    runs = [
        read_run(run_dir(tmp_path / str(seed), 1, 9.0, seed), Place("icefield", 1, number))
        for number, seed in enumerate((1, 2), 1)
    ]
    with pytest.raises(ValueError, match="seed is 1 in the one and 2 in the other"):
        write(tmp_path / "out", runs, 2, "")
    assert not (tmp_path / "out").exists()


def test_an_unfinished_run_and_one_on_other_nodes_are_refused(tmp_path: Path) -> None:
    (tmp_path / "none").mkdir()
    with pytest.raises(ValueError, match="'none' has not finished"):
        read_run(tmp_path / "none", Place("icefield", 1, 1))
    with pytest.raises(ValueError, match="'a' had 2 nodes, not 1"):
        read_run(run_dir(tmp_path / "a", 2, 9.0), Place("icefield", 1, 1))
