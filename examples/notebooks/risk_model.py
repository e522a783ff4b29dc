# %% [markdown]
# # Judging a clinical risk model
# A model that predicts readmissions is judged at a hospital that may not show its records: how well it ranks, whether
# it is calibrated, whether it helps to decide, for whom it fails, and what repairs it.
#
# A model was made at one hospital. Before a second one uses it, the people there want to know whether it holds for
# *their* patients, and they would like to publish the answer. Curves of 12,000 patients are made of 12,000 people's
# health, and a ROC curve in a paper has been used before to tell that somebody was in the data. So every number below
# is released under differential privacy, with intervals that hold the noise.
#
# All patients are made up by this file: those of the second hospital are older, and fewer of them come back than the
# model thinks. It is a common defect; we will see which picture shows it, and which does not.

# %%
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import SplineTransformer

import dpcurves as dp

COLUMNS = ["age", "stays", "creatinine"]


def patients(count: int, seed: int, age: float, base: float) -> pd.DataFrame:
    """Patients of one hospital, and who was admitted again within a month."""
    rng = np.random.default_rng(seed)
    table = pd.DataFrame({
        "age": np.clip(rng.normal(age, 15, count), 18, 100).round(),
        "stays": rng.poisson(1.2, count),
        "creatinine": rng.lognormal(0, 0.35, count).round(2),
        "sex": rng.choice(["female", "male"], count),
    })  # fmt: skip
    kidneys = 1.3 * np.log(table["creatinine"]) * np.where(table["sex"] == "female", 1.4, 0.6)
    score = base + 0.035 * (table["age"] - 60) + 0.45 * np.minimum(table["stays"], 4) + kidneys
    table["back"] = (rng.random(count) < 1 / (1 + np.exp(-score))).astype(int)
    return table


elsewhere, here = patients(20_000, 1, age=58, base=-1.6), patients(12_000, 2, age=66, base=-2.3)
model = make_pipeline(SplineTransformer(n_knots=4, degree=2), LogisticRegression(max_iter=1000))
model.fit(elsewhere[COLUMNS], elsewhere["back"])
here["risk"] = model.predict_proba(here[COLUMNS])[:, 1]
print(here.head().round(3).to_string(index=False))

# %% [markdown]
# ## What is protected, and what is not
#
# **A patient** has one record here, so a record is the unit. `ADD_REMOVE`: nobody may learn whether a patient was in
# the hospital at all, so the number of patients is private, too.
#
# **The model is public.** It was made of other people's records, and what is released here says nothing about *those*.
# A model that had been fitted to the very patients that judge it would need a guarantee of its own; the results carry a
# line that says what was assumed.
#
# **The budget** is epsilon 3 for all that will ever be said of this table. Before anything is asked: how exact would it
# be?

# %%
loss = dp.PrivacyLoss.pure
for question in (dp.RocQuestion("back", "risk"), dp.CalibrationQuestion("back", "risk")):
    print(dp.forecast(question, loss(1), dp.ADD_REMOVE, records=12_000, rehearsals=2))

# %% [markdown]
# ## Does it rank patients well?
#
# `scores` counts both classes once along a grid of scores, and everything that is a function of these counts is read
# for nothing: the ROC curve, precision and recall, net benefit, single numbers. It costs epsilon 1.

# %%
account = {"adjacency": dp.ADD_REMOVE, "dataset": "readmissions-2026", "ledger": dp.Ledger.open("sqlite://")}
session = dp.Session(here, budget=loss(3), **account)
first = session.ask(dp.ScoresQuestion("back", "risk"), loss(1), request="as delivered")
figure, axes = plt.subplots(1, 2, figsize=(13, 5.8), layout="constrained")
first.roc().plot(ax=axes[0]).set_title("ROC curve")
first.precision_recall().plot(ax=axes[1]).set_title("Precision-recall curve")

# %% [markdown]
# The darker region contains the curve of *these* 12,000 patients: it covers the noise alone. The lighter one contains
# the curve of the population that these were drawn from, so it covers sampling, too. On the left of the second picture
# hardly anybody is above the threshold, and the band opens: nothing is known there, and nothing should be read.
#
# The area under the ROC curve is the chance that of two patients, one of whom comes back, that one has the higher
# score. Two intervals again:

# %%
for name in ("auc", "average-precision", "brier"):
    near, far = (first.interval(name, 0.95, population=whom) for whom in (False, True))
    print(f"{name}: {first.value(name):.3f}; these records {near[0]:.3f} to {near[1]:.3f}, "
          f"population {far[0]:.3f} to {far[1]:.3f}")  # fmt: skip

# %% [markdown]
# Suppose the paper about this model says an area of 0.72. It fits; many evaluations end here. But an area tells how
# patients are *ordered*. If all chances were halved, it would be the same.
#
# ## Are its chances right?
#
# Groups of similar scores are found privately, and in each the share of those who came back is compared with what the
# model predicted. This is a separate question, since it needs sums of scores too: it costs another epsilon 1.

# %%
calibration = session.ask(dp.CalibrationQuestion("back", "risk", groups=8), loss(1), request="calibration")
calibration.plot()

# %%
print(calibration.to_frame(level=0.95, population=True).round(3).to_string(index=False))

# %% [markdown]
# All points lie below the diagonal: at each score fewer come back than predicted. Thick bars are for these records,
# thin ones for the population, and each holds separately: of eight groups of a correct model, one would miss the
# diagonal in every second or third paper. Eight on one side are another thing.
#
# ## Does it help to decide?
#
# Say that nurses can call one patient in five. Whoever acts at a risk of 20% says by that that one prevented
# readmission is worth four calls in vain. Net benefit counts just that: those found, less those called in vain at that
# rate. It is compared with calling nobody and with calling everybody.

# %%
first.decision_curve().plot()

# %%
for threshold in (0.1, 0.2, 0.3):
    rates = first.confusion(threshold).rates
    print(f"at {threshold:.0%}:", ", ".join(f"{name} {value:.2f}" for name, value in list(rates.items())[:4]))

# %% [markdown]
# Up to a threshold of about 35% the model is worth more than calling nobody or everybody. From 40% to 70% it is worth
# less than nothing: those whom it gives a chance of one half come back in one of three cases, and are called in vain.
# It is the same defect as before, measured by its consequences for decisions.
#
# ## A repair that costs nothing
#
# The released groups are public. Whatever is computed from them is public as well: no further loss, however clever. So
# a line is fitted through the groups on the scale of log-odds, by the weights of their intervals, and the model's
# scores are moved along it. (Statisticians call it logistic recalibration; they would fit it to patients, and pay.)

# %%
share, foretold = np.clip(calibration.prob_true, 0.001, 0.999), calibration.prob_pred
ends = calibration.intervals(0.95, population=True)
weight = share * (1 - share) / np.maximum(np.diff(ends)[:, 0], 1e-3)  # one over the error of a log-odds
slope, level = np.polyfit(np.log(foretold / (1 - foretold)), np.log(share / (1 - share)), 1, w=weight)
print(f"log-odds times {slope:.2f}, and {level:+.2f}")
odds = np.exp(level + slope * np.log(here["risk"] / (1 - here["risk"])))
here["repaired"] = odds / (1 + odds)

# %% [markdown]
# Is it better? To know that, the records have to be asked again, and the budget pays. The repaired model was made of a
# release, so it depends on the records only through what was paid for, and losses add up: one may go on like this.
#
# A session reads the columns that it began with. A table with one more is opened by another session, **under the same
# account**: it is the same people, and what was spent of them stays spent.

# %%
session = dp.Session(here, budget=loss(3), **account)
repaired = session.ask(
    dp.CalibrationQuestion("back", "repaired", groups=8), loss("0.5"), request="calibration, repaired"
)
figure, axes = plt.subplots(1, 2, figsize=(13, 6), layout="constrained")
for ax, (name, each) in zip(axes, {"as delivered": calibration, "repaired": repaired}.items(), strict=True):
    each.plot(ax=ax).set_title(f"Calibration of the model {name}")
print("left:", session.remaining)

# %% [markdown]
# ## For whom does it fail?
#
# The kidneys of women tell more than the model knows, and those of men less. Categories are declared in public, a
# patient lies in one of them, and so both together cost what one does. The rest of the budget goes here.

# %%
by_sex = dp.ScoresQuestion("back", "risk", by=dp.Categories("sex", ("female", "male")))
groups = session.ask(by_sex, loss("0.5"), request="by sex")
figure, ax = plt.subplots(figsize=(8, 3), layout="constrained")
for row, each in enumerate(groups.values()):
    for population, width in ((True, 2), (False, 8)):
        ax.hlines(row, *each.interval("auc", 0.95, population=population), lw=width, color="tab:blue")
ax.set(yticks=range(2), yticklabels=list(groups), xlabel="area under the ROC curve")
ax.set_title("Area by sex: 95% intervals for these records (thick) and for the population (thin)")
ax.margins(y=0.5)
for population in (False, True):
    apart = groups.difference("auc", "female", "male", 0.95, population=population)
    print(f"women less men: {apart.value:.3f}, {apart.lower:.3f} to {apart.upper:.3f} for "
          f"{'the population' if population else 'these records'}")  # fmt: skip

# %% [markdown]
# Two intervals that overlap do not say that two groups are alike, and two that do not overlap say more than is needed.
# The interval of the *difference* is what answers the question.
#
# ## What an interval covers
#
# "95%" is a promise about repetitions, and it can be kept or broken. Here hospitals can be made up at will. So forty
# hospitals of 2,000 patients release an area each, and we count how often the interval for the population holds the
# area of two million patients, and how often the interval for these records holds the area of its own hospital.

# %%


def area(table: pd.DataFrame) -> float:
    """The exact area under the ROC curve: pairs that are ordered rightly, ties counting half."""
    ranks = table["risk"].rank()
    came = int(table["back"].sum())
    return float((ranks[table["back"] == 1].sum() - came * (came + 1) / 2) / (came * (len(table) - came)))


def scored(count: int, seed: int) -> pd.DataFrame:
    """Patients of one more hospital, with the model's scores."""
    table = patients(count, seed, age=66, base=-2.3)
    return table.assign(risk=model.predict_proba(table[COLUMNS])[:, 1])


truth, areas = area(scored(500_000, 99)), []
for number in range(40):
    hospital = scored(2_000, 100 + number)
    curve = dp.roc_curve(hospital["back"], hospital["risk"], epsilon=1, adjacency=dp.ADD_REMOVE)
    areas.append((area(hospital), *curve.auc_interval(0.95), *curve.auc_interval(0.95, population=True)))
own, near_low, near_high, low, high = np.array(areas).T
figure, ax = plt.subplots(figsize=(10, 4.4), layout="constrained")
ax.vlines(np.arange(40), low, high, lw=2, color=np.where((low <= truth) & (truth <= high), "tab:blue", "tab:red"))
ax.vlines(np.arange(40), near_low, near_high, lw=6, color="tab:blue", alpha=0.5)
ax.plot(np.arange(40), own, ".", color="black")
ax.axhline(truth, color="black", lw=1)
ax.set(xlabel="hospital", ylabel="area under the ROC curve")
ax.set_title(
    "Area in 40 hospitals: 95% intervals for these records (thick; dots: their area)\n"
    "and for the population (thin; line: its area)"
)
print(f"these records: {np.mean((near_low <= own) & (own <= near_high)):.0%} hold; "
      f"population: {np.mean((low <= truth) & (truth <= high)):.0%}")  # fmt: skip

# %% [markdown]
# Intervals for these records hold more often than stated, because the order of scores within cells is unknown and taken
# to be the worst. Those for the population hold about as often as stated.
#
# ## What to write in the paper
#
# > Judged on patients of one hospital, each of whom is protected at epsilon 3 (add or remove one patient, pure
# > differential privacy) for all results together. The model was made elsewhere and is taken as public. Intervals are
# > 95%, for the population: they hold chance and the noise of the release.
#
# And what not to write: that the model "was validated". It ranks as its makers said. Its chances were too high here; a
# straight line on the scale of log-odds repaired that, by numbers that were released anyway. It serves women and men
# differently, and that was seen only because somebody asked.
