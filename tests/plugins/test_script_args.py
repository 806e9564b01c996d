import pytest

from plugins.module_utils import script_args

KNOWN = ("script", "script_args", "nodes", "seed")


@pytest.mark.parametrize(
    ("texts", "value", "words"),
    [
        # What a shell leaves of -e script_args='--lr 3e-5'.
        (["script_args=--lr 3e-5"], "--lr 3e-5", {"_raw_params"}),
        (["nodes=2", "script_args=--lr=3 --b 2 --c=4"], "--lr=3 --b 2 --c=4", {"_raw_params", "--c"}),
        (["script_args=--name 'two words' --x"], "--name 'two words' --x", {"_raw_params"}),
        (["nodes=2 script_args=--lr 3"], "--lr 3", {"_raw_params"}),
        (["script_args=model.dim=3 lr=1"], "model.dim=3 lr=1", {"lr"}),
        # The rest of its -e belongs to it, a word that looks like a setting too.
        (["script_args=--a 1 seed=3"], "--a 1 seed=3", {"_raw_params", "seed"}),
        # Ansible has read these right.
        (["script_args='--lr 3e-5'", "nodes=2"], None, set()),
        (["script_args='--lr 3e-5' nodes=2"], None, set()),
        (['{"script_args": "--lr 3e-5"}', "@file.yml"], None, set()),
        (["script_args="], None, set()),
        (["nodes=2"], None, set()),
        # A word beside it that is no setting is still refused.
        (["oops", "script_args=--lr 3"], "--lr 3", set()),
        (["script_args=--lr 3", "script_args='--lr 4'"], None, {"_raw_params"}),
    ],
)
def test_arguments_are_what_the_user_wrote_behind_their_name(texts, value, words):
    assert script_args.given(texts, KNOWN) == (value, words)


def test_arguments_are_split_as_a_shell_does():
    assert script_args.split("""--a 'b c' --d="e f" '{"g": 1}'""") == ["--a", "b c", "--d=e f", '{"g": 1}']
    with pytest.raises(ValueError) as error:
        script_args.split("--name 'x")
    assert str(error.value) == (
        "setting 'script_args': value '--name 'x' is not accepted; give arguments as in a shell, with balanced quotes "
        "(no closing quotation)"
    )


def test_folders_take_the_place_of_their_names_and_other_braces_stay():
    arguments = ["--out={output_dir}/m", '{"a": "{data_dir}"}', "{other}", "${HOME}"]
    assert script_args.places_in(arguments) == {"output_dir", "data_dir"}
    filled = script_args.fill(arguments, {"output_dir": "/o", "data_dir": "/d"})
    assert filled == ["--out=/o/m", '{"a": "/d"}', "{other}", "${HOME}"]
