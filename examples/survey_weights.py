# %% [markdown]
# # Survey weights
# A survey asked some people more often than others: weighted curves, with a public cap, show all whom it stands for.

# %%
import numpy as np

import dpcurves as dp

rng = np.random.default_rng(36)
people = rng.lognormal(3.4, 0.6, size=400_000)
chance = np.where(people < 25, 0.04, 0.01)  # low incomes were asked four times as often
sampled = rng.random(people.size) < chance
income, weight = people[sampled], 1 / chance[sampled]
grid, terms = dp.Grid(0, 150, cells=150), {"epsilon": 1, "adjacency": dp.REPLACE_ONE}

# %%
weighted = dp.cdf(income, grid=grid, weight=weight, weight_cap=100, label="income (1000)", **terms)
plain = dp.cdf(income, grid=grid, label="income (1000)", **terms)
ax = plain.plot(level=None, name="records as they are")
weighted.plot(ax=ax, population=False, name="weighted")
ax.plot(grid.edges, np.searchsorted(np.sort(people), grid.edges) / people.size, "k:", lw=1.6, label="all people")
ax.set_title("Distribution of income, with and without survey weights")
ax.legend()

# %% [markdown]
# The cap is public: the design says that no chance was below 0.01. Each record moves a sum by 100 at most, and the
# noise is made for that. Intervals for the population use the sum of squared weights that was released.

# %%
print(f"sum of weights {weighted.count:,.0f} of {people.size:,}; design effect {weighted.design_effect:.2f}")
print("median", weighted.quantile_interval(0.5, 0.95, population=True), "true", round(float(np.median(people)), 1))
print("Gini", dp.gini_coefficient(weighted).interval(0.95, population=True))

# %% [markdown]
# From a session, several questions out of one budget: a weighted mean, quantiles, a curve, and survival.

# %%
years, left = rng.integers(1, 11, income.size), rng.integers(0, 2, income.size)
table = {"income": income, "weight": weight, "years": years, "left": left}
loss = dp.PrivacyLoss.pure("0.5")
with dp.Session(table, budget=dp.PrivacyLoss.pure(2), adjacency=dp.REPLACE_ONE) as session:
    mean = session.ask(dp.WeightedSummaryQuestion("income", 0, 150, "weight", 100), loss)
    found = session.ask(dp.WeightedQuantilesQuestion("income", grid, (0.1, 0.9), "weight", 100), loss)
    curve = session.ask(dp.WeightedCdfQuestion("income", grid, "weight", 100), loss)
    stays = session.ask(dp.WeightedSurvivalQuestion("years", "left", dp.Values(range(1, 11)), "weight", 100), loss)
print("mean", mean.interval(0.95, population=True), "true", round(float(people.clip(0, 150).mean()), 1))
print(found.to_frame(level=0.95, population=True).round(1).to_string(index=False))
print("at or below 25:", round(float(curve.cdf(25)), 3), "median stay", stays.median_interval(0.95, population=True))

# %% [markdown]
# If no range is known, a fifth of the loss finds one.

# %%
asked = (
    dp.AutoRangeWeightedHistogramQuestion("income", "weight", 100, cells=20),
    dp.AutoRangeWeightedQuantilesQuestion("income", (0.5,), "weight", 100),
    dp.AutoRangeWeightedSummaryQuestion("income", "weight", 100),
    dp.AutoRangeWeightedCdfQuestion("income", "weight", 100),
    dp.WeightedHistogramQuestion("income", dp.Grid(0, 150, cells=15), "weight", 100),
)
with dp.Session(table, budget=dp.PrivacyLoss.pure("2.5"), adjacency=dp.REPLACE_ONE) as session:
    for question in asked:
        print(question, session.ask(question, loss), sep="\n  ")
