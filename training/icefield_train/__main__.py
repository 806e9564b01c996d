"""The command line: ``python -m icefield_train COMMAND``. Each command imports its own module only."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence

# Command -> module whose main(argv) it calls, and what it does.
COMMANDS = {
    "check": ("check", "check settings, data and model, and stage data and model (needs no torch)"),
    "tokenise": ("tokenise", "tokenise the rows of a run, once per node"),
    "train": ("train", "train, as one rank of a run"),
    "probe": ("probe", "measure settings of the training, as one rank of a run"),
    "script": ("script", "run a user's script, as one rank of a run"),
    "evaluate": ("evaluate_command", "print the metrics of a trained model on the dev rows"),
    "predict": ("predict_command", "write a trained model's answers to rows without labels"),
    "report": ("report", "write report.html of a run"),
    "rank": ("rank", "check this process's place in the run, then become the given program"),
    "supervise": ("supervisor", "start the ranks of this node and watch them"),
    "stop": ("stop", "end a run"),
}


def usage() -> str:
    """Return the list of commands."""
    lines = [f"  {name:<10} {text}" for name, (_, text) in COMMANDS.items()]
    return "\n".join(["usage: python -m icefield_train COMMAND [--help] ...", "", *lines])


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command that the first argument names; return its exit code."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    if not arguments or arguments[0] in ("-h", "--help"):
        print(usage())
        return 0 if arguments else 2
    name, *rest = arguments
    if name not in COMMANDS:
        print(f"command '{name}' is not known; give one of {', '.join(COMMANDS)}", file=sys.stderr)
        return 2
    module = importlib.import_module(f"icefield_train.{COMMANDS[name][0]}")
    code: int = module.main(rest)
    return code


if __name__ == "__main__":
    sys.exit(main())
