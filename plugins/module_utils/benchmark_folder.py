"""A benchmark's folder on the controller: reads its runs, writes what they show."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from icefield_train import benchmark_page
from plugins.module_utils.benchmark_alike import Run
from plugins.module_utils.benchmark_figures import summary
from plugins.module_utils.benchmark_order import Place
from plugins.module_utils.benchmark_table import cells, markdown, words
from plugins.module_utils.run_folder import read_json


def read_run(run_dir: Path, place: Place) -> Run:
    """Return the run of a folder.

    Raises:
        ValueError: it has not finished, or not on as many nodes as its place says.
    """
    files = {name: read_json(run_dir / f"{name}.json") for name in ("config", "metrics", "environment", "result")}
    if not files["metrics"].get("job_seconds"):
        raise ValueError(f"run '{run_dir.name}' has not finished and is not compared")
    if files["metrics"].get("nodes") != place.nodes:
        raise ValueError(f"run '{run_dir.name}' had {files['metrics'].get('nodes')} nodes, not {place.nodes}")
    return Run(run_dir.name, place.recipe, place.nodes, place.repeat, files)


def write(folder: Path, runs: Sequence[Run], planned: int, command: str) -> Mapping[str, Any]:
    """Write ``benchmark.json``, ``benchmark.md`` and ``benchmark.html`` into a folder; return the first's content.

    Args:
        folder: where to write; made if it is not there.
        runs: those that are done.
        planned: how many there will be.
        command: what repeats the benchmark; "" where nobody knows.

    Raises:
        ValueError: runs are not alike; nothing is written.
        OSError: the folder can't be written.
    """
    found = {**summary(runs), "runs_planned": planned, "command": command}
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "benchmark.json").write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")
    (folder / "benchmark.md").write_text(markdown(found), encoding="utf-8")
    (folder / "benchmark.html").write_text(benchmark_page.build(found, cells(found), words(found)), encoding="utf-8")
    return found
