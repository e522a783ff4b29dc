# %% [markdown]
# # An income distribution of a statistics office
# One distribution function of 150,000 taxpayers is released once. Quantiles, the risk of poverty, a Gini coefficient
# and a Lorenz curve with a band are computed from it at no further privacy loss.
#
# A statistics office has a simple random sample of the taxpayers of a country, one record each, and is asked what it is
# always asked: what is the median income, how many are poor, how much goes to the top tenth, do regions differ? Each
# answer could be asked for, and paid for, on its own. But all of them are functions of one curve, so the office pays
# for the curve.
#
# The table is made up by this file. That has an advantage that no real table has: the exact answers are known here, and
# each interval can be held against what it should cover.

# %%
import warnings

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

import dpcurves as dp

REGIONS = ("north", "east", "south", "west")
rng = np.random.default_rng(2024)
people = 150_000
region = rng.choice(REGIONS, size=people, p=[0.35, 0.15, 0.3, 0.2])
middle = np.select([region == "north", region == "east", region == "south"], [27_000, 19_500, 24_000], 25_500)
wages = rng.lognormal(np.log(middle), 0.55)
owners = rng.random(people) < 0.03  # of firms: a Pareto distribution, as the tops of incomes have
income = np.where(owners, 60_000 * (1 + rng.pareto(2.2, size=people)), wages)
heaped = rng.random(people) < 0.25  # pay that was agreed in whole thousands
income = np.where(heaped, 1000 * np.round(income / 1000), income).round()
income[rng.random(people) < 0.02] = 0  # and some had none
table = pd.DataFrame({"income": income.astype(int), "region": region})
print(table.head().to_string(index=False))

# %% [markdown]
# ## Four choices, before anybody looks
#
# **The unit** is a taxpayer, who has one record. **The adjacency** is `REPLACE_ONE`: how large the sample is was
# published with its design, so that number needs no protection; what each person earned does.
#
# **The grid** is chosen from what incomes are, never from what this table holds. Relative differences matter, so cells
# grow geometrically: 600 cells from 1,000 to 250,000 are about 1% wide each. Whoever earned less than 1,000 is counted
# in the first cell, whoever earned more than 250,000 in the last one. Offices call this *top-coding*, and have done it
# for other reasons all along; below we see what it does to each number.
#
# **The loss.** The office sets a budget of epsilon 1 for this table, for ever. How much of it does the curve need? A
# forecast asks the question of public records that are thought to be like the confidential ones: here of a lognormal
# distribution with the median and the spread that were published the year before. It opens no data and costs nothing.

# %%
grid = dp.Grid.geometric(1_000, 250_000, cells=600)
country = dp.CdfQuestion("income", grid, measured_in="a year")
last_year = {"income": np.random.default_rng(1).lognormal(np.log(24_000), 0.6, size=people)}
for epsilon in ("0.03", "0.1", "0.3", "1"):
    expected = dp.forecast(country, dp.PrivacyLoss.pure(epsilon), dp.REPLACE_ONE, like=last_year, rehearsals=2)
    print(f"epsilon {epsilon:>4}: the share below an income is off by {100 * expected.high:.3f} points, typically")
print(f"by sampling alone: {100 * np.sqrt(0.25 / people):.3f} points at the median")

# %% [markdown]
# A sample of 150,000 people does not know the share of those below the median better than to 0.13 points, whatever is
# done about privacy. At epsilon 0.3 noise is a small part of that, and more loss would buy nothing that a reader could
# see. So the curve of the country gets 0.3, a look at regions 0.2, and half of the budget is kept: somebody will ask
# something next year.
#
# ## The curve
#
# The session charges its ledger before a record is read. (`sqlite://` is a ledger in memory. An office names a file or
# a PostgreSQL server, and the next session finds what was spent.)

# %%
session = dp.Session(
    table, budget=dp.PrivacyLoss.pure(1), adjacency=dp.REPLACE_ONE, ledger="sqlite://", dataset="taxpayers-2024"
)
curve = session.ask(country, dp.PrivacyLoss.pure("0.3"), request="country")
ax = curve.plot()
ax.set_xscale("log")

# %% [markdown]
# A note came with the answer: the first cell holds more than its neighbours suggest, so values below may be among them.
# It was read from the noisy counts, not from the records. Here we know better: these are the people without an income,
# and they belong there. From here on the note is not shown again.
#
# Two bands are drawn, and they answer two questions.
#
# - **For these records**: where might the curve of the 150,000 taxpayers lie? The office knows it exactly; only the
#   noise hides it from the reader. In about 95 of 100 such releases this band contains the whole curve, at all incomes
#   at once.
# - **For the population**: where might the curve of all taxpayers lie, of whom these were drawn? This band covers noise
#   and sampling. It is right if people were drawn independently, which the software cannot know for you.
#
# Since the table is made up, we may look.

# %%
warnings.simplefilter("ignore", dp.CurveWarning)
clipped = np.sort(np.clip(income, 1_000, 250_000))  # what was counted
exact = np.searchsorted(clipped, curve.x) / people
exact[-1] = 1  # the last cell has its end
for population in (False, True):
    lower, upper = curve.band(0.95, population=population)
    whom = "the population" if population else "these records"
    print(f"band for {whom}: {100 * (upper - lower).max():.2f} points wide at most")
print(f"largest error {100 * np.abs(curve.y - exact).max():.2f} points")


def beyond(released: dp.CDF) -> float:
    """How far the exact curve leaves the band for these records, in percentage points; 0 if it stays inside."""
    lower, upper = released.band(0.95)
    return 100 * max(float((exact - upper).max()), float((lower - exact).max()), 0.0)


print(f"the exact curve leaves the band by {beyond(curve):.3f} points")
others = [dp.cdf(income, grid=grid, epsilon="0.3", adjacency=dp.REPLACE_ONE) for _ in range(40)]
print(f"of 40 other releases {sum(beyond(each) < 1e-9 for each in others)} hold it")

# %% [markdown]
# This release is one of the five in 100: at some edge the exact curve lies outside of the band, by two hundredths of a
# percentage point. That is what 95% means. Nobody outside of this file could have seen it, and asking again until it
# looks better is no remedy: each release costs, and readers have the first one.

# %% [markdown]
# ## Quantiles
#
# A quantile lies in a cell of the grid, and its interval ends at edges of cells, for inside of a cell nothing was
# counted. So an interval is never narrower than a cell: about 1% of an income. A quarter of these incomes are whole
# thousands; intervals that end at edges hold whether incomes are heaped or not.

# %%
rows = []
for share in (0.1, 0.25, 0.5, 0.75, 0.9, 0.99):
    here, everybody = (curve.quantile_interval(share, 0.95, population=whom) for whom in (False, True))
    rows.append({
        "quantile": f"{share:.0%}", "released": f"{curve.quantile(share):,.0f}",
        "exact here": f"{np.quantile(income, share):,.0f}",
        "these records": "{:,.0f} to {:,.0f}".format(*here), "population": "{:,.0f} to {:,.0f}".format(*everybody),
    })  # fmt: skip
print(pd.DataFrame(rows).to_string(index=False))

# %% [markdown]
# ## At risk of poverty
#
# By a common definition these are people with less than 60% of the median. Threshold and share are read off the same
# curve, so their errors are dependent, and an interval follows from the band alone. The median lies above each income
# below which even the upper side has less than one half, and not above one below which the lower side has one half. The
# share below 60% of it is least at the lower side with the smallest median, and largest the other way round. The band
# contains the whole curve in 95 of 100 releases, and in all of those this interval is right, too. Nothing is assumed
# about the shape of the curve.

# %%
print(f"released {curve.cdf(0.6 * curve.quantile(0.5)):.1%}; exact {np.mean(income < 0.6 * np.median(income)):.1%}")
for population in (False, True):
    lower, upper = curve.band(0.95, population=population)
    smallest, largest = curve.x[np.argmax(upper >= 0.5) - 1], curve.x[np.argmax(lower >= 0.5)]
    low = lower[np.searchsorted(curve.x, 0.6 * smallest, "right") - 1]  # at the edge below, and at the one above
    high = upper[np.searchsorted(curve.x, 0.6 * largest)]
    print(f"{low:.1%} to {high:.1%} for {'the population' if population else 'these records'}")

# %% [markdown]
# ## The Gini coefficient
#
# It is the mean difference of two people's incomes, as a share of twice the mean: 0 if all have the same, 1 if one has
# everything. The package computes it from the curve, with an interval, again at no further loss.
#
# What it is the Gini coefficient *of* has to be said: of incomes clipped to between 1,000 and 250,000, of which only
# cells are known. The interval knows of the cells: within them incomes may lie anywhere. It does not know what lies
# beyond 250,000. Here we may compare.


# %%
def gini_of(values: np.ndarray) -> float:
    """The exact coefficient of a list of incomes."""
    ranked = np.sort(values)
    return float(2 * np.arange(1, ranked.size + 1) @ ranked / (ranked.size * ranked.sum()) - 1 - 1 / ranked.size)


gini = dp.gini_coefficient(curve)
for population in (False, True):
    low, high = gini.interval(0.95, population=population)
    print(f"Gini {gini.value:.3f}, {low:.3f} to {high:.3f} for {'the population' if population else 'these records'}")
print(f"exact, of incomes clipped to the grid: {gini_of(clipped):.3f}")
print(f"exact, of all incomes as they are: {gini_of(income):.3f}; {np.mean(income > 250_000):.2%} were clipped above")

# %% [markdown]
# The interval covers the clipped coefficient. No interval could cover the other one for certain: what the few people
# above 250,000 have is not in the release at all. A release that says "Gini coefficient, incomes top-coded at 250,000"
# is right. One that leaves out the last four words is not.
#
# ## The Lorenz curve, with a band
#
# The Lorenz curve says which share of all income the poorest people have together: what the poorest share *p* have,
# over that and what all others have. A band of the distribution function is a band of its quantiles, read sideways. The
# Lorenz curve is lowest if those below *p* have as little and those above as much as the band allows, and highest the
# other way round. So the two sides below hold the curve at all *p* at once, as surely as the band holds the
# distribution function, wherever in their cells incomes lie.

# %%
shares = np.linspace(0, 1, 20_001)


def incomes_at(side: np.ndarray, ranks: np.ndarray, edges: np.ndarray) -> np.ndarray:
    """Incomes of people by their rank, along one side of a band; whoever is in a cell has its lower or upper edge."""
    cells = np.searchsorted(side[1:], ranks)
    return edges[np.minimum(cells, len(edges) - 1)]


def parts(incomes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """What the people below a share have together, and what those above it have."""
    below = np.concatenate([[0], np.cumsum(incomes)])
    return below, below[-1] - below


def lorenz(population: bool) -> tuple[np.ndarray, np.ndarray]:
    """Both sides of the band of a Lorenz curve."""
    lower, upper = curve.band(0.95, population=population)
    least_below, least_above = parts(incomes_at(upper, shares[:-1], curve.x[:-1]))
    most_below, most_above = parts(incomes_at(lower, shares[1:], curve.x[1:]))
    return least_below / (least_below + most_above), most_below / (most_below + least_above)


below, _ = parts(incomes_at(curve.y, shares[1:], np.sqrt(curve.x[:-1] * curve.x[1:])))
released = below / below[-1]
true = np.interp(shares, np.arange(people + 1) / people, np.concatenate([[0], np.cumsum(clipped)]) / clipped.sum())

figure, ax = plt.subplots(figsize=(7, 6.4), layout="constrained")
for population, shade in ((True, 0.25), (False, 0.5)):
    low, high = lorenz(population)
    whom = "the population" if population else "these records"
    ax.fill_between(shares, low, high, alpha=shade, color="tab:blue", lw=0, label=f"95% band for {whom}")
ax.plot(shares, released, color="black", lw=1, label="released")
ax.plot([0, 1], [0, 1], color="grey", lw=1, label="all have the same")
ax.set(xlabel="share of people, from the poorest", ylabel="share of all income")
ax.set_title(f"Lorenz curve of incomes top-coded at 250,000; Gini {gini.value:.3f}")
ax.legend()
low, high = lorenz(population=False)
print("the band for these records holds the exact Lorenz curve:", bool(((low <= true) & (true <= high)).all()))

# %%
for share in (0.5, 0.9, 0.99):
    place = round(share * 20_000)
    low, high = (1 - side[place] for side in reversed(lorenz(population=False)))
    print(f"the top {1 - share:.0%} have {1 - released[place]:.1%} of all income; for these records "
          f"{low:.1%} to {high:.1%}; exact {1 - true[place]:.1%}")  # fmt: skip

# %% [markdown]
# The band is widest near the top, and that is honest. A tenth of a percentage point of the people is little; a tenth of
# a point of the people *at 250,000 each* is a good part of all income. An office that lowers its top code gets a
# narrower band and says less. That choice belongs to the office, before it sees the table.
#
# ## Regions
#
# A taxpayer lives in one region. So four curves cost what one does: replacing a person changes one of them, or two if
# the other one lives elsewhere, and the software counts that.

# %%
by_region = dp.CdfQuestion("income", grid, by=dp.Categories("region", REGIONS), measured_in="a year")
regions = session.ask(by_region, dp.PrivacyLoss.pure("0.2"), request="regions")
figure, ax = plt.subplots(figsize=(9, 4.6), layout="constrained")
for row, (name, each) in enumerate(regions.items()):
    for population, width in ((True, 2), (False, 8)):
        ax.hlines(row, *each.quantile_interval(0.5, 0.95, population=population), lw=width, color="tab:blue")
    ax.plot(np.median(income[region == name]), row, "|", color="black", ms=22)
ax.set(yticks=range(4), yticklabels=REGIONS, xlabel="median income a year")
ax.set_title(
    "Median income by region: 95% intervals for these records (thick)\n"
    "and for the population (thin); black: exact, for once"
)
ax.margins(y=0.2)

# %% [markdown]
# Do the west and the north differ by more than chance? The test simulates samples *and* noise under the hypothesis that
# they do not, so noise is not taken for a difference. Beside its p-value stands how far apart they are: of large
# samples that is what a reader should be told.

# %%
print(f"p = {dp.ks_test(regions['north'], regions['west']).p_value:.4f}")
print(f"{dp.wasserstein_distance(regions['north'], regions['west']):,.0f} a year apart, on average over quantiles")

# %% [markdown]
# ## The account
#
# All of this took two charges. A question that would exceed the cap is refused, whoever asks it; and the same requests
# give the same curves again, at no further loss.

# %%
for line in session.statement.grants:
    print(f"{line.request}: {line.purpose}, {line.price}")
print("left:", session.remaining)
again = session.ask(country, dp.PrivacyLoss.pure("0.3"), request="country")
print("the same curve:", bool((again.y == curve.y).all()))
try:
    session.ask(dp.SummaryQuestion("income", lower=0, upper=250_000), dp.PrivacyLoss.pure("0.6"))
except dp.BudgetExceeded as refusal:
    print(refusal)

# %% [markdown]
# ## What to write below the table
#
# - Simple random sample of 150,000 taxpayers; one taxpayer is protected, at epsilon 0.5 for all that is released here
#   (`replace-one`).
# - Incomes below 1,000 and above 250,000 are counted at these bounds; Gini coefficient and Lorenz curve are those of
#   such incomes.
# - Intervals *for these records* cover the noise of the release; intervals *for the population* cover sampling, too.
#   None of them covers people who do not file, or income that is not declared.
# - The curve is a JSON file with the distribution of its noise: whoever wants another quantile, or another definition
#   of poverty, computes it from that file, and needs nobody's permission.
