import sys

import pytest

torch = pytest.importorskip("torch")

from icefield_train import extensions  # noqa: E402


@pytest.fixture
def site(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("ICEFIELD_EXTENSIONS", "an_extension_that_is_there")
    return tmp_path


def test_the_stack_s_extensions_are_imported(site):
    (site / "an_extension_that_is_there.py").write_text("value = 3\n")
    assert extensions.load() == ["an_extension_that_is_there"]
    assert sys.modules["an_extension_that_is_there"].value == 3


def test_an_extension_that_cannot_be_imported_ends_the_run(site, monkeypatch):
    monkeypatch.delitem(sys.modules, "an_extension_that_is_there", raising=False)
    with pytest.raises(ImportError, match="an_extension_that_is_there"):
        extensions.load()
    (site / "an_extension_that_is_there.py").write_text("import gone_for_good\n")
    with pytest.raises(ImportError, match="gone_for_good"):
        extensions.load()


def test_without_an_extension_model_and_optimizer_are_left_alone():
    model = torch.nn.Linear(2, 2)
    optimizer = torch.optim.AdamW(model.parameters())
    assert extensions.load() == []
    assert extensions.optimized(model, optimizer) == (model, optimizer)
