# %% [markdown]
# # A curve in R or JavaScript
# A released curve is a JSON file with its numbers, its noise and its privacy loss. No Python is needed to draw it.

# %%
import json

import matplotlib.pyplot as plt
import numpy as np

import dpcurves as dp

ages = np.random.default_rng(26).gamma(9, 5, size=20_000)
text = dp.cdf(ages, grid=dp.Grid(0, 120, cells=240), epsilon=1, adjacency=dp.ADD_REMOVE, label="age").to_json()

# %% [markdown]
# ```r
# curve <- jsonlite::fromJSON("age.json")
# plot(curve$x, curve$y, type = "s", xlab = "age", ylab = "share below")
# ```
# ```javascript
# const curve = JSON.parse(fs.readFileSync("age.json"));
# const median = curve.x[curve.y.findIndex(share => share >= 0.5)];
# ```
# What these lines do, in plain Python, without the package:

# %%
curve = json.loads(text)
figure, ax = plt.subplots(layout="constrained")
ax.step(curve["x"], curve["y"], where="post")
ax.set(xlabel="age", ylabel="share of records below", title="Distribution of age, drawn from its JSON file")
print(curve["privacy"])
