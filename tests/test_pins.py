"""Locks are exact, complete and agree with each other."""

import re
from pathlib import Path

import pytest

from plugins.module_utils import stack_file, stack_rules
from plugins.module_utils.requirements_file import platform_of

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


STACKS = sorted((ROOT / "requirements/stacks").glob("*.txt"))


@pytest.mark.parametrize("path", STACKS, ids=lambda path: path.stem)
def test_a_stack_says_what_it_is_and_its_versions_go_together(path):
    stack = stack_file.read(path)
    assert stack_rules.conflicts(stack.pins) == []
    assert stack.takes_python(platform_of(path.read_text()).python)
    assert stack.imports[:2] == ("torch", "transformers")
    assert set(stack.indexes) <= set(stack.pins)
    # Who takes it has to be told, unless somebody looks after it.
    assert len(stack.warnings()) == (0 if path.stem == "current" else 2)
    # Both bring a program called mpiexec.
    assert {"mpich": "mpich", "intel": "impi-rt"}[stack.mpi] in stack.pins
    assert len({"mpich", "impi-rt"} & set(stack.pins)) == 1


@pytest.mark.parametrize("path", [path for path in STACKS if path.stem != "ipex-pypi"], ids=lambda path: path.stem)
def test_a_stack_keeps_cuda_out(path):
    found = pins(path)
    assert any(re.fullmatch(r"torch==[0-9.]+\+cpu", pin) for pin in found)
    assert not [pin for pin in found if pin.startswith(("nvidia", "triton"))]


def test_the_two_forms_of_the_article_s_stack_differ_in_where_they_come_from_alone():
    intel, pypi = (stack_file.read(ROOT / f"requirements/stacks/{name}.txt").pins for name in ("ipex", "ipex-pypi"))
    assert set(intel) - set(pypi) == {"oneccl-bind-pt"}
    assert all(name.startswith(("nvidia", "triton")) for name in set(pypi) - set(intel))
    assert {name for name in set(intel) & set(pypi) if intel[name] != pypi[name]} == {"torch"}
    assert pypi["torch"] == intel["torch"].partition("+")[0]
