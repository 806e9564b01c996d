"""Real GLUE, all rows, on two nodes: the metrics that docs/data.md gives. On demand: it takes a quarter of an hour."""

import json
import os
import uuid
from pathlib import Path

import pytest

from tests.conftest import ROOT

pytestmark = [pytest.mark.cluster, pytest.mark.long]

DATA = Path(os.environ.get("ICEFIELD_TEST_DATA", ROOT.parent / "shared/data"))


@pytest.mark.parametrize(
    ("task", "folder", "metric", "floor", "rows"),
    [
        ("mrpc", "MRPC", "f1", 0.86, (3668, 408, 345)),
        ("cola", "CoLA", "matthews", 0.20, (8551, 1043, 804)),
        ("stsb", "STS-B", "pearson", 0.80, (5749, 1500, 540)),
    ],
)
def test_three_epochs_reach_the_floor_of_the_task(cluster, task, folder, metric, floor, rows):
    if not (DATA / folder).is_dir():
        pytest.skip(f"there is no {folder} in {DATA}; set ICEFIELD_TEST_DATA to a folder that has it")
    run_id = f"floor-{uuid.uuid4().hex[:8]}"
    process = cluster.start("train.yml", run_id=run_id, task=task, data_dir=DATA / folder)
    output, _ = process.communicate(timeout=3600)
    assert process.returncode == 0, output
    metrics = json.loads((ROOT / "runs" / run_id / "metrics.json").read_text())
    # All of GLUE's rows, each dev row once, three times through the others by 32.
    assert (metrics["train_rows"], metrics["dev_rows"], metrics["steps"]) == rows
    assert (metrics["nodes"], metrics["epochs"]) == (2, 3)
    assert metrics[metric] >= floor
