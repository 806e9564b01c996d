"""What happens when a script of somebody else goes wrong: nobody but its watchers can tell."""

import re
import signal
import time
import uuid

import pytest

from tests.conftest import ROOT, RUNS
from tests.faults.test_faults import ended_everywhere, last_line

pytestmark = pytest.mark.cluster

SCRIPT = ROOT / "tests/scripts/faulty/train.py"


def begin(cluster, how, **settings):
    run_id = f"script-{uuid.uuid4().hex[:8]}"
    return run_id, cluster.start("train.yml", run_id=run_id, script=SCRIPT, script_args=how, **settings)


def printed(cluster, run_id):
    return sum(event["event"] == "output" for event in cluster.events(run_id))


def wait_for_lines(cluster, run_id, count, seconds=120):
    until = time.monotonic() + seconds
    while printed(cluster, run_id) < count:
        assert time.monotonic() < until, cluster.events(run_id)[-3:]
        time.sleep(0.3)


def test_the_rank_that_fails_is_named_with_the_last_lines_of_its_traceback(cluster):
    run_id, train = begin(cluster, "error", launcher="mpirun")
    output, _ = train.communicate(timeout=120)
    assert train.returncode != 0
    # The other rank's error, that its peer is gone, is not the cause.
    assert last_line(output) == (
        f"icefield: run '{run_id}' failed: {cluster.nodes[1]} rank 1 (run): the process ended with exit code 1: "
        "KeyError: 'no row 3' (train.py line 16)"
    )
    assert '    raise KeyError(f"no row {number}")' in output
    assert "KeyError: 'no row 3'" in (ROOT / "runs" / run_id / "logs/rank-1.log").read_text()
    assert "KeyError: &#x27;no row 3&#x27;" in (ROOT / "runs" / run_id / "report.html").read_text()
    assert ended_everywhere(cluster, run_id, cluster.nodes) == {}


def test_a_script_that_waits_for_itself_is_found_by_its_silence(cluster):
    run_id, train = begin(cluster, "hang", deadline_silence=3)
    output, _ = train.communicate(timeout=120)
    assert train.returncode != 0
    assert last_line(output).endswith(
        "no rank has printed or computed anything for 3 s (setting deadline_silence); "
        "last words: rank 0: step 2; rank 1: waiting for a lock"
    ), output[-3000:]
    assert ended_everywhere(cluster, run_id, cluster.nodes) == {}


def test_a_script_goes_on_without_its_watcher_is_attached_to_and_stopped_with_what_it_wrote(cluster):
    run_id, train = begin(cluster, "nothing", launcher="mpirun")
    wait_for_lines(cluster, run_id, 3)
    train.send_signal(signal.SIGINT)
    output, _ = train.communicate(timeout=60)
    assert f"train.yml -e attach={run_id}" in output
    reached = printed(cluster, run_id)
    wait_for_lines(cluster, run_id, reached + 5)
    cluster.on(cluster.nodes[0], f"echo saved > {RUNS}/{run_id}/output/model.txt", user="icefield")

    attached = cluster.start("train.yml", attach=run_id)
    code, output = cluster.play("status.yml", stop=run_id)
    assert code == 0, output
    output, _ = attached.communicate(timeout=60)
    assert attached.returncode != 0
    assert "stopped on request" in last_line(output)
    # All that was printed before is shown first.
    assert re.findall(r"(?m)^step (\d+)$", output)[:3] == ["1", "2", "3"]
    assert (ROOT / "runs" / run_id / "output/model.txt").read_text() == "saved\n"
    assert ended_everywhere(cluster, run_id, cluster.nodes) == {}
