# %% [markdown]
# # A model of several classes
# Areas of each class against the rest, their mean, and the mean area of pairs of classes (Hand and Till); accuracy,
# recall and top-1 calibration from the predicted class.

# %%
import numpy as np

import dpcurves as dp

rng = np.random.default_rng(5)
kind = rng.integers(0, 3, 9_000)
chances = rng.dirichlet(np.ones(3), 9_000)
chances[np.arange(9_000), kind] += 0.4
chances /= chances.sum(axis=1, keepdims=True)
table = {"kind": kind, "guess": chances.argmax(axis=1), "sure": chances.max(axis=1)}
table |= {f"p{each}": chances[:, each] for each in range(3)}

# %%
question = dp.MulticlassQuestion(dp.Categories("kind", (0, 1, 2)), ("p0", "p1", "p2"), "guess", "sure")
with dp.Session(table, budget=dp.PrivacyLoss.pure(2), adjacency=dp.REPLACE_ONE) as session:
    found = session.ask(question, dp.PrivacyLoss.pure(2))
found.plot_roc()

# %%
print({name: round(found.value(name), 3) for name in ("macro auc", "one-against-one auc", "accuracy")})
