# %% [markdown]
# # A bar chart of categories
# Counts and shares of declared categories with intervals; every other value is counted as `other`, and missing values
# apart. Sorting, and hiding small counts, reads the released numbers and costs nothing.

# %%
import numpy as np

import dpcurves as dp

rng = np.random.default_rng(8)
names = [
    "surgery",
    "internal medicine",
    "paediatrics",
    "obstetrics",
    "intensive care",
    "a ward that is not listed",
    None,
]
wards = rng.choice(np.array(names, dtype=object), 5_000, p=[0.34, 0.28, 0.14, 0.11, 0.004, 0.086, 0.04])

# %%
chart = dp.bar_chart(wards, categories=names[:5], label="ward", epsilon=0.5, adjacency=dp.ADD_REMOVE)
chart.sort_by("count").plot()

# %%
print(chart.sort_by("count").suppress_below(50).to_csv_text(population=False))
print("missing", chart.missing_interval(0.95))
print("shares in the population", chart.share_intervals(0.95, population=True).round(3).tolist())
print("noisy counts before they are cut at zero", chart.unbiased_counts.tolist())
