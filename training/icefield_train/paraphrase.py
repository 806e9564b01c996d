"""Generated pairs of sentences in MRPC's shape: does the second say the same as the first?

Each sentence renders a *fact* (who did what to whom, when, where, how much) in a *style* (which synonym, active or
passive, what stands first, how a number is written). A paraphrase is the same fact in another style. A pair that is
none differs in one point of the fact - roles swapped, denied or only planned, another number, day or name, the
contrary verb - and often in style as well. How many words two sentences share gives nothing away. What a model learns
first is that a denial mostly comes with a pair that differs, as it does in sets that people wrote; for the rest it has
to compare.
"""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from icefield_train.paraphrase_words import (
    COMPANIES,
    EVENTS,
    FIRST_NAMES,
    LAST_NAMES,
    NICKNAMES,
    OFFICES,
    SECTORS,
    TEAMS,
    THINGS,
    TIMES,
)

TRAIN_ROWS, DEV_ROWS = 5000, 800
# The data's own seed: the seed of a run changes the training, not what it is measured on.
SEED = 20240
# MRPC's share of paraphrases.
SHARE_EQUIVALENT = 0.674
# Chance that a choice of style is made anew for the second sentence. A different fact changes words by itself, so less
# style is changed there: otherwise a count of shared words would tell the classes apart.
RESTYLE_EQUIVALENT, RESTYLE_DIFFERENT = 0.25, 0.08

STATUSES = ("done", "planned", "denied")
# Points of a fact that a pair of different meaning differs in, by weight among those that the fact has.
ALTERATIONS = {"status": 8, "actor": 2, "object": 2, "time": 2, "number": 2, "event": 1, "swap": 1}
# Statuses of the first sentence, by weight.
STATUS_POOL = ("done",) * 18 + ("planned", "denied")
STYLE_SLOTS = ("verb", "voice", "status", "actor", "object", "number", "time", "front")

T = TypeVar("T")
Names = tuple[str, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Fact:
    """What a sentence says. Actors and objects are given as all their names, the fullest first."""

    event: str
    actor: Names
    object: Names
    plural: str
    status: str
    number: Names
    time: Names


class Dice:
    """Random choices from ``random()`` alone: the one method that Python promises to keep the same for ever."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed).random

    def pick(self, options: Sequence[T]) -> T:
        """Return one of the options."""
        return options[int(self._random() * len(options))]

    def other(self, options: Sequence[T], than: T) -> T:
        """Return one of the options that differs from ``than``."""
        return self.pick([option for option in options if option != than])

    def chance(self, share: float) -> bool:
        """Return True in this share of the calls."""
        return self._random() < share

    def unit(self) -> float:
        """Return a number of at least 0 and below 1."""
        return self._random()


def generate(num_train: int = TRAIN_ROWS, num_dev: int = DEV_ROWS, seed: int = SEED) -> dict[str, list[dict[str, Any]]]:
    """Return the rows of "train" and "dev": ``{"id", "text", "text_pair", "label"}``, label 1 for a paraphrase.

    Deterministic: the same arguments give the same rows, on any machine and in any version of Python. No sentence
    occurs in two rows, so none of dev's is seen in training.
    """
    rows = _pairs(Dice(seed))
    made = {
        "train": [next(rows) for _ in range(num_train)],
        "dev": [next(rows) for _ in range(num_dev)],
    }
    return {
        split: [{"id": i, "text": a, "text_pair": b, "label": label} for i, (a, b, label) in enumerate(pairs)]
        for split, pairs in made.items()
    }


def _pairs(dice: Dice) -> Iterator[tuple[str, str, int]]:
    seen: set[str] = set()
    while True:
        fact = _fact(dice)
        style = {slot: dice.unit() for slot in STYLE_SLOTS}
        equivalent = dice.chance(SHARE_EQUIVALENT)
        share = RESTYLE_EQUIVALENT if equivalent else RESTYLE_DIFFERENT
        first, second = render(fact, style), ""
        other = fact if equivalent else _altered(fact, dice)
        while second in ("", first):
            second = render(other, {slot: dice.unit() if dice.chance(share) else old for slot, old in style.items()})
        pair = (first, second)
        if seen.intersection(pair):
            continue
        seen.update(pair)
        yield (*pair, int(equivalent))


def _fact(dice: Dice) -> Fact:
    event = dice.pick(list(EVENTS))
    kind = EVENTS[event]
    actor = _ACTORS[kind.actor](dice)
    if kind.object in THINGS:
        thing, plural = dice.pick(THINGS[kind.object])
        object_: Names = (thing,)
    else:
        plural = "were" if kind.object == "team" else "was"
        object_ = _another(_ACTORS[kind.object], actor, dice)
    return Fact(
        event=event,
        actor=actor,
        object=object_,
        plural=plural,
        status=dice.pick(STATUS_POOL),
        number=_NUMBERS[kind.number](dice) if kind.number else (),
        time=dice.pick(TIMES),
    )


def _altered(fact: Fact, dice: Dice) -> Fact:
    """Return a fact that differs in one point."""
    kind = EVENTS[fact.event]
    impossible = {
        "event" if not kind.opposite else "",
        "number" if not fact.number else "",
        "swap" if kind.object in THINGS else "object",
    }
    ways = [way for way, weight in ALTERATIONS.items() for _ in range(weight) if way not in impossible]
    match dice.pick(ways):
        case "swap":
            return dataclasses.replace(fact, actor=fact.object, object=fact.actor)
        case "event":
            return dataclasses.replace(fact, event=kind.opposite)
        case "status":
            return dataclasses.replace(fact, status=dice.other(STATUSES, fact.status))
        case "number":
            return dataclasses.replace(fact, number=_another(_NUMBERS[kind.number], fact.number, dice))
        case "time":
            return dataclasses.replace(fact, time=dice.other(TIMES, fact.time))
        case "actor":
            return dataclasses.replace(fact, actor=_another(_ACTORS[kind.actor], fact.actor, dice, fact.object))
        case _:
            thing, plural = dice.other(THINGS[kind.object], (fact.object[0], fact.plural))
            return dataclasses.replace(fact, object=(thing,), plural=plural)


def _another(make: Callable[[Dice], Names], old: Names, dice: Dice, taken: Names = ()) -> Names:
    # Two people of one office and family name would share a short name, and sentences of different facts be the same.
    while set(new := make(dice)).intersection(old + taken):
        pass
    return new


def _person(dice: Dice) -> Names:
    first, last, office = dice.pick(FIRST_NAMES), dice.pick(LAST_NAMES), dice.pick(OFFICES)
    return (f"{office} {first} {last}", f"{first} {last}", f"{office} {last}")


def _company(dice: Dice) -> Names:
    name, (ending, kind) = dice.pick(COMPANIES), dice.pick(SECTORS)
    return (f"{name} {ending}", f"the {kind} {name}")


def _team(dice: Dice) -> Names:
    city, nickname = dice.pick(TEAMS), dice.pick(NICKNAMES)
    return (f"the {city} {nickname}", f"the {nickname}")


def _money(dice: Dice) -> Names:
    amount, unit = f"{2 + int(dice.unit() * 96)}", dice.pick(("million", "billion"))
    return (f"for ${amount} {unit}", f"for {amount} {unit} dollars")


def _percent(dice: Dice) -> Names:
    amount = f"{2 + int(dice.unit() * 28)}"
    return (f"by {amount} percent", f"by {amount}%")


def _count(dice: Dice) -> Names:
    amount = f"{20 + 10 * int(dice.unit() * 60)}"
    return (f"with {amount} workers", f"with {amount} employees")


_ACTORS: dict[str, Callable[[Dice], Names]] = {"person": _person, "company": _company, "team": _team}
_NUMBERS: dict[str, Callable[[Dice], Names]] = {"money": _money, "percent": _percent, "count": _count}


def render(fact: Fact, style: dict[str, float]) -> str:
    """Return the sentence that says the fact in the style; each number of the style, in [0, 1), is one choice."""

    def pick(slot: str, options: Sequence[T]) -> T:
        return options[int(style[slot] * len(options))]

    past, base, participle = pick("verb", EVENTS[fact.event].verbs)
    actor, object_ = pick("actor", fact.actor), pick("object", fact.object)
    # Not every verb has a passive.
    if participle and style["voice"] < 0.5:
        was = fact.plural
        verb = {
            "done": pick("status", (f"{was} {participle}", f"{'has' if was == 'was' else 'have'} been {participle}")),
            "planned": pick(
                "status", (f"will be {participle}", f"{'is' if was == 'was' else 'are'} to be {participle}")
            ),
            "denied": pick("status", (f"{was} not {participle}", f"{was}n't {participle}")),
        }[fact.status]
        words = f"{object_} {verb} by {actor}"
    else:
        verb = {
            "done": past,
            "planned": pick(
                "status", (f"will {base}", f"{'plan' if EVENTS[fact.event].actor == 'team' else 'plans'} to {base}")
            ),
            "denied": pick("status", (f"did not {base}", f"didn't {base}")),
        }[fact.status]
        words = f"{actor} {verb} {object_}"
    number = f" {pick('number', fact.number)}" if fact.number else ""
    time = pick("time", fact.time)
    words = f"{time}, {words}{number}" if style["front"] < 0.4 else f"{words}{number} {time}"
    return f"{words[0].upper()}{words[1:]}."
