# %% [markdown]
# # How large are values?
# Where no range is public, part of the budget finds one: an interval is doubled until it seems to hold most records.

# %%
import numpy as np

import dpcurves as dp

rng = np.random.default_rng(37)
table = {"claims": 300 * rng.standard_t(3, size=20_000), "days": rng.gamma(2.0, 3.0, size=20_000)}

# %% [markdown]
# One secret noisy threshold is compared with the counts of all intervals, so the privacy loss does not depend on how
# many are tried. A tenth of the budget goes there, and the rest to the curve.

# %%
with dp.Session(table, budget=dp.PrivacyLoss.pure(1), adjacency=dp.REPLACE_ONE) as session:
    claims, days = dp.BoundsQuestion("claims", unit=1, coverage=0.95), dp.BoundsQuestion("days", unit=1, coverage=0.95)
    plane = session.ask(dp.PlaneBoundsQuestion(claims, days), dp.PrivacyLoss.pure("0.1"))
    print(f"claims: {plane.x.lower} to {plane.x.upper}; days: up to {plane.y.upper}")
    grid = dp.Grid(plane.x.lower, plane.x.upper, cells=512)
    curve = session.ask(dp.CdfQuestion("claims", grid), dp.PrivacyLoss.pure("0.9"))
curve.plot()

# %% [markdown]
# The end of the interval is a power of two, and the interval may hold some records more or less than was asked for.
# Here the same for a single column:

# %%
print(dp.bounds(table["claims"], unit=1, coverage=0.95, epsilon="0.1", adjacency=dp.REPLACE_ONE))

# %% [markdown]
# Histograms, sums, means and variances find their bounds by themselves, where none are public; the price is said first:

# %%
kinds = dp.AutoRangeMeanQuestion, dp.AutoRangeSumQuestion, dp.AutoRangeVarianceQuestion, dp.AutoRangeSummaryQuestion
with dp.Session(table, budget=dp.PrivacyLoss.pure(5), adjacency=dp.REPLACE_ONE) as session:
    for kind in (*kinds, dp.AutoRangeHistogramQuestion):
        print(session.ask(kind("days"), dp.PrivacyLoss.pure(1)))
