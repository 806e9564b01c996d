"""Settings of conda environments: what is refused before any node is touched."""

import hashlib
from pathlib import Path

import pytest
import yaml

from plugins.module_utils import conda_settings, settings_check

ROOT = Path(__file__).parents[2]
SETTINGS = settings_check.settings_of(yaml.safe_load((ROOT / "roles/settings/meta/argument_specs.yml").read_text()))
LOCK = f"@EXPLICIT\nhttps://example.org/forge/linux-64/python-3.11.9-h_0.conda#sha256:{'a' * 64}\n"


def faults(**given):
    values = {name: setting.default for name, setting in SETTINGS.items() if setting.topic == "conda"}
    return list(conda_settings.faults({**values, **given}))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("env_manager", "mamba"),
        ("conda_provider", "micromamba"),
        ("conda_frontend", "pip"),
        ("conda_platform", "osx-64"),
        ("conda_channels", []),
        ("conda_channels", ["conda-forge"]),
        ("conda_channels", ["file://relative/channel"]),
        ("conda_channels", "https://example.org/forge"),
        ("conda_packages", ["numpy"]),
        ("conda_packages", ["python-dateutil"]),
        ("conda_packages", ["python==3.11 ;rm", ""]),
        ("conda_miniforge_version", "latest"),
        ("conda_installer", "ftp://example.org/Miniforge3.sh"),
        ("conda_installer", "Miniforge3.sh"),
        ("conda_installer_sha256", "abc"),
        ("conda_lock", "my-lock.txt"),
    ],
)
def test_what_has_not_the_right_form_is_refused(name, value):
    with pytest.raises(ValueError, match=f"^setting '{name}': value '.*' is not accepted; give "):
        settings_check.convert(SETTINGS[name], value)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        (
            "conda_channels",
            ["https://conda.anaconda.org/conda-forge", "file:///srv/channel", "http://mirror.lan/forge"],
        ),
        ("conda_packages", ["python=3.11", "numpy>=2,<3", "conda-forge::openblas"]),
        ("conda_packages", ["python"]),
        ("conda_installer", "/srv/Miniforge3.sh"),
        ("conda_installer", "http://127.0.0.1:8000/Miniforge3.sh"),
        ("conda_miniforge_version", "24.11.3-2"),
    ],
)
def test_what_has_the_right_form_is_taken(name, value):
    assert settings_check.convert(SETTINGS[name], value) == value


def test_the_defaults_name_nothing_that_has_to_be_on_the_controller():
    assert faults() == []


def test_a_folder_that_is_no_channel_is_refused(tmp_path):
    address = f"file://{tmp_path}"
    assert faults(conda_channels=[address]) == [
        f"setting 'conda_channels': value '{address}' is not accepted; give a folder with a channel "
        "(no repodata.json is below it)"
    ]
    (tmp_path / "noarch").mkdir()
    (tmp_path / "noarch" / "repodata.json").write_text("{}")
    assert faults(conda_channels=[address]) == []


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (None, "no such file or directory"),
        ("python=3.11\n", "line 1: 'python=3.11' is not the address of a conda package with #sha256:HASH behind it"),
        ("@EXPLICIT\n", "no package 'python'"),
        (LOCK.replace("linux-64", "osx-64"), "python-3.11.9-h_0.conda is for osx-64, not for linux-64"),
    ],
)
def test_a_lock_that_cannot_be_used_is_refused_in_one_line(tmp_path, text, words):
    path = tmp_path / "lock.txt"
    if text is not None:
        path.write_text(text)
    (line,) = faults(conda_lock=str(path))
    assert line.startswith(f"setting 'conda_lock': value '{path}' is not accepted; give a file as ")
    assert line.endswith(f" ({words})")
    path.write_text(LOCK)
    assert faults(conda_lock=str(path)) == []


def test_miniforge_needs_the_hash_of_its_installer():
    (line,) = faults(conda_provider="miniforge")
    assert line.startswith("setting 'conda_installer_sha256': value '' is not accepted; give the SHA-256 of ")
    assert faults(conda_provider="miniforge", conda_installer_sha256="a" * 64) == []


def test_an_installer_that_is_not_there_or_another_one_is_refused(tmp_path):
    path = tmp_path / "Miniforge3.sh"
    given = {"conda_provider": "miniforge", "conda_installer": str(path), "conda_installer_sha256": "a" * 64}
    assert faults(**given) == [
        f"setting 'conda_installer': value '{path}' is not accepted; give the path of Miniforge's installer on this "
        f"machine ({path} is not a file)"
    ]
    path.write_text("installer")
    found = hashlib.sha256(b"installer").hexdigest()
    (line,) = faults(**given)
    assert line.startswith(f"setting 'conda_installer_sha256': value '{'a' * 64}' is not accepted; ")
    assert found in line
    assert faults(**{**given, "conda_installer": f"file://{path}", "conda_installer_sha256": found}) == []
