"""The words of the generated sentences: who, what, where, when. Data only."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class Event:
    """Something that a kind of actor does to a kind of object."""

    actor: str
    """"person", "company" or "team"."""
    object: str
    """A kind of actor (then the roles can be swapped), or a list of ``THINGS``."""
    verbs: tuple[tuple[str, str, str], ...]
    """Verbs of the same meaning: past tense, infinitive, participle."""
    opposite: str = ""
    """Name of the event that says the contrary."""
    number: str = ""
    """What number goes with it: "money", "percent", "count" or none."""


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


EVENTS: dict[str, Event] = {
    "buy": Event(
        actor="company",
        object="company",
        number="money",
        verbs=(
            ("bought", "buy", "bought"),
            ("acquired", "acquire", "acquired"),
            ("took over", "take over", "taken over"),
        ),
    ),
    "sue": Event(
        actor="company",
        object="company",
        number="money",
        verbs=(("sued", "sue", "sued"), ("brought a lawsuit against", "bring a lawsuit against", "")),
    ),
    "overtake": Event(
        actor="company",
        object="company",
        verbs=(
            ("overtook", "overtake", "overtaken"),
            ("surpassed", "surpass", "surpassed"),
            ("passed", "pass", "passed"),
        ),
    ),
    "praise": Event(
        actor="person",
        object="person",
        opposite="criticise",
        verbs=(("praised", "praise", "praised"), ("commended", "commend", "commended"), ("hailed", "hail", "hailed")),
    ),
    "criticise": Event(
        actor="person",
        object="person",
        opposite="praise",
        verbs=(
            ("criticized", "criticize", "criticized"),
            ("condemned", "condemn", "condemned"),
            ("denounced", "denounce", "denounced"),
        ),
    ),
    "succeed": Event(
        actor="person",
        object="person",
        verbs=(("succeeded", "succeed", "succeeded"), ("replaced", "replace", "replaced")),
    ),
    "question": Event(
        actor="person",
        object="person",
        verbs=(("questioned", "question", "questioned"), ("interviewed", "interview", "interviewed")),
    ),
    "beat": Event(
        actor="team",
        object="team",
        verbs=(("beat", "beat", "beaten"), ("defeated", "defeat", "defeated"), ("overcame", "overcome", "overcome")),
    ),
    "approve": Event(
        actor="person",
        object="plans",
        opposite="reject",
        verbs=(("approved", "approve", "approved"), ("endorsed", "endorse", "endorsed"), ("backed", "back", "backed")),
    ),
    "reject": Event(
        actor="person",
        object="plans",
        opposite="approve",
        verbs=(
            ("rejected", "reject", "rejected"),
            ("turned down", "turn down", "turned down"),
            ("dismissed", "dismiss", "dismissed"),
        ),
    ),
    "raise": Event(
        actor="company",
        object="prices",
        opposite="lower",
        number="percent",
        verbs=(("raised", "raise", "raised"), ("increased", "increase", "increased"), ("lifted", "lift", "lifted")),
    ),
    "lower": Event(
        actor="company",
        object="prices",
        opposite="raise",
        number="percent",
        verbs=(("cut", "cut", "cut"), ("lowered", "lower", "lowered"), ("reduced", "reduce", "reduced")),
    ),
    "open": Event(
        actor="company",
        object="sites",
        opposite="close",
        number="count",
        verbs=(("opened", "open", "opened"), ("inaugurated", "inaugurate", "inaugurated")),
    ),
    "close": Event(
        actor="company",
        object="sites",
        opposite="open",
        number="count",
        verbs=(("closed", "close", "closed"), ("shut down", "shut down", "shut down")),
    ),
    "postpone": Event(
        actor="team",
        object="matches",
        verbs=(
            ("postponed", "postpone", "postponed"),
            ("delayed", "delay", "delayed"),
            ("put off", "put off", "put off"),
        ),
    ),
}

# Kind of object -> noun phrase and the verb form of its passive.
THINGS: dict[str, tuple[tuple[str, str], ...]] = {
    "plans": (
        ("the budget plan", "was"),
        ("the merger proposal", "was"),
        ("the new tax rules", "were"),
        ("the school reform", "was"),
        ("the trade agreement", "was"),
        ("the peace talks", "were"),
        ("the airport project", "was"),
        ("the pension changes", "were"),
        ("the water treaty", "was"),
        ("the election law", "was"),
    ),
    "prices": (
        ("ticket prices", "were"),
        ("the price of diesel", "was"),
        ("monthly fees", "were"),
        ("wages", "were"),
        ("the annual dividend", "was"),
        ("steel output", "was"),
        ("insurance premiums", "were"),
        ("its sales forecast", "was"),
        ("research spending", "was"),
        ("interest rates on loans", "were"),
    ),
    "sites": (
        ("a chip factory", "was"),
        ("a call center", "was"),
        ("a research laboratory", "was"),
        ("a paper mill", "was"),
        ("a distribution center", "was"),
        ("a car plant", "was"),
        ("a shipyard", "was"),
        ("a training school", "was"),
    ),
    "matches": (
        ("the opening match", "was"),
        ("the cup final", "was"),
        ("the charity game", "was"),
        ("the training camp", "was"),
        ("the summer tour", "was"),
        ("the medal ceremony", "was"),
    ),
}

FIRST_NAMES = _words(
    "Maria James Linda Robert Susan David Karen Thomas Nancy Daniel Helen Kevin Laura Brian Sarah George Anna "
    "Edward Julia Frank Rachel Peter Diana Walter"
)
LAST_NAMES = _words(
    "Lopez Carter Hughes Nguyen Fischer Bennett Rossi Larsen Dubois Grant Mercer Vargas Barrett Coleman Ibrahim "
    "Schultz Morgan Delgado Pearce Hartman Keller Murphy Walsh Burke Doyle Palmer Spencer Chapman Gibson Turner"
)
OFFICES = _words("Senator Governor Mayor Judge Professor Minister Detective Ambassador")
COMPANIES = _words(
    "Summit Atlas Phoenix Delta Granite Sterling Pinnacle Meridian Apex Horizon Liberty Pioneer Titan Vector Crown "
    "Orion Harbor Beacon Cascade Emerald Frontier Gateway Heritage Keystone Lincoln Monarch Nova Olympus Paramount "
    "Quantum Regal Sierra Trident Union Victor Windsor"
)
# What a company's name ends in, and what else such a company is called.
SECTORS = (
    ("Steel", "steelmaker"),
    ("Airlines", "airline"),
    ("Bank", "lender"),
    ("Foods", "food maker"),
    ("Software", "software company"),
    ("Energy", "power supplier"),
    ("Motors", "carmaker"),
    ("Pharma", "drug maker"),
    ("Stores", "retailer"),
    ("Telecom", "phone company"),
)
TEAMS = _words(
    "Chicago Boston Denver Toronto Seattle Houston Madrid Lisbon Dublin Vienna Oslo Prague Sydney Melbourne "
    "Glasgow Milan Atlanta Dallas Montreal Portland"
)
NICKNAMES = _words("Hawks Rovers Tigers Comets Wolves Miners Falcons Pilots Kings Raiders")
# Each is one time, said in several ways.
TIMES: tuple[tuple[str, ...], ...] = (
    *((f"on {day}", f"{day}") for day in _words("Monday Tuesday Wednesday Thursday Friday Saturday Sunday")),
    *(
        (f"in {month}", f"during {month}")
        for month in _words("January February March April June July August September October November December")
    ),
    *((f"in {year}", f"during {year}") for year in range(1995, 2005)),
)
