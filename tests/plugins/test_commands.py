"""Commands in messages can be pasted as they are."""

from pathlib import Path

import pytest

from plugins.module_utils import commands


@pytest.mark.parametrize(
    ("arguments", "options", "command"),
    [
        (("status",), {}, "ansible-playbook status.yml"),
        (("provision", "nodes=9"), {}, "ansible-playbook provision.yml -e nodes=9"),
        (
            ("train", "attach=r"),
            {"cluster": "second", "inventory": ["inventory/onprem.yml"]},
            "ansible-playbook -i inventory/onprem.yml train.yml -e attach=r -e cluster_name=second",
        ),
    ],
)
def test_a_command_names_inventory_and_cluster_where_they_are_not_the_default(arguments, options, command):
    assert commands.playbook(*arguments, **options) == command


@pytest.mark.parametrize(
    ("sources", "shown"),
    [
        (["/i/inventory/local.yml", "/i/inventory/local_groups.yml"], []),
        (["/i/inventory/onprem.yml"], ["inventory/onprem.yml"]),
        (["/home/me/hosts.yml"], ["/home/me/hosts.yml"]),
        (None, []),
    ],
)
def test_an_inventory_is_named_where_it_is_not_the_default(sources, shown):
    assert commands.shown_inventory(sources, Path("/i")) == shown
