"""The file of what was tuned: for what a result holds, and what a run takes of it."""

import json
from concurrent.futures import ThreadPoolExecutor

import pytest

from plugins.module_utils import tuned

SETTINGS = {
    "nproc_per_node": "auto",
    "threads_per_process": "auto",
    "bucket_mb": "auto",
    "embedding_exchange": "auto",
    "wire_format": "fp32",
    "global_batch_size": 32,
    "per_device_batch_size": 0,
    "gradient_accumulation_steps": 1,
    "precision": "auto",
    "collectives": "gloo",
    "recipe": "icefield",
    "lora": False,
    "lora_r": 16,
    "lora_target_modules": "",
}
JOB = {"model": {"name": "/models/bert", "digest": "abc"}, "data": {"kind": "classification"}}
TUNING = {"cpus": 0.5, "cores": [0, 1], "memory_bytes": 4 << 30, "cpu_model": "EPYC"}
NODES = ["local EPYC, 0.5 CPUs of 2 cores, 4 GiB"] * 2
WINNER = {"bucket_mb": 10, "embedding_exchange": "dense"}


@pytest.fixture
def lock(tmp_path):
    path = tmp_path / "current.txt"
    path.write_text("# stack: current\n# needs: avx2\ntorch==2.13.0\nnumpy==2.4.6\n")
    return path


@pytest.fixture
def key(lock):
    return tuned.key_of(SETTINGS, JOB, node_types=NODES, stack_lock=lock)


def record(key, **changes):
    return {"date": "2026-12-03T05:00:00+00:00", "key": key, "own": {}, "winner": WINNER, "gain": 0.125, **changes}


def test_a_node_is_what_a_cloud_sells_or_what_it_measured_its_quota_included():
    assert tuned.node_type("aws", "c7i.4xlarge", TUNING) == "aws c7i.4xlarge"
    assert tuned.node_type("local", "", TUNING) == NODES[0]
    assert tuned.node_type("onprem", "", {**TUNING, "cpus": 2.0}) == "onprem EPYC, 2 CPUs of 2 cores, 4 GiB"


def test_what_was_saved_is_found_for_the_same_key(tmp_path, key):
    path = tmp_path / "new" / "autotune.json"
    assert tuned.load(path) == []
    tuned.save(path, record(key))
    # As it comes from the file: the key is plain values.
    assert tuned.find(tuned.load(path), key, {}) == (record(key), "")
    assert [one.name for one in path.parent.iterdir()] == ["autotune.json"]


def test_a_result_replaces_the_one_of_the_same_key_alone(tmp_path, key):
    path = tmp_path / "autotune.json"
    other = {**key, "nodes": 4}
    for one in (
        record(key),
        record(other, gain=0.3),
        record(key, own={"bucket_mb": 3}, winner={}),
        record(key, gain=0.5),
    ):
        tuned.save(path, one)
    assert [(one["key"]["nodes"], one["own"], one["gain"]) for one in tuned.load(path)] == [
        (4, {}, 0.3),
        (2, {"bucket_mb": 3}, 0.125),
        (2, {}, 0.5),
    ]


def test_searches_that_end_at_the_same_time_lose_no_result(tmp_path, key):
    path = tmp_path / "autotune.json"
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda nodes: tuned.save(path, record({**key, "nodes": nodes})), range(1, 25)))
    assert sorted(one["key"]["nodes"] for one in tuned.load(path)) == list(range(1, 25))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"torch": "2.12.0"}, "another torch (2.12.0, now 2.13.0)"),
        ({"model": "mpnet def"}, "another model (mpnet def, now bert abc)"),
        ({"nodes": 4}, "another number of nodes (4, now 2)"),
        ({"node_types": ["aws c7i.large"]}, f"other nodes (aws c7i.large, now {NODES[0]})"),
        ({"precision": "fp32"}, "another precision (fp32, now auto)"),
        ({"lora": {"lora": True}}, "another lora (lora=True, now none)"),
        ({"collectives": "ccl"}, "other collectives (ccl, now gloo)"),
        ({"torch": "2.12.0", "nodes": 1}, "another number of nodes (1, now 2); another torch (2.12.0, now 2.13.0)"),
    ],
)
def test_a_result_for_something_else_is_not_used_and_the_reason_is_told(key, change, words):
    assert tuned.find([record({**key, **change})], key, {}) == (
        {},
        f"what was tuned on 2026-12-03 is not used: it is for {words}",
    )


def test_the_reason_is_that_of_the_nearest_result(key):
    far, near = record({**key, "nodes": 4, "torch": "1"}), record({**key, "precision": "bf16"})
    assert "is for another precision (bf16, now auto)" in tuned.find([far, near, far], key, {})[1]


def test_another_version_of_any_package_is_another_stack(lock, key):
    lock.write_text(lock.read_text().replace("2.4.6", "2.5.0"))
    new = tuned.key_of(SETTINGS, JOB, node_types=NODES, stack_lock=lock)
    assert [name for name in key if new[name] != key[name]] == ["stack"]


def test_other_collectives_are_measured_for_themselves(lock, key):
    new = tuned.key_of({**SETTINGS, "collectives": "auto"}, JOB, node_types=NODES, stack_lock=lock)
    assert {name: new[name] for name in key if new[name] != key[name]} == {"collectives": "auto"}


def test_a_result_holds_only_under_the_settings_that_were_chosen_while_it_was_measured(key):
    found = [record(key, own={"wire_format": "bf16"})]
    assert tuned.find(found, key, {"wire_format": "bf16"})[0] == found[0]
    assert tuned.find(found, key, {}) == (
        {},
        "what was tuned on 2026-12-03 is not used: it is for another wire_format (bf16, now fp32)",
    )
    # What was given is what it is anyway.
    assert tuned.find([record(key, own={"wire_format": "fp32"})], key, {})[0]


def test_the_result_under_the_very_same_settings_is_preferred_and_else_the_newest(key):
    own = {"wire_format": "fp32"}
    results = [record(key, own=own, gain=0.1), record(key, gain=0.2)]
    assert tuned.find(results, key, own)[0]["gain"] == 0.1
    assert tuned.find(results, key, {"bucket_mb": 3})[0]["gain"] == 0.2


def test_a_run_takes_what_was_tuned_and_says_so(key):
    settings, words = tuned.applied(SETTINGS, {}, record(key))
    assert settings == {**SETTINGS, "nproc_per_node": 1, **WINNER}
    assert words == "tuned on 2026-12-03: bucket_mb=10, embedding_exchange=dense (+12 %)"


def test_a_user_s_setting_wins_and_the_others_are_still_taken(key):
    own = {"bucket_mb": 3}
    settings, words = tuned.applied({**SETTINGS, **own}, own, record(key))
    assert (settings["bucket_mb"], settings["embedding_exchange"]) == (3, "dense")
    # The gain was measured for both together.
    assert words == "tuned on 2026-12-03: embedding_exchange=dense; your own: bucket_mb=3"
    own = {"bucket_mb": 3, "embedding_exchange": "sparse"}
    settings, words = tuned.applied({**SETTINGS, **own}, own, record(key))
    assert (settings["bucket_mb"], settings["embedding_exchange"]) == (3, "sparse")
    assert words == "tuned on 2026-12-03: nothing; your own: bucket_mb=3, embedding_exchange=sparse"


@pytest.mark.parametrize("own", [{"nproc_per_node": 2}, {"threads_per_process": 1}])
def test_threads_that_were_tuned_for_other_processes_are_not_taken(key, own):
    found = record(key, winner={"nproc_per_node": 4, "threads_per_process": 3, "bucket_mb": 2})
    settings, _ = tuned.applied({**SETTINGS, **own}, own, found)
    expected = {"nproc_per_node": 1, "threads_per_process": "auto", **own, "bucket_mb": 2}
    assert {name: settings[name] for name in expected} == expected


def test_defaults_that_won_are_a_result_too(key):
    settings, words = tuned.applied(SETTINGS, {}, record(key, winner={}, gain=0.0))
    assert settings == {**SETTINGS, "nproc_per_node": 1, "bucket_mb": 5}
    assert words == "tuned on 2026-12-03: nothing was faster than the defaults"


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ("{", "Expecting property name enclosed in double quotes: line 1 column 2 (char 1)"),
        ("[]", "no object with format 1 and a list of results"),
        ('{"format": 2, "results": []}', "no object with format 1 and a list of results"),
        ('{"format": 1, "results": [{}]}', "result 1: 'date' is missing or of another type"),
        ('{"format": 1, "results": [3]}', "result 1: not an object"),
    ],
)
def test_a_file_that_is_broken_is_refused_in_one_line_and_left_as_it_is(tmp_path, key, content, why):
    path = tmp_path / "autotune.json"
    path.write_text(content)
    line = f"{path} is not what autotune.yml writes ({why}); delete it and run autotune.yml again"
    for act in (lambda: tuned.load(path), lambda: tuned.save(path, record(key))):
        with pytest.raises(ValueError) as error:
            act()
        assert str(error.value) == line
    assert path.read_text() == content


@pytest.mark.parametrize(
    ("winner", "why"),
    [
        ({"bucket_mb": 0}, "bucket_mb is '0'"),
        ({"bucket_mb": "auto"}, "bucket_mb is 'auto'"),
        ({"wire_format": "int8"}, "wire_format is 'int8'"),
        ({"nproc_per_node": "two"}, "nproc_per_node is 'two'"),
        ({"epochs": 3}, "'epochs' is not a setting that can be tuned"),
    ],
)
def test_a_value_that_no_run_would_accept_is_refused(tmp_path, key, winner, why):
    path = tmp_path / "autotune.json"
    path.write_text(json.dumps({"format": 1, "results": [record(key), record(key, winner=winner)]}))
    with pytest.raises(ValueError) as error:
        tuned.load(path)
    assert f"(result 2: {why})" in str(error.value)
