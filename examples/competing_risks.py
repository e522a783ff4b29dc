# %% [markdown]
# # Competing risks
# Patients relapse, or die without a relapse: the cumulative incidence of each (Aalen and Johansen), in bands.

# %%
import numpy as np

import dpcurves as dp

rng = np.random.default_rng(8)
relapse, death, watched = rng.weibull(0.9, 5_000) * 40, rng.exponential(60, 5_000), rng.uniform(6, 60, 5_000)
months = np.minimum(np.minimum(relapse, death), watched)
table = {
    "months": np.floor(months),
    "outcome": np.where(months == relapse, "relapse", np.where(months == death, "death", "none")),
}

# %%
question = dp.CompetingRisksQuestion(
    "months", "outcome", dp.Values(range(49)), ("relapse", "death"), censored_value="none"
)
with dp.Session(table, budget=dp.PrivacyLoss.pure(1), adjacency=dp.REPLACE_ONE) as session:
    risks = session.ask(question, dp.PrivacyLoss.pure(1))
risks.plot()

# %% [markdown]
# Shares with an event at a time and the time that each cause takes are read from the same release.

# %%
print(dp.survival_numbers(risks, until=36, times=[24]).to_frame(level=0.95, population=True).to_string(index=False))
