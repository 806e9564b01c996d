"""The ``script`` command: one rank that runs a user's own program, and tells of it what the program tells nobody.

    python -m icefield_train script --run-dir DIR

The program is not changed and knows nothing of Icefield. Its output goes to the rank's log; that it prints or computes
shows that it goes on; its exit code and the last traceback in its log say how it ended.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import FrameType
from typing import Any

from icefield_train.arguments import Parser
from icefield_train.events import Events
from icefield_train.launch_env import Place, adopt
from icefield_train.machine import versions
from icefield_train.output import Output
from icefield_train.plan import Plan, Script, load_plan
from icefield_train.processes import die_with_parent, out_of_memory_kills, session_seconds
from icefield_train.program_error import read_error
from icefield_train.script_files import work_dir
from icefield_train.status import Status, write_json
from icefield_train.watch import ending

_PROCESS = Path(__file__).with_name("script_process.py")
# Seconds between two looks at the program.
_TICK = 0.25
# Seconds between two shown states of a progress bar.
_BAR_EVERY = 2.0
# A program that waits uses next to no CPU time; one that uses more than this share of a core goes on.
_BUSY_SHARE = 0.02
_BUSY_WINDOW = 2.0
# A program that one of these ended had no time to say anything about it.
_KILLS = (signal.SIGKILL, signal.SIGTERM)


def environment_of(plan: Plan, script: Script, env: Mapping[str, str]) -> dict[str, str]:
    """Return the program's environment: the rank's own, what the script needs, and nothing of Icefield's package."""
    found = {name: value for name, value in env.items() if name != "PYTHONPATH"}
    if script.layer:
        found["PYTHONPATH"] = script.layer
    # The environment's own commands first, as in a shell where it is active.
    found["PATH"] = f"{Path(plan.python).parent}:{env.get('PATH', '/usr/bin:/bin')}"
    # accelerate, and with it Trainer, looks for no group of CPUs unless it is told to.
    found["ACCELERATE_USE_CPU"] = "true"
    found["ICEFIELD_OUTPUT_DIR"] = script.output
    return found | script.environment


class Activity:
    """Tells whether a program goes on: it prints, or it computes."""

    def __init__(self, session: int) -> None:
        self._session = session
        self._since, self._used = time.monotonic(), 0.0

    def seen(self, *, printed: bool) -> bool:
        """Tell whether there was any since the last time."""
        now = time.monotonic()
        if now - self._since < _BUSY_WINDOW:
            return printed
        used = session_seconds(self._session)
        busy = used - self._used > _BUSY_SHARE * (now - self._since)
        self._since, self._used = now, used
        return printed or busy


class Rank:
    """A rank of a run whose work another program does."""

    def __init__(self, plan: Plan, script: Script, place: Place, host: str) -> None:
        self._plan, self._script = plan, script
        self._run_dir = Path(plan.run_dir)
        self.status = Status(self._run_dir, rank=place.rank, host=host)
        self._events = Events(self._run_dir, enabled=place.rank == 0)
        self._log = self._run_dir / "logs" / f"rank-{place.rank}.log"
        self._bar, self._bar_shown = "", 0.0
        self._asked_to_end = False

    def run(self) -> int:
        """Run the program to its end; return an exit code, 0 where it succeeded."""
        begun, kills = time.time(), out_of_memory_kills()
        self._tell_start()
        program = self._start()
        signal.signal(signal.SIGTERM, lambda signum, frame: self._pass_on(program, signum, frame))
        self.status.program = program.pid
        self.status.enter("run")
        self._events.write("phase", phase="run")
        output, activity = Output(self._log), Activity(program.pid)
        while (code := self._wait(program)) is None:
            self._show(output.look(), output.bar)
            if activity.seen(printed=output.grown):
                self.status.touch()
        self._show(output.finish(), "")
        if code == 0:
            self._events.write("end", wall_seconds=time.time() - begun)
            self.status.enter("done")
            return 0
        self._record(code, out_of_memory=out_of_memory_kills() > kills)
        return code if code > 0 else 128 - code

    def _start(self) -> subprocess.Popen[bytes]:
        script = self._script
        self._log.parent.mkdir(parents=True, exist_ok=True)
        with self._log.open("ab") as log:
            return subprocess.Popen(
                [self._plan.python, str(_PROCESS), str(work_dir(self._plan) / script.entry), *script.arguments],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                cwd=work_dir(self._plan),
                env=environment_of(self._plan, script, os.environ),
                # By it the CPU time of the program and of all that it starts is found.
                start_new_session=True,
                preexec_fn=die_with_parent,
            )

    def _wait(self, program: subprocess.Popen[bytes]) -> int | None:
        try:
            return program.wait(_TICK)
        except subprocess.TimeoutExpired:
            return None

    def _pass_on(self, program: subprocess.Popen[bytes], signum: int, frame: FrameType | None) -> None:
        """Let the program end as it likes; whoever asked for it has the means to force it."""
        self._asked_to_end = True
        if program.poll() is None:
            program.send_signal(signum)

    def _tell_start(self) -> None:
        if self.status.rank == 0:
            write_json(self._run_dir / "environment.json", {"versions": versions()})
        self._events.write(
            "script",
            run_id=self._plan.run_id,
            script=self._script.entry,
            world_size=self._plan.world_size,
            hosts=[node.name for node in self._plan.nodes],
            launcher=self._plan.launcher,
        )

    def _show(self, lines: list[str], bar: str) -> None:
        for line in lines:
            self._events.write("output", text=line)
        now = time.monotonic()
        if bar != self._bar and (not bar or now - self._bar_shown >= _BAR_EVERY):
            self._bar, self._bar_shown = bar, now
            self._events.write("bar", text=bar)

    def _record(self, code: int, *, out_of_memory: bool) -> None:
        """Write ``errors/rank-<r>.json``: exit code or signal, and the last error that the program printed."""
        error = read_error(self._log, work_dir(self._plan), code)
        how = ending(code)
        if code == -signal.SIGKILL and out_of_memory:
            how = "the kernel killed it, the node being out of memory"
        found: dict[str, Any] = {
            "rank": self.status.rank,
            "host": self.status.host,
            "phase": self.status.phase,
            "step": self.status.step,
            "type": error.type,
            "message": how if -code in _KILLS else f"{how}: {error.message}",
            # One that was asked to end is not why the run ends.
            "peer": self._asked_to_end or error.peer,
            "traceback": error.traceback,
            "time": time.time(),
        }
        write_json(self._run_dir / "errors" / f"rank-{self.status.rank}.json", found)


def main(argv: Sequence[str]) -> int:
    """Run the program as this rank; return its exit code, that of a shell where a signal ended it."""
    parser = Parser(prog="script", description="Run a user's script, as one rank of a run.")
    parser.add_argument("--run-dir", type=Path, required=True, help="folder of the run")
    plan = load_plan(parser.parse_args(argv).run_dir)
    if plan.script is None:
        print(f"run '{plan.run_id}' has no script", file=sys.stderr)
        return 2
    return Rank(plan, plan.script, adopt(), os.environ["ICEFIELD_NODE"]).run()
