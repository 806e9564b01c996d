"""The packages beside the stack's: pip itself resolves, among wheels that are made here."""

import zipfile

import pytest

from plugins.module_utils import script_layer
from plugins.module_utils.requirements_file import Platform
from plugins.module_utils.script_layer import Stack


def write_wheel(folder, name, version, *needs, module="", tag="py3-none-any"):
    info = f"{name}-{version}.dist-info"
    files = {
        f"{module or name}/__init__.py": f"version = '{version}'\n",
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
        "Provides-Extra: fast\n" + "".join(f"Requires-Dist: {need}\n" for need in needs),
        f"{info}/WHEEL": f"Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: {tag}\n",
        f"{info}/entry_points.txt": f"[console_scripts]\n{name} = {module or name}:version\n",
    }
    record = "".join(f"{path},,\n" for path in files) + f"{info}/RECORD,,\n"
    with zipfile.ZipFile(folder / f"{name}-{version}-{tag}.whl", "w") as archive:
        for path, text in {**files, f"{info}/RECORD": record}.items():
            archive.writestr(path, text)


@pytest.fixture
def index(tmp_path, monkeypatch):
    """Let pip find nothing but the wheels of a folder; return it."""
    folder = tmp_path / "index"
    folder.mkdir()
    for name in ("PIP_CONSTRAINT", "PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    for version in ("1.0", "2.0+cpu", "3.0"):
        write_wheel(folder, "torch", version, "numpy>=1")
    write_wheel(folder, "numpy", "1.5")
    write_wheel(folder, "numpy", "9.0")
    write_wheel(folder, "metrics", "1.1", "torch>=1", "words[fast]")
    write_wheel(folder, "words", "4.0", "speed; extra == 'fast'")
    write_wheel(folder, "speed", "0.1")
    write_wheel(folder, "old", "1.0", "torch<2")
    write_wheel(folder, "native", "1.0", tag="cp311-cp311-manylinux_2_17_x86_64")
    write_wheel(folder, "arm", "1.0", tag="cp311-cp311-manylinux_2_17_aarch64")
    return folder


@pytest.fixture
def make(tmp_path, index):
    """Return a function that makes the layer of some lines."""
    stack = Stack(
        pins={"torch": "2.0+cpu", "numpy": "1.5"},
        platform=Platform(python="3.11", machine="x86_64"),
        wheelhouse=tmp_path / "none",
        torch_index_url="",
    )

    def layer(*lines):
        (tmp_path / "r.txt").write_text("\n".join(lines))
        return script_layer.make_layer("r.txt", tmp_path, stack, tmp_path / "cache")

    return layer


def refused(make, *lines):
    with pytest.raises(ValueError) as error:
        make(*lines)
    line = str(error.value)
    assert "\n" not in line
    return line.removeprefix("setting 'script_requirements': value 'r.txt' is not accepted; give ")


def test_a_layer_has_what_is_needed_and_nothing_of_the_stack(make, index, tmp_path):
    layer = make("metrics", "native>=1", "torch>=1")
    assert layer.packages == ["metrics==1.1", "native==1.0", "speed==0.1", "words==4.0"]
    modules = {path.name for path in layer.path.iterdir() if not path.name.endswith(".dist-info")}
    # No commands: they would name this machine's Python.
    assert modules == {"metrics", "native", "speed", "words"}
    # The same again without asking pip, which would find nothing now.
    for wheel in index.iterdir():
        wheel.unlink()
    assert make("# in another order", "torch>=1", "native>=1", "metrics") == layer
    assert not list((tmp_path / "cache/layers").glob(".*"))


def test_what_the_stack_has_makes_no_layer(make):
    assert make("torch>=2", "numpy").packages == []
    assert make("").packages == []


def test_a_requirement_that_would_replace_the_stack_s_package_is_refused(make):
    words = "packages that go with the stack's, which a script cannot replace"
    assert refused(make, "torch==3.0") == f"{words} (it asks for torch==3.0, the stack has torch 2.0+cpu)"
    # One that asks for it by way of another package as well.
    assert refused(make, "old") == f"{words} (old 1.0 depends on torch<2, the stack has torch 2.0+cpu)"


def test_what_would_hide_a_module_of_the_stack_or_of_python_is_refused(make, index, tmp_path):
    write_wheel(index, "fork", "1.0", module="torch")
    write_wheel(index, "backport", "1.0", module="dataclasses")
    assert "they bring a module 'torch' that would hide the one there is" in refused(make, "fork")
    assert "they bring a module 'dataclasses' that" in refused(make, "backport")
    assert not list((tmp_path / "cache/layers").iterdir())


def test_what_is_not_to_be_had_for_the_nodes_is_refused(make):
    assert "(nowhere is not to be had: pip's indexes have no wheel of it for the nodes)" in refused(make, "nowhere")
    assert "(arm is not to be had: pip's indexes have no wheel" in refused(make, "arm")
    assert "(words>5 is not to be had: the newest is 4.0)" in refused(make, "words>5")


def test_requirements_that_do_not_go_together_are_refused(make, index):
    write_wheel(index, "words", "5.0")
    write_wheel(index, "strict", "1.0", "words<5")
    line = refused(make, "words==5.0", "strict")
    assert line.startswith("a requirements file with packages by name and version that go together (")
    assert "strict 1.0 depends on words<5" in line


def test_an_index_that_cannot_be_reached_is_not_tried_by_pip(tmp_path):
    stack = Stack(
        pins={},
        platform=Platform(python="3.11", machine="x86_64"),
        wheelhouse=tmp_path,
        torch_index_url="http://[::1]:1/x",
    )
    assert script_layer._sources(stack) == ["--find-links", str(tmp_path)]
