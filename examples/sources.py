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
figure, axes = plt.subplots(1, len(sources), figsize=(18, 4), layout="constrained", sharey=True)
for ax, (name, table) in zip(axes, sources.items(), strict=True):
    with dp.Session(table, budget=dp.PrivacyLoss.pure(1), adjacency=dp.REPLACE_ONE) as session:
        session.ask(dp.HistogramQuestion("age", dp.Grid(0, 120, cells=24)), dp.PrivacyLoss.pure(1)).plot(ax=ax)
    ax.set_title(name)
