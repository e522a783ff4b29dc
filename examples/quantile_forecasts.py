# %% [markdown]
# # Forecast quantiles
# A forecast of the 10 %, 50 % and 90 % quantile is right if so many outcomes lie below it. One release for each column
# of errors (outcome less forecast) tells that, the pinball loss, and how often outcomes lie within the interval.

# %%
import numpy as np

import dpcurves as dp

rng = np.random.default_rng(3)
demand = rng.normal(100, 20, 6_000)
forecast = demand + rng.normal(0, 10, 6_000)
table = {f"e{share:g}": demand - (forecast + 10 * shift) for share, shift in ((0.1, -1.0), (0.5, 0.0), (0.9, 1.3))}

# %%
question = dp.QuantileForecastsQuestion(tuple(table), (0.1, 0.5, 0.9), dp.Grid(-60, 60, cells=120))
with dp.Session(table, budget=dp.PrivacyLoss.pure(1), adjacency=dp.REPLACE_ONE) as session:
    found = session.ask(question, dp.PrivacyLoss.pure(1))
found.plot()

# %%
print({name: round(found.value(name), 3) for name in ("below 0.1", "within 0.1 to 0.9", "pinball at 0.5")})
