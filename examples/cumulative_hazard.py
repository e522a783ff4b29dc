# %% [markdown]
# # Cumulative hazards
# The Nelson-Aalen estimate of two groups with its band, from a released survival curve and at no further loss.

# %%
import numpy as np

import dpcurves as dp

rng = np.random.default_rng(11)
men = rng.random(8_000) < 0.5
until, watched = 40 * rng.weibull(1.5, 8_000) * np.where(men, 0.8, 1.0), rng.uniform(0, 60, 8_000)
table = {
    "months": np.floor(np.minimum(until, watched)),
    "relapse": (until <= watched).astype(int),
    "sex": np.where(men, "m", "f"),
}

# %%
question = dp.SurvivalQuestion("months", "relapse", dp.Values(range(48)), by=dp.Categories("sex", ("f", "m")))
with dp.Session(table, budget=dp.PrivacyLoss.pure(1), adjacency=dp.REPLACE_ONE) as session:
    both = session.ask(question, dp.PrivacyLoss.pure(1))
ax = None
for sex, curve in both.items():
    ax = dp.CumulativeHazard(curve).plot(ax=ax, name=sex, population=False)
ax.set_title("Cumulative hazard of a relapse, by sex")

# %%
for sex, curve in both.items():
    hazard = dp.CumulativeHazard(curve)
    lower, upper = hazard.intervals(0.95)[24]
    print(f"{sex}: {hazard.y[24]:.2f} at 24 months, {lower:.2f} to {upper:.2f}")
