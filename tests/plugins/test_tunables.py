"""Who has chosen a setting, and what is tried in place of it."""

import pytest

from plugins.module_utils import tunables

OPEN = {
    "nproc_per_node": "auto",
    "threads_per_process": "auto",
    "bucket_mb": "auto",
    "embedding_exchange": "auto",
    "wire_format": "fp32",
    "global_batch_size": 0,
    "per_device_batch_size": 0,
    "epochs": 3,
}
NODE = {"cpus": 8.0, "memory_bytes": 16 << 30}


def test_what_is_left_open_gets_its_built_in_value_and_nothing_else_changes():
    assert tunables.untuned(OPEN) == {**OPEN, "nproc_per_node": 1, "bucket_mb": 5}
    chosen = {**OPEN, "bucket_mb": 7, "wire_format": "bf16", "nproc_per_node": 2}
    assert tunables.untuned(chosen) == chosen


def test_a_value_that_is_not_the_open_one_is_the_user_s_wherever_he_wrote_it():
    assert tunables.own_choices(OPEN, []) == {}
    assert tunables.own_choices({**OPEN, "bucket_mb": 5, "embedding_exchange": "sparse"}, []) == {
        "bucket_mb": 5,
        "embedding_exchange": "sparse",
    }


def test_a_default_that_is_given_by_e_is_the_user_s_but_auto_never_is():
    assert tunables.own_choices(OPEN, ["wire_format", "bucket_mb", "epochs"]) == {"wire_format": "fp32"}


def test_formats_that_change_results_are_shown_and_never_tried_unless_allowed():
    tries, shown = tunables.tries({}, OPEN, 2, lossy=False)
    assert [one for one in tries if "wire_format" in one] == []
    assert {"bucket_mb": 10} in tries
    assert {"embedding_exchange": "dense"} in tries
    assert shown == [{"wire_format": "bf16"}]
    tries, shown = tunables.tries({}, OPEN, 2, lossy=True)
    assert [one for one in tries if "wire_format" in one] == [{"wire_format": "bf16"}, {"wire_format": "fp16"}]
    assert shown == []


def test_what_the_user_has_chosen_is_not_varied():
    own = {"bucket_mb": 3, "wire_format": "fp32", "nproc_per_node": 2}
    tries, shown = tunables.tries(own, OPEN, 4, lossy=True)
    assert (tries, shown) == ([{"embedding_exchange": "dense"}], [])
    assert tunables.layouts(own, {**OPEN, **own}, [NODE, NODE]) == [{}]


def test_a_rank_on_its_own_has_no_exchange_to_try():
    assert tunables.tries({}, OPEN, 1, lossy=True) == ([], [])


@pytest.mark.parametrize(
    ("nodes", "settings", "layouts"),
    [
        ([{**NODE, "cpus": 0.5}], {}, [{}]),
        ([{**NODE, "cpus": 2.0}], {}, [{}, {"nproc_per_node": 2}]),
        ([NODE], {}, [{}, {"threads_per_process": 7}, *({"nproc_per_node": n} for n in (2, 4, 8))]),
        # The smallest node decides: by cores, by memory (1 GiB for each process), by the rows of a step.
        ([NODE, {**NODE, "cpus": 3.9}], {}, [{}, {"nproc_per_node": 2}]),
        ([NODE, {**NODE, "memory_bytes": 3 << 30}], {}, [{}, {"threads_per_process": 7}, {"nproc_per_node": 2}]),
        ([NODE] * 3, {"global_batch_size": 8}, [{}, {"threads_per_process": 7}, {"nproc_per_node": 2}]),
        # More processes would make the global batch larger, which is another training.
        ([NODE], {"per_device_batch_size": 8}, [{}, {"threads_per_process": 7}]),
    ],
)
def test_launches_that_the_nodes_and_the_batch_allow_are_tried(nodes, settings, layouts):
    assert tunables.layouts({}, {**OPEN, **settings}, nodes) == layouts


def test_settings_are_told_in_one_order_and_none_as_defaults():
    assert tunables.told({"bucket_mb": 10, "nproc_per_node": 2}) == "nproc_per_node=2, bucket_mb=10"
    assert tunables.told({}) == "defaults"
