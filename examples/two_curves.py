# %% [markdown]
# # Are two groups alike?
# Two released curves are drawn against each other and tested. P-values are simulated with noise and sampling together.

# %%
import numpy as np

import dpcurves as dp

rng = np.random.default_rng(20)
group = rng.choice(["before", "after"], size=12_000)
wait = rng.gamma(3.0, np.where(group == "after", 9.0, 10.0))

# %%
question = dp.CdfQuestion("wait", dp.Grid(0, 120, cells=240), by=dp.Categories("group", ("before", "after")))
table = {"wait": wait, "group": group}
with dp.Session(table, budget=dp.PrivacyLoss.pure(1), adjacency=dp.REPLACE_ONE) as session:
    waits = session.ask(question, dp.PrivacyLoss.pure(1))
waits["before"].quantile_quantile(waits["after"]).plot()

# %%
print(dp.ks_test(waits["before"], waits["after"]))
print(dp.rank_sum_test(waits["before"], waits["after"]))
print(f"{dp.wasserstein_distance(waits['before'], waits['after']):.2f} minutes apart")
