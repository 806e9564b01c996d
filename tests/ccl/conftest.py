"""The extension, built for the torch that the tests run under."""

import importlib.util
import shutil

import pytest

if importlib.util.find_spec("torch") is None or importlib.util.find_spec("hypothesis") is None:
    collect_ignore = ["test_equal_to_gloo.py", "test_messages.py", "test_dead_peers.py", "test_ddp.py", "test_group.py"]


@pytest.fixture(scope="session")
def extension():
    if shutil.which("g++") is None:
        pytest.skip("no C++ compiler (g++) here")
    from icefield_ccl.build import build

    return build()
