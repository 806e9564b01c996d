"""What went wrong in a rank, as a file that its node's supervisor reads."""

from __future__ import annotations

import json
import re
import time
import traceback
from pathlib import Path

from icefield_train.status import Status, write_json

# How gloo and torch's store say that another rank has ended or does not answer.
_PEER_GONE = re.compile(
    r"closed by peer|reset by peer|broken pipe|timed out waiting|(socket|read|wait|client socket has) time(d )?out"
    r"|timeout caused pair closure|connection (refused|aborted)|failed to recv, got 0 bytes|connect\(\) timed out",
    re.IGNORECASE,
)


class PeerError(RuntimeError):
    """Another rank failed; this one only learned of it."""


def tells_of_peer(error: BaseException) -> bool:
    """Tell whether an error, or one that it came of, only says that another rank is gone."""
    seen: BaseException | None = error
    while seen is not None:
        if isinstance(seen, PeerError | ConnectionError) or (
            isinstance(seen, RuntimeError) and _PEER_GONE.search(str(seen))
        ):
            return True
        seen = seen.__cause__ or seen.__context__
    return False


def sounds_like_peer(message: str) -> bool:
    """Tell whether the last line of another program's traceback only says that another rank is gone."""
    return bool(_PEER_GONE.search(message))


def one_line(error: BaseException) -> str:
    """Return an error's message as one line."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    if not lines:
        return type(error).__name__
    # The text of a missing key is the key alone.
    kind = f"{type(error).__name__}: " if isinstance(error, LookupError) else ""
    return (kind + lines[0])[:500]


def describe(error: BaseException, *, host: str, phase: str, step: int = 0) -> dict[str, object]:
    """Return what is written of an error."""
    return {
        "host": host,
        "phase": phase,
        "step": step,
        "type": type(error).__name__,
        "message": one_line(error),
        "peer": tells_of_peer(error),
        "traceback": "".join(traceback.format_exception(error)),
        "time": time.time(),
    }


def record(run_dir: Path, status: Status, error: BaseException) -> None:
    """Write ``errors/rank-<r>.json``."""
    what = describe(error, host=status.host, phase=status.phase, step=status.step)
    write_json(run_dir / "errors" / f"rank-{status.rank}.json", {"rank": status.rank, **what})


def read_errors(run_dir: Path) -> list[dict[str, object]]:
    """Return the errors of a run's folder, the first cause first: earliest, but those of peers last."""
    found = [json.loads(path.read_text(encoding="utf-8")) for path in (run_dir / "errors").glob("rank-*.json")]
    return sorted(found, key=lambda error: (error["peer"], error["time"]))
