# %% [markdown]
# # A budget that runs out
# A ledger adds up all privacy losses of a dataset, whoever asks. A question that would exceed the cap is refused.

# %%
from pathlib import Path
from tempfile import mkdtemp

import numpy as np

import dpcurves as dp

rng = np.random.default_rng(17)
ledger = f"sqlite:///{Path(mkdtemp()) / 'budget.db'}"
table = {"age": rng.gamma(9, 5, size=5_000)}
session = dp.Session(table, budget=dp.PrivacyLoss.pure(1), adjacency=dp.REPLACE_ONE, ledger=ledger, dataset="cohort")
question = dp.CdfQuestion("age", dp.Grid(0, 120, cells=480), measured_in="years")

# %%
curve = session.ask(question, dp.PrivacyLoss.pure(0.75))
print("left:", session.remaining)
try:
    session.ask(dp.HistogramQuestion("age", dp.Grid(0, 120, cells=12)), dp.PrivacyLoss.pure(0.5))
except dp.BudgetExceeded as refusal:
    print(refusal)

# %% [markdown]
# A released curve can be read in other ways at no further loss: as a histogram between any edges of the grid.

# %%
curve.histogram([0, 18, 35, 50, 65, 120]).plot()
