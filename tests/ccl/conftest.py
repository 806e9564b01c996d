"""The extension, built for the torch that the tests run under."""

import importlib.util
import shutil

import pytest

if importlib.util.find_spec("torch") is None or importlib.util.find_spec("hypothesis") is None:
    collect_ignore_glob = ["test_*.py"]


@pytest.fixture(scope="session")
def extension():
    if shutil.which("g++") is None:
        pytest.skip("no C++ compiler (g++) here")
    from icefield_ccl.build import build

    return build()
