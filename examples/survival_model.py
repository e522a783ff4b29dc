# %% [markdown]
# # Judging a model of survival
# Does a predicted chance of death within two years hold, where some patients are lost before? And does it order them?

# %%
import numpy as np

import dpcurves as dp

rng = np.random.default_rng(11)
risk = rng.beta(2, 4, 8_000)
until, watched = rng.exponential(-24 / np.log(1 - risk)), rng.uniform(3, 60, 8_000)
table = {
    "predicted": np.clip(risk * 1.25, 0, 1),  # the model thinks that a quarter more die than do
    "months": np.minimum(until, watched),
    "died": (until <= watched).astype(int),
}

# %%
question = dp.SurvivalModelQuestion("predicted", "months", "died", dp.Grid(0, 24, cells=8), groups=6)
with dp.Session(table, budget=dp.PrivacyLoss.pure(1), adjacency=dp.REPLACE_ONE) as session:
    judged = session.ask(question, dp.PrivacyLoss.pure(1))
judged.plot()

# %%
for number in (judged.auc, judged.brier, judged.concordance):
    print(number, number.interval(0.95, population=True))
