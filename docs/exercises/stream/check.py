"""Follow a stream of tuples, read the changes of its counts, and compare them with the true changes."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from click.testing import CliRunner

import dpcurves as dp
from dpcurves.cli.app import build

STATES = (dp.Categories("ap", ("a", "b")),)
COUNTS = np.array([[5, 0], [9, 1], [2, 1], [2, 7], [3, 0], [8, 4]])
TUPLES = [
    {"ts": time_step, "ap": "ab"[key]}
    for time_step, row in enumerate(COUNTS)
    for key in (0, 1)
    for _ in range(row[key])
]
STREAM: dict[str, Any] = {"store": "sqlite://", "start": 0, "every": 1, "end": 6, "time": "ts"}
QUESTION = dp.streams.Changes(STATES, windows=(2,))


def true_changes(width: int) -> Any:
    """Return the exact changes, (time_steps, keys)."""
    totals = np.vstack([np.zeros((2 * width, 2)), np.cumsum(COUNTS, axis=0)])
    return totals[2 * width :] - 2 * totals[width:-width] + totals[: -2 * width]


exact = list(dp.streams.follow(TUPLES, QUESTION, loss=dp.PrivacyLoss.pure(10_000), **STREAM))
assert np.array_equal([time_step.counts for time_step in exact], true_changes(1))
assert np.array_equal([time_step.reading.windows[2] for time_step in exact], true_changes(2))
line = exact[4].to_dicts()[1]
assert (line["change"], line["low"], line["high"], line["window:2"]) == (-7.0, -7.0, -7.0, 5.0)
assert dp.streams.plot(exact, window=2).get_lines()

covering: list[bool] = []
for seed in range(20):
    randomness = dp.Randomness.from_seed(seed)
    noisy = list(dp.streams.follow(TUPLES, QUESTION, loss=dp.PrivacyLoss.pure(1), randomness=randomness, **STREAM))
    for time_step, truth in zip(noisy, true_changes(2), strict=True):
        low, high = time_step.reading.window_interval(2, 0.9)
        covering += ((low <= truth) & (truth <= high)).tolist()
# 240 intervals at 0.9, up to four of which share a draw of noise: the seeds are fixed.
assert 0.84 <= np.mean(covering) < 1

with tempfile.TemporaryDirectory() as folder:
    file = Path(folder, "events.csv")
    file.write_text("ts,ap\n" + "".join(f"{row['ts']},{row['ap']}\n" for row in TUPLES), encoding="utf-8")
    words = f"stream {file} --state ap --states a,b --start 0 --end 6 --every 1s --epsilon 10000 --reading changes"
    done = CliRunner().invoke(build(), [*words.split(), "--store", f"sqlite:///{folder}/s.db"])
    assert done.exit_code == 0, done.output
    assert '"ap": "b", "change": -7.0' in done.output

low, high = noisy[4].reading.interval(0.9)
change = f"change of b at step 5: {noisy[4].counts[1]:g}, 90% interval [{low[1]:g}, {high[1]:g}]"
print(f"{change}; true {true_changes(1)[4, 1]:g}")
