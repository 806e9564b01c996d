import json

from plugins.module_utils import run_result


def test_a_worker_tells_why_where_the_head_is_lost():
    results = [
        {"state": "lost", "line": "head: the controller cannot reach the node any more"},
        {"state": "failed", "line": "head rank 0: the node is gone"},
    ]
    assert run_result.outcome(results)["line"] == "head rank 0: the node is gone"
    assert run_result.outcome(results[:1])["state"] == "lost"


def test_the_table_shows_each_metric_beside_the_majority_class(tmp_path):
    metrics = {
        "accuracy": 0.826,
        "f1": 0.877,
        "baseline": {"accuracy": 0.684, "f1": 0.812},
        "baseline_name": "majority class",
        "learning_rate": 1e-4,
        "nodes": 4,
        "world_size": 4,
        "steps": 345,
        "epochs": 3,
        "global_batch_size": 32,
        "precision": "bf16",
        "seed": 42,
        "samples_per_second": 45.25,
        "collectives": "ccl",
        "collectives_reason": "exchanges of a step take 3.00 ms with ccl, 5.00 ms with gloo",
        "bytes_sent_per_step": 35_100_000,
        "wire_format": "bf16",
        "embedding_exchange": "sparse, the rows of a step's tokens",
        "tokens_per_second": 2500.0,
        "wall_seconds": 245.0,
        "train_seconds": 230.0,
        "train_rows": 3668,
        "dev_rows": 408,
    }
    (tmp_path / "metrics.json").write_text(json.dumps(metrics))
    (tmp_path / "config.json").write_text(json.dumps({"run_id": "r", "task": "mrpc", "model_name": "mini"}))
    table = "\n".join(run_result.result_table(tmp_path))
    assert "f1           0.8770" in table
    assert "(majority class 0.8120)" in table
    assert "3668 training rows, 408 dev rows" in table
    assert "seed 42" in table
    assert "35.1 MB " in table
    assert "per step and rank, in bf16, word embeddings sparse, the rows of a step's tokens" in table
    assert "collectives  ccl" in table
    assert " exchanges of a step take 3.00 ms with ccl, 5.00 ms with gloo" in table
    assert "3 epochs, global batch 32, learning rate 0.0001" in table
    (tmp_path / "metrics.json").write_text(
        json.dumps({**metrics, "epochs": 1, "world_size": 1, "bytes_sent_per_step": 0})
    )
    table = "\n".join(run_result.result_table(tmp_path))
    assert "1 epoch, global" in table
    assert "1 rank\n" in table
    assert "gradients" not in table
    assert "collectives" not in table


def test_what_a_run_cost(tmp_path):
    (tmp_path / "events.jsonl").write_text('{"event": "start", "time": 100.0}\n{"event": "step", "time": 136.0}\n')
    assert run_result.cost(tmp_path, [2.0, 3.0]) == {"usd": 0.05, "usd_hour": 5.0}, "a failed run: what its events span"
    (tmp_path / "metrics.json").write_text(json.dumps({"wall_seconds": 1800.0}))
    assert run_result.cost(tmp_path, [2.0, 3.0]) == {"usd": 2.5, "usd_hour": 5.0}
    assert run_result.cost(tmp_path, [2.0, ""]) == {}, "one price is unknown"
    assert run_result.cost(tmp_path, []) == {}
    (tmp_path / "result.json").write_text(json.dumps({"state": "done", "usd": 2.5, "usd_hour": 5.0}))
    assert run_result.result_table(tmp_path)[-1].split(maxsplit=2) == ["cost", "$2.5000", "$5.0000 per hour on demand"]


def test_the_table_names_the_dev_splits_where_there_are_several(tmp_path):
    split = {"accuracy": 0.8, "baseline": {"accuracy": 0.35}, "baseline_name": "majority class"}
    (tmp_path / "metrics.json").write_text(json.dumps({**split, "dev": {"dev": split, "dev_mm": split}}))
    table = run_result.result_table(tmp_path)
    assert [line.split()[:3] for line in table[-2:]] == [
        ["dev", "accuracy", "0.8000"],
        ["dev_mm", "accuracy", "0.8000"],
    ]


def test_the_state_of_nodes_and_runs():
    nodes = [{"name": "c-1", "address": "10.0.0.1"}, {"name": "c-2", "address": "10.0.0.2"}]
    runs = [
        {"run_id": "old", "state": "failed", "line": "c-2 rank 1: why"},
        {"run_id": "now", "state": "running", "line": "", "phase": "step", "step": 3, "steps": 9},
    ]
    answer = {"tuning": {"cpus": 0.5, "memory_bytes": 2 << 30}, "active": "now", "runs": runs}
    assert run_result.status_table(nodes, [answer, {}]) == [
        "c-1  10.0.0.1  0.5 CPUs  2.0 GiB  busy with run now",
        "c-2  10.0.0.2  out of reach",
        "run now: step 3/9",
        "run old: failed: c-2 rank 1: why",
    ]
    runs[1] |= {"phase": "run", "step": 0, "steps": 0}
    assert run_result.status_table(nodes, [answer, {}])[2] == "run now: running a script"
    assert "provision.yml" in run_result.status_table([], [])[0]


def test_nodes_that_do_not_run_stand_in_the_table():
    nodes, stopped = [{"name": "c-2", "address": "10.0.0.2"}], [{"name": "c-1", "address": "10.0.0.1"}]
    assert run_result.status_table(nodes, [{}], stopped, {"cluster": "c", "inventory": []}) == [
        "c-2  10.0.0.2  out of reach",
        "c-1  10.0.0.1  does not run",
        "bring back what does not run: ansible-playbook provision.yml -e nodes=2 -e cluster_name=c",
    ]


def test_a_worker_tells_how_a_run_ended_that_the_head_was_lost_in():
    nodes = [{"name": name, "address": "a"} for name in ("c-1", "c-2", "c-3")]
    ended = [{"run_id": "r", "state": state, "line": state} for state in ("lost", "failed", "lost")]
    answers = [{"tuning": {}, "active": "", "runs": [run]} for run in ended]
    assert run_result.status_table(nodes, answers)[-1] == "run r: failed: failed"
