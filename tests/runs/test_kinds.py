"""Own data of each kind that is not a class per row, from files to a model and its predictions, on two nodes."""

import json
import random
import subprocess
import uuid

import pytest

from tests.conftest import ROOT

pytestmark = pytest.mark.cluster

PEOPLE = ("anna", "peter", "maria", "john")
PLACES = ("paris", "london", "rome", "berlin")
PLAIN = ("sees", "the", "house", "in", "today", "and", "old", "goes", "to")
TOPICS = {"sport": ("football", "tennis"), "food": ("bread", "cheese"), "music": ("piano", "violin")}


def run(cluster, **settings):
    run_id = f"kinds-{uuid.uuid4().hex[:8]}"
    code, output = cluster.play("train.yml", run_id=run_id, **settings)
    assert code == 0, output
    folder = ROOT / "runs" / run_id
    return folder, json.loads((folder / "metrics.json").read_text()), output


def answers(folder, name="test"):
    header, *lines = (folder / f"predictions/{name}.tsv").read_text().splitlines()
    assert header == "index\tprediction"
    return [line.split("\t")[1] for line in lines]


def tagged(dice):
    """Return words, each with its tag."""
    words = [dice.choice((*PEOPLE, *PLACES, *PLAIN, *PLAIN)) for _ in range(dice.randint(3, 9))]
    return [(word, "B-PER" if word in PEOPLE else "B-LOC" if word in PLACES else "O") for word in words]


def test_tags_of_words_are_learned_from_conll_and_predicted_for_json_lines(cluster, tmp_path):
    dice = random.Random(1)
    for name, count in (("train", 320), ("dev", 41)):
        sentences = [tagged(dice) for _ in range(count)]
        text = "\n\n".join("\n".join(f"{word} {tag}" for word, tag in sentence) for sentence in sentences)
        (tmp_path / f"{name}.conll").write_text(text + "\n")
    asked = [["maria", "sees", "rome"], ["today"], ["the", "old", "peter", "goes", "to", "london"]]
    (tmp_path / "ask.jsonl").write_text("".join(json.dumps({"tokens": words}) + "\n" for words in asked))
    folder, metrics, output = run(
        cluster,
        task="tokens",
        data_dir=tmp_path,
        test_file="ask.jsonl",
        predict=True,
        epochs=4,
        learning_rate=0.0005,
    )
    assert (metrics["kind"], metrics["dev_rows"], metrics["train_rows"], metrics["nodes"]) == ("tokens", 41, 320, 2)
    assert metrics["entity_f1"] > 0.95
    assert answers(folder) == ["B-PER O B-LOC", "O", "O O B-PER O O B-LOC"]
    names = json.loads((folder / "model/config.json").read_text())["id2label"].values()
    # With the tags that go on with an entity, which these rows do not have and the next may.
    assert sorted(names) == ["B-LOC", "B-PER", "I-LOC", "I-PER", "O"]
    assert "entity_f1" in output


def test_several_classes_of_a_row_are_learned_from_columns_and_predicted_by_name(cluster, tmp_path):
    dice = random.Random(2)
    lines = ["body," + ",".join(TOPICS)]
    for _ in range(420):
        chosen = [topic for topic in TOPICS if dice.random() < 0.4]
        words = [dice.choice(TOPICS[topic]) for topic in chosen] + dice.sample(PLAIN, 4)
        dice.shuffle(words)
        lines.append(f'"{" ".join(words)}",' + ",".join(str(int(topic in chosen)) for topic in TOPICS))
    (tmp_path / "train.csv").write_text("\n".join(lines) + "\n")
    (tmp_path / "test.csv").write_text("body\nthe tennis and the bread\nold piano today\nthe house\n")
    folder, metrics, output = run(
        cluster,
        task="text",
        data_dir=tmp_path,
        label_column=",".join(TOPICS),
        predict=True,
        epochs=6,
        learning_rate=0.0005,
    )
    assert metrics["kind"] == "multilabel"
    # A tenth of the rows was set aside.
    assert metrics["train_rows"] + metrics["dev_rows"] == 420
    assert metrics["dev_rows"] == pytest.approx(42, abs=3)
    assert metrics["micro_f1"] > 0.9 > metrics["baseline"]["micro_f1"]
    assert [set(filter(None, answer.split("|"))) for answer in answers(folder)] == [{"sport", "food"}, {"music"}, set()]
    assert "data: " in output


def test_a_language_model_learns_answers_by_lora_and_comes_back_whole(cluster, tmp_path):
    node = cluster.nodes[0]
    # Made where torch is.
    cluster.on(node, "mkdir -p /tmp/kinds/tests/training && touch /tmp/kinds/tests/__init__.py", user="icefield")
    for name in ("__init__.py", "tiny.py"):
        source = str(ROOT / "tests/training" / name)
        subprocess.run(["podman", "cp", source, f"{node}:/tmp/kinds/tests/training/{name}"], check=True)
    made = cluster.on(
        node,
        # With weights of the usual size its answers would hardly depend on what LoRA can change.
        "cd /tmp/kinds && /opt/icefield/env/current/bin/python -c "
        "'from pathlib import Path; from tests.training import tiny; "
        'tiny.write_tiny_model(Path("/tmp/kinds/model"), "causal", initializer_range=0.5)\' 2>&1; echo exit code $?',
        user="icefield",
    )
    assert made.rstrip().endswith("exit code 0"), made
    subprocess.run(["podman", "cp", f"{node}:/tmp/kinds/model", str(tmp_path / "model")], check=True)
    rows = [{"text": f"ban {word}", "text_pair": "kor kor"} for word in ("mil", "sust", "tem", "lock") * 20]
    for name, part in (("train", rows), ("dev", rows[:7])):
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in part))
    folder, metrics, _ = run(
        cluster,
        task="causal",
        data_dir=tmp_path,
        model=tmp_path / "model",
        lora=True,
        lora_r=4,
        epochs=6,
        learning_rate=0.02,
        global_batch_size=16,
        per_device_batch_size=4,
    )
    assert (metrics["kind"], metrics["passes"], metrics["steps"]) == ("causal", 2, 30)
    # Evenly spread over its 400 tokens, its perplexity would be 400; that is about what random weights give.
    assert metrics["perplexity"] < 40
    assert json.loads((folder / "adapters/adapter_config.json").read_text())["r"] == 4
    loads = cluster.on(
        node,
        "/opt/icefield/env/current/bin/python -c 'from transformers import AutoModelForCausalLM as M; "
        f'print(sum(p.numel() for p in M.from_pretrained("/opt/icefield/runs/{folder.name}/model").parameters()))\'',
        user="icefield",
    )
    weights = (tmp_path / "model/model.safetensors").stat().st_size / 4
    # The whole model and nothing of the adapters beside it: the file has a header too.
    assert int(loads) == pytest.approx(weights, rel=0.1)
