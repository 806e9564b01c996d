"""Refusals as a user sees them: the playbooks themselves, called with bad settings."""

import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def play(*arguments, cwd=ROOT):
    done = subprocess.run(
        ["ansible-playbook", *arguments, "-e", "cluster_name=refusals"],
        cwd=cwd,
        env={**os.environ, "ANSIBLE_CONFIG": str(ROOT / "ansible.cfg"), "PWD": str(cwd), "ANSIBLE_NOCOLOR": "1"},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    output = done.stdout + done.stderr
    assert "Traceback" not in output
    return done.returncode, [line for line in output.splitlines() if line.strip()]


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (
            ["provision.yml", "-e", "nodes=0"],
            "setting 'nodes': value '0' is not accepted; give a whole number of at least 1",
        ),
        (["provision.yml", "-e", "node=4"], "unknown setting 'node' (value 4); did you mean 'nodes'?"),
        (["train.yml", "-e", "epoch=3"], "unknown setting 'epoch' (value 3); did you mean 'epochs'?"),
        (
            ["train.yml", "-e", "precision=fp8"],
            "setting 'precision': value 'fp8' is not accepted; give one of auto, fp32, bf16",
        ),
        (
            ["provision.yml", "-e", "env_manager=conda", "-e", "conda_lock=/nowhere/lock.txt"],
            "setting 'conda_lock': value '/nowhere/lock.txt' is not accepted; give a file as "
            "`conda list --explicit --sha256` writes it (no such file or directory)",
        ),
        (
            ["train.yml"],
            "the cluster has no nodes; run: ansible-playbook provision.yml -e nodes=2 -e cluster_name=refusals",
        ),
        # What a shell leaves of -e script_args='--lr 3e-5 --out={output_dir}'.
        (
            ["train.yml", "-e", "script=gone.py", "-e", "script_args=--lr 3e-5 --out={output_dir}"],
            "the cluster has no nodes; run: ansible-playbook provision.yml -e nodes=2 -e cluster_name=refusals",
        ),
        (
            ["train.yml", "-e", "attach=nope"],
            "the cluster has no nodes; run: ansible-playbook provision.yml -e nodes=2 -e cluster_name=refusals",
        ),
        (
            ["benchmark.yml", "-e", "nodes=1,2,2"],
            "setting 'nodes': value '1,2,2' is not accepted; give numbers of nodes from 1 on, each once, such as 1,2,4",
        ),
        (
            ["benchmark.yml", "-e", "recipes=artikel"],
            "setting 'recipes': value 'artikel' is not accepted; give at least one of article, icefield, each at most "
            "once, with commas between them",
        ),
        (
            ["benchmark.yml", "-e", "nodes=1,4"],
            "the cluster has no nodes; run: ansible-playbook provision.yml -e nodes=4 -e cluster_name=refusals",
        ),
        (
            ["status.yml", "-e", "stop=m1"],
            "setting 'stop': value 'm1' is not accepted; give the name of a run that goes on; the cluster has no nodes "
            "that run",
        ),
    ],
)
def test_a_refusal_is_the_last_line_and_there_is_one_of_it(arguments, line):
    code, lines = play(*arguments)
    assert code != 0
    assert lines[-1] == f"icefield: {line}"
    assert sum(text.startswith("icefield: ") for text in lines) == 1


def test_data_is_looked_for_where_the_user_is(tmp_path):
    (tmp_path / "rows").mkdir()
    code, lines = play(str(ROOT / "train.yml"), "-e", "task=mrpc", "-e", "data_dir=rows", cwd=tmp_path)
    assert code != 0
    # The folder is found; what is missing is the cluster.
    assert lines[-1].startswith("icefield: the cluster has no nodes; run: ")
    code, lines = play(str(ROOT / "train.yml"), "-e", "task=mrpc", "-e", "data_dir=gone", cwd=tmp_path)
    assert f"({tmp_path}/gone is not there)" in lines[-2] + lines[-1]
