import json

from plugins.module_utils.run_progress import Progress, duration, parse_events

STEP = {
    "event": "step",
    "step": 34,
    "steps": 120,
    "epoch": 1,
    "loss": 0.5,
    "samples_per_second": 61.25,
    "eta_seconds": 75,
}


def test_a_line_that_is_still_being_written_is_left_for_the_next_look():
    text = json.dumps(STEP) + "\n" + '{"event": "st'
    events, taken = parse_events(text)
    assert events == [STEP]
    assert text[taken:] == '{"event": "st'


def test_bytes_are_counted_and_not_characters():
    text = json.dumps({"event": "phase", "phase": "é"}, ensure_ascii=False) + "\n"
    assert parse_events(text)[1] == len(text.encode())


def test_what_is_no_event_is_passed_over():
    assert parse_events("noise\n[1]\n{}\n")[0] == []


def test_the_present_state_shows_step_loss_speed_and_time_left():
    progress = Progress()
    assert progress.now(3).startswith("start")
    progress.feed([STEP])
    assert progress.now(9) == "step 34/120  epoch 1  loss 0.5000  61.2 samples/s  ETA 1:15"
    progress.feed([{"event": "phase", "phase": "evaluate"}])
    assert progress.now(65) == "evaluate after step 34/120  (1:05)"


def test_events_that_matter_later_stay_as_lines():
    lines = Progress().feed([STEP, {"event": "evaluate", "step": 120, "metrics": {"accuracy": 0.8, "f1": 0.875}}])
    assert lines == ["after step 120: accuracy 0.8000  f1 0.8750"]
    other = {"event": "evaluate", "step": 120, "split": "dev_mm", "metrics": {"accuracy": 0.75}}
    assert Progress().feed([other]) == ["after step 120 on dev_mm: accuracy 0.7500"]


def test_what_a_script_prints_stays_and_its_bar_is_the_present_state():
    start = {"event": "script", "run_id": "r", "script": "t.py", "world_size": 2, "hosts": ["a", "b"]}
    progress = Progress()
    lines = progress.feed([{**start, "launcher": "mpirun"}, {"event": "phase", "phase": "run"}])
    assert lines == ["run r: script t.py, 2 ranks on a, b, mpirun"]
    assert progress.now(65) == "run  (1:05)"
    key = progress.key
    # An empty line stays one.
    assert progress.feed([{"event": "output", "text": "epoch 1"}, {"event": "output", "text": ""}]) == ["epoch 1", " "]
    assert progress.key == key
    progress.feed([{"event": "bar", "text": " 10%|#  | 1/9"}])
    assert progress.now(70) == " 10%|#  | 1/9"
    assert progress.key != key
    progress.feed([{"event": "bar", "text": ""}])
    assert progress.now(71) == "run  (1:11)"


def test_durations():
    assert [duration(s) for s in (0, 59.6, 61, 3661)] == ["0:00", "1:00", "1:01", "1:01:01"]


def test_what_a_probe_measured_is_shown_by_setting_in_samples_per_second():
    events = [
        {"event": "measured", "settings": {}, "seconds": 0.5, "rows": 32},
        {"event": "measured", "settings": {"bucket_mb": 2}, "seconds": 0.4, "rows": 32},
    ]
    assert Progress().feed(events) == ["defaults: 64.0 samples/s", "bucket_mb=2: 80.0 samples/s"]
