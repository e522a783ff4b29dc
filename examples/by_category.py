# %% [markdown]
# # One curve for each category
# A record lies in one category at most, so all curves together have the privacy loss of one.

# %%
import numpy as np

import dpcurves as dp

rng = np.random.default_rng(14)
region = rng.choice(["coast", "hills", "city"], size=30_000, p=[0.5, 0.2, 0.3])
rent = rng.gamma(9, np.select([region == "city", region == "coast"], [110, 80], 60))

# %%
question = dp.CdfQuestion(
    "rent", dp.Grid(0, 2_000, cells=400), by=dp.Categories("region", ("coast", "hills", "city")), measured_in="a month"
)
table = {"rent": rent, "region": region}
with dp.Session(table, budget=dp.PrivacyLoss.pure(1), adjacency=dp.REPLACE_ONE) as session:
    rents = session.ask(question, dp.PrivacyLoss.pure(1))
rents.plot()

# %%
print({name: round(curve.quantile(0.5)) for name, curve in rents.items()})
