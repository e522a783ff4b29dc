# %% [markdown]
# # A trial's survival report
# A trial of two treatments is reported under differential privacy: curves with numbers at risk, what the difference
# means for a patient, who relapses and who dies, and whether a risk model made elsewhere holds here.
#
# A statistician of a trial has the table below, and a protocol that says what will be reported. Curves of 3,000
# patients are made of 3,000 people's health; published numbers at risk alone have been enough to rebuild the records
# of a trial. So all that is printed here is released under differential privacy, with intervals that hold the noise.
#
# All patients are made up by this file: the new treatment lowers the rate of relapse by a third.

# %%
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import dpcurves as dp

rng = np.random.default_rng(12)
COUNT = 3_000
arm, stage = rng.choice(["new", "standard"], COUNT), rng.choice(["II", "III"], COUNT, p=[0.6, 0.4])
rate = np.where(arm == "new", 0.67, 1.0) * np.where(stage == "III", 1.7, 1.0) / 40
relapse, death, watched = rng.exponential(1 / rate), rng.exponential(90, COUNT), rng.uniform(12, 60, COUNT)
months = np.minimum(np.minimum(relapse, death), watched)
trial = pd.DataFrame({
    "arm": arm, "stage": stage, "months": np.floor(months),
    "outcome": np.where(months == relapse, "relapse", np.where(months == death, "death", "none")),
    "risk": np.clip(1 - np.exp(-24 * (rate + 1 / 90)) + rng.normal(0, 0.05, COUNT), 0.01, 0.99),
})  # fmt: skip
trial["event"] = (trial["outcome"] != "none").astype(int)
print(trial.head().round(2).to_string(index=False))

# %% [markdown]
# ## What is protected
#
# **A patient** has one record, so a record is the unit. The number of patients of a trial is published in any case:
# `REPLACE_ONE`. The budget is epsilon 3 for all that will ever be said of this table, and the protocol parts it.

# %%
arms, stages = dp.Categories("arm", ("new", "standard")), dp.Categories("stage", ("II", "III"))
MONTHS = dp.Values(range(49))
session = dp.Session(trial, budget=dp.PrivacyLoss.pure(3), adjacency=dp.REPLACE_ONE)

# %% [markdown]
# ## Event-free survival, by arm and stage
#
# One release of both columns: each patient lies in one of four groups, so all four curves together cost what one does.

# %%
by_both = session.ask(dp.SurvivalQuestion("months", "event", MONTHS, by=(arms, stages)), dp.PrivacyLoss.pure(1))
new = [by_both["new", stage] for stage in stages.values]
standard = [by_both["standard", stage] for stage in stages.values]
print("stratified log-rank:", dp.log_rank_test(new, standard))
print("early differences:  ", dp.log_rank_test(new, standard, rho=1))

# %% [markdown]
# The stratified test compares patients of one stage with each other. Its p-value accounts for the noise: without that,
# noise would look like a difference. The figure below is of stage III, as a journal would print it.

# %%
advanced = {arm: by_both[arm, "III"] for arm in arms.values}
fig, ax = plt.subplots(figsize=(6.4, 4.8), layout="constrained")
dp.survival_figure(advanced, ax=ax)
ax.set_title("Survival of patients in stage III, by arm")
plt.show()

# %% [markdown]
# ## What it means for a patient
#
# From the same release, at no further loss: restricted means, shares at two years, and how many have to be treated so
# that one more is without an event. Thin bars are for the population, thick ones for these patients.

# %%
numbers = dp.survival_numbers(advanced, until=36, times=(24,))
numbers.plot()
plt.show()

# %%
print(numbers.to_frame(level=0.95, population=True).round(2).to_string(index=False))

# %% [markdown]
# Of those who had no event in their first year, how many have none in the second?

# %%
for arm_name, curve in advanced.items():
    later = dp.survival_at(curve, 24, since=12)
    print(arm_name, later, later.interval(0.95, population=True))

# %% [markdown]
# ## Relapse and death
#
# A patient who dies cannot relapse any more. A curve that takes death as censoring would say too much of relapse;
# cumulative incidence does not.

# %%
risks = session.ask(
    dp.CompetingRisksQuestion("months", "outcome", MONTHS, ("relapse", "death"), censored_value="none", by=arms),
    dp.PrivacyLoss.pure(1),
)
risks["new"].plot()
plt.show()

# %%
for cause in ("relapse", "death"):
    less = risks["new"].incidence_difference(risks["standard"], cause, 24)
    ratio = risks["new"].hazard_ratio(risks["standard"], cause)
    print(less, less.interval(0.95, population=True), ratio, ratio.interval(0.95, population=True))

# %% [markdown]
# The treatment lowers relapse, and leaves deaths without a relapse alone: as these patients were made.
#
# ## Does the risk model hold?
#
# A model made at another hospital foretells an event within two years. Some patients are lost before; others stand for
# them, by inverse censoring weights that are read from the same release.

# %%
judged = session.ask(
    dp.SurvivalModelQuestion("risk", "months", "event", dp.Grid(0, 24, cells=4), dp.Grid(0, 1, cells=20), groups=5),
    dp.PrivacyLoss.pure(1),
)
judged.plot()
plt.show()

# %%
for number in (judged.auc, judged.brier):
    print(number, number.interval(0.95, population=True))
print(session.balance)

# %% [markdown]
# ## What the report may say
#
# The new treatment delays events; intervals above say by how much, for these patients and for those to come. Noise was
# a part of each of them, and is what keeps the record of each patient private. The budget is spent: nothing more will
# be asked of this table.
