from icefield_train.cause import Cause
from icefield_train.silence import Silences, message_of


def test_a_run_is_stuck_only_when_all_nodes_that_are_waited_for_are_silent():
    a, b = Cause(host="a", message="silent"), Cause(host="b", message="silent")
    silences = Silences()
    silences.note("a", a)
    assert silences.causes({"a", "b"}) == []
    # A node that has finished is waited for no longer.
    assert silences.causes({"a"}) == [a]
    silences.hear("b", message_of(b))
    assert sorted(cause.host for cause in silences.causes({"a", "b"})) == ["a", "b"]
    silences.hear("b", message_of(None))
    silences.hear("b", {"kind": "failed", "causes": []})
    assert silences.causes({"a", "b"}) == []
    silences.hear("b", message_of(b))
    silences.note("a", None)
    assert silences.causes({"a", "b"}) == []
    assert silences.causes(set()) == []
