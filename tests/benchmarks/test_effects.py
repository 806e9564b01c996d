"""What the benchmark of the engine's parts compares."""

from benchmarks.effects import ENGINE, table, token_batches


def test_batches_by_tokens_have_all_rows_and_none_more_than_the_budget():
    lengths = [5, 90, 7, 7, 20, 6, 60, 5, 8, 12]
    batches = token_batches(lengths, rows=4)
    assert sorted(row for batch in batches for row in batch) == list(range(len(lengths)))
    # 4 rows of 22 tokens on average; a row that is longer than that is alone.
    assert all(len(batch) * max(lengths[row] for row in batch) <= 88 for batch in batches if len(batch) > 1)
    assert [sorted(lengths[row] for row in batch) for batch in batches] == [[5, 5, 6, 7, 7, 8, 12], [20], [60], [90]]


def test_times_are_compared_within_a_repeat():
    # The machine was three times as slow in the second.
    lines = table({ENGINE: [1.0, 3.0], "fp32": [2.0, 6.6]}, {"fp32": "fp32"})
    assert lines[2:] == ["| fp32 | 2.10 | 2.00 to 2.20 |"]
