"""What the commands that use a trained model take on their command line."""

from __future__ import annotations

from pathlib import Path

from icefield_train.arguments import Parser, whole_number
from icefield_train.config import PRECISIONS


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
    parser.add_argument(
        "--batch-size",
        type=whole_number(0, zero="as in training"),
        default=0,
        help="rows per forward pass (default: 0, as in training)",
    )
    parser.add_argument("--precision", choices=PRECISIONS, default="auto", help="default: auto")
    return parser
