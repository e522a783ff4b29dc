# %% [markdown]
# # Several models on the same records
# Which of three models ranks best, and is it clear of the others? Intervals of all areas hold together, and so do those
# of all differences.

# %%
import numpy as np

import dpcurves as dp

rng = np.random.default_rng(32)
health = rng.normal(size=6_000)
table = {"ill": (rng.random(6_000) < 1 / (1 + np.exp(-1.5 * health))).astype(int)}
for name, error in (("new", 0.5), ("old", 1.2), ("simple", 1.3)):
    table[name] = 1 / (1 + np.exp(-(health + rng.normal(0, error, 6_000))))

# %%
question = dp.ModelComparisonQuestion("ill", ("new", "old", "simple"))
with dp.Session(table, budget=dp.PrivacyLoss.pure(2), adjacency=dp.REPLACE_ONE) as session:
    models = session.ask(question, dp.PrivacyLoss.pure(2))
models.plot()

# %%
print("best:", models.best)
for first, second in (("new", "old"), ("old", "simple")):
    low, high = models.difference_interval(first, second, 0.95, population=True)
    print(f"{first} minus {second}: {models.difference(first, second):.3f}, {low:.3f} to {high:.3f}")
