"""A benchmark on two nodes, as a user starts it: what its three files say, against what its runs have measured."""

import json
import re
import signal
import time
import uuid

import pytest

from tests.conftest import ROOT, RUNS

pytestmark = pytest.mark.cluster

# all-MiniLM-L6-v2 with two classes.
PARAMETERS = 22_713_986
PARTS = {"compute", "communication", "data", "other"}


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    """Make a folder with rows of few words: 48 to train with, 16 to judge by."""
    folder = tmp_path_factory.mktemp("rows")
    for name, count in (("train", 48), ("dev", 16)):
        lines = [f"{'good' if row % 2 else 'bad'} number {row},{row % 2}" for row in range(count)]
        (folder / f"{name}.csv").write_text("text,label\n" + "\n".join(lines) + "\n")
    return folder


def settings(rows, run_id):
    # 2 steps of 4 rows on each rank; short rows, for the recipe that pads them.
    return {
        "run_id": run_id,
        "task": "text",
        "data_dir": rows,
        "nodes": "1,2",
        "repeats": 1,
        "max_steps": 2,
        "max_length": 16,
        "per_device_batch_size": 4,
    }


def read(path):
    return json.loads(path.read_text())


def test_recipes_are_compared_on_one_node_and_on_two(cluster, rows):
    name = f"benchmark-{uuid.uuid4().hex[:8]}"
    folder = ROOT / "runs" / name
    code, output = cluster.play("benchmark.yml", **settings(rows, name))
    assert code == 0, output
    found = read(folder / "benchmark.json")
    by_place = {(row["recipe"], row["nodes"]): row for row in found["rows"]}
    assert list(by_place) == [("article", 1), ("article", 2), ("icefield", 1), ("icefield", 2)]
    assert (found["batch"], found["max_steps"], found["runs_done"]) == ("4 per rank", 2, 4)
    speeds = {}
    for (recipe, nodes), row in by_place.items():
        assert row["run_ids"] == [f"{name}-{recipe}-{nodes}n-1"]
        run = folder / row["run_ids"][0]
        config, metrics = read(run / "config.json"), read(run / "metrics.json")
        assert (config["recipe"], metrics["nodes"], metrics["steps"]) == (recipe, nodes, 2)
        assert (row["global_batch_size"], metrics["samples"]) == (4 * nodes, 8 * nodes)
        # Nothing but the figures is kept.
        assert not (run / "model").exists()
        speeds[recipe, nodes] = metrics["samples"] / metrics["job_seconds"]
        for figure in (
            "job_seconds",
            "job_samples_per_second",
            "job_tokens_per_second",
            "cpu_utilisation",
            "gemm_share",
        ):
            assert row[figure]["median"] == metrics[figure] > 0, figure
        assert row["accuracy"]["median"] == metrics["accuracy"]
        steps = row["step_seconds"]
        assert set(steps) == PARTS
        assert sum(part["median"] for part in steps.values()) * 2 == pytest.approx(metrics["train_seconds"], rel=0.2)
        assert (steps["communication"]["median"] > 0.001) == (nodes == 2)
        assert row["speedup_article"]["median"] == pytest.approx(speeds[recipe, nodes] / speeds["article", 1])
        assert row["efficiency"]["median"] == pytest.approx(speeds[recipe, nodes] / speeds[recipe, 1] / nodes)
    article, icefield = by_place["article", 2], by_place["icefield", 2]
    assert (article["precision"], article["speedup_article_same_nodes"]["median"]) == ("fp32", 1)
    # A ring of two sends all gradients once; the rows of unused words are not among ours.
    assert 4 * PARAMETERS < article["wire_bytes_per_step"]["median"] < 4.5 * PARAMETERS
    assert icefield["wire_bytes_per_step"]["median"] < 0.6 * 4 * PARAMETERS
    assert "wire_bytes_per_step" not in by_place["icefield", 1]
    # The article's recipe pads 6 or 7 tokens to 16.
    assert article["padding"]["median"] > 0.5 > 0.2 > icefield["padding"]["median"]

    table = (folder / "benchmark.md").read_text().splitlines()
    assert [line.split(" | ")[:2] for line in table[2:6]] == [[f"| {recipe}", str(nodes)] for recipe, nodes in by_place]
    page = (folder / "benchmark.html").read_text()
    # Speed-up, throughput, accuracy and F1 by nodes, and a step's parts.
    assert page.count("<svg") == 5
    for link in re.findall('href="([^"]+)"', page):
        assert (folder / link).is_file()
    assert f"-e data_dir={rows}" in page
    lines = output.splitlines()
    assert lines[-1] == f"page: {folder / 'benchmark.html'}"
    assert sum(bool(re.match(r"icefield +2 ", line)) for line in lines) == 1
    # The runs' own tables are in their reports.
    assert "baseline" not in output


def test_a_run_that_fails_ends_the_benchmark_and_leaves_what_was_done(cluster, rows):
    name = f"benchmark-{uuid.uuid4().hex[:8]}"
    folder, second = ROOT / "runs" / name, f"{name}-icefield-2n-1"
    process = cluster.start("benchmark.yml", recipes="icefield", **settings(rows, name))
    status = f"{RUNS}/{second}/status/rank-1.json"
    while not cluster.on(cluster.nodes[1], f"cat {status} 2>/dev/null"):
        assert process.poll() is None
        time.sleep(0.3)
    cluster.on(cluster.nodes[1], f"kill -{signal.SIGKILL:d} {cluster.training_pid(cluster.nodes[1], second, 1)}")
    output, _ = process.communicate(timeout=120)
    assert process.returncode != 0, output
    last = output.splitlines()[-1]
    assert last.startswith(f"icefield: run '{second}' failed: {cluster.nodes[1]} rank 1")
    assert f"benchmark, as far as it went: {folder}" in output
    assert [row["nodes"] for row in read(folder / "benchmark.json")["rows"]] == [1]
    assert "Unfinished: 1 of 2 runs are done." in (folder / "benchmark.md").read_text()
    assert read(folder / second / "result.json")["state"] == "failed"
