"""From where ssh is let in."""

import pytest

from plugins.module_utils.aws_access import ssh_network

URL = "https://checkip.example.com"


def network(given="", told=""):
    return ssh_network({"aws_ssh_cidr": given, "aws_checkip_url": URL}, told)


def test_every_way_to_write_a_network_becomes_the_one_that_ec2_tells():
    assert network("192.0.2.7") == "192.0.2.7/32"
    assert network("192.0.2.0/255.255.255.0") == "192.0.2.0/24"
    assert network("0.0.0.0/0.0.0.0") == "0.0.0.0/0", "which the plan refuses by that form"
    assert network(told="192.0.2.7") == "192.0.2.7/32"


@pytest.mark.parametrize("answer", ["", "<html>", "192.0.2.7/24", "2001:db8::1"])
def test_an_answer_that_is_no_address_is_refused(answer):
    with pytest.raises(ValueError, match=f"setting 'aws_checkip_url': value '{URL}' .* or give aws_ssh_cidr"):
        network(told=answer)
