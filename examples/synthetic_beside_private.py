# %% [markdown]
# # Is a synthetic table like the confidential one?
# One question is asked of both, of the synthetic table without noise, of the confidential one with noise, and compared.

# %%
import numpy as np

import dpcurves as dp

rng = np.random.default_rng(21)
confidential = {"income": rng.lognormal(10, 0.6, size=20_000)}
synthetic = {"income": rng.normal(25_000, 13_000, size=20_000)}  # right in mean and spread, wrong in shape

# %%
question = dp.CdfQuestion("income", dp.Grid(0, 100_000, cells=500))
with dp.Session(confidential, budget=dp.PrivacyLoss.pure(1), adjacency=dp.REPLACE_ONE) as session:
    private = session.ask(question, dp.PrivacyLoss.pure(1))
comparison = dp.compare(private, question, synthetic)
comparison.plot()

# %%
print(comparison.verdict)
