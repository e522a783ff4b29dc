# %% [markdown]
# # People who trust nobody
# Each randomises an answer at home and sends a short report. The reports give the same curve, with a wider band.

# %%
import matplotlib.pyplot as plt
import numpy as np

import dpcurves as dp

rng = np.random.default_rng(28)
hours = rng.gamma(4.0, 1.5, size=20_000)  # of sleep; nobody sees these but the people themselves
question, loss = dp.CdfQuestion("hours", dp.Grid(0, 24, cells=96)), dp.PrivacyLoss.pure(2)

# %%
task = dp.local.Task(question, loss, people=20_000)  # public, the same for everybody
reports = [task.randomize(each) for each in hours]  # each on a device of its own
at_home = dp.local.aggregate(reports, task)

# %% [markdown]
# For comparison, the curve that a curator who may see all records would release.

# %%
with dp.Session({"hours": hours}, budget=loss, adjacency=dp.REPLACE_ONE) as session:
    curator = session.ask(question, loss)
figure, axes = plt.subplots(1, 2, figsize=(12, 5), layout="constrained", sharey=True)
for ax, (name, curve) in zip(axes, {"people at home": at_home, "one curator": curator}.items(), strict=True):
    curve.plot(ax=ax)
    ax.set_title(name)
