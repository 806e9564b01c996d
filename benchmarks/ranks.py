"""One process per namespace that is a rank: started, waited for, ended with the benchmark."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

from benchmarks.namespaces import INTERFACE, Namespace

PORT = 29555
_QUIET = {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_VERBOSITY": "error", "HF_HUB_DISABLE_PROGRESS_BARS": "1"}


def run_ranks(nodes: list[Namespace], module: str, job: dict[str, Any], folder: Path) -> Any:
    """Run ``python -m module --job FILE`` in each namespace; return what rank 0 wrote to ``job["result"]``.

    Args:
        nodes: where; the first is rank 0.
        module: which, importable from here.
        job: what the ranks need to know; "rank", "ranks" and "result" are added.
        folder: for the files of the jobs.

    Raises:
        SystemExit: a rank failed.
    """
    result = folder / "result.json"
    processes = []
    for number, node in enumerate(nodes):
        path = folder / f"job-{number}.json"
        path.write_text(json.dumps({**job, "rank": number, "ranks": len(nodes), "result": str(result)}))
        meeting = {"MASTER_ADDR": nodes[0].address, "MASTER_PORT": str(PORT), "GLOO_SOCKET_IFNAME": INTERFACE}
        env = {**os.environ, **meeting, "OMP_NUM_THREADS": str(job["threads"]), **_QUIET}
        command = [*node.command, sys.executable, "-W", "ignore", "-m", module, "--job", str(path)]
        processes.append(subprocess.Popen(command, env=env))
    try:
        codes = [process.wait() for process in processes]
    finally:
        for process in processes:
            process.kill()
    if any(codes):
        sys.exit(f"ranks ended with exit codes {codes}")
    return json.loads(result.read_text())


def end_cleanly() -> None:
    """Let a benchmark that is ended from outside remove its namespaces all the same."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
