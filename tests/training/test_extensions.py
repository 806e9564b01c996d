import pytest

torch = pytest.importorskip("torch")

from icefield_train import extensions  # noqa: E402


@pytest.fixture
def site(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("ICEFIELD_EXTENSIONS", "an_extension_that_is_there:oneccl_bindings_for_pytorch")
    return tmp_path


def test_extensions_that_are_there_are_imported_and_others_told(site):
    (site / "an_extension_that_is_there.py").write_text("value = 3\n")
    found = extensions.load()
    assert found == ["an_extension_that_is_there"]
    assert extensions.missing(found) == [
        "oneccl_bindings_for_pytorch is not in this environment: collectives are gloo's"
    ]


def test_an_extension_that_cannot_be_imported_ends_the_run(site):
    (site / "an_extension_that_is_there.py").write_text("import gone_for_good\n")
    with pytest.raises(ImportError, match="gone_for_good"):
        extensions.load()


def test_without_an_extension_model_and_optimizer_are_left_alone():
    model = torch.nn.Linear(2, 2)
    optimizer = torch.optim.AdamW(model.parameters())
    assert extensions.load() == []
    assert extensions.optimized(model, optimizer) == (model, optimizer)
