"""What the commands that use a trained model take on their command line."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path

from icefield_train.arguments import Parser
from icefield_train.config import PRECISIONS
from icefield_train.rules import refusal


def answering_parser(prog: str, description: str, *, data: str) -> Parser:
    """Return a parser that knows the model, the data, and how to calculate.

    Args:
        prog: name of the command.
        description: what it does.
        data: what its ``--data`` has.
    """
    parser = Parser(prog=prog, description=description)
    parser.add_argument("--model", type=Path, required=True, help="folder of the trained model")
    parser.add_argument("--data", type=Path, required=True, help=data)
    parser.add_argument("--batch-size", type=int, default=0, help="rows per forward pass (default: 0, as in training)")
    parser.add_argument("--precision", choices=PRECISIONS, default="auto", help="default: auto")
    return parser


def parse(parser: Parser, argv: Sequence[str]) -> Namespace:
    """Return the arguments; what is wrong ends the program with one line and exit code 2."""
    arguments = parser.parse_args(argv)
    if arguments.batch_size < 0:
        parser.error(refusal("batch-size", arguments.batch_size, "a whole number of at least 0 (0 = as in training)"))
    return arguments
