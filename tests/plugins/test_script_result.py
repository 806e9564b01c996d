import json

from icefield_train import report
from plugins.module_utils import script_result

TRACEBACK = (
    "Traceback (most recent call last):\n" + '  File "t.py", line 1\n    \x1b[31mcall()\n' * 10 + "KeyError: 'x'"
)


def write(run_dir, **result):
    config = {"run_id": "r", "script": "my/t.py", "script_args": "--lr 1", "packages": ["x==1"], "command": "again"}
    (run_dir / "config.json").write_text(json.dumps(config))
    start = {"event": "script", "hosts": ["a", "b"], "world_size": 4, "launcher": "mpirun"}
    events = [start, {"event": "end", "wall_seconds": 75.2}]
    (run_dir / "events.jsonl").write_text("".join(json.dumps(event) + "\n" for event in events))
    (run_dir / "result.json").write_text(json.dumps({"state": "done", "line": "", **result}))
    (run_dir / "logs").mkdir()
    (run_dir / "logs/rank-0.log").write_text("epoch 1\n\r 10%\r100% <done>\n")


def test_the_table_shows_what_was_run_and_what_it_left(tmp_path):
    write(tmp_path)
    assert script_result.table(tmp_path)[-1] == "output  none"
    (tmp_path / "output/model").mkdir(parents=True)
    (tmp_path / "output/model/a.bin").write_bytes(bytes(2000))
    assert script_result.table(tmp_path) == [
        "run     r",
        "script  my/t.py --lr 1",
        "nodes   2, 4 ranks, mpirun",
        "time    1:15",
        f"output  1 file, 2,000 bytes in {tmp_path / 'output'}",
    ]
    assert script_result.is_script(tmp_path)
    (tmp_path / "result.json").write_text(json.dumps({"state": "done", "usd": 0.0125, "usd_hour": 0.6}))
    assert script_result.table(tmp_path)[-1] == "cost    $0.0125, $0.6000 per hour on demand"


def test_the_end_of_the_traceback_is_shown(tmp_path):
    (tmp_path / "errors").mkdir()
    (tmp_path / "errors/rank-1.json").write_text(json.dumps({"traceback": TRACEBACK}))
    lines = script_result.traceback(tmp_path, {"rank": 1})
    assert len(lines) == 13
    assert lines[0] == "the end of what rank 1 printed:"
    assert lines[-2:] == ["      call()", "  KeyError: 'x'"]
    assert script_result.traceback(tmp_path, {"rank": 0}) == []
    assert script_result.traceback(tmp_path, {}) == []


def test_the_report_of_a_script_shows_its_arguments_its_output_and_its_last_lines(tmp_path):
    write(tmp_path)
    (tmp_path / "output").mkdir()
    (tmp_path / "output/a.bin").write_bytes(bytes(2000))
    page = report.build(tmp_path)
    assert "my/t.py, finished" in page
    assert "<th>arguments</th><td>--lr 1</td>" in page
    assert "<th>ranks</th><td>4</td>" in page
    assert "a.bin  2,000 bytes" in page
    assert "<pre>epoch 1\n100% &lt;done&gt;</pre>" in page
    assert "fine-tuned" not in page


def test_the_report_of_a_script_that_failed_says_why(tmp_path):
    write(tmp_path, state="failed", line="b rank 1 (run): KeyError")
    page = report.build(tmp_path)
    assert "my/t.py, failed" in page
    assert "b rank 1 (run): KeyError" in page
