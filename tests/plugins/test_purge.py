import pytest

from plugins.modules.podman_purge import concerned

KEEP = "icefield-env-current-4567"


@pytest.mark.parametrize(
    ("env", "cluster", "stack", "keep", "goes"),
    [
        ("icefield-env-current-0123", "", "", "", True),
        ("", "", "", "", True),
        ("icefield-env-current-0123", "icefield", "current", KEEP, True),
        ("icefield-env-current-4567", "icefield", "current", KEEP, False),
        ("second-env-current-0123", "icefield", "current", KEEP, False),
        ("icefield-env-env-current-0123", "icefield", "current", "", False),
        ("icefield-env-ipex-0123", "icefield", "current", KEEP, False),
        ("icefield-env-ipex-pypi-0123", "icefield", "ipex", "", False),
        ("", "icefield", "current", "", False),
    ],
)
def test_a_new_image_of_a_cluster_supersedes_its_own_earlier_ones_of_the_same_stack_alone(
    env, cluster, stack, keep, goes
):
    assert concerned(env, cluster, stack, keep) is goes
