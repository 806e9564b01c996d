"""The time of a step on more nodes."""

import dataclasses

import pytest

from benchmarks.scaling_model import Pair, Work, hidden_share, ring_bytes, slowest, speed_up, step_seconds

# One core; 100 MB of gradients, all in one bucket; 1 GB/s, nothing hidden, messages and processor cost nothing.
WORK = Work(seconds=1.0, cores=1, layer_bytes=1e8, bucket_mb=1000)
PAIR = Pair(bytes_per_second=1e9, message_seconds=0.0, core_seconds_per_byte=0.0, hidden=0.0)


def test_a_ring_sends_the_whole_on_two_ranks_and_twice_on_many():
    assert ring_bytes(100, 1) == 0
    assert ring_bytes(100, 2) == 100
    assert ring_bytes(100, 4) == 150


def test_one_rank_exchanges_nothing():
    assert step_seconds(WORK, PAIR, 1, 5e7) == 1.0
    assert speed_up(WORK, PAIR, 1, 5e7) == 1.0


def test_what_is_not_hidden_is_added():
    assert step_seconds(WORK, PAIR, 2, 0) == pytest.approx(1.1)
    assert step_seconds(WORK, PAIR, 4, 0) == pytest.approx(1.15)
    assert speed_up(WORK, PAIR, 4, 0) == pytest.approx(4 / 1.15)


def test_the_last_bucket_is_never_hidden():
    many = dataclasses.replace(WORK, bucket_mb=1e8 / (1 << 20) / 10)
    hiding = dataclasses.replace(PAIR, hidden=0.5)
    assert step_seconds(many, hiding, 2, 0) == pytest.approx(1.01)


def test_rows_travel_after_the_calculation():
    hiding = dataclasses.replace(PAIR, hidden=0.9)
    layers = dataclasses.replace(WORK, layer_bytes=0)
    assert step_seconds(layers, hiding, 2, 5e7) == pytest.approx(1.05)


def test_processor_time_is_shared_by_the_cores():
    costly = dataclasses.replace(PAIR, core_seconds_per_byte=1e-8)
    halved = dataclasses.replace(WORK, cores=2)
    assert step_seconds(WORK, costly, 2, 0) == pytest.approx(1.1 + 1.0)
    assert step_seconds(halved, costly, 2, 0) == pytest.approx(1.1 + 0.5)


def test_messages_of_each_bucket_take_their_time():
    slow = dataclasses.replace(PAIR, message_seconds=1e-3)
    # 2 (4 - 1) messages, one bucket of layers; the same again for rows.
    assert step_seconds(WORK, slow, 4, 0) == pytest.approx(1.15 + 6e-3)
    assert step_seconds(WORK, slow, 4, 1e6) == pytest.approx(1.15 + 12e-3 + 1.5e-3)


def test_the_hidden_share_is_found_again():
    many = dataclasses.replace(WORK, bucket_mb=1)
    hiding = dataclasses.replace(PAIR, hidden=0.4, bytes_per_second=1e8, core_seconds_per_byte=1e-9)
    seconds = step_seconds(many, hiding, 2, 0)
    assert hidden_share(many, hiding, 2, 0, seconds) == pytest.approx(0.4)


def test_a_network_that_is_too_fast_does_not_tell_what_is_hidden():
    with pytest.raises(ValueError, match="measure on a slower network"):
        hidden_share(WORK, PAIR, 2, 0, 1.2)


def test_more_ranks_wait_longer_for_the_slowest():
    # Expected maxima of 2 and 4 normal values are 0.564 and 1.029 (order statistics).
    assert slowest(1) == 0
    assert slowest(2) == pytest.approx(0.564, abs=0.03)
    assert slowest(4) == pytest.approx(1.029, abs=0.03)
    uneven = dataclasses.replace(PAIR, spread=0.1)
    assert step_seconds(WORK, uneven, 4, 0) == pytest.approx(1.15 + 0.1 * slowest(4))
