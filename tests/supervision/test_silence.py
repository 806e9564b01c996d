from icefield_train.cause import Cause
from icefield_train.silence import Silences, message_of


def test_a_run_is_stuck_only_when_all_nodes_that_are_waited_for_are_silent():
    a = Cause(host="a", rank=0, phase="run", message="silent for 5 s", peer=True, time=2)
    b = Cause(host="b", rank=1, phase="run", message="silent for 5 s", peer=True, time=1)
    silences = Silences()
    silences.note("a", a, ["rank 0: step 7"])
    assert silences.causes({"a", "b"}) == []
    # A node that has finished is waited for no longer.
    assert [cause.host for cause in silences.causes({"a"})] == ["a"]
    silences.hear("b", message_of(b, ["rank 1: waiting for a lock"]))
    assert [cause.line() for cause in silences.causes({"a", "b"})] == [
        "b rank 1 (run): silent for 5 s; last words: rank 0: step 7; rank 1: waiting for a lock"
    ]
    silences.hear("b", message_of(None, []))
    silences.hear("b", {"kind": "failed", "causes": []})
    assert silences.causes({"a", "b"}) == []
    silences.hear("b", message_of(b, []))
    silences.note("a", None, [])
    assert silences.causes({"a", "b"}) == []
    assert silences.causes(set()) == []


def test_a_suspended_rank_is_named_whoever_fell_silent_first():
    silences = Silences()
    silences.note("a", Cause(host="a", rank=0, message="silent", peer=True, time=1), [])
    silences.note("b", Cause(host="b", rank=1, message="suspended", peer=False, time=2), [])
    assert [cause.rank for cause in silences.causes({"a", "b"})] == [1]
