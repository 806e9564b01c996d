"""What a search leaves in the file of tuned settings, and when it leaves nothing."""

from dataclasses import asdict

import pytest

from plugins.action.autotune_keep import ActionModule
from plugins.module_utils import tuned
from tests.plugins.test_autotune import Nodes
from tests.plugins.test_tuned import JOB, NODES, SETTINGS


@pytest.fixture
def keep(tmp_path):
    """Return a function that ends a search and returns what is shown, and the results that are kept."""
    lock, results = tmp_path / "current.txt", tmp_path / "autotune.json"
    lock.write_text("torch==2.13.0\n")

    def act(budget, **search):
        found, used = Nodes([({"bucket_mb": 10}, 0.8)]).search(budget, **search)
        args = {
            "search": asdict(found),
            "used": used,
            "settings": {**SETTINGS, "task": "mrpc"},
            "own": {"wire_format": "fp32"},
            "job": JOB,
            "node_types": NODES,
            "stack_lock": str(lock),
            "results": str(results),
        }
        return ActionModule.__new__(ActionModule).act(args, {})["icefield_summary"], tuned.load(results)

    return act


def test_the_winner_is_kept_with_what_it_holds_for_and_what_was_measured(keep, tmp_path):
    shown, (record,) = keep(300)
    assert (record["winner"], record["gain"], record["own"]) == ({"bucket_mb": 10}, 0.25, {"wire_format": "fp32"})
    assert (record["key"]["torch"], record["key"]["nodes"], record["task"]) == ("2.13.0", 2, "mrpc")
    assert record["used"] < record["budget"] == 300
    assert {"bucket_mb": 2} in [row["settings"] for row in record["measured"]]
    assert (
        shown[-1]
        == f"tuned on {record['date'][:10]}: bucket_mb=10 (+25 %); kept for train.yml in {tmp_path}/autotune.json"
    )


def test_a_search_that_settled_nothing_leaves_what_an_earlier_one_found(keep):
    _, before = keep(300)
    shown, after = keep(46)
    assert after == before
    assert shown[-2:] == [
        "too little time to settle 3 of 3 candidates; a longer autotune_budget may find more",
        "nothing was kept",
    ]


def test_defaults_with_nothing_to_try_beside_them_are_a_result(keep):
    _, (record,) = keep(300, tries=[], shown=[])
    assert record["winner"] == {}
