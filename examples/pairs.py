# %% [markdown]
# # A mean over pairs of people
# How far apart are two people's incomes? Pairs compute it in a garbled circuit. First: in how many pairs is each?

# %%
import matplotlib.pyplot as plt
import numpy as np

import dpcurves as dp

kernel = dp.pairs.Kernel(lambda x, y: abs(x.income - y.income), income=dp.pairs.Unsigned(16))
loss, each = dp.PrivacyLoss.pure(1), (1, 2, 4, 8, 16)

# %%
figure, ax = plt.subplots(figsize=(8, 5), layout="constrained")
for noise in dp.pairs.NoisePlacement:
    plans = [dp.pairs.plan(kernel, people=10_000, pairs_per_person=some, loss=loss, noise=noise) for some in each]
    ax.plot(each, [plan.error for plan in plans], marker="o", label=noise.value)
ax.set(xscale="log", yscale="log", xlabel="pairs of each person", ylabel="error of the mean, for the population")
ax.set_xticks(each, labels=map(str, each))
ax.set_yticks((500, 1000, 2000, 4000), labels=("500", "1,000", "2,000", "4,000"), minor=False)
ax.set_yticks((), minor=True)
ax.legend(title="noise")
ax.set_title("Error of a mean over pairs of people, by who adds the noise")

# %% [markdown]
# A simulation of the protocol in one process, to try a plan on a table that is not confidential.

# %%
incomes = np.random.default_rng(34).integers(20_000, 60_000, 10_000)
plan = dp.pairs.plan(kernel, people=10_000, pairs_per_person=8, loss=loss, noise=dp.pairs.NoisePlacement.ON_SUM)
tried = dp.pairs.simulate(kernel, {"income": incomes}, plan)
print(tried.value, tried.interval(0.95), tried.interval(0.95, population=True))
