"""Which settings are the fastest, found out by measuring few of them often. Pure: what measures is handed in.

Settings are told by what differs from the defaults; ``{}`` are the defaults themselves. The defaults begin and end
every round, so that each round has figures of its own to compare with: a machine's speed drifts. The slower half drops
out after each round (successive halving, Jamieson and Talwalkar 2016, arXiv:1502.07943); after the first one the best
values of each setting are tried together.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Settings = dict[str, Any]
# Settings and seconds per step, in the order in which they were measured.
Round = list[tuple[Settings, float]]

# Rounds until no more is asked, and those that a choice takes at least.
ROUNDS = 3
FEWEST_ROUNDS = 2
# What is chosen has to be so much faster than each measurement of the defaults in each of its rounds: 3 %.
MARGIN = 0.03


@dataclass(frozen=True, kw_only=True, slots=True)
class Score:
    """How settings did."""

    settings: Settings
    seconds: float
    """Per step, the median of all rounds."""
    gains: tuple[float, ...]
    """By round: 0.07 where they were 7 % faster than the defaults of that round, by the mean of these."""
    least: tuple[float, ...]
    """The same, by the fastest of the defaults of that round: a machine that was slow for a moment proves nothing."""

    @property
    def gain(self) -> float:
        """The median of the gains."""
        return statistics.median(self.gains)

    @property
    def wins(self) -> bool:
        """Whether these settings were faster than the defaults whenever both were measured in the same round."""
        return len(self.gains) >= FEWEST_ROUNDS and min(self.least) >= MARGIN


def race(
    tries: Sequence[Settings],
    shown: Sequence[Settings],
    measure: Callable[[Settings], float],
    fits: Callable[[], bool],
    rounds: list[Round],
) -> None:
    """Measure settings in rounds.

    Args:
        tries: settings that differ from the defaults.
        shown: settings that are measured as well, and neither drop out nor are combined.
        measure: returns the seconds per step of these settings.
        fits: tells whether there is time for one more measurement. The first one, of the defaults, does not ask.
        rounds: gets what was measured, while it goes on; the last round may be cut, or empty.
    """
    alive = list(tries)
    while len(rounds) < ROUNDS or len(alive) > 1:
        now: Round = []
        rounds.append(now)
        for place, settings in enumerate([{}, *alive, *shown, {}]):
            # Without anything beside it, once is enough.
            if place and not (alive or shown):
                break
            if (place or len(rounds) > 1) and not fits():
                return
            now.append((settings, measure(settings)))
        together = combined(rounds, alive) if len(rounds) == 1 else {}
        alive = fastest(rounds, alive)
        if together and together not in alive:
            alive.append(together)


def affordable(
    tries: Sequence[Settings], shown: Sequence[Settings], measurements: int
) -> tuple[list[Settings], list[Settings]]:
    """Return as many tries, the first ones, as so many measurements can decide on, and what is shown beside them.

    Few that are measured twice tell something, many that are measured once do not. One try is always left.
    """
    for count in range(len(tries), 0, -1):
        for beside in (list(shown), []):
            first = 2 + count + len(beside)
            # Those that did not drop out, and the best of each setting together.
            second = 2 + math.ceil(count / 2) + len(beside) + (count > 1)
            if first + second <= measurements:
                return list(tries[:count]), beside
    return list(tries[:1]), [] if tries else list(shown)


def fastest(rounds: Sequence[Round], alive: Sequence[Settings]) -> list[Settings]:
    """Return the faster half of these settings, at least one of them, the fastest first."""
    ranked = sorted((score for score in scores(rounds) if score.settings in alive), key=lambda score: -score.gain)
    return [score.settings for score in ranked[: math.ceil(len(ranked) / 2)]]


def combined(rounds: Sequence[Round], alive: Sequence[Settings]) -> Settings:
    """Return the best value of each setting together, of those that were faster than the defaults; {} if it is one."""
    best: dict[str, Score] = {}
    for score in scores(rounds):
        if score.settings not in alive or score.gain <= 0:
            continue
        for name in score.settings:
            if name not in best or score.gain > best[name].gain:
                best[name] = score
    return {name: score.settings[name] for name, score in best.items()} if len(best) > 1 else {}


def scores(rounds: Sequence[Round]) -> list[Score]:
    """Return the scores in the order in which settings were first measured; the defaults' gains are 0."""
    seconds: dict[str, list[float]] = {}
    gains: dict[str, list[tuple[float, float]]] = {}
    known: dict[str, Settings] = {}
    for found in rounds:
        defaults = [taken for settings, taken in found if not settings]
        if not defaults:
            continue
        usual, fast = statistics.fmean(defaults), min(defaults)
        for settings, taken in found:
            key = repr(sorted(settings.items()))
            known[key] = settings
            seconds.setdefault(key, []).append(taken)
            gains.setdefault(key, []).append((usual / taken - 1, fast / taken - 1) if settings else (0.0, 0.0))
    return [
        Score(
            settings=settings,
            seconds=statistics.median(seconds[key]),
            gains=tuple(gain for gain, _ in gains[key]),
            least=tuple(least for _, least in gains[key]),
        )
        for key, settings in known.items()
    ]


def winner(found: Sequence[Score]) -> Score | None:
    """Return the fastest settings that win against the defaults; None where none do."""
    return max((score for score in found if score.settings and score.wins), key=lambda score: score.gain, default=None)


def rounds_from(data: Sequence[Sequence[Mapping[str, Any]]]) -> list[Round]:
    """Return rounds from their JSON form."""
    return [[(dict(one["settings"]), float(one["seconds"])) for one in found] for found in data]


def rounds_data(rounds: Sequence[Round]) -> list[list[dict[str, Any]]]:
    """Return the JSON form of rounds."""
    return [[{"settings": settings, "seconds": seconds} for settings, seconds in found] for found in rounds]
