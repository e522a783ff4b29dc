# %% [markdown]
# # Counts that never end
# People in two places, every ten minutes of a day: one loss for all steps together, and smoothed counts with intervals.

# %%
import datetime as dt
from collections.abc import Iterator

import matplotlib.pyplot as plt
import numpy as np

import dpcurves as dp

rng, begin = np.random.default_rng(33), dt.datetime(2026, 3, 2, 6)


def seen() -> Iterator[dict[str, str]]:
    """Phones that are seen by the network of a campus, made up."""
    for time_step in range(96):
        for place, peak in (("cafeteria", 36), ("library", 54)):
            for number in range(rng.poisson(4 + 150 * np.exp(-(((time_step - peak) / 7) ** 2)))):
                time = begin + dt.timedelta(minutes=10 * time_step, seconds=number)
                yield {"ts": time.isoformat(), "ap": place, "mac": f"{time_step}-{place}-{number}"}


# %%
readings = list(
    dp.streams.follow(
        seen(), dp.streams.Counts((dp.Categories("ap", ("cafeteria", "library")),)), loss=dp.PrivacyLoss.pure("0.5"),
        store="sqlite://", start=begin.isoformat(), every="10m", end="2026-03-02T22:00", time="ts", user="mac",
        tuples_per_user=1,
    )
)  # fmt: skip

# %%
hours = 6 + np.arange(len(readings)) / 6
figure, ax = plt.subplots(figsize=(9, 4.6), layout="constrained")
for row, place in enumerate(("cafeteria", "library")):
    low, high = np.array([each.reading.interval(0.95) for each in readings])[:, :, row].T
    ax.fill_between(hours, low, high, alpha=0.3)
    ax.plot(hours, [each.counts[row] for each in readings], label=place)
ax.set(xlabel="hour of the day", ylabel="people, with 95% intervals for these records")
ax.set_title("People in two places, counted every ten minutes")
ax.legend()
