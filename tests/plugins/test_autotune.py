"""The search, with figures made up: which probe comes next, what it may take, what is kept."""

import base64
import contextlib
import itertools
import json
from dataclasses import asdict, replace

import pytest

from icefield_train.race import race, rounds_data
from plugins.action.autotune_step import taken_in
from plugins.module_utils import autotune
from plugins.module_utils.autotune import ENDING, Search

TRIES = [{"bucket_mb": 2}, {"bucket_mb": 10}, {"embedding_exchange": "dense"}]
SHOWN = [{"wire_format": "bf16"}]
TWO = {"nproc_per_node": 2}
# Seconds from a launch to its first measurement, of a measurement, and from the last to the next launch.
STARTING, EACH, END = 20.0, 4.0, 6.0


class Nodes:
    """Nodes on which a step takes a second times the factors of what is set; ``breaks`` ends a probe there."""

    def __init__(self, factors=(), breaks=(), starting=STARTING):
        self.factors, self.breaks, self.starting = factors, breaks, starting
        self.launched = []

    def make(self, probe):
        self.launched.append(probe)
        clock, rounds, failed = self.starting + EACH, [], None

        def measure(settings):
            nonlocal clock, failed
            clock += EACH
            whole = {**probe.layout, **settings}
            if any(one.items() <= whole.items() for one in self.breaks):
                failed = settings
                raise RuntimeError
            seconds = 1.0
            for part, factor in self.factors:
                if part.items() <= whole.items():
                    seconds *= factor
            return seconds

        with contextlib.suppress(RuntimeError):
            race(probe.tries, probe.shown, measure, lambda: clock + EACH <= probe.seconds, rounds)
        reason = "" if failed is None else "node-1 rank 0: out of memory"
        return replace(
            probe,
            rounds=rounds,
            took=clock + END,
            begun=self.starting,
            ended=clock,
            rows=32,
            failed=failed,
            reason=reason,
        )

    def search(self, budget, layouts=({},), tries=TRIES, shown=SHOWN):
        search, elapsed = Search(budget=budget, layouts=list(layouts), tries=list(tries), shown=list(shown)), 0.0
        while probe := search.next_probe(elapsed):
            # What goes from one probe to the next is JSON.
            search = autotune.search_from(json.loads(json.dumps(asdict(search))))
            search = replace(search, probes=[*search.probes, self.make(probe)])
            elapsed += search.probes[-1].took
        return search, elapsed


def test_the_fastest_settings_within_one_launch_are_kept():
    search, _ = Nodes([({"bucket_mb": 10}, 0.8)]).search(300)
    verdict = search.verdict()
    assert (verdict.winner, verdict.gain) == ({"bucket_mb": 10}, pytest.approx(0.25))
    assert verdict.unsettled == 0
    row = next(row for row in verdict.measured if row["settings"] == {"bucket_mb": 10})
    assert row["samples_per_second"] == 40.0


def test_the_defaults_are_kept_where_nothing_is_faster():
    search, _ = Nodes([({"bucket_mb": 10}, 0.99), ({"bucket_mb": 2}, 1.2)]).search(300)
    assert search.verdict().winner == {}


def test_a_format_that_changes_results_is_shown_and_never_kept():
    search, _ = Nodes([(SHOWN[0], 0.5), ({"bucket_mb": 2}, 0.9)]).search(300)
    verdict = search.verdict()
    assert verdict.winner == {"bucket_mb": 2}
    row = next(row for row in verdict.measured if row["settings"] == SHOWN[0])
    assert row["gain"] == 1.0
    assert row["note"] == "changes the results; kept only with autotune_lossy=true"
    allowed, _ = Nodes([(SHOWN[0], 0.5), ({"bucket_mb": 2}, 0.9)]).search(400, tries=[*TRIES, *SHOWN], shown=[])
    assert allowed.verdict().winner == {"bucket_mb": 2, "wire_format": "bf16"}


def test_a_better_launch_is_kept_with_what_was_best_before_once_the_default_one_was_seen_again():
    nodes = Nodes([({"bucket_mb": 10}, 0.8), (TWO, 0.7)])
    search, _ = nodes.search(600, [{}, TWO])
    assert [probe.layout for probe in nodes.launched] == [{}, TWO, {}]
    assert nodes.launched[1].tries == [{"bucket_mb": 10}]
    verdict = search.verdict()
    assert verdict.winner == {**TWO, "bucket_mb": 10}
    assert verdict.gain == pytest.approx(1 / (0.8 * 0.7) - 1)


def test_a_launch_that_is_not_better_is_not_looked_at_again():
    nodes = Nodes([(TWO, 1.1)])
    search, _ = nodes.search(600, [{}, TWO])
    assert [probe.layout for probe in nodes.launched] == [{}, TWO]
    assert search.verdict().winner == {}


def test_a_launch_that_seemed_better_is_not_kept_without_a_second_look_at_the_defaults():
    search, _ = Nodes([(TWO, 0.7)]).search(600, [{}, TWO])
    cut = replace(search, probes=search.probes[:2])
    assert cut.verdict().winner == {}
    notes = [row.get("note") for row in cut.verdict().measured if row["settings"] == TWO]
    assert notes == ["no time was left to look at the defaults again"]


@pytest.mark.parametrize("budget", range(30, 700, 35))
@pytest.mark.parametrize("factor", [0.7, 1.1])
def test_no_search_takes_longer_than_its_budget(budget, factor):
    nodes = Nodes([(TWO, factor), ({"bucket_mb": 2}, 0.9)], starting=10.0)
    search, elapsed = nodes.search(budget, [{}, TWO, {"nproc_per_node": 4}])
    # The defaults are measured in any case: nothing is known before.
    assert elapsed <= max(budget, 10.0 + 2 * EACH + END)
    left = float(budget)
    for probe in search.probes:
        assert probe.limit == pytest.approx(left, abs=0.1)
        left -= probe.took


def test_the_first_probe_leaves_time_for_other_launches_and_for_its_end():
    alone = Search(budget=100.0, layouts=[{}], tries=TRIES, shown=[]).next_probe(10.0)
    assert (alone.seconds, alone.limit) == (90.0 - ENDING, 90.0)
    beside = Search(budget=100.0, layouts=[{}, TWO], tries=TRIES, shown=[]).next_probe(10.0)
    assert (beside.seconds, beside.limit) == (45.0 - ENDING, 90.0)


def test_too_short_a_budget_is_said_by_how_many_candidates_it_left_unsettled():
    # 20 s to start; the warm-up, the defaults, two tries and the defaults again would be 20 s more.
    search, _ = Nodes().search(46)
    verdict = search.verdict()
    assert verdict.winner == {}
    assert verdict.unsettled == 3
    assert autotune.notes(search, verdict, 44.6) == [
        "45 of 46 s used, by 1 probe",
        "too little time to settle 3 of 3 candidates; a longer autotune_budget may find more",
    ]
    whole, _ = Nodes().search(600)
    assert autotune.notes(whole, whole.verdict(), 100.0) == ["100 of 600 s used, by 1 probe"]
    # A launch that there was no time for counts too.
    assert Nodes().search(46, [{}, TWO])[0].verdict().unsettled == 4


def test_settings_that_fail_are_left_out_told_and_never_kept():
    nodes = Nodes([({"bucket_mb": 2}, 0.9), ({"bucket_mb": 10}, 0.5)], breaks=[{"bucket_mb": 10}])
    search, _ = nodes.search(600)
    assert {"bucket_mb": 10} in nodes.launched[0].tries
    assert nodes.launched[1].tries == [one for one in TRIES if one != {"bucket_mb": 10}]
    verdict = search.verdict()
    assert verdict.winner == {"bucket_mb": 2}
    assert {"settings": {"bucket_mb": 10}, "note": "failed: node-1 rank 0: out of memory"} in verdict.measured


def test_what_failed_in_a_later_round_is_not_kept_for_its_first_ones():
    search, _ = Nodes([({"bucket_mb": 10}, 0.5)]).search(600)
    probe = replace(search.probes[0], failed={"bucket_mb": 10}, reason="out of memory")
    assert replace(search, probes=[probe]).verdict().winner == {}


def test_a_launch_that_fails_leaves_the_others():
    nodes = Nodes([({"nproc_per_node": 4}, 0.5)], breaks=[TWO])
    search, _ = nodes.search(900, [{}, TWO, {"nproc_per_node": 4}])
    assert search.verdict().winner == {"nproc_per_node": 4}


def test_defaults_that_cannot_be_measured_end_the_search_with_the_reason():
    with pytest.raises(ValueError, match=r"^the default settings cannot be measured: node-1 rank 0: out of memory$"):
        Nodes(breaks=[{}]).search(600)


def test_the_table_tells_what_was_kept_and_what_else_was_seen():
    search, _ = Nodes([({"bucket_mb": 10}, 0.8)], breaks=[{"bucket_mb": 2}]).search(600)
    assert autotune.table(search.verdict()) == [
        # Twice in each of three rounds, and once before the failure.
        "defaults                  32.0 samples/s           7 x",
        "bucket_mb=10              40.0 samples/s  +25.0 %  3 x, at worst +25.0 %  kept",
        "embedding_exchange=dense  32.0 samples/s  +0.0 %   1 x, at worst +0.0 %",
        "wire_format=bf16          32.0 samples/s  +0.0 %   3 x, at worst +0.0 %   "
        "changes the results; kept only with autotune_lossy=true",
        f"{'bucket_mb=2':<74}failed: node-1 rank 0: out of memory",
    ]


PROBE = Search(budget=100.0, layouts=[{}], tries=TRIES, shown=[]).next_probe(0.0)
ROUNDS = [[({}, 1.0), ({"bucket_mb": 2}, 0.5)]]


def left(**changes):
    data = {"rounds": rounds_data(ROUNDS), "trying": None, "rows": 32, "begun": 20.5, "written": 70.0, **changes}
    return base64.b64encode(json.dumps(data).encode()).decode()


def test_what_a_probe_left_is_taken_in():
    probe = taken_in(PROBE, {"state": "done", "line": ""}, left(), 75.0)
    assert (probe.rounds, probe.begun, probe.ended, probe.took, probe.rows) == (ROUNDS, 20.5, 70.0, 75.0, 32)
    assert (probe.failed, probe.reason) == (None, "")


def test_a_probe_that_failed_keeps_what_it_measured_before_and_with_what_it_failed():
    result = {"state": "failed", "line": "node-1: out of memory"}
    probe = taken_in(PROBE, result, left(trying={"bucket_mb": 10}), 75.0)
    assert (probe.rounds, probe.failed, probe.reason) == (ROUNDS, {"bucket_mb": 10}, "node-1: out of memory")
    # Before any rank measured: the defaults, which come first.
    assert taken_in(PROBE, result, "", 5.0).failed == {}


@pytest.mark.parametrize("state", ["stopped", "lost"])
def test_a_probe_that_a_user_stopped_or_that_is_out_of_reach_is_followed_by_none(state):
    with pytest.raises(ValueError, match=r"^node-1: some reason; nothing was kept$"):
        taken_in(PROBE, {"state": state, "line": "node-1: some reason"}, left(), 75.0)


def test_figures_of_all_probes_of_a_launch_count():
    search, _ = Nodes([(TWO, 0.7)]).search(600, [{}, TWO])
    defaults = next(row for row in search.verdict().measured if row["settings"] == {})
    seen = [one for probe in search.probes if not probe.layout for one in probe.rounds]
    assert len(seen) > len(search.probes[0].rounds)
    assert defaults["repeats"] == sum(settings == {} for settings, _ in itertools.chain(*seen))
