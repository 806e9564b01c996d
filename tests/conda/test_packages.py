"""Packages and the installer on their way: fetched, compared with their hashes, installed by the right options."""

import hashlib
import shutil
from pathlib import Path

import pytest

from plugins.module_utils import conda_lock
from plugins.modules import conda_env, conda_packages, miniforge

FAKE = Path(__file__).parent / "fake_miniforge.sh"
FAKE_SHA256 = hashlib.sha256(FAKE.read_bytes()).hexdigest()


def package(url, content=b"content"):
    digest = hashlib.sha256(content).hexdigest()
    return conda_lock.parse(f"@EXPLICIT\n{url}#sha256:{digest}")[0]


@pytest.fixture
def channel(serve):
    folder, address = serve
    (folder / "linux-64").mkdir()
    (folder / "linux-64" / "tool-1.0-0.conda").write_bytes(b"content")
    return folder, address


@pytest.mark.parametrize("kind", ["http", "file"])
def test_a_package_comes_from_a_mirror_and_from_a_folder(channel, tmp_path, kind):
    folder, address = channel
    base = address if kind == "http" else f"file://{folder}"
    conda_packages.fetch(package(f"{base}/linux-64/tool-1.0-0.conda"), tmp_path, 5)
    assert (tmp_path / "tool-1.0-0.conda").read_bytes() == b"content"


def test_a_package_of_another_hash_is_refused_and_leaves_nothing(channel, tmp_path):
    _, address = channel
    target = tmp_path / "target"
    target.mkdir()
    with pytest.raises(ValueError, match=r"tool-1\.0-0\.conda has SHA-256 .*, the lock says .*; solve again"):
        conda_packages.fetch(package(f"{address}/linux-64/tool-1.0-0.conda", b"other"), target, 5)
    assert list(target.iterdir()) == []


@pytest.mark.parametrize("kind", ["http", "file"])
def test_a_package_that_is_gone_is_told_by_its_address(channel, tmp_path, kind):
    folder, address = channel
    base = address if kind == "http" else f"file://{folder}"
    with pytest.raises(ValueError, match=f"cannot fetch {base}/linux-64/tool-2-0.conda: .*; solve again"):
        conda_packages.fetch(package(f"{base}/linux-64/tool-2-0.conda"), tmp_path, 5)


def test_packages_on_the_node_are_compared_before_they_are_used(tmp_path):
    wanted = package("https://example.org/linux-64/tool-1.0-0.conda")
    with pytest.raises(ValueError, match=r"tool-1\.0-0\.conda of the lock is not in"):
        conda_env.verified([wanted], tmp_path)
    (tmp_path / wanted.file).write_bytes(b"contenT")
    with pytest.raises(ValueError, match=r"tool-1\.0-0\.conda differs from its SHA-256"):
        conda_env.verified([wanted], tmp_path)
    (tmp_path / wanted.file).write_bytes(b"content")
    assert conda_env.verified([wanted], tmp_path) == [tmp_path / wanted.file]


def test_miniforge_is_installed_in_batch_into_its_folder_alone(tmp_path):
    root = tmp_path / "opt" / "conda"
    root.mkdir(parents=True)
    (root / "leftover").touch()
    miniforge.install(root, FAKE, FAKE_SHA256, "conda")
    # The stand-in refuses other options than -b -p FOLDER, and a folder that exists.
    assert (root / "bin" / "conda").is_file()
    assert not (root / "leftover").exists()


def test_an_installer_that_is_missing_another_one_or_brings_no_program_is_refused(tmp_path):
    with pytest.raises(ValueError, match=r"/gone\.sh is not there"):
        miniforge.install(tmp_path / "conda", tmp_path / "gone.sh", FAKE_SHA256, "conda")
    changed = tmp_path / "changed.sh"
    shutil.copy(FAKE, changed)
    changed.write_text(changed.read_text() + "\n")
    with pytest.raises(ValueError, match=rf"changed\.sh has SHA-256 .*, not {FAKE_SHA256}"):
        miniforge.install(tmp_path / "conda", changed, FAKE_SHA256, "conda")
    assert not (tmp_path / "conda").exists()
    with pytest.raises(ValueError, match=r"fake_miniforge\.sh brought no bin/mamba"):
        miniforge.install(tmp_path / "conda", FAKE, FAKE_SHA256, "mamba")


def test_what_conda_says_when_it_fails_is_told(tmp_path):
    program = tmp_path / "conda"
    program.write_text("#!/bin/sh\necho 'PackagesNotFoundError: python' >&2\nexit 1\n")
    program.chmod(0o755)
    with pytest.raises(ValueError, match="conda create: PackagesNotFoundError: python"):
        conda_env.install_by_program(tmp_path / "env", [], program)
