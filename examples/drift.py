# %% [markdown]
# # Drift of a score
# Has a score moved since a reference? Released histograms are compared, for nothing more; a stream is watched week by
# week, with a threshold that an unchanged stream passes in 5 % of years.

# %%
import numpy as np

import dpcurves as dp

rng = np.random.default_rng(21)
grid, spent = dp.Grid(0, 1, cells=20), {"epsilon": 1, "adjacency": dp.REPLACE_ONE}
reference = dp.histogram(rng.beta(2, 3, 20_000), grid=grid, **spent)
months = {
    name: dp.histogram(rng.beta(2, later, 4_000), grid=grid, **spent)
    for name, later in (("January", 3), ("February", 3), ("March", 2.6))
}
drift = dp.drift(reference, months)
drift.plot()

# %%
week = np.repeat(np.arange(30), 500)
score = rng.beta(2, np.where(week < 24, 3, 2.4))
question = dp.streams.Counts((dp.data.Axis("score", grid),), 30, windows=(8,))
steps = dp.streams.follow(
    {"time": week, "score": score}, question, loss=dp.PrivacyLoss.pure(1), store="sqlite://", start=0, every=1, end=30
)
readings = [step.reading for step in steps]
watch = dp.streams.DriftWatch(grid, readings[7], windows_per_year=52, reference_width=8)
for reading in readings[8:]:
    found = watch.compare_window(reading)
    if found.alarms:
        print(f"week {found.time_step}: {', '.join(found.alarms)}")
