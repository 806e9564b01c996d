"""Locks of conda environments: what is read, what is refused, what counts as the same."""

import pytest

from plugins.module_utils import conda_lock

A, B = "a" * 64, "b" * 64
PYTHON = f"https://example.org/forge/linux-64/python-3.11.9-h955ad1f_0.conda#sha256:{A}"
ANY = f"file:///srv/forge/noarch/my-tool-1.0-py_0.tar.bz2#{B}"


def test_what_is_rendered_is_read_again():
    text = conda_lock.render([tuple(PYTHON.split("#sha256:")), tuple(ANY.split("#"))], ["solved: python"])
    packages = conda_lock.parse(text)
    assert [(p.name, p.version, p.subdir, p.sha256) for p in packages] == [
        ("my-tool", "1.0", "noarch", B),
        ("python", "3.11.9", "linux-64", A),
    ]
    assert packages[1].file == "python-3.11.9-h955ad1f_0.conda"
    assert conda_lock.python_of(packages) == "3.11"
    assert text.startswith("# solved: python\n@EXPLICIT\nfile:///srv/")


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ([PYTHON], "no line @EXPLICIT"),
        (["@EXPLICIT", PYTHON.split("#")[0]], "line 2: .* is not the address of a conda package with #sha256:HASH"),
        (["@EXPLICIT", PYTHON.split("#")[0] + "#" + "a" * 32], "line 2: .* is not the address"),
        (["@EXPLICIT", f"https://example.org/forge/linux-64/python.conda#{A}"], "line 2: .* is not the address"),
        (["@EXPLICIT", PYTHON, "", PYTHON], "line 4: python stands twice"),
    ],
)
def test_what_is_no_lock_is_refused_by_its_line(lines, words):
    with pytest.raises(ValueError, match=words):
        conda_lock.parse("\n".join(lines))


def test_a_lock_without_python_or_for_other_machines_is_refused():
    with pytest.raises(ValueError, match="no package 'python'"):
        conda_lock.python_of(conda_lock.parse(f"@EXPLICIT\n{ANY}"))
    packages = conda_lock.parse(f"@EXPLICIT\n{PYTHON}\n{ANY}")
    conda_lock.check_platform(packages, "linux-64")
    with pytest.raises(ValueError, match=r"python-3\.11\.9-h955ad1f_0\.conda is for linux-64, not for linux-aarch64"):
        conda_lock.check_platform(packages, "linux-aarch64")


def test_the_digest_follows_the_packages_and_not_the_text_nor_the_mirror():
    first = conda_lock.digest(f"@EXPLICIT\n{PYTHON}\n{ANY}")
    assert conda_lock.digest(f"# other\n@EXPLICIT\n{ANY}\n{PYTHON.replace('example.org', 'mirror.lan')}") == first
    assert conda_lock.digest(f"@EXPLICIT\n{ANY}\n{PYTHON.replace(A, B)}") != first
    assert conda_lock.digest(f"@EXPLICIT\n{PYTHON}") != first
