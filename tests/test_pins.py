"""Locks are exact, complete and agree with each other."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
LOCKS = sorted((ROOT / "requirements").rglob("*.txt"))


def pins(path):
    lines = [line.split("#")[0].strip() for line in path.read_text().splitlines()]
    return [line for line in lines if line and not line.startswith("-r ")]


@pytest.mark.parametrize("path", LOCKS, ids=lambda path: path.name)
def test_every_pin_is_exact_and_stands_once(path):
    names = []
    for pin in pins(path):
        match = re.fullmatch(r"([A-Za-z0-9_.-]+)==([A-Za-z0-9_.+]+)", pin)
        assert match, pin
        names.append(match[1].lower().replace("_", "-"))
    assert len(set(names)) == len(names)


def test_a_package_has_one_version_on_the_controller():
    controller, dev = (
        dict(pin.lower().split("==") for pin in pins(ROOT / "requirements" / f"{name}.txt"))
        for name in ("controller", "dev")
    )
    assert controller["ansible"] == "12.3.0"
    assert {name: dev[name] for name in set(controller) & set(dev)} == {
        name: controller[name] for name in set(controller) & set(dev)
    }


def test_the_default_model_is_the_same_with_and_without_a_wheelhouse():
    assert set(pins(ROOT / "requirements/model.txt")) <= set(pins(ROOT / "requirements/stacks/current.txt"))


@pytest.mark.parametrize("path", sorted((ROOT / "requirements/stacks").glob("*.txt")), ids=lambda path: path.stem)
def test_a_stack_says_what_it_is_and_keeps_cuda_out(path):
    head = path.read_text().split("\n")
    assert head[0] == f"# stack: {path.stem}"
    assert any(line.startswith("# end-of-life: ") for line in head)
    found = pins(path)
    assert any(re.fullmatch(r"torch==[0-9.]+\+cpu", pin) for pin in found)
    assert not [pin for pin in found if pin.startswith(("nvidia", "triton"))]
