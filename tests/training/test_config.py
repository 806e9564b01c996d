"""Settings: what is accepted, and in which words the rest is refused."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest

from icefield_train.config import TrainConfig, load_config
from icefield_train.tasks import TASKS


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"epochs": 0}, "setting 'epochs': value '0' is not accepted; give a whole number of at least 1"),
        ({"epochs": "three"}, "setting 'epochs': value 'three' is not accepted; give a whole number of at least 1"),
        ({"epochs": 1.5}, "setting 'epochs': value '1.5' is not accepted; give a whole number of at least 1"),
        ({"epochs": True}, "setting 'epochs': value 'True' is not accepted; give a whole number of at least 1"),
        ({"precision": "fp8"}, "setting 'precision': value 'fp8' is not accepted; give one of auto, fp32, bf16"),
        ({"wire_format": "fp8"}, "setting 'wire_format': value 'fp8' is not accepted; give one of fp32, bf16, fp16"),
        (
            {"embedding_exchange": "sometimes"},
            "setting 'embedding_exchange': value 'sometimes' is not accepted; give one of auto, sparse, dense",
        ),
        ({"bucket_mb": 0}, "setting 'bucket_mb': value '0' is not accepted; give a whole number from 1 to 1024"),
        ({"task": "mprc"}, f"setting 'task': value 'mprc' is not accepted; give one of {', '.join(TASKS)}"),
        ({"learning_rate": 0}, "setting 'learning_rate': value '0.0' is not accepted; give a number above 0"),
        ({"learning_rate": "nan"}, "setting 'learning_rate': value 'nan' is not accepted; give a number above 0"),
        (
            {"warmup_ratio": 1},
            "setting 'warmup_ratio': value '1.0' is not accepted; give a number of at least 0 and below 1",
        ),
        ({"max_length": 7}, "setting 'max_length': value '7' is not accepted; give a whole number from 8 to 4096"),
        (
            {"max_steps": -1},
            "setting 'max_steps': value '-1' is not accepted; give a whole number of at least 0 (0 = no limit)",
        ),
        ({"seed": 2**32}, f"setting 'seed': value '{2**32}' is not accepted; give a whole number from 0 to 4294967295"),
        ({"length_grouping": "maybe"}, "setting 'length_grouping': value 'maybe' is not accepted; give true or false"),
        (
            {"lora_target_modules": ",,"},
            "setting 'lora_target_modules': value ',,' is not accepted; give names with commas between them",
        ),
        (
            {"label_column": " , "},
            "setting 'label_column': value ' , ' is not accepted; give names with commas between them",
        ),
        ({"epoch": 3}, "setting 'epoch' (value '3') is not known; did you mean 'epochs'?"),
        (
            {"learning-rate": 1e-4},
            "setting 'learning-rate' (value '0.0001') is not known; did you mean 'learning_rate'?",
        ),
    ],
)
def test_a_bad_setting_is_refused_in_one_line(settings: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError) as refusal:
        TrainConfig.from_dict(settings)
    assert str(refusal.value) == message


def test_an_unknown_setting_like_no_other_lists_the_known_ones() -> None:
    with pytest.raises(
        ValueError, match=r"'zzz' \(value '1'\) is not known; give one of task, data_dir, .*model_digest$"
    ):
        TrainConfig.from_dict({"zzz": 1})


def test_text_from_a_command_line_is_read_as_what_it_says() -> None:
    config = TrainConfig.from_dict({"epochs": " 4", "learning_rate": "1e-4", "length_grouping": "No", "seed": "0"})
    assert (config.epochs, config.learning_rate, config.length_grouping, config.seed) == (4, 1e-4, False, 0)


def test_a_config_survives_its_file(tmp_path: Path) -> None:
    config = TrainConfig(task="mrpc", data_dir="/data", epochs=2, run_id="first", command="make demo")
    (tmp_path / "config.json").write_text(json.dumps(config.to_dict()))
    assert load_config(tmp_path / "config.json") == config


def test_a_config_can_not_be_changed() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        TrainConfig().epochs = 5  # type: ignore[misc]


@pytest.mark.parametrize("text", ["", "[]", "{", "3"])
def test_a_file_without_an_object_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "settings.json"
    path.write_text(text)
    with pytest.raises(ValueError) as refusal:
        load_config(path)
    assert str(refusal.value) == f"setting 'config': value '{path}' is not accepted; give a file with a JSON object"


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"can't be read \(No such file or directory\); give a JSON file$"):
        load_config(tmp_path / "none.json")
