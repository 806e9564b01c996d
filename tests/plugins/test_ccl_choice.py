"""Over what collectives go where oneCCL is asked for."""

from pathlib import Path

import pytest

from icefield_train.plan import Ccl
from plugins.filter import plan_run as filters
from plugins.module_utils import ccl_choice, stack_file

STACKS = Path(__file__).parents[2] / "requirements/stacks"
NODES = [{"name": "a", "address": "10.0.0.1"}, {"name": "b", "address": "10.0.0.2"}]
OURS, BINDINGS = Ccl(module="icefield_ccl", folder="/env/ccl"), Ccl(module="oneccl_bindings_for_pytorch")


def stack_of(name):
    return stack_file.read(STACKS / f"{name}.txt")


@pytest.mark.parametrize(
    ("stack", "collectives", "chosen"),
    [
        ("current", "gloo", None),
        ("current", "ccl", OURS),
        ("current", "auto", OURS),
        ("ipex", "gloo", None),
        ("ipex", "ccl", BINDINGS),
        ("ipex", "auto", BINDINGS),
        # Without the bindings, which PyPI has not.
        ("ipex-pypi", "ccl", OURS),
    ],
)
def test_the_bindings_carry_collectives_where_the_stack_has_them_and_our_backend_elsewhere(stack, collectives, chosen):
    assert ccl_choice.choose({"collectives": collectives}, stack_of(stack), "/env/ccl") == chosen


def refused(stack, collectives, *has, **settings):
    found = stack_of(stack)
    facts = {"packages": found.pins, "python": "3.11", "isa": list(found.needs), "tuning": {"memory_bytes": 8 << 30}}
    return filters.refuse_nodes(
        {"stack_lock": str(STACKS / f"{stack}.txt")},
        {"nproc_per_node": 1, "collectives": collectives, **settings},
        NODES,
        [{**facts, "ccl": there} for there in has],
        size=4,
        commands={"cluster": "c"},
    )


def test_oneccl_is_refused_where_a_node_has_none_with_the_command_that_puts_it_there():
    assert refused("current", "ccl", True, True) == ""
    assert refused("current", "ccl", True, False) == (
        "setting 'collectives': value 'ccl' is not accepted; give gloo or auto: b has no oneCCL; this puts it there: "
        "ansible-playbook provision.yml -e nodes=4 -e ccl=true -e cluster_name=c"
    )
    for collectives in ("gloo", "auto"):
        assert refused("current", collectives, False, False) == ""


def test_the_command_that_puts_oneccl_there_names_the_stack():
    assert "-e nodes=4 -e stack=ipex-pypi -e ccl=true" in refused("ipex-pypi", "ccl", False, False)
    assert refused("ipex", "ccl", False, False) == ""


def test_a_script_is_not_told_to_measure():
    assert "; give gloo: b has no oneCCL; " in refused("current", "ccl", True, False, script="train.py")
