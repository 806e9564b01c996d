"""Commands in messages can be pasted as they are."""

import pytest

from plugins.module_utils import commands


@pytest.mark.parametrize(
    ("arguments", "options", "command"),
    [
        (("status",), {}, "ansible-playbook status.yml"),
        (("provision", "nodes=9"), {}, "ansible-playbook provision.yml -e nodes=9"),
        (
            ("train", "attach=r"),
            {"cluster": "second", "backend": "onprem"},
            "ansible-playbook -i inventory/onprem.yml train.yml -e attach=r -e cluster_name=second",
        ),
    ],
)
def test_a_command_names_inventory_and_cluster_where_they_are_not_the_default(arguments, options, command):
    assert commands.playbook(*arguments, **options) == command
