# %% [markdown]
# # A scorer that is learned
# Nobody has a model yet. A linear scorer for the area under the ROC curve is learned from released sums of three
# features and of their products, class by class; it is judged on records that it was not learned from.

# %%
import numpy as np

import dpcurves as dp

rng = np.random.default_rng(5)
age, owed, rate = rng.normal(45, 12, 20_000), rng.exponential(2, 20_000), rng.uniform(0, 1, 20_000)
late = (rng.random(20_000) < 1 / (1 + np.exp(1.5 + 0.03 * (age - 45) - 0.5 * owed - rate))).astype(int)
table = {"late": late, "age": age, "owed": owed, "rate": rate}

# %%
features = dp.NumericColumn("age", 18, 90), dp.NumericColumn("owed", 0, 8), dp.NumericColumn("rate", 0, 1)
question = dp.PairwiseScorerQuestion("late", features)
with dp.Session(table, budget=dp.PrivacyLoss.pure(1), adjacency=dp.REPLACE_ONE) as session:
    scorer = session.ask(question, dp.PrivacyLoss.pure(1))
scorer.plot()

# %%
low, high = scorer.interval("auc", 0.95, population=True)
print(f"area {scorer.auc:.3f}, {low:.3f} to {high:.3f}")
print({name: round(each, 3) for name, each in scorer.coefficients.items()})
