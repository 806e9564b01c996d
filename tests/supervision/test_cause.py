import pytest

from icefield_train.cause import Cause, cause_data, cause_from, first_cause, node_gone


def test_the_first_real_error_is_named_and_not_the_noise_of_its_peers():
    noise = Cause(host="a", rank=0, message="Connection closed by peer", peer=True, time=1.0)
    real = Cause(host="b", rank=1, message="ValueError: bad row", time=2.0)
    later = Cause(host="c", rank=2, message="other", time=3.0)
    assert first_cause([noise, later, real]) == real
    assert first_cause([noise]) == noise
    with pytest.raises(ValueError, match="no cause"):
        first_cause([])


def test_the_line_names_host_rank_phase_and_step():
    cause = Cause(host="n-2", rank=1, phase="step", step=17, message="killed")
    assert cause.line() == "n-2 rank 1 (step 17): killed"
    assert Cause(host="n-2", message="gone").line() == "n-2: gone"
    assert Cause(host="n-2", rank=0, phase="load", message="no memory").line() == "n-2 rank 0 (load): no memory"


def test_a_cause_survives_its_json_form_and_unknown_keys():
    cause = Cause(host="a", rank=0, message="m", time=1.5)
    assert cause_from({**cause_data(cause), "traceback": "…"}) == cause


def test_a_gone_node_is_named_with_the_phase_of_the_run():
    line = node_gone("n-2", 1, ("step", 7), when=0.0).line()
    assert line == "n-2 rank 1 (step 7): the node is gone: its supervisor does not answer any more"
