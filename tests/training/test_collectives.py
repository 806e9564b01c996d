"""Which backend is taken, by what was measured. Needs torch."""

import pytest

pytest.importorskip("torch")

from icefield_train import ccl, distributed
from icefield_train.collectives import MARGIN, Timing, choose, without_ccl
from icefield_train.distributed import Dist
from tests.training.ranks import run_ranks


def timing(gloo, ccl, per_step=1.0):
    return Timing(bytes=1, per_step=per_step, gloo_seconds=gloo, ccl_seconds=ccl)


@pytest.mark.parametrize(
    ("timings", "backend"),
    [
        ([timing(1.0, 0.8)], "ccl"),
        ([timing(1.0, 1 - MARGIN + 0.01)], "gloo"),
        ([timing(1.0, 1.0)], "gloo"),
        ([timing(1.0, 3.0)], "gloo"),
        # What a step gains by many buckets is more than what it loses by one small exchange, and the other way round.
        ([timing(0.010, 0.007, 18), timing(0.001, 0.005)], "ccl"),
        ([timing(0.010, 0.011, 18), timing(0.005, 0.0001)], "gloo"),
    ],
)
def test_gloo_stays_unless_a_whole_step_gains(timings, backend):
    choice = choose(timings)
    assert choice.backend == backend
    assert choice.to_dict()["collectives_timings"][0]["gloo_seconds"] == timings[0].gloo_seconds


def test_the_reason_has_the_times_of_a_step():
    choice = choose([timing(0.010, 0.007, 18), timing(0.001, 0.005)])
    assert choice.reason == "exchanges of a step take 131.00 ms with ccl, 181.00 ms with gloo"
    assert choose([timing(0.010, 0.011)]).reason.endswith("10.00 ms with gloo: less than 15% saved")


def test_nodes_without_oneccl_are_named():
    choice = without_ccl({"node-2": "it has none", "node-4": "it has none"})
    assert (choice.backend, choice.timings) == ("gloo", ())
    assert choice.reason == "ccl cannot be used on node-2, nor on 1 more: it has none"


def choose_here(ranks: Dist):
    taken, choice = distributed.choose(
        ranks,
        f"node-{ranks.rank + 1}",
        deadline=30,
        gradient_bytes=1 << 20,
        touch=lambda: None,
        bucket_mb=1,
        wire_format="fp32",
    )
    # It must work: all ranks are over the same backend.
    return choice, distributed.sum_over_ranks(taken, [1.0 + ranks.rank])


def test_ranks_go_on_over_gloo_where_there_is_no_oneccl():
    if not ccl.obstacle():
        pytest.skip("there is oneCCL here")
    for choice, total in run_ranks(2, choose_here):
        assert choice.backend == "gloo"
        assert choice.reason.startswith("ccl cannot be used on node-1, nor on 1 more: ")
        assert total == [3.0]


def test_one_rank_has_nothing_to_choose():
    ranks = Dist(rank=0, world_size=1)
    assert choose_here(ranks)[0].reason == "one rank exchanges nothing"


def test_a_node_without_oneccl_refuses_it_in_words(monkeypatch):
    monkeypatch.setattr(ccl.importlib.util, "find_spec", lambda name: None)
    place = distributed.Place(rank=0, world_size=2, local_rank=0)
    with pytest.raises(
        RuntimeError, match=r"collectives=ccl cannot be used on this node: it has no oneCCL \(provision"
    ):
        distributed.start(place, 5, "ccl")
