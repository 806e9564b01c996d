"""Scripts that are not ours, unchanged, on two nodes by both launchers: what they found out, and that it is here."""

import json
import random
import uuid
from pathlib import Path

import pytest

from tests.conftest import ROOT

pytestmark = pytest.mark.cluster

SCRIPTS = ROOT / "tests/scripts"
LAUNCHERS = ("torchrun", "mpirun")


def run(cluster, **settings):
    run_id = f"script-{uuid.uuid4().hex[:8]}"
    code, output = cluster.play("train.yml", run_id=run_id, **settings)
    assert code == 0, output
    return ROOT / "runs" / run_id, output


@pytest.fixture(scope="module")
def points(tmp_path_factory):
    """Make a folder with 100 points on the line y = 3x + 1, and noise of a tenth."""
    folder = tmp_path_factory.mktemp("data")
    dice = random.Random(1)
    xs = [dice.uniform(-1, 1) for _ in range(100)]
    (folder / "points.csv").write_text("x,y\n" + "".join(f"{x},{3 * x + 1 + dice.gauss(0, 0.1)}\n" for x in xs))
    # A name that other folders leave out; the user's own goes along.
    (folder / "README.md").write_text("points\n")
    return folder


@pytest.mark.parametrize("launcher", LAUNCHERS)
def test_a_plain_ddp_script_finds_its_modules_its_data_and_its_peers(cluster, points, launcher):
    folder, output = run(
        cluster,
        launcher=launcher,
        script=SCRIPTS / "ddp/main.py",
        script_dir=SCRIPTS / "ddp",
        script_args="""--data {data_dir} --out={output_dir} --lr 0.1 --name 'two words'""",
        data_dir=points,
    )
    found = json.loads((folder / "output/line.json").read_text())
    assert (folder / "output/latest.json").readlink() == Path("line.json")
    # 10^0 + 10^1: each rank was there, once.
    assert (found["world"], found["ranks"]) == (2, 11)
    assert (found["rows"], found["name"]) == (100, "two words")
    # All ranks have taken the same steps: theirs are averages over both halves of the rows.
    assert found["slopes"][0] == found["slopes"][1] == pytest.approx(3, abs=0.1)
    assert found["losses"][0] > 1 > 0.05 > found["losses"][-1]
    lines = output.splitlines()
    shown = [line for line in lines if line.startswith("epoch ")]
    assert shown == [f"epoch {number} loss {loss:.4f}" for number, loss in enumerate(found["losses"])]
    assert (folder / "logs/rank-0.log").read_text().splitlines()[-20:] == shown
    assert lines[-1] == f"report: {folder / 'report.html'}"
    assert "main.py, finished" in (folder / "report.html").read_text()
    assert not (folder / "work").exists()


@pytest.mark.parametrize("launcher", LAUNCHERS)
def test_an_accelerate_script_gets_its_packages_and_the_stack_keeps_its_own(cluster, launcher):
    folder, _ = run(
        cluster,
        launcher=launcher,
        script=SCRIPTS / "accelerate/train.py",
        script_requirements=SCRIPTS / "accelerate/requirements.txt",
        script_output="results/final",
    )
    found = json.loads((folder / "output/metrics.json").read_text())
    assert (found["processes"], found["type"]) == (2, "DistributedType.MULTI_CPU")
    # 512 rows by 16 on each of two; each of the 101 dev rows once.
    assert (found["steps"], found["rows"]) == (16, 101)
    assert found["accuracy"] > 0.85
    assert found["torch"] == ["2.13.0+cpu", "/opt/icefield/env/lib/python3.11/site-packages/torch/__init__.py"]
    layer = {path.split("/stage/layers/")[0] for path in found["layer"]}
    assert layer == {"/opt/icefield"}
    config = json.loads((folder / "config.json").read_text())
    assert [package.split("==")[0] for package in config["packages"]] == ["lightning-utilities", "torchmetrics"]


@pytest.mark.parametrize("launcher", LAUNCHERS)
def test_a_script_by_trainer_learns_and_saves_its_model(cluster, launcher):
    folder, output = run(
        cluster,
        launcher=launcher,
        script=SCRIPTS / "trainer/run.py",
        script_args="--output_dir {output_dir} --num_train_epochs 3 --per_device_train_batch_size 16 "
        "--learning_rate 3e-3 --seed 3 --save_strategy no",
    )
    before, after, trained = (
        json.loads((folder / f"output/{name}_results.json").read_text()) for name in ("before", "eval", "train")
    )
    assert trained["world"] == 2
    # 3 times 512 rows by 16 on each of two.
    assert trained["steps"] == 48
    assert after["eval_rows"] == 65
    assert after["eval_loss"] < before["eval_loss"]
    assert after["eval_accuracy"] > 0.75 > before["eval_accuracy"]
    assert (folder / "output/model.safetensors").stat().st_size > 10_000
    # A bar that is written over a hundred times is a few lines here.
    assert sum("/48 [" in line for line in output.splitlines()) < 20


def test_what_was_staged_for_scripts_cannot_be_changed_by_them(cluster):
    for node in cluster.nodes:
        said = cluster.on(
            node,
            "cd /opt/icefield/stage && "
            "for file in scripts/*/main.py data/*/points.csv layers/*/torchmetrics/__init__.py; do "
            "(echo x >> $file) 2>/dev/null && echo $file; rm -f $file 2>/dev/null && echo $file; done; "
            "ls data/*/README.md",
            user="icefield",
        )
        assert [line.rpartition("/")[2] for line in said.splitlines()] == ["README.md"]
