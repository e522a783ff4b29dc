# %% [markdown]
# # People with many rows
# The unit is a person, not a row: a keyed hash chooses at most so many rows of each, and the noise is for all of them.

# %%
import matplotlib.pyplot as plt
import numpy as np

import dpcurves as dp

rng = np.random.default_rng(15)
patients = np.repeat(np.arange(8_000), rng.poisson(3, size=8_000))
table = {"patient": patients, "days": rng.gamma(2.0, 3.0, size=patients.size)}
question = dp.CdfQuestion("days", dp.Grid(0, 40, cells=320))

# %% [markdown]
# More rows a person make a curve of more visits, with more noise. A plan says how much, without data.

# %%
figure, axes = plt.subplots(1, 3, figsize=(15, 4.6), layout="constrained", sharey=True)
for ax, rows in zip(axes, (1, 3, 9), strict=True):
    with dp.Session(
        table, budget=dp.PrivacyLoss.pure(1), adjacency=dp.ADD_REMOVE, unit="patient", rows_per_unit=rows
    ) as session:
        session.ask(question, dp.PrivacyLoss.pure(1)).plot(ax=ax)
    ax.set_title(f"at most {rows} of each patient's visits")
