# %% [markdown]
# # Survival of two groups
# A Kaplan-Meier curve of each group, medians with intervals, and a log-rank test: all from one release.

# %%
import numpy as np

import dpcurves as dp

rng = np.random.default_rng(6)
drug = rng.random(8_000) < 0.5
until, watched = rng.exponential(np.where(drug, 30, 20)), rng.uniform(0, 60, 8_000)
table = {
    "months": np.minimum(until, watched),
    "died": (until <= watched).astype(int),
    "arm": np.where(drug, "drug", "placebo"),
}

# %%
question = dp.SurvivalQuestion("months", "died", dp.Grid(0, 60, cells=60), by=dp.Categories("arm", ("drug", "placebo")))
with dp.Session(table, budget=dp.PrivacyLoss.pure(1), adjacency=dp.REPLACE_ONE) as session:
    arms = session.ask(question, dp.PrivacyLoss.pure(1))
arms.plot()

# %%
for arm, curve in arms.items():
    print(arm, curve.median, curve.median_interval(0.95, population=True))
print(dp.log_rank_test(arms["drug"], arms["placebo"]))

# %% [markdown]
# Without a grid, a part of the loss looks for the horizon first.

# %%
with dp.Session(table, budget=dp.PrivacyLoss.pure(1), adjacency=dp.REPLACE_ONE) as session:
    found = session.ask(dp.AutoRangeSurvivalQuestion("months", "died"), dp.PrivacyLoss.pure(1))
print(f"half are left after {found.median:.0f} months, of {found.x[-1]:g} that were found")
