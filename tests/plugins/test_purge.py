import pytest

from plugins.modules.podman_purge import concerned


@pytest.mark.parametrize(
    ("env", "cluster", "keep", "goes"),
    [
        ("icefield-env-0123", "", "", True),
        ("", "", "", True),
        ("icefield-env-0123", "icefield", "icefield-env-4567", True),
        ("icefield-env-4567", "icefield", "icefield-env-4567", False),
        ("second-env-0123", "icefield", "icefield-env-4567", False),
        ("icefield-env-env-0123", "icefield", "", False),
        ("", "icefield", "", False),
    ],
)
def test_a_new_image_of_a_cluster_supersedes_its_own_earlier_ones_alone(env, cluster, keep, goes):
    assert concerned(env, cluster, keep) is goes
