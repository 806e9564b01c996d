"""A run of a user's script, from the settings to the plan that the nodes get."""

import json
from pathlib import Path

import pytest
import yaml

from plugins.filter import plan_run as filters
from plugins.module_utils import run_plan, script_job, script_plan, settings_check, stack_file
from plugins.module_utils.script_layer import read_stack
from plugins.module_utils.staging import digest_of
from plugins.module_utils.tunables import untuned
from tests.training.folders import write_model, write_wheel

ROOT = Path(__file__).parents[2]
SPECS = settings_check.settings_of(yaml.safe_load((ROOT / "roles/settings/meta/argument_specs.yml").read_text()))
DEFAULTS = untuned({name: setting.default for name, setting in SPECS.items()})
TUNING = {
    "cpus": 2.0,
    "cores": [0, 1],
    "interface": "eth0",
    "preload": "",
    "memory_bytes": 8 << 30,
    "python": "3.11.2",
    "machine": "x86_64",
}
NODES = [{"name": "a", "address": "10.0.0.1"}, {"name": "b", "address": "10.0.0.2"}]


@pytest.fixture
def check(tmp_path):
    """Return a function that checks a script with some settings."""
    (tmp_path / "train.py").write_text("print(1)\n")
    stack = read_stack(ROOT / "requirements/stacks/current.txt", tmp_path / "none", "")

    def run(**settings):
        return script_job.check(
            {**DEFAULTS, "script": "train.py", **settings},
            DEFAULTS,
            called_from=tmp_path,
            cache=tmp_path / "cache",
            wheelhouse=tmp_path / "wheels",
            stack=stack,
        )

    return run


def kinds(found):
    return [tree["kind"] for tree in found["trees"]]


def test_a_script_alone_brings_neither_data_nor_model(check):
    found = check(script_args="--lr 3e-5")
    assert kinds(found) == ["scripts"]
    assert found["script"]["arguments"] == ["--lr", "3e-5"]


def test_data_goes_along_as_it_is(check, tmp_path):
    (tmp_path / "rows").mkdir()
    (tmp_path / "rows/any.thing").write_text("x")
    found = check(data_dir="rows")
    assert found["trees"][1] == {"kind": "data", "src": f"{tmp_path}/rows", "digest": digest_of(tmp_path / "rows")}
    (tmp_path / "rows/gone").symlink_to("nowhere")
    with pytest.raises(ValueError, match=r"setting 'data_dir': value 'rows' .*gone is a link to nothing"):
        check(data_dir="rows")


def test_data_that_is_asked_for_has_to_be_given(check):
    with pytest.raises(ValueError, match=r"setting 'script_args': .* give data_dir as well, for \{data_dir\} in it$"):
        check(script_args="--data {data_dir}")


def test_a_model_goes_along_where_it_is_asked_for(check, tmp_path):
    write_wheel(tmp_path / "wheels", write_model(tmp_path / "bert"))
    found = check(script_args="--model={model_dir}")
    assert kinds(found) == ["scripts", "models"]
    assert (Path(found["trees"][1]["src"]) / "model.safetensors").exists()
    # A folder as it is: what a script takes for a model is its own business.
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/weights.npz").write_text("w")
    assert check(model="mine")["trees"][1]["src"] == f"{tmp_path}/mine"


def test_packages_that_the_stack_has_bring_no_layer(check, tmp_path):
    (tmp_path / "r.txt").write_text("# nothing\n")
    assert kinds(check(script_requirements="r.txt")) == ["scripts"]
    (tmp_path / "r.txt").write_text("transformers==4.57.6\n")
    with pytest.raises(ValueError, match=r"asks for transformers==4\.57\.6, the stack has transformers 5"):
        check(script_requirements="r.txt")


def test_what_belongs_to_a_script_is_refused_without_one():
    line = script_job.fault({**DEFAULTS, "script_args": "--lr 1"})
    assert line == (
        "setting 'script_args': value '--lr 1' is not accepted; give nothing, or together with the script that it is "
        "for (script)"
    )
    assert script_job.fault(DEFAULTS) == ""
    assert script_job.fault({**DEFAULTS, "script": "t.py", "script_args": "--lr 1", "collectives": "ccl"}) == ""


def test_a_script_s_backend_is_not_chosen_by_measuring():
    line = script_job.fault({**DEFAULTS, "script": "t.py", "collectives": "auto"})
    assert line == (
        "setting 'collectives': value 'auto' is not accepted; give gloo or ccl with a script: what it exchanges cannot "
        "be measured before"
    )
    assert script_job.fault({**DEFAULTS, "collectives": "auto"}) == ""


def test_settings_of_the_training_that_a_script_does_not_follow_are_told():
    given = {**DEFAULTS, "epochs": 9, "data_dir": "rows", "deadline_rendezvous": 5, "seed": 42}
    assert script_job.ignored(given, DEFAULTS) == [
        "setting 'epochs': not used, a script is told what it needs by script_args"
    ]


def test_a_run_is_named_for_its_script():
    assert script_job.new_run_id({"script": "a/my train.py"}, "20261202-101500") == "20261202-101500-my-train"
    assert script_job.new_run_id({"script": "..."}, "20261202-101500") == "20261202-101500-script"


def job(**script):
    found = {"name": "train.py", "entry": "src/train.py", "arguments": [], "output": "", "packages": []}
    trees = [{"kind": kind, "digest": kind[0] * 12} for kind in ("code", "scripts")]
    return {
        "run_id": "r",
        "stack_lock": str(ROOT / "requirements/stacks/current.txt"),
        "git_commit": "abc",
        "sources": {"script": "/home/u/train.py"},
        "trees": trees,
        "script": {**found, "python": "3.11", "machine": "x86_64", **script},
    }


def plan_of(job, **settings):
    return filters.plan_run(job, {**DEFAULTS, **settings}, NODES, [TUNING, TUNING], "/opt", env="/env", ccl="/env/ccl")


def test_the_plan_has_the_folders_on_the_nodes_in_place_of_their_names():
    described = job(arguments=["{output_dir}", "--d={data_dir}", "{model_dir}"])
    described["trees"] += [{"kind": "data", "digest": "d" * 12}, {"kind": "layers", "digest": "l" * 12}]
    script = plan_of(described)["script"]
    assert script["source"] == "/opt/stage/scripts/ssssssssssss"
    assert script["entry"] == "src/train.py"
    assert script["layer"] == "/opt/stage/layers/llllllllllll"
    # No model was asked for by a setting: the name stays, and the script will say so.
    assert script["arguments"] == ["/opt/runs/r/output", "--d=/opt/stage/data/dddddddddddd", "{model_dir}"]
    assert script["environment"] == {"ICEFIELD_DATA_DIR": "/opt/stage/data/dddddddddddd"}
    assert plan_of(job(output="results/x", arguments=["{output_dir}"]))["script"]["arguments"] == [
        "/opt/runs/r/work/results/x"
    ]


def test_of_the_deadlines_those_apply_that_can_be_seen_from_outside():
    assert plan_of(job(), deadline_silence=7)["deadlines"] == {"start": 120, "rendezvous": 60, "silence": 7}
    assert set(run_plan.SCRIPT_PHASES) < {name.removeprefix("deadline_") for name in SPECS}


def refuse(job, answers):
    return filters.refuse_nodes(job, {"nproc_per_node": 1, "collectives": "gloo"}, NODES, answers, size=2, commands={})


def test_nodes_whose_python_is_not_that_of_the_packages_are_refused():
    pins = stack_file.read(ROOT / "requirements/stacks/current.txt").pins
    stack = {"packages": pins, "python": "3.11", "isa": [], "ccl": False}
    answers = [{"tuning": TUNING, **stack}, {"tuning": {**TUNING, "python": "3.12.3"}, **stack}]
    assert refuse(job(), answers) == ""
    line = refuse(job(packages=["x==1"]), answers)
    assert line.endswith(
        "give nothing, for b has Python 3.12 on x86_64, and packages are taken for Python 3.11 on x86_64"
    )
    assert refuse(job(packages=["x==1"]), [answers[0]] * 2) == ""


def test_the_config_of_a_run_tells_how_to_repeat_it():
    settings = {**DEFAULTS, "script": "train.py", "script_args": "--lr 1", "launcher": "mpirun", "epochs": 9}
    config = filters.train_config(job(packages=["x==1"]), settings, DEFAULTS, "/opt", nodes=2, commands={})
    assert config["packages"] == ["x==1"]
    assert config["script_digest"] == "ssssssssssss"
    assert config["command"] == (
        "ansible-playbook train.yml -e nodes=2 -e launcher=mpirun -e script=/home/u/train.py "
        """-e '{"script_args": "--lr 1"}'"""
    )
    assert set(script_plan.USED) <= set(SPECS)
    json.dumps(config)


@pytest.mark.parametrize("path", ["/tmp/x", "../x", "a/../../b", ".", "a\nb"])
def test_results_lie_below_the_folder_that_a_script_is_run_in(path):
    with pytest.raises(ValueError, match="a path below the folder that the script is run in"):
        settings_check.convert(SPECS["script_output"], path)
    assert settings_check.convert(SPECS["script_output"], "results/best") == "results/best"
