# %% [markdown]
# # After a crash
# The charge is stored before a record is read, the answer before it is shown. Asked again, it is the same, free.

# %%
from pathlib import Path
from tempfile import mkdtemp

import numpy as np

import dpcurves as dp

ledger = f"sqlite:///{Path(mkdtemp()) / 'budget.db'}"
question = dp.CdfQuestion("pay", dp.Grid(0, 10_000, cells=1024))


# %%
def opened() -> dp.Session:
    """What a program does when it is started: now, or after it was killed."""
    table = {"pay": np.random.default_rng(18).lognormal(7.9, 0.5, size=20_000)}
    return dp.Session(table, budget=dp.PrivacyLoss.pure(1), adjacency=dp.REPLACE_ONE, ledger=ledger, dataset="pay-2026")


with opened() as session:
    first = session.ask(question, dp.PrivacyLoss.pure(1), request="pay curve")

# %% [markdown]
# Another process, with an empty memory: no budget is left, and the same request still has the same answer.

# %%
with opened() as session:
    print("left:", session.remaining)
    second = session.ask(question, dp.PrivacyLoss.pure(1), request="pay curve")
assert (first.y == second.y).all()
second.plot()
