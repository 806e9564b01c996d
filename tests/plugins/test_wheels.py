"""Wheels from the controller to the node: none is used that is not the one of the manifest."""

import itertools
import json
import os
import zipfile

import pytest

from plugins.module_utils import pushed_wheels
from plugins.module_utils.wheels import platform_args
from plugins.modules import wheelhouse

DIGEST = "0" * 64


@pytest.fixture
def wheels(tmp_path):
    for name in ("a-1-py3-none-any.whl", "b-2-py3-none-any.whl"):
        (tmp_path / name).write_bytes(f"wheel {name}".encode())
    (tmp_path / "notes.txt").write_text("no wheel")
    (tmp_path / "manifest.json").write_text(json.dumps(wheelhouse.manifest_of(tmp_path, DIGEST)))
    return tmp_path


def test_the_manifest_lists_wheels_and_nothing_else(wheels):
    manifest = json.loads((wheels / "manifest.json").read_text())
    assert manifest["pins"] == DIGEST
    assert sorted(manifest["wheels"]) == ["a-1-py3-none-any.whl", "b-2-py3-none-any.whl"]
    assert manifest["wheels"]["a-1-py3-none-any.whl"]["bytes"] == len("wheel a-1-py3-none-any.whl")


def test_the_wheels_of_the_manifest_are_accepted(wheels):
    pushed_wheels.verify(wheels)
    assert wheelhouse.is_complete(wheels, DIGEST)


def test_a_tampered_wheel_of_the_same_size_is_refused_by_name(wheels):
    wheel = wheels / "b-2-py3-none-any.whl"
    wheel.write_bytes(wheel.read_bytes()[:-1] + b"L")
    with pytest.raises(ValueError, match=r"b-2-py3-none-any\.whl differs from its SHA-256"):
        pushed_wheels.verify(wheels)


def test_a_wheel_that_is_gone_is_refused_and_downloaded_again(wheels):
    (wheels / "a-1-py3-none-any.whl").unlink()
    with pytest.raises(ValueError, match=r"a-1-py3-none-any\.whl of the manifest is not in"):
        pushed_wheels.verify(wheels)
    assert not wheelhouse.is_complete(wheels, DIGEST)


def test_a_cut_wheel_is_downloaded_again(wheels):
    (wheels / "a-1-py3-none-any.whl").write_bytes(b"wheel")
    assert not wheelhouse.is_complete(wheels, DIGEST)


def test_other_pins_or_no_readable_manifest_make_it_incomplete(wheels):
    assert not wheelhouse.is_complete(wheels, "1" * 64)
    (wheels / "manifest.json").write_text('{"pins": ')
    assert not wheelhouse.is_complete(wheels, DIGEST)
    (wheels / "manifest.json").unlink()
    assert not wheelhouse.is_complete(wheels, DIGEST)


def test_the_installer_is_taken_out_of_its_wheel(tmp_path):
    (tmp_path / "out").mkdir()
    with zipfile.ZipFile(tmp_path / "uv-1-py3-none-any.whl", "w") as archive:
        archive.writestr("uv-1.data/scripts/uvx", "not this one")
        archive.writestr("uv-1.data/scripts/uv", "the program")
    program = pushed_wheels.unpack_uv(tmp_path, tmp_path / "out")
    assert program.read_text() == "the program"
    assert os.access(program, os.X_OK)


def test_a_wheelhouse_without_an_installer_is_refused(wheels):
    with pytest.raises(ValueError, match=r"no wheel of uv in"):
        pushed_wheels.unpack_uv(wheels, wheels)


def test_wheels_are_asked_for_by_the_nodes_python_and_older_platforms_too():
    args = platform_args("3.12", "aarch64")
    assert args[args.index("--python-version") + 1] == "3.12"
    assert "--only-binary=:all:" in args
    platforms = [value for option, value in itertools.pairwise(args) if option == "--platform"]
    assert {"manylinux_2_17_aarch64", "manylinux_2_28_aarch64", "manylinux2014_aarch64"} <= set(platforms)
    assert not [platform for platform in platforms if "x86_64" in platform]


def test_a_folder_of_wheels_has_the_pins_that_its_names_tell(tmp_path):
    for name in ("torch-2.8.0+cpu-cp311-cp311-linux_x86_64.whl", "oneccl_bind_pt-2.8.0-cp311-cp311-linux_x86_64.whl"):
        (tmp_path / name).touch()
    (tmp_path / "torch.whl").touch()
    wanted = {"torch": "2.8.0+cpu", "oneccl-bind-pt": "2.8.0", "numpy": "2.4.6"}
    assert wheelhouse.provided(str(tmp_path), wanted) == ["torch", "oneccl-bind-pt"]
    assert wheelhouse.provided(str(tmp_path), {"torch": "2.8.0"}) == ["torch"]
    assert wheelhouse.provided(str(tmp_path), {"torch": "2.13.0+cpu"}) == []
    assert wheelhouse.provided("", wanted) == []


class RefusedError(Exception):
    """What a module says when it fails."""


class Module:
    """The part of AnsibleModule that downloading uses."""

    def __init__(self, run_command, **params):
        self.params = {"python_version": "3.11", "machine": "x86_64", "wheels_dir": "", "instead": "", **params}
        self.run_command = run_command

    def fail_json(self, msg):
        raise RefusedError(msg)


# Nothing listens there.
NOWHERE = "http://127.0.0.1:9/whl"
ONECCL = {"package": "oneccl-bind-pt", "setting": "ipex_index_url", "url": NOWHERE}


def test_an_index_that_does_not_answer_is_named_with_what_to_do(tmp_path):
    def run(command):
        return 1, "", "ERROR: No matching distribution found for oneccl-bind-pt==2.8.0"

    module = Module(run, indexes=[ONECCL], instead="take stack=ipex-pypi, which does without")
    with pytest.raises(RefusedError) as error:
        wheelhouse.download(module, tmp_path, {"oneccl-bind-pt": "2.8.0"})
    assert str(error.value) == (
        f"oneccl-bind-pt==2.8.0 is neither at ipex_index_url ({NOWHERE}, which does not answer) nor in the indexes "
        "that pip is configured with: ERROR: No matching distribution found for oneccl-bind-pt==2.8.0; put its wheel "
        "into a folder on the controller and give that by wheels_dir, or take stack=ipex-pypi, which does without"
    )


def test_wheels_of_the_user_are_taken_without_asking_an_index(tmp_path):
    (tmp_path / "oneccl_bind_pt-2.8.0-cp311-cp311-linux_x86_64.whl").touch()
    commands = []

    def run(command):
        commands.append(command)
        return 0, "", ""

    module = Module(run, indexes=[ONECCL], wheels_dir=str(tmp_path))
    wheelhouse.download(module, tmp_path / "to", {"oneccl-bind-pt": "2.8.0", "numpy": "2.4.6"})
    assert [command[-1] for command in commands] == ["oneccl-bind-pt==2.8.0", "numpy==2.4.6"]
    first = commands[0]
    assert "--no-index" in first
    assert first[first.index("--find-links") + 1] == str(tmp_path)
    assert not [command for command in commands if NOWHERE in command]
