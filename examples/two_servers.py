# %% [markdown]
# # Two servers, neither trusted alone
# Owners send a share of each record to each of two servers: real processes that talk over TLS, here on one machine.

# %%
import subprocess
import sys
from pathlib import Path
from socket import create_server
from tempfile import mkdtemp

import numpy as np
import pandas as pd

import dpcurves as dp

folder, command = Path(mkdtemp()), Path(sys.executable).with_name("dpcurves")
for owner in (1, 2):
    days = np.random.default_rng(owner).gamma(2.0, 3.0, size=1_000)
    pd.DataFrame({"days": days}).to_csv(folder / f"hospital-{owner}.csv", index=False)


def dpcurves(words: str) -> None:
    """One command, as its user types it."""
    subprocess.run([command, *words.split()], cwd=folder, check=True, capture_output=True)


# %% [markdown]
# Each server makes its keys; the task is public, and every owner and analyst has a ticket.

# %%
with create_server(("127.0.0.1", 0)) as one, create_server(("127.0.0.1", 0)) as other:
    ports = [each.getsockname()[1] for each in (one, other)]
for party, port in enumerate(ports):
    dpcurves(f"task identity a{party} --url https://127.0.0.1:{port}")
dpcurves(
    "task create --name stays --column days --grid=0:40:64 --epsilon 1 --reports-per-owner 1000 "
    "--servers a0/server.json,a1/server.json --owners 2 --out task.json --tickets tickets"
)
servers = [
    subprocess.Popen(
        [command, *f"aggregator --party {party} --task task.json --identity a{party} --store sqlite:///a{party}.db".split()],
        cwd=folder, stdout=subprocess.PIPE, text=True,
    )
    for party in (0, 1)
]  # fmt: skip
for server in servers:
    next(line for line in server.stdout if "listens at" in line)

# %%
for owner in (1, 2):
    dpcurves(f"contribute hospital-{owner}.csv --task task.json --ticket tickets/owner-{owner}")
dpcurves("task close --task task.json --ticket tickets/coordinator-1")
dpcurves("ask cdf --task task.json --ticket tickets/analyst-1 --json cdf.json")
for server in servers:
    server.terminate()
dp.CDF.from_json((folder / "cdf.json").read_text()).plot()
