# %% [markdown]
# # Two columns at once
# A heat map of the joint distribution of two columns. Earlier noisy counts decide which cells are counted together.

# %%
import numpy as np

import dpcurves as dp

rng = np.random.default_rng(4)
where = rng.integers(0, 3, size=40_000)
centres = np.array([[20.0, 30.0], [60.0, 65.0], [75.0, 20.0]])
x, y = (centres[where] + rng.normal(0, [[6.0, 9.0]], size=(40_000, 2))).T

# %%
question = dp.Histogram2DQuestion("x", "y", dp.Grid(0, 100, cells=64), dp.Grid(0, 100, cells=64))
table = {"x": x, "y": y}
with dp.Session(table, budget=dp.PrivacyLoss.pure(1), adjacency=dp.REPLACE_ONE) as session:
    picture = session.ask(question, dp.PrivacyLoss.pure(1))
picture.plot()
