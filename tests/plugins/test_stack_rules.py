"""What is refused of the article's stack, and by which words."""

from pathlib import Path

import pytest

from plugins.module_utils import settings_machine, stack_file, stack_job, stack_rules

STACKS = Path(__file__).parents[2] / "requirements/stacks"
IPEX = stack_file.read(STACKS / "ipex.txt")
ISA = [*IPEX.needs, "fma"]
ANSWER = {"tuning": {"cpus": 4.0}, "packages": dict(IPEX.pins), "python": "3.11", "isa": ISA}


def run_fault(**changes):
    """What a run is refused with, where a node has other packages or answers."""
    packages = {**IPEX.pins, **changes.pop("packages", {})}
    return stack_job.fault(IPEX, "n-2", {**ANSWER, "packages": packages, **changes}, 2, {})


def lock_faults(tmp_path, name, version):
    """What is refused before anything is downloaded, of a stack with another version."""
    text = (STACKS / "ipex.txt").read_text().replace("# stack: ipex", "# stack: mine")
    old = f"{name}=={IPEX.pins[name]}"
    assert old in text
    (tmp_path / "mine.txt").write_text(text.replace(old, f"{name}=={version}"))
    return list(settings_machine.check_files({"stack": "mine"}, tmp_path, tmp_path))


def test_what_a_node_has_as_its_stack_says_is_let_through():
    assert run_fault() == ""
    assert stack_rules.node_faults(IPEX, "n-1", python="3.12.3", isa=ISA) == []
    # A pin that names no build is met by any.
    assert run_fault(packages={"intel-extension-for-pytorch": "2.8.0+cpu"}) == ""


def test_torch_of_another_minor_is_refused_in_the_table_and_on_the_node(tmp_path):
    words = "intel-extension-for-pytorch 2.8.0 works with torch 2.8 alone, not 2.13.0+cpu"
    assert lock_faults(tmp_path, "torch", "2.13.0+cpu")[0] == (
        f"setting 'stack': value 'mine' is not accepted; give one whose versions go together ({words})"
    )
    # The bindings of oneCCL have the same rule, and the pin is not met either.
    assert run_fault(packages={"torch": "2.13.0+cpu"}) == (
        f"n-2: {words} (and 2 more); run: ansible-playbook provision.yml -e nodes=2 -e stack=ipex"
    )


def test_transformers_5_is_refused_in_the_table_and_on_the_node(tmp_path):
    words = "intel-extension-for-pytorch 2.8.0 works with transformers below 5, not 5.24.0"
    assert lock_faults(tmp_path, "transformers", "5.24.0") == [
        f"setting 'stack': value 'mine' is not accepted; give one whose versions go together ({words})"
    ]
    assert run_fault(packages={"transformers": "5.24.0"}).startswith(f"n-2: {words} (and 1 more); run: ")


def test_processors_without_avx_512_are_refused():
    flags = ["avx2", "fma"]
    words = "its processors lack AVX-512 (avx512f, avx512bw, avx512vl, avx512dq), which the stack 'ipex' needs"
    assert stack_rules.node_faults(IPEX, "n-1", python="3.11.2", isa=flags) == [f"n-1: {words}"]
    assert run_fault(isa=flags) == f"n-2: {words}"
    assert stack_rules.node_faults(stack_file.read(STACKS / "current.txt"), "n-1", isa=[]) == []


@pytest.mark.parametrize("version", ["3.13.1", "3.13", "3.10.12"])
def test_a_python_that_the_stack_was_not_made_for_is_refused(version):
    line = f"n-1 has Python {version}; the stack 'ipex' takes 3.11 to 3.12"
    assert stack_rules.node_faults(IPEX, "n-1", python=version, isa=ISA) == [line]
    assert run_fault(python=version) == line.replace("n-1", "n-2")


def test_a_node_without_the_environment_of_the_stack_is_told_how_to_get_it():
    answer = {**ANSWER, "packages": {}}
    assert stack_job.fault(IPEX, "n-1", answer, 4, {"cluster": "c"}) == (
        "n-1 has no environment of the stack 'ipex'; "
        "run: ansible-playbook provision.yml -e nodes=4 -e stack=ipex -e cluster_name=c"
    )
    # One that is not provisioned at all is refused in other words.
    assert stack_job.fault(IPEX, "n-1", {}, 4, {}) == ""


def test_any_other_version_is_refused_by_its_name():
    assert run_fault(packages={"numpy": "1.26.4"}).startswith(
        f"n-2 has numpy 1.26.4; the stack 'ipex' has numpy {IPEX.pins['numpy']}; run: "
    )


@pytest.mark.parametrize(
    ("line", "changed", "words"),
    [
        ("# needs: ", "# wants: ", "lacks the line '# needs: ...'"),
        ("# python: 3.11 to", "# python: from 3.11 to", "'# python: from 3.11 to 3.12' is not accepted"),
        ("# mpi: intel", "# mpi: open", "'# mpi: open' is not accepted"),
        ("# stack: ipex", "# stack: other", "is headed '# stack: other'; give it '# stack: ipex'"),
        ("numpy==", "numpy>=", "is not an exact pin"),
    ],
)
def test_a_stack_s_file_that_is_not_in_order_is_refused(line, changed, words):
    text = (STACKS / "ipex.txt").read_text()
    with pytest.raises(ValueError, match=r"requirements/stacks/ipex\.txt") as error:
        stack_file.parse(text.replace(line, changed, 1), "ipex")
    assert words in str(error.value)
