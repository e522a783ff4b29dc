# %% [markdown]
# # Audit of a credit model
# A bank's scores are audited by people who may not see its customers: is the new model better than the old one, are
# groups treated alike, are forecasts of losses right, whom do reminders help, and has the column of scores moved?
#
# All customers are made up by this file. Every number below is read from noisy counts, and the whole audit has a loss
# of epsilon 4 under replace-one; intervals hold the noise and, where it is said, sampling.

# %%
import matplotlib.pyplot as plt
import numpy as np

import dpcurves as dp

CUSTOMERS, GROUPS = 20_000, ("under 30", "30 to 60", "over 60")


def customers(count: int, seed: int, shift: float = 0.0) -> dict[str, np.ndarray]:
    """Scores of two models, who repaid, what was lost, and who was sent a reminder."""
    rng = np.random.default_rng(seed)
    means = rng.normal(shift, 1, count)
    group = rng.choice(GROUPS, count, p=[0.25, 0.6, 0.15])
    seen = means - np.where(group == "under 30", 0.5, 0.0)  # the old model holds their short history against the young
    reminded = rng.integers(0, 2, count)
    chance = 1 / (1 + np.exp(-(0.4 + 1.5 * means)))
    lost = np.clip(rng.gamma(2, 6, count) * (1.6 - chance), 0, 60)
    return {
        "repaid": (rng.random(count) < np.clip(chance + 0.25 * reminded * (1 - chance) * (means < 0), 0, 1)).astype(
            int
        ),
        "old": 1 / (1 + np.exp(-(0.4 + 1.2 * seen + rng.normal(0, 0.6, count)))),
        "new": 1 / (1 + np.exp(-(0.4 + 1.5 * means + rng.normal(0, 0.3, count)))),
        "group": group,
        "reminded": reminded,
        "gain": np.clip(0.3 * (1 - chance) + rng.normal(0, 0.05, count), 0, 0.5),
        "median_off": lost - 10 * (1.6 - chance),
        "high_off": lost - 23 * (1.6 - chance),
    }


bank = customers(CUSTOMERS, 1)

# %% [markdown]
# ## One account for the whole audit
#
# The budget is stated before anything is asked. Each answer is charged to it; pictures, intervals, other thresholds and
# gaps between groups are read from what was released, and cost nothing.

# %%
session = dp.Session(bank, budget=dp.PrivacyLoss.pure(4), adjacency=dp.REPLACE_ONE, dataset="customers")
ONE, HALF = dp.PrivacyLoss.pure(1), dp.PrivacyLoss.pure("0.5")

# %% [markdown]
# ## Is the new model better?
#
# Both scores of each customer are counted together, so sampling errors of both are known together: the intervals are
# those of paired models.

# %%
pair = session.ask(dp.ModelPairQuestion("repaid", "new", "old", thresholds=(0.6,)), ONE)
low, high = pair.interval("auc difference", 0.95, population=True)
print(f"area of the new model less that of the old one: {pair.difference:.3f}, {low:.3f} to {high:.3f}")
pair.plot()

# %% [markdown]
# ## Are groups treated alike?
#
# A customer is in one group, so all groups together lose what one question loses. Intervals of all groups hold at once,
# and so do those of gaps. Credit is given at a score of 0.6 or more.

# %%
old = session.ask(dp.ScoresQuestion("repaid", "old", by=dp.Categories("group", GROUPS)), ONE)
rates = dp.group_rates(old, threshold=0.6)
for number in ("flagged", "recall", "false_positive_rate"):
    gap = rates.largest_gap(number, 0.95, population=True)
    print(f"{number}: largest gap {gap.value:.2f}, {gap.lower:.2f} to {gap.upper:.2f}")
rates.plot_gaps("recall")

# %% [markdown]
# Those who repay get credit less often if they are young: the old model's true positive rates are apart, and the
# interval of the gap leaves out 0. Its calibration says why: at the same score more of the young repay.

# %%
dp.group_curves(old, "calibration").plot(population=False)

# %% [markdown]
# ## Are losses forecast well?
#
# The bank forecasts the median and the 90 % quantile of losses. So many losses should lie below each.

# %%
quantiles = dp.QuantileForecastsQuestion(("median_off", "high_off"), (0.5, 0.9), dp.Grid(-60, 60, cells=120))
losses = session.ask(quantiles, HALF)
for share in (0.5, 0.9):
    low, high = losses.interval(f"below {share:g}", 0.95, population=True)
    print(f"below the {share:.0%} quantile: {losses.value(f'below {share:g}'):.2f}, {low:.2f} to {high:.2f}")
losses.plot()

# %% [markdown]
# ## Whom do reminders help?
#
# Half of the customers were sent a reminder, by lot. If those with the highest predicted gain are reminded first, how
# many more repay?

# %%
uplift = session.ask(dp.UpliftQuestion("repaid", "reminded", "gain", dp.Grid(0, 0.5, cells=25)), HALF)
low, high = uplift.interval("qini area", 0.95, population=True)
print(f"Qini area {uplift.value('qini area'):.2f}, {low:.2f} to {high:.2f}")
uplift.plot_curves()

# %% [markdown]
# ## Have scores moved?
#
# The distribution of scores of this year's customers is the reference, for the rest of the budget; later quarters are
# other customers, each with an account of its own. An alarm is false in one of a hundred quarters.

# %%
grid = dp.Grid(0, 1, cells=50)
reference = session.ask(dp.CdfQuestion("new", grid), ONE)
quarters = {
    name: dp.cdf(customers(5_000, seed, shift)["new"], grid=grid, epsilon=1, adjacency=dp.REPLACE_ONE)
    for seed, (name, shift) in enumerate((("spring", 0.0), ("summer", 0.0), ("autumn", -0.2)), start=2)
}
drift = dp.drift(reference, quarters, false_alarm_rate=0.01)
print(drift.to_frame().round(3).to_string(index=False))
drift.plot()

# %% [markdown]
# ## All on one page
#
# The model card has all results, each with its picture and its loss, and the statement of the account.

# %%
page = dp.model_card({"pair": pair, "old": old, "losses": losses, "uplift": uplift}, session.statement)
print(f"a page of {len(page) // 1000:,} kB; {session.statement.spent} spent of {session.statement.account.limit}")
session.close()
plt.close("all")
