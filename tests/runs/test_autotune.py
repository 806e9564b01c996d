"""A search on two nodes, and a training that uses what it found."""

import json
import time
import uuid

import pytest

from tests.conftest import ROOT, RUNS

pytestmark = pytest.mark.cluster

FILE = ROOT / "autotune.json"
# Seconds of a search; the second where the first one is too little for a busy machine.
BUDGETS = (90, 300)
# Few rows, so that a step is short and the search comes to several rounds.
JOB = {"global_batch_size": 8}
BUILT_IN = {"bucket_mb": 5, "embedding_exchange": "auto", "wire_format": "fp32"}


@pytest.fixture(scope="module", autouse=True)
def results_of_the_user():
    """Put what the user of this checkout has tuned aside, and back."""
    kept = FILE.read_bytes() if FILE.exists() else None
    FILE.unlink(missing_ok=True)
    yield
    FILE.unlink(missing_ok=True)
    if kept is not None:
        FILE.write_bytes(kept)


@pytest.fixture(scope="module")
def search(cluster):
    for budget in BUDGETS:
        code, output = cluster.play("autotune.yml", autotune_budget=budget, **JOB)
        if FILE.exists():
            assert code == 0, output
            return json.loads(FILE.read_text()), output
        short = ("nothing was kept", "that were left for it are over (setting autotune_budget)")
        assert last_line(output).endswith(short), output
    raise AssertionError(output)


def last_line(output):
    return [line for line in output.splitlines() if line.strip()][-1]


def left_of_probes(cluster):
    """Return folders and processes of probes on the nodes."""
    left = {}
    for node in cluster.nodes:
        processes = "grep -lsz '^ICEFIELD_RUN_ID=autotune-' /proc/[0-9]*/environ | grep -v self"
        found = cluster.on(node, f"ls -d {RUNS}/autotune-* {RUNS}/.active 2>/dev/null") + cluster.on(
            node, processes, user="icefield"
        )
        if found:
            left[node] = found
    return left


def train(cluster, **settings):
    run_id = f"tuned-{uuid.uuid4().hex[:8]}"
    code, output = cluster.play("train.yml", run_id=run_id, max_steps=2, train_rows=64, **JOB, **settings)
    assert code == 0, output
    folder = ROOT / "runs" / run_id
    config, plan = (json.loads((folder / f"{name}.json").read_text()) for name in ("config", "plan"))
    return config, plan, output, (folder / "report.html").read_text()


def test_what_is_kept_is_for_these_nodes_this_model_and_these_versions(search):
    (record,) = search[0]["results"]
    pins = (ROOT / "requirements/stacks/current.txt").read_text().split()
    key = record["key"]
    assert (key["nodes"], key["kind"], key["precision"]) == (2, "classification", "auto")
    assert key["model"].startswith("all-MiniLM-L6-v2 ")
    assert f"torch=={key['torch']}" in pins
    assert key["batch"]["global_batch_size"] == 8
    # Both nodes are alike.
    (node,) = key["node_types"]
    assert node.startswith("local ")
    assert "CPUs of" in node
    assert record["own"] == {}


def test_the_winner_is_the_fastest_that_beat_the_defaults_each_time_and_keeps_results_the_same(search):
    (record,) = search[0]["results"]
    rows = {json.dumps(row["settings"]): row for row in record["measured"]}
    assert rows["{}"]["samples_per_second"] > 0
    assert '{"bucket_mb": 2}' in rows
    good = [
        row
        for row in rows.values()
        if row["settings"] and row["repeats"] > 1 and row["lowest_gain"] >= 0.03 and "note" not in row
    ]
    best = max(good, key=lambda row: row["gain"], default={"settings": {}, "gain": 0.0})
    assert (record["winner"], record["gain"]) == (best["settings"], best["gain"])
    assert "wire_format" not in record["winner"]


def test_the_time_that_was_used_is_told_and_kept(search):
    (record,) = search[0]["results"]
    assert record["budget"] in BUDGETS
    assert f"{record['used']:.0f} of {record['budget']:.0f} s used, by 1 probe" in search[1].splitlines()
    assert last_line(search[1]).endswith(f"; kept for train.yml in {FILE}")


def test_nothing_of_a_search_is_left_on_the_nodes(search, cluster):
    assert left_of_probes(cluster) == {}


def test_training_uses_the_winner_and_says_so(search, cluster):
    (record,) = search[0]["results"]
    config, plan, output, page = train(cluster)
    words = last_line(search[1]).split("; kept")[0]
    assert words.startswith(f"tuned on {record['date'][:10]}: ")
    assert output.splitlines().count(words) == 1
    assert config["tuned"] == words
    assert words in page
    assert {name: config[name] for name in BUILT_IN} == {**BUILT_IN, **record["winner"]}
    assert plan["nproc_per_node"] == 1


def test_training_takes_each_tuned_setting_but_those_of_the_user(search, cluster):
    content = json.loads(json.dumps(search[0]))
    content["results"][0] |= {"winner": {"nproc_per_node": 2, "bucket_mb": 7, "embedding_exchange": "dense"}}
    FILE.write_text(json.dumps(content))
    config, plan, output, _ = train(cluster, bucket_mb=3)
    assert (config["bucket_mb"], config["embedding_exchange"], plan["nproc_per_node"]) == (3, "dense", 2)
    assert {node["first_rank"] for node in plan["nodes"]} == {0, 2}
    assert ": nproc_per_node=2, embedding_exchange=dense; your own: bucket_mb=3\n" in output
    config, plan, output, page = train(cluster, autotune=False)
    assert {name: config[name] for name in BUILT_IN} == BUILT_IN
    assert plan["nproc_per_node"] == 1
    assert f"tuned on {content['results'][0]['date'][:10]}" not in output + page


def test_a_probe_whose_rank_is_killed_ends_everywhere_with_the_reason_and_leaves_nothing(cluster):
    before = FILE.read_bytes() if FILE.exists() else None
    process = cluster.start("autotune.yml", autotune_budget=BUDGETS[-1], **JOB)
    victim, pid = cluster.nodes[1], 0
    until = time.monotonic() + 120
    while not pid and time.monotonic() < until and process.poll() is None:
        status = cluster.on(victim, f"cat {RUNS}/autotune-*/status/rank-1.json 2>/dev/null")
        # Phases of a rank's own: its process is there.
        pid = json.loads(status)["pid"] if status.rstrip().endswith("}") else 0
        time.sleep(0.2)
    assert pid, process.communicate()[0]
    cluster.on(victim, f"kill -KILL {pid}")
    output, _ = process.communicate(timeout=120)
    assert process.returncode != 0
    line = last_line(output)
    assert f"the default settings cannot be measured: {victim} rank 1 (" in line
    assert "killed" in line
    assert left_of_probes(cluster) == {}
    # What was found earlier stays.
    assert (FILE.read_bytes() if FILE.exists() else None) == before


def test_a_broken_file_is_refused_before_any_node_is_touched(cluster):
    FILE.write_text("{")
    code, output = cluster.play("autotune.yml", **JOB)
    assert code != 0
    assert "TASK [stage" not in output
    line = last_line(output)
    assert f"{FILE} is not what autotune.yml writes (" in line
    assert FILE.read_text() == "{"
