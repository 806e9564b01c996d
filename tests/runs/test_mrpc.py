"""A whole run on real rows, from the command to the model, as a user sees it."""

import json
import os
import re
import uuid
from pathlib import Path

import pytest

from tests.conftest import ROOT

pytestmark = pytest.mark.cluster

# GLUE's own MRPC files. Not part of the repo: their licence lets us use them and not hand them on.
DATA = Path(os.environ.get("ICEFIELD_TEST_DATA", ROOT.parent / "shared/data")) / "MRPC"


@pytest.fixture(scope="module")
def run(cluster):
    if not (DATA / "train.tsv").exists():
        pytest.skip(f"there is no MRPC in {DATA}; set ICEFIELD_TEST_DATA to a folder that has MRPC/train.tsv")
    run_id = f"mrpc-{uuid.uuid4().hex[:8]}"
    code, output = cluster.play(
        "train.yml",
        run_id=run_id,
        task="mrpc",
        data_dir=DATA,
        train_rows=640,
        epochs=2,
        global_batch_size=16,
        predict=True,
    )
    assert code == 0, output
    return ROOT / "runs" / run_id, output


def test_the_model_is_better_than_the_majority_class(run):
    metrics = json.loads((run[0] / "metrics.json").read_text())
    # GLUE's dev rows: 279 of 408 are paraphrases.
    assert metrics["baseline"]["f1"] == pytest.approx(2 * 279 / (279 + 408), abs=1e-6)
    assert metrics["f1"] > metrics["baseline"]["f1"]
    assert (metrics["dev_rows"], metrics["train_rows"], metrics["nodes"]) == (408, 640, 2)
    assert metrics["steps"] == 80


def test_progress_was_shown_while_it_ran(run):
    steps = [int(step) for step in re.findall(r"^step (\d+)/80 .*ETA", run[1], flags=re.MULTILINE)]
    assert len(steps) >= 3
    assert steps == sorted(set(steps))


def test_what_a_run_leaves_is_complete(run):
    folder, output = run
    assert {path.name for path in (folder / "logs").glob("rank-*")} == {"rank-0.log", "rank-1.log"}
    model = json.loads((folder / "model/config.json").read_text())
    assert model["id2label"] == {"0": "not_equivalent", "1": "equivalent"}
    assert (folder / "model/model.safetensors").stat().st_size > 50_000_000
    environment = json.loads((folder / "environment.json").read_text())
    assert environment["seed"] == 42
    assert "-e task=mrpc" in environment["command"]
    assert environment["versions"]["torch"].endswith("+cpu")
    assert len(environment["hosts"]) == 2
    events = [json.loads(line)["event"] for line in (folder / "events.jsonl").read_text().splitlines()]
    assert events.count("step") == 80
    assert "<svg" in (folder / "report.html").read_text()
    assert output.rstrip().splitlines()[-1] == f"report: {folder / 'report.html'}"


def test_the_model_that_came_back_scores_on_one_process_what_the_run_said(run, cluster):
    folder = f"/opt/icefield/runs/{run[0].name}"
    config = json.loads((run[0] / "config.json").read_text())
    plan = json.loads((run[0] / "plan.json").read_text())
    said = cluster.on(
        cluster.nodes[0],
        f"cd /tmp && PYTHONPATH={plan['code']} /opt/icefield/env/current/bin/python -m icefield_train evaluate --json "
        f"--model {folder}/model --data {config['data_dir']}",
        user="icefield",
    )
    metrics, again = json.loads((run[0] / "metrics.json").read_text()), json.loads(said)
    assert {name: again[name] for name in ("accuracy", "f1")} == pytest.approx(
        {name: metrics[name] for name in ("accuracy", "f1")}
    )


def test_what_the_doctor_found_was_shown_before_any_node_was_touched(run):
    before = run[1].split("TASK [stage")[0]
    assert "data: train.tsv: 3,669 lines = the header + 3,668 rows" in before
    assert "data: labels: 0 = not_equivalent, 1 = equivalent" in before
    assert "data: train.tsv: max_length 128 cuts 0 of 3,668 rows (0.0%), the longest has 103 tokens" in before


def test_the_test_rows_came_back_as_glues_submission(run):
    folder, output = run
    assert {path.name for path in (folder / "predictions").iterdir()} == {"MRPC.tsv"}
    header, *lines = (folder / "predictions/MRPC.tsv").read_text().splitlines()
    assert header == "index\tprediction"
    assert [line.split("\t")[0] for line in lines] == [str(index) for index in range(1725)]
    answers = [line.split("\t")[1] for line in lines]
    assert set(answers) == {"0", "1"}
    # The file that we have holds what GLUE keeps to itself: 1,147 of the rows are paraphrases.
    truth = [line.split("\t")[0] for line in (DATA / "test.tsv").read_text().splitlines()[1:]]
    right = sum(answer == label for answer, label in zip(answers, truth, strict=True))
    assert right / len(truth) > 1147 / 1725
    assert f"predictions: {folder / 'predictions'}" in output


def test_the_secret_of_the_run_stays_on_the_nodes(run):
    assert not list(run[0].rglob("token"))


def test_nobody_but_the_unprivileged_user_trained(run, cluster):
    for node in cluster.nodes:
        owners = cluster.on(node, f"stat -c %U /opt/icefield/runs/{run[0].name}/logs/*").split()
        assert set(owners) == {"icefield"}
