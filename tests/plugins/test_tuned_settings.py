"""What a run takes of the file of tuned settings, and what it says when it does not."""

import json

import pytest

from plugins.action.tuned_settings import ActionModule
from plugins.module_utils import tuned
from tests.plugins.test_tuned import JOB, NODES, SETTINGS, WINNER, record


class Screen:
    def __init__(self):
        self.lines = []

    def display(self, line):
        self.lines.append(line)


@pytest.fixture
def use(tmp_path):
    """Return a function that gives the settings of a run, the words for its report, and what was shown."""
    lock, results = tmp_path / "current.txt", tmp_path / "autotune.json"
    lock.write_text("torch==2.13.0\n")
    key = tuned.key_of(SETTINGS, JOB, node_types=NODES, stack_lock=lock)
    tuned.save(results, record(key))

    def act(settings=SETTINGS, job=JOB, *, content=None, use=True):
        if content is not None:
            results.write_text(content)
        action = ActionModule.__new__(ActionModule)
        action._display = Screen()
        args = {
            "settings": settings,
            "own": {},
            "use": use,
            "job": job,
            "node_types": NODES,
            "stack_lock": str(lock),
            "results": str(results),
        }
        found = action.act(json.loads(json.dumps(args)), {})
        taken = {name: found["settings"][name] for name in WINNER}
        return taken, found["words"], action._display.lines

    return act


BUILT_IN = {"bucket_mb": 5, "embedding_exchange": "auto"}
WORDS = "tuned on 2026-12-03: bucket_mb=10, embedding_exchange=dense (+12 %)"


def test_what_was_tuned_is_used_and_shown_in_one_line(use):
    assert use() == (WINNER, WORDS, [WORDS])


def test_nothing_is_used_or_said_where_that_is_turned_off_or_nothing_was_tuned(use):
    assert use(use=False) == (BUILT_IN, "", [])
    assert use(content='{"format": 1, "results": []}') == (BUILT_IN, "", [])


def test_a_script_gets_nothing_that_was_tuned_for_icefield_s_own_training(use):
    assert use(job={**JOB, "script": {}}) == (BUILT_IN, "", [])


def test_the_article_s_recipe_is_never_tuned(use):
    assert use(settings={**SETTINGS, "recipe": "article"}) == (BUILT_IN, "", [])


def test_a_result_for_another_job_is_not_used_and_the_reason_is_shown(use):
    taken, words, shown = use(settings={**SETTINGS, "precision": "fp32"})
    assert (taken, words) == (BUILT_IN, "")
    assert shown == ["what was tuned on 2026-12-03 is not used: it is for another precision (auto, now fp32)"]


def test_a_broken_file_is_one_line_and_no_reason_not_to_train(use, tmp_path):
    taken, words, shown = use(content="{")
    assert (taken, words) == (BUILT_IN, "")
    assert len(shown) == 1
    assert shown[0].startswith(f"nothing tuned is used: {tmp_path}/autotune.json is not what autotune.yml writes (")
