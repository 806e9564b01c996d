"""EC2 instance types: figures as AWS publishes them (sources: roles/nodes_aws/vars/types.yml), and what is refused."""

from datetime import date
from pathlib import Path

import pytest
import yaml

from plugins.module_utils import aws_types

TABLE = yaml.safe_load((Path(__file__).parents[2] / "roles/nodes_aws/vars/types.yml").read_text())
FAMILIES = TABLE["nodes_aws_families"]


def describe(name):
    return aws_types.describe(name, FAMILIES)


def test_the_article_s_type():
    assert describe("c6i.16xlarge") == aws_types.InstanceType(
        name="c6i.16xlarge",
        vcpu=64,
        cores=32,
        memory_gib=128,
        network_gbit=25,
        network_burst=False,
        network_peak_gbit=25,
        generation="Ice Lake",
        isa=("avx512f", "avx512_vnni"),
        usd_hour=2.72,
        cluster_placement=True,
        known=True,
    )


@pytest.mark.parametrize(
    ("name", "vcpu", "cores", "gib", "gbit", "peak", "usd"),
    [
        ("c6i.large", 2, 1, 4, 0.781, 12.5, 0.085),
        ("c6i.32xlarge", 128, 64, 256, 50, 50, 5.44),
        ("m6i.8xlarge", 32, 16, 128, 12.5, 12.5, 1.536),
        ("r6i.4xlarge", 16, 8, 128, 6.25, 12.5, 1.008),
        ("c7i.16xlarge", 64, 32, 128, 25, 25, 2.856),
        ("c7i.large", 2, 1, 4, 0.781, 12.5, 0.08925),
        ("m7i.48xlarge", 192, 96, 768, 50, 50, 9.6768),
        ("r7i.12xlarge", 48, 24, 384, 18.75, 18.75, 3.1752),
        ("c8i.16xlarge", 64, 32, 128, 30, 30, 2.99872),
        ("c8i.96xlarge", 384, 192, 768, 100, 100, 17.99232),
        ("m8i.2xlarge", 8, 4, 32, 3.75, 15, 0.42336),
        ("r8i.24xlarge", 96, 48, 768, 40, 40, 6.66816),
        ("c7i-flex.large", 2, 1, 4, 0.39, 12.5, 0.08479),
        ("m7i-flex.16xlarge", 64, 32, 256, 12.5, 25, 3.06432),
        ("c8i-flex.12xlarge", 48, 24, 96, 11.25, 22.5, 2.13648),
        ("m8i-flex.xlarge", 4, 2, 16, 0.937, 12.5, 0.2011),
        ("r8i-flex.16xlarge", 64, 32, 512, 15, 30, 4.22304),
    ],
)
def test_figures(name, vcpu, cores, gib, gbit, peak, usd):
    found = describe(name)
    assert found.known
    assert (found.vcpu, found.cores, found.memory_gib) == (vcpu, cores, gib)
    assert (found.network_gbit, found.network_burst, found.network_peak_gbit) == (gbit, peak > gbit, peak)
    assert found.usd_hour == usd


def test_bf16_is_there_from_sapphire_rapids_on():
    assert not any("bf16" in flag for flag in describe("r6i.large").isa)
    assert {"avx512_bf16", "amx_bf16"} <= set(describe("m7i.large").isa) <= set(describe("m8i.large").isa)
    assert set(describe("m8i.large").isa) - set(describe("m7i.large").isa) == {"amx_fp16"}


def test_flex_types_have_the_chip_of_their_family_and_no_cluster_placement():
    assert describe("c7i.4xlarge").cluster_placement
    assert not describe("c7i-flex.4xlarge").cluster_placement
    assert describe("c7i-flex.4xlarge").isa == describe("c7i.4xlarge").isa


def test_every_size_of_the_table_can_be_described():
    names = [f"{family}.{size}" for family, entry in FAMILIES.items() for size in entry["sizes"]]
    assert len(names) > 100
    for found in map(describe, names):
        assert found.known
        assert found.vcpu == 2 * found.cores
        assert found.network_peak_gbit >= found.network_gbit > 0
        assert 0.04 < found.usd_hour / found.vcpu < 0.07


def test_prices_have_a_place_and_a_day():
    assert TABLE["nodes_aws_types_region"] == "us-east-1"
    assert date.fromisoformat(TABLE["nodes_aws_types_date"])


@pytest.mark.parametrize("name", ["c6in.16xlarge", "m7a.large", "c6i.metal", "c7i.metal-48xl", "c6i.48xlarge"])
def test_a_type_that_the_table_has_not_is_a_name_without_figures(name):
    found = describe(name)
    assert found == aws_types.InstanceType(name=name, known=False)
    assert found.vcpu is found.memory_gib is found.network_gbit is found.usd_hour is None


@pytest.mark.parametrize("name", ["g5.xlarge", "gr6.4xlarge", "g4dn.metal", "u7in-24tb.224xlarge", "p6-b200.48xlarge"])
def test_a_g_before_the_generation_is_not_arm(name):
    assert not describe(name).known


ARM = "a1.metal c6g.large c7g.16xlarge m7g.medium r8g.metal-24xl t4g.nano c7gn.xlarge im4gn.large is4gen.large"
ARM += " x2gd.large g5g.xlarge hpc7g.4xlarge c8gd.48xlarge i8ge.18xlarge r8gb.large m9g.large"


@pytest.mark.parametrize("name", ARM.split())
def test_arm_types_are_refused(name):
    with pytest.raises(ValueError) as error:
        describe(name)
    assert str(error.value) == f"'{name}' is an Arm type (Graviton); Icefield's stack is for x86_64 Intel CPUs"


NO_TYPES = ["", "c6i", "c6i.", ".large", "C6i.16xlarge", "c6i.16xlarge ", "c6i.16xlarge\n", "c6i.16", "c6i.0xlarge"]


@pytest.mark.parametrize("name", [*NO_TYPES, "c6i-16xlarge", "6i.large"])
def test_what_is_no_instance_type_is_refused(name):
    with pytest.raises(ValueError, match=r"is not an EC2 instance type; one is written like c6i\.16xlarge"):
        describe(name)
