# %% [markdown]
# # Hospitals that add up
# Three sites keep their records; masks hide what each adds, and the noisy sum of all is opened: here in one process.

# %%
import numpy as np
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

import dpcurves as dp
from dpcurves.privacy import EACH_RECORD
from dpcurves_sites.secure_sum import Signer
from dpcurves_sites.site import Federation, FederationTerms, Site
from dpcurves_sites.trust import SecureSum

model = SecureSum(sites=3, collusion_threshold=1)
keys = [Ed25519PrivateKey.generate() for _ in range(model.sites)]
roster = model.build_roster(bytes(32), [key.public_key().public_bytes_raw() for key in keys])
terms = FederationTerms(model, roster, dp.ADD_REMOVE, EACH_RECORD, (), budget=dp.PrivacyLoss.pure(2))

# %% [markdown]
# Each site has a table and a ledger of its own. Deployed, each is a process: `dpcurves federation site`.

# %%
rng = np.random.default_rng(8)
tables = [{"days": rng.gamma(2.0, scale, size=2_000)} for scale in (2.0, 3.0, 4.0)]
ledgers = [dp.Ledger.open("sqlite://") for _ in tables]
sites = [Site(terms, Signer(number, key), tables[number], ledgers[number], "stays") for number, key in enumerate(keys)]

# %%
together = Federation.from_sites(terms, sites)
stays = together.ask(dp.CdfQuestion("days", dp.Grid(0, 40, cells=64)), dp.PrivacyLoss.pure(1))
stays.plot()

# %%
print(stays.privacy.trust)
print([str(ledger.balance("stays").remaining) for ledger in ledgers], "left")
assert abs(stays.quantile(0.5) - np.median(np.concatenate([table["days"] for table in tables]))) < 1
