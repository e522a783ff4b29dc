# %% [markdown]
# # Where records come from
# pandas, Polars, DuckDB, Parquet, CSV: the same cells, counted by one engine, and the same curve.

# %%
from pathlib import Path
from tempfile import mkdtemp

import duckdb
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import polars as pl

import dpcurves as dp
from dpcurves.display import FittedLayout

columns = {"age": np.random.default_rng(22).gamma(9, 5, size=5_000)}
folder = Path(mkdtemp())
pl.DataFrame(columns).write_parquet(folder / "ages.parquet")
pd.DataFrame(columns).to_csv(folder / "ages.csv", index=False)

# %%
sources = {
    "pandas": pd.DataFrame(columns),
    "Polars": pl.DataFrame(columns),
    "DuckDB": duckdb.sql(f"from '{folder / 'ages.parquet'}'"),
    "Parquet": folder / "ages.parquet",
    "CSV": folder / "ages.csv",
}
figure, axes = plt.subplots(3, 2, figsize=(8, 9), layout=FittedLayout(), sharex=True, sharey=True)
for ax, (name, table) in zip(axes.flat, sources.items(), strict=False):
    with dp.Session(table, budget=dp.PrivacyLoss.pure(1), adjacency=dp.REPLACE_ONE) as session:
        found = session.ask(dp.HistogramQuestion("age", dp.Grid(0, 120, cells=24)), dp.PrivacyLoss.pure(1))
    found.plot(ax=ax).get_legend().remove()
    ax.set_title(name)
axes[2, 1].set_axis_off()
axes[2, 1].legend(*axes[0, 0].get_legend_handles_labels(), loc="center", frameon=False)
