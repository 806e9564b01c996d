"""Checks of the user's settings, one by one: names, types and ranges. Pure; what they are stands in argument specs."""

from __future__ import annotations

import difflib
import ipaddress
import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Any

from icefield_train.config import RULES as TRAINING_RULES
from icefield_train.rules import Rule, number, refusal, whole
from plugins.module_utils import benchmark_order, conda_settings, local_net, podman
from plugins.module_utils.tunables import AUTO

# Names that Ansible, Molecule and our own plays may pass; everything else given by -e has to be a setting.
FOREIGN_NAMES = re.compile(r"(ansible|molecule)_|__")
_WHOLE = re.compile(r"[+-]?[0-9]+")
_TRUE, _FALSE = ("true", "yes", "on", "1"), ("false", "no", "off", "0")
_TYPES = {
    "raw": "a whole number or auto",
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "str": "text",
    "list": "a list",
    "counts": "numbers of nodes from 1 on, each once, such as 1,2,4",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Setting:
    """One user setting, as its argument spec describes it."""

    name: str
    topic: str
    type: str = "str"
    choices: tuple[str, ...] = ()
    default: Any = None
    description: str = ""


def settings_of(specs: Mapping[str, Any]) -> dict[str, Setting]:
    """Return the settings by name from the entry points of the role's argument specs; ``main`` is the role's own."""
    found: dict[str, Setting] = {}
    for topic, spec in specs["argument_specs"].items():
        if topic == "main":
            continue
        for name, option in spec["options"].items():
            text = option.get("description", "")
            found[name] = Setting(
                name=name,
                topic=topic,
                type=option.get("type", "str"),
                choices=tuple(option.get("choices", ())),
                default=option.get("default"),
                description=text if isinstance(text, str) else " ".join(text),
            )
    return found


def of_playbook(known: Mapping[str, Setting], playbook: str) -> dict[str, Setting]:
    """Return the settings as a playbook takes them: benchmark.yml runs on several numbers of nodes."""
    nodes = replace(known["nodes"], type="counts") if playbook == "benchmark" else known["nodes"]
    return {**known, "nodes": nodes}


def accepted(setting: Setting) -> str:
    """Say in words what a setting accepts."""
    if setting.choices:
        return f"one of {', '.join(setting.choices)}"
    rule = _rule(setting)
    return rule.words if rule else _TYPES[setting.type]


def _rule(setting: Setting) -> Rule | None:
    return RULES.get(setting.name) if setting.type != "counts" else None


def convert(setting: Setting, value: Any) -> Any:
    """Return the value as the setting's type; text such as ``-e`` yields is read.

    Raises:
        ValueError: it is not of that type, not one of the choices, or breaks the setting's rule.
    """
    try:
        result = _CONVERTERS[setting.type](value)
        good = result in setting.choices if setting.choices else True
        if good and (rule := _rule(setting)):
            good = rule.test(result)
    except (ValueError, TypeError):
        good = False
    if not good:
        raise ValueError(refusal(setting.name, value, accepted(setting)))
    return result


def unknown_names(extra: Mapping[str, Any], known: Iterable[str]) -> list[str]:
    """Return one line for each extra variable that is no setting, with the nearest that is."""
    names, lines = sorted(known), []
    for name, value in extra.items():
        if name in names or FOREIGN_NAMES.match(name):
            continue
        if name == "_raw_params":
            lines.append(f"'{value}' is not a setting; write NAME=VALUE, such as -e nodes=2")
            continue
        near = difflib.get_close_matches(name.lower().replace("-", "_"), names, n=1, cutoff=0.6)
        hint = f"did you mean '{near[0]}'?" if near else f"settings are: {', '.join(names)}"
        lines.append(f"unknown setting '{name}' (value {value}); {hint}")
    return lines


def _to_int(value: Any) -> int:
    if isinstance(value, bool) or not _WHOLE.fullmatch(str(value).strip()):
        raise ValueError(value)
    return int(value)


def _to_int_or_auto(value: Any) -> Any:
    return AUTO if str(value).strip().lower() == AUTO else _to_int(value)


def _to_float(value: Any) -> float:
    if isinstance(value, bool) or not math.isfinite(float(value)):
        raise ValueError(value)
    return float(value)


def _to_bool(value: Any) -> bool:
    text = str(value).strip().lower()
    if text not in _TRUE + _FALSE:
        raise ValueError(value)
    return text in _TRUE


def _to_str(value: Any) -> str:
    if value is None or isinstance(value, bool | list | dict):
        raise ValueError(value)
    return str(value)


def _to_list(value: Any) -> list[str]:
    if not isinstance(value, list | tuple) or not all(isinstance(item, str) for item in value):
        raise ValueError(value)
    return [str(item) for item in value]


_CONVERTERS: dict[str, Callable[[Any], Any]] = {
    # The only type of argument specs that takes numbers and a word.
    "raw": _to_int_or_auto,
    "int": _to_int,
    "float": _to_float,
    "bool": _to_bool,
    "str": _to_str,
    "list": _to_list,
    "counts": benchmark_order.node_counts,
}


def _matches(pattern: str, words: str, *, empty: bool = False) -> Rule:
    regex = re.compile(pattern)
    return Rule(words=words, test=lambda value: (empty and value == "") or bool(regex.fullmatch(value)))


def _parses(parse: Callable[[str], object], words: str) -> Rule:
    return Rule(words=words, test=lambda value: value == "" or bool(parse(value)))


def _or_auto(rule: Rule) -> Rule:
    return Rule(words=f"{rule.words}, or {AUTO}", test=lambda value: value == AUTO or rule.test(value))


def _time_zone(name: str) -> bool:
    """Tell whether the name is a zone; on a machine without the tz database any well-formed name passes."""
    database = Path("/usr/share/zoneinfo")
    well_formed = bool(re.fullmatch(r"[A-Za-z0-9_+-]+(/[A-Za-z0-9_+-]+)*", name))
    return well_formed and (not (database / "Etc").is_dir() or (database / name).is_file())


def _is_below(path: str) -> bool:
    parts = PurePosixPath(path).parts
    return path == "" or (bool(parts) and not path.startswith("/") and ".." not in parts and path.isprintable())


RULES: dict[str, Rule] = {
    # What the training takes it checks itself, by the same rules.
    **TRAINING_RULES,
    "cluster_name": _matches(
        "[a-z][a-z0-9-]{0,30}", "a lower-case letter, then up to 30 lower-case letters, digits or hyphens"
    ),
    "nodes": whole(1),
    "local_subnet": Rule(
        words=f"an IPv4 network such as 198.18.7.0/24, in {', '.join(local_net.RANGES)}, or nothing for a free one",
        test=lambda value: value == "" or local_net.is_usable(value),
    ),
    "local_cpus": number("of at least 0.01, or 0 for an equal share", lambda value: value == 0 or value >= 0.01),
    "local_memory": _parses(podman.parse_size, "a size such as 4g or 1536m, or nothing for a share"),
    "local_bandwidth": _parses(podman.parse_rate, "a rate such as 400mbit or 1gbit, or nothing for no limit"),
    "local_base_image": _matches(
        r"[A-Za-z0-9][A-Za-z0-9._:/@-]*", "an image such as docker.io/library/debian:12, or nothing", empty=True
    ),
    "local_debian_mirror": _matches(r"https?://\S+", "an address that begins with http:// or https://"),
    "aws_region": _matches(r"[a-z]{2,}(-[a-z0-9]+)+", "a region such as us-east-1, or nothing", empty=True),
    "aws_profile": _matches(r"[^\s]+", "the name of a profile, or nothing", empty=True),
    "aws_endpoint_url": _matches(r"https?://\S+", "an address that begins with http:// or https://", empty=True),
    "aws_checkip_url": _matches(r"https?://\S+", "an address that begins with http:// or https://"),
    "aws_ami": _matches(r"ami-[0-9a-f]+", "an image such as ami-0123456789abcdef0, or nothing", empty=True),
    "aws_ami_user": _matches(r"[a-z_][a-z0-9_-]*", "the name of a user, or nothing", empty=True),
    "aws_subnet_id": _matches(r"subnet-[0-9a-f]+", "a subnet such as subnet-0123456789abcdef0, or nothing", empty=True),
    "aws_vpc_cidr": Rule(
        words="an IPv4 network from /24 to /16, such as 10.64.0.0/20",
        test=lambda value: 16 <= ipaddress.IPv4Network(value).prefixlen <= 24,
    ),
    "aws_ssh_cidr": _parses(
        ipaddress.IPv4Network, "an IPv4 network such as 192.0.2.7/32, or nothing for this controller's"
    ),
    "aws_disk_gb": whole(20, 16384),
    "max_hours": number("from 0.1 to 720", lambda value: 0.1 <= value <= 720),
    "extend_hours": number("from 0 to 720", lambda value: 0 <= value <= 720),
    "max_cost_usd": number("of at least 0", lambda value: value >= 0),
    "timezone": Rule(words="the name of a time zone, such as Etc/UTC or Europe/Berlin", test=_time_zone),
    "extra_ca_files": Rule(
        words="a list of absolute paths of certificates (PEM)",
        test=lambda paths: all(path.startswith("/") for path in paths),
    ),
    "stack": _matches(r"[a-z0-9][a-z0-9._-]*", "the name of a file in requirements/stacks, without .txt"),
    **conda_settings.RULES,
    **{
        name: _matches(r"https?://\S+", "an address that begins with http:// or https://")
        for name in ("torch_index_url", "ipex_index_url")
    },
    **{name: _or_auto(whole(1)) for name in ("nproc_per_node", "threads_per_process")},
    "bucket_mb": _or_auto(TRAINING_RULES["bucket_mb"]),
    "autotune_budget": whole(30, 36000),
    **{
        name: _matches(
            r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}", "up to 100 letters, digits, '.', '_' or '-', or nothing", empty=True
        )
        for name in ("run_id", "attach", "stop")
    },
    "rendezvous_port": whole(1024, 65534),
    "recipes": Rule(
        words=f"at least one of {', '.join(benchmark_order.RECIPES)}, each at most once, with commas between them",
        test=lambda value: bool(benchmark_order.recipe_names(value)),
    ),
    "repeats": whole(1),
    **{f"deadline_{phase}": whole(1) for phase in ("start", "rendezvous", "step", "evaluate", "save", "silence")},
    "script_output": Rule(
        words="a path below the folder that the script is run in, such as results, or nothing", test=_is_below
    ),
}
