"""The search, with figures made up: what is measured, how often, and what comes out."""

import itertools

import pytest

from icefield_train.race import ROUNDS, affordable, combined, race, rounds_data, rounds_from, scores, winner

BUCKETS = [{"bucket_mb": size} for size in (2, 10, 25)]
DENSE = {"embedding_exchange": "dense"}
WIRE = {"wire_format": "bf16"}


class Clock:
    """Measures by a table of factors on a step of one second; ``drift`` is told the number of measurements before."""

    def __init__(self, factors=(), *, drift=lambda number: 1.0, most=1000):
        self.factors = [(dict(settings), factor) for settings, factor in factors]
        self.drift, self.most, self.asked = drift, most, []

    def measure(self, settings):
        seconds = self.drift(len(self.asked))
        self.asked.append(settings)
        for part, factor in self.factors:
            if part.items() <= settings.items():
                seconds *= factor
        return seconds

    def fits(self):
        return len(self.asked) < self.most

    def run(self, tries, shown=()):
        rounds = []
        race(tries, shown, self.measure, self.fits, rounds)
        return rounds


def test_the_fastest_wins_with_its_gain_over_the_defaults():
    clock = Clock([({"bucket_mb": 10}, 0.8), ({"bucket_mb": 25}, 0.9)])
    best = winner(scores(clock.run(BUCKETS)))
    assert best.settings == {"bucket_mb": 10}
    assert best.gain == pytest.approx(0.25)
    assert len(best.gains) == ROUNDS


def test_good_values_of_two_settings_are_tried_together():
    clock = Clock([({"bucket_mb": 10}, 0.9), (DENSE, 0.9)])
    rounds = clock.run([*BUCKETS, DENSE])
    assert {"bucket_mb": 10, **DENSE} in [settings for settings, _ in rounds[1]]
    assert winner(scores(rounds)).settings == {"bucket_mb": 10, **DENSE}


def test_together_is_not_taken_where_it_is_worse_than_apart():
    clock = Clock([({"bucket_mb": 10}, 0.8), (DENSE, 0.9), ({"bucket_mb": 10, **DENSE}, 2.0)])
    assert winner(scores(clock.run([*BUCKETS, DENSE]))).settings == {"bucket_mb": 10}


def test_half_drop_out_after_each_round_and_the_defaults_begin_and_end_each():
    clock = Clock([({"bucket_mb": 10}, 0.8), ({"bucket_mb": 25}, 0.9)])
    rounds = clock.run(BUCKETS)
    assert [[settings for settings, _ in found] for found in rounds] == [
        [{}, *BUCKETS, {}],
        [{}, {"bucket_mb": 10}, {"bucket_mb": 25}, {}],
        [{}, {"bucket_mb": 10}, {}],
    ]


def test_a_gain_within_the_margin_or_not_in_every_round_leaves_the_defaults():
    assert winner(scores(Clock([({"bucket_mb": 10}, 0.98)]).run(BUCKETS))) is None
    # 20 % faster in two rounds, as fast as the defaults in one.
    rounds = [[({}, 1.0), (DENSE, taken), ({}, 1.0)] for taken in (0.8, 1.0, 0.8)]
    assert scores(rounds)[1].gain == pytest.approx(0.25)
    assert winner(scores(rounds)) is None
    # One round alone shows nothing.
    assert winner(scores(rounds[:1])) is None
    assert winner(scores([rounds[0], rounds[2]])).settings == DENSE


def test_a_moment_in_which_the_defaults_were_slow_makes_no_winner():
    # The mean of the defaults is 25 % slower than the try, the faster of them is as fast as it is.
    rounds = [[({}, 1.5), (DENSE, 1.0), ({}, 1.0)]] * 3
    assert scores(rounds)[1].gain == pytest.approx(0.25)
    assert scores(rounds)[1].least == (0.0, 0.0, 0.0)
    assert winner(scores(rounds)) is None


@pytest.mark.parametrize("rate", [0.9, 1.1])
def test_a_machine_that_becomes_faster_or_slower_makes_no_winner(rate):
    assert winner(scores(Clock(drift=lambda number: rate**number).run([DENSE]))) is None


def test_what_is_only_shown_is_in_every_round_and_wins_nothing_among_the_tries():
    rounds = Clock([(WIRE, 0.5), (DENSE, 0.9)]).run([*BUCKETS, DENSE], shown=[WIRE])
    assert all(WIRE in [settings for settings, _ in found] for found in rounds)
    # Nor is it combined with what was good.
    assert all(settings == WIRE for found in rounds for settings, _ in found if "wire_format" in settings)


def test_nothing_is_begun_that_does_not_fit_and_the_defaults_always_are():
    for most in range(12):
        clock = Clock(most=most)
        rounds = clock.run(BUCKETS)
        assert len(clock.asked) == max(most, 1)
        assert rounds[0][0] == ({}, 1.0)
        assert sum(map(len, rounds)) == len(clock.asked)


@pytest.mark.parametrize(
    ("measurements", "tries", "shown"),
    # Two rounds of four tries and one shown: 7 + 6 measurements; without it 6 + 5; of three 5 + 5; of one 3 + 3
    [(13, 4, 1), (12, 4, 0), (11, 4, 0), (10, 3, 0), (9, 2, 0), (7, 1, 0), (6, 1, 0), (0, 1, 0)],
)
def test_no_more_is_tried_than_two_rounds_have_time_for(measurements, tries, shown):
    candidates = [*BUCKETS, DENSE]
    assert affordable(candidates, [WIRE], measurements) == (candidates[:tries], [WIRE][:shown])
    clock = Clock(most=measurements)
    rounds = clock.run(*affordable(candidates, [WIRE], measurements))
    if measurements >= 6:
        assert len(rounds) > 1
        assert rounds[1][-1][0] == {}


def test_with_nothing_to_try_what_is_shown_stays():
    assert affordable([], [WIRE], 0) == ([], [WIRE])


def test_the_defaults_alone_are_measured_as_often_as_anything():
    rounds = Clock(drift=lambda number: (1.0, 1.2, 1.1)[number]).run([])
    assert [settings for settings, _ in itertools.chain(*rounds)] == [{}] * ROUNDS
    assert scores(rounds)[0].seconds == 1.1
    assert winner(scores(rounds)) is None


def test_the_order_is_the_same_each_time():
    factors = [({"bucket_mb": 2}, 0.9), ({"bucket_mb": 10}, 0.9), (DENSE, 0.9)]
    first, second = (Clock(factors) for _ in range(2))
    first.run([*BUCKETS, DENSE], shown=[WIRE])
    second.run([*BUCKETS, DENSE], shown=[WIRE])
    assert first.asked == second.asked


def test_nothing_is_combined_of_one_setting_or_of_losers():
    rounds = [[({}, 1.0), ({"bucket_mb": 2}, 0.9), ({"bucket_mb": 10}, 0.8), (DENSE, 1.1), ({}, 1.0)]]
    assert combined(rounds, [*BUCKETS, DENSE]) == {}


def test_rounds_come_back_from_their_json_form():
    rounds = [[({}, 1.0), ({"bucket_mb": 2}, 0.9)], [({}, 1.1)]]
    assert rounds_from(rounds_data(rounds)) == rounds
