# %% [markdown]
# # Gains over treatment
# Who gains most from a letter? Records are ordered by a predicted gain; the uplift curve tells how many more good
# outcomes treating the first of them brings, the Qini curve how many more the treated ones had.

# %%
import numpy as np

import dpcurves as dp

rng = np.random.default_rng(12)
gain, mailed = rng.uniform(-0.3, 0.6, 8_000), rng.integers(0, 2, 8_000)
bought = (rng.random(8_000) < 0.35 + mailed * gain).astype(int)
table = {"bought": bought, "mailed": mailed, "gain": np.clip(gain + rng.normal(0, 0.15, 8_000), -1, 1)}

# %%
question = dp.UpliftQuestion("bought", "mailed", "gain", dp.Grid(-0.6, 0.9, cells=30))
with dp.Session(table, budget=dp.PrivacyLoss.pure(1), adjacency=dp.REPLACE_ONE) as session:
    uplift = session.ask(question, dp.PrivacyLoss.pure(1))
uplift.plot_curves()

# %%
low, high = uplift.interval("qini area", 0.95, population=True)
print(f"Qini area {uplift.value('qini area'):.2f}, {low:.2f} to {high:.2f}")
