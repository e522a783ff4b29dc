# %% [markdown]
# # Is a coefficient positive?
# Units are divided into 50 subsets; a regression is fitted in each; how many agree with a claim is released with noise.

# %%
import numpy as np

import dpcurves as dp

rng = np.random.default_rng(32)
schooling, age = rng.uniform(8, 20, 20_000), rng.uniform(20, 65, 20_000)
pay = np.clip(500 + 120 * schooling + 10 * age + rng.normal(0, 900, 20_000), 0, 8_000)
table = {"schooling": schooling, "age": age, "pay": pay}

# %%
claim = dp.VerifyQuestion(
    dp.NumericColumn("pay", 0, 8_000),
    (dp.NumericColumn("schooling", 8, 20), dp.NumericColumn("age", 20, 65)),
    "schooling",
    above=0,
)
with dp.Session(table, budget=dp.PrivacyLoss.pure(1), adjacency=dp.REPLACE_ONE) as session:
    found = session.ask(claim, dp.PrivacyLoss.pure(1))
found.plot()

# %%
print(found)
print(f"posterior probability that a subset confirms more often than not: {found.population_probability:.3f}")
