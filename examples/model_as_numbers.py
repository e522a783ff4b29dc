# %% [markdown]
# # A model that came from elsewhere
# A model given as coefficients, which may come from R or from a fit to a synthetic table, predicts record by record.

# %%
import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression

import dpcurves as dp


def patients(count: int, seed: int) -> pd.DataFrame:
    """A table of patients, made up."""
    rng = np.random.default_rng(seed)
    age, dose = rng.uniform(20, 90, count), rng.uniform(0, 10, count)
    ill = rng.random(count) < 1 / (1 + np.exp(4 - 0.06 * age - 0.1 * dose))
    return pd.DataFrame({"age": age, "dose": dose, "ill": ill.astype(int)})


# %%
synthetic, confidential = patients(5_000, 1), patients(20_000, 2)
fitted = LogisticRegression(max_iter=500).fit(synthetic[["age"]], synthetic["ill"])
card = dp.Scorecard.from_sklearn(fitted, name="age alone", ranges={"age": (18, 90)})
print(card.to_json())

# %% [markdown]
# The confidential table needs no column of scores: the model takes its place.

# %%
with dp.Session(confidential, budget=dp.PrivacyLoss.pure(1), adjacency=dp.REPLACE_ONE) as session:
    roc = session.ask(dp.RocQuestion("ill", card), dp.PrivacyLoss.pure(1))
roc.plot()
