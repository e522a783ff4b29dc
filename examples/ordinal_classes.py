# %% [markdown]
# # Three ordered classes, and predicted against observed numbers
# A marker that rises with the stage of a disease: the volume under the ROC surface is the chance that patients of the
# three stages are in order (a sixth by chance). A model of stays: how long patients stay, in bins of predicted stays.

# %%
import numpy as np

import dpcurves as dp

rng = np.random.default_rng(4)
stage = rng.integers(1, 4, 6_000)
marker = rng.beta(1.5 + stage, 4)
foretold = rng.gamma(3, 2, 6_000)
table = {"stage": stage, "marker": marker, "foretold": foretold, "stay": foretold * rng.gamma(4, 0.25, 6_000)}
session = dp.Session(table, budget=dp.PrivacyLoss.pure(2), adjacency=dp.REPLACE_ONE)

# %%
order = session.ask(
    dp.OrdinalClassesQuestion(dp.Categories("stage", (1, 2, 3)), "marker"), dp.PrivacyLoss.pure(1)
)  # fmt: skip
order.plot()

# %%
question = dp.PredictedObservedQuestion("foretold", "stay", dp.Grid(0, 16, cells=8), dp.Grid(0, 30, cells=60))
stays = session.ask(question, dp.PrivacyLoss.pure(1))
session.close()
print({name: round(stays.value(name), 2) for name in ("mean error", "mean absolute error")})
stays.plot()
