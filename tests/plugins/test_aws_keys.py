"""Host keys of instances on the controller."""

from plugins.module_utils import aws_keys

NODES = [{"id": "i-1", "name": "c-1"}, {"id": "i-2", "name": "c-2"}, {"id": "i-3", "name": "c-3"}]


def test_while_a_node_changes_its_key_both_are_known(tmp_path):
    path = tmp_path / "known_hosts"
    assert aws_keys.write_known(path, {"i-1": ["ssh-ed25519 A", "ssh-ed25519 B", "ssh-ed25519 A"]})
    assert path.read_text() == "i-1 ssh-ed25519 A\ni-1 ssh-ed25519 B\n"
    assert aws_keys.read_known(path) == {"i-1": ["ssh-ed25519 A", "ssh-ed25519 B"]}
    assert not aws_keys.write_known(path, {"i-1": ["ssh-ed25519 A", "ssh-ed25519 B"]}), "nothing changed"


def test_nodes_of_another_controller_are_strangers(tmp_path):
    aws_keys.write_known(tmp_path / "known_hosts", {"i-1": ["ssh-ed25519 A"]})
    aws_keys.launch_folder(tmp_path, "c-2").mkdir(parents=True)
    assert aws_keys.strangers(tmp_path, NODES) == [NODES[2]], "the first was met, the second is to be"
