"""What is written twice says the same."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[1]
ROLES = sorted(path.name for path in (ROOT / "roles").iterdir())


def specs_of(role):
    return yaml.safe_load((ROOT / "roles" / role / "meta/argument_specs.yml").read_text())["argument_specs"]


@pytest.mark.parametrize("role", ROLES)
def test_defaults_and_argument_specs_of_a_role_agree(role):
    options = specs_of(role)["main"]["options"]
    defaults = yaml.safe_load((ROOT / "roles" / role / "defaults/main.yml").read_text())
    assert set(defaults) == set(options)
    for name, option in options.items():
        assert name.startswith(f"{role}_")
        assert option["default"] == defaults[name], name
        assert option["description"]


def test_settings_have_the_defaults_that_their_table_shows():
    for topic, spec in specs_of("settings").items():
        if topic == "main":
            continue
        values = yaml.safe_load((ROOT / f"inventory/group_vars/all/{topic}.yml").read_text())
        options = spec["options"]
        assert set(options) - set(values) <= {"nodes"}
        assert set(values) <= set(options)
        for name, option in options.items():
            if "default" in option:
                assert option["default"] == values[name], name


def test_generated_docs_are_up_to_date():
    done = subprocess.run(
        [sys.executable, "docs/generate.py", "--check"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_links_of_the_docs_lead_somewhere():
    for page in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *ROOT.glob("docs/*.md")]:
        for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name}: {target}"
