from pathlib import Path

import pytest

from plugins.module_utils import requirements_file
from plugins.module_utils.requirements_file import Platform

PLATFORM = Platform(python="3.11", machine="x86_64")
ROOT = Path(__file__).parents[2]


def read(tmp_path, text):
    (tmp_path / "r.txt").write_text(text)
    return [str(line) for line in requirements_file.read("r.txt", tmp_path / "r.txt", PLATFORM)]


def refused(tmp_path, text):
    with pytest.raises(ValueError) as error:
        read(tmp_path, text)
    line = str(error.value)
    assert "\n" not in line
    assert line.startswith("setting 'script_requirements': value 'r.txt' is not accepted; give a requirements file")
    return line


def test_packages_are_read_with_versions_extras_comments_and_joined_lines(tmp_path):
    text = "# all\n\nevaluate[template] >= 0.4, \\\n   < 1  # why\ntorchmetrics~=1.8\nx#y\n"
    with pytest.raises(ValueError, match="line 6: 'x#y'"):
        read(tmp_path, text)
    assert read(tmp_path, text.replace("x#y\n", "seqeval\\\n")) == [
        "evaluate[template]<1,>=0.4",
        "torchmetrics~=1.8",
        "seqeval",
    ]


def test_lines_for_other_machines_than_the_nodes_do_not_count(tmp_path):
    text = (
        "a; python_version < '3.11'\nb; python_version >= '3.11' and platform_machine == 'x86_64'\n"
        "c; sys_platform == 'win32'\nd; extra == 'dev'\ne; platform_machine == 'aarch64'\n"
    )
    assert [line.partition(";")[0] for line in read(tmp_path, text)] == ["b"]


def test_files_that_are_included_count_from_where_they_lie(tmp_path):
    (tmp_path / "more").mkdir()
    (tmp_path / "more/base.txt").write_text("-r deep.txt\nb==2\n")
    (tmp_path / "more/deep.txt").write_text("c==3\n")
    assert read(tmp_path, "--requirement=more/base.txt\na\n") == ["c==3", "b==2", "a"]
    (tmp_path / "more/deep.txt").write_text("-r ../r.txt\n")
    assert f"({tmp_path}/more/deep.txt line 1 includes itself)" in refused(tmp_path, "-r more/base.txt\n")
    assert f"({tmp_path}/gone.txt: no such file or directory)" in refused(tmp_path, "-r gone.txt\n")


@pytest.mark.parametrize(
    "line",
    [
        "git+https://example.com/x.git",
        "x @ https://example.com/x.whl",
        "./folder",
        "-e .",
        "--index-url https://example.com/simple",
        "-c constraints.txt",
        "torch==1.0 --hash=sha256:00",
        "numpy => 1",
    ],
)
def test_what_is_no_package_by_name_and_version_is_refused_with_its_line(tmp_path, line):
    assert f"(r.txt line 2: '{line}'; options, hashes, folders and addresses are not taken" in refused(
        tmp_path, f"a\n{line}\n"
    )


def test_what_is_no_text_is_refused(tmp_path):
    (tmp_path / "r.bin").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ValueError, match=r"r\.bin is not text"):
        requirements_file.read("r.bin", tmp_path / "r.bin", PLATFORM)
    with pytest.raises(ValueError, match="is a directory"):
        requirements_file.read("r", tmp_path, PLATFORM)


@pytest.mark.parametrize(
    ("line", "conflict"),
    [
        ("Torch<2", "it asks for Torch<2, the stack has Torch 2.13.0+cpu"),
        ("huggingface_hub==1.0", "it asks for huggingface_hub==1.0, the stack has huggingface_hub 2.4.0"),
        # The build for CPUs is the version that was asked for.
        ("torch==2.13.0", ""),
        ("torch>=2,<3", ""),
        ("torch", ""),
        ("other==9", ""),
    ],
)
def test_what_the_stack_has_in_another_version_is_a_conflict(tmp_path, line, conflict):
    (tmp_path / "r.txt").write_text(line)
    found = requirements_file.read("r.txt", tmp_path / "r.txt", PLATFORM)
    pins = {"torch": "2.13.0+cpu", "huggingface-hub": "2.4.0"}
    assert list(requirements_file.conflicts(found, pins)) == ([conflict] if conflict else [])


@pytest.mark.parametrize("path", sorted((ROOT / "requirements/stacks").glob("*.txt")), ids=lambda path: path.stem)
def test_a_stack_tells_its_platform(path):
    assert requirements_file.platform_of(path.read_text()) == PLATFORM


def test_a_stack_that_does_not_tell_its_platform_is_refused():
    with pytest.raises(ValueError, match="tested-with"):
        requirements_file.platform_of("# stack: x\ntorch==2\n")
