"""Asks the supervisors of a run to end it: ``python -m icefield_train stop --run-dir DIR``, on the head."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path


def main(argv: list[str]) -> int:
    """Leave the wish in the run's folder, where the head's supervisor looks several times a second."""
    parser = argparse.ArgumentParser(prog="icefield_train stop")
    parser.add_argument("--run-dir", type=Path, required=True)
    run_dir: Path = parser.parse_args(argv).run_dir
    if not (run_dir / "plan.json").exists():
        print(f"there is no run in {run_dir}", file=sys.stderr)
        return 2
    if (run_dir / "result.json").exists():
        print(f"the run in {run_dir} is over already", file=sys.stderr)
        return 2
    (run_dir / "stop").touch()
    return 0
