"""What the controller takes: a provision that changes nothing, by number of nodes, and the way to the first step.

    python -m benchmarks.controller [--nodes 4 8] [--repeats 3] [-e local_cpus=0.25] [-e task=mrpc -e data_dir=DIR]

Makes a cluster of local nodes for each number, goes through them in turn, and removes them in the end. Needs what
``make setup`` installs.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import re
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from benchmarks.ranks import end_cleanly

_STEPS = 2


def play(playbook: str, settings: list[str]) -> str:
    """Run a playbook with settings (``name=value``); return what it printed.

    Raises:
        SystemExit: it failed.
    """
    words = [word for setting in settings for word in ("-e", setting)]
    done = subprocess.run(["ansible-playbook", playbook, *words], capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{playbook} failed:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done.stdout


def changes(output: str) -> int:
    """Return how many tasks of a play changed something, on all hosts."""
    return sum(int(number) for number in re.findall(r"\bchanged=(\d+)", output))


@contextlib.contextmanager
def clusters(numbers: list[int], settings: list[str]) -> Iterator[dict[int, list[str]]]:
    """Make a cluster of each number of nodes; give the settings that name it, and remove all of them in the end."""
    named = {count: [f"cluster_name=bench{count}", f"nodes={count}", *settings] for count in numbers}
    try:
        for mine in named.values():
            play("provision.yml", mine)
        yield named
    finally:
        for mine in named.values():
            play("destroy.yml", mine[:1])


def provision_again(settings: list[str]) -> float:
    """Return the seconds of a provision that has nothing to do.

    Raises:
        SystemExit: it failed, or changed something.
    """
    begun = time.time()
    changed = changes(play("provision.yml", settings))
    if changed:
        sys.exit(f"provision.yml changed {changed} things that were right")
    return time.time() - begun


def first_step(settings: list[str], run_id: str) -> float:
    """Return the seconds from the call of train.yml to the end of the first optimizer step."""
    begun = time.time()
    play("train.yml", [*settings, f"max_steps={_STEPS}", f"run_id={run_id}"])
    events = (Path("runs") / run_id / "events.jsonl").read_text().splitlines()
    steps = [event for event in map(json.loads, events) if event["event"] == "step"]
    return float(steps[0]["time"]) - begun


def main() -> None:
    """Measure in turn and print medians and their ratios."""
    parser = argparse.ArgumentParser(description="Measure what the controller takes.")
    parser.add_argument("--nodes", type=int, nargs="+", default=[4, 8], help="numbers of nodes (default: 4 8)")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("-e", dest="settings", action="append", default=[], help="setting, as name=value")
    arguments = parser.parse_args()
    end_cleanly()
    again: dict[int, list[float]] = {count: [] for count in arguments.nodes}
    steps: dict[int, list[float]] = {count: [] for count in arguments.nodes}
    with clusters(arguments.nodes, arguments.settings) as named:
        for number in range(arguments.repeats + 1):
            for count, settings in named.items():
                seconds = provision_again(settings)
                first = first_step(settings, f"first-{int(time.time())}-{count}")
                # The first stages code, model and data; all others find them.
                if number:
                    again[count].append(seconds)
                    steps[count].append(first)
    print("| nodes | provision without a change, s | / that of the fewest | train.yml to its first step, s |")
    print("| --- | --- | --- | --- |")
    fewest = statistics.median(again[arguments.nodes[0]])
    for count in arguments.nodes:
        median = statistics.median(again[count])
        print(f"| {count} | {median:.1f} | {median / fewest:.2f} | {statistics.median(steps[count]):.1f} |")


if __name__ == "__main__":
    main()
