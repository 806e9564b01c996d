"""Rules of a security group, compared by what they let in."""

from plugins.module_utils.aws_rules import by_words, wanted

ID = "sg-1"


def test_the_wanted_rules_are_two():
    assert list(by_words(wanted(ID, "192.0.2.7/32"))) == [f"-1 all {ID}", "tcp 22-22 192.0.2.7/32"]


def test_rules_that_ec2_lumps_together_are_told_apart():
    # As EC2 describes them: one entry for each protocol and range of ports, with empty lists for other sources.
    described = [
        {
            "IpProtocol": "tcp",
            "FromPort": 22,
            "ToPort": 22,
            "IpRanges": [{"CidrIp": "192.0.2.7/32", "Description": "x"}, {"CidrIp": "203.0.113.0/24"}],
            "Ipv6Ranges": [{"CidrIpv6": "2001:db8::/32"}],
            "PrefixListIds": [{"PrefixListId": "pl-1"}],
            "UserIdGroupPairs": [],
        },
        {"IpProtocol": "-1", "UserIdGroupPairs": [{"GroupId": ID, "UserId": "1"}], "IpRanges": []},
    ]
    rules = by_words(described)
    too_many = {words: rule for words, rule in rules.items() if words not in by_words(wanted(ID, "192.0.2.7/32"))}
    assert list(too_many) == ["tcp 22-22 203.0.113.0/24", "tcp 22-22 2001:db8::/32", "tcp 22-22 pl-1"]
    assert too_many["tcp 22-22 pl-1"] == {
        "IpProtocol": "tcp",
        "FromPort": 22,
        "ToPort": 22,
        "PrefixListIds": [{"PrefixListId": "pl-1"}],
    }
