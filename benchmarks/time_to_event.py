"""Times until an event on real cohorts: equality with lifelines and scikit-survival, and errors beside sampling errors.

`python benchmarks/time_to_event.py [--releases N] [--page FILE]`. Cohorts are those that ship in `lifelines` and
`scikit-survival`; where these are not installed it says so, and measures nothing. The first table has the largest
difference from these packages at epsilon 10^9, where times are whole numbers of cells. The second has root mean square
errors of N releases (12 unless said) at epsilon 0.5, 1, 2 and 5, half of them under each adjacency, beside the errors
that sampling makes without any noise (200 bootstrap samples). With `--page` the tables are written into that file.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "curves"))

from by_hand import answer, both

import dpcurves as dp
from dpcurves.privacy import PrivacyLoss

CELLS, EPSILONS, SAMPLES, HUGE = 40, ("0.5", "1", "2", "5"), 200, PrivacyLoss.pure(10**9)
GROUPS = dp.Categories("g", (0, 1))
GRID = dp.Values(range(CELLS))
BEGIN, END = "<!-- written by benchmarks/time_to_event.py -->\n", "<!-- end -->\n"


class Cohort(NamedTuple):
    """Times in cells of the follow-up, whether there was an event, a group, and a score."""

    t: Any
    e: Any
    g: Any
    p: Any

    @property
    def columns(self) -> dict[str, Any]:
        """Its columns, with an entry and a cause that are made up of them."""
        cause = np.where(self.e == 1, np.where(self.p * 7 % 1 < 0.6, 1, 2), 0)
        return {**self._asdict(), "entry": np.floor(self.t * (self.p * 5 % 1)), "cause": cause}


def cohorts() -> Iterator[tuple[str, Cohort]]:
    """Lung, larynx, veterans, GBSG2, WHAS500 and flchain, each by the groups that its authors compared."""
    from lifelines import datasets as first
    from sksurv import datasets as second

    lung, larynx, gbsg2 = first.load_lung(), first.load_larynx(), first.load_gbsg2()
    yield "lung", _cohort(lung["time"], lung["status"] == 1, lung["sex"] == 1, lung["age"])
    yield "larynx", _cohort(larynx["time"], larynx["death"] == 1, larynx["Stage_IV"] == 0, larynx["age"])
    yield "GBSG2", _cohort(gbsg2["time"], gbsg2["cens"] == 1, gbsg2["horTh"] == "no", gbsg2["pnodes"])
    for name, load, by, score in (
        ("veterans", second.load_veterans_lung_cancer, lambda x: x["Treatment"] == "standard", "Karnofsky_score"),
        ("WHAS500", second.load_whas500, lambda x: x["gender"].astype(float) == 0, "age"),
        ("flchain", second.load_flchain, lambda x: x["sex"] == "F", "age"),
    ):
        columns, came = load()
        event, time = (came[field] for field in came.dtype.names)
        yield name, _cohort(time, event, by(columns), columns[score].astype(float))


def _cohort(time: Any, event: Any, first: Any, score: Any) -> Cohort:
    time, score = np.asarray(time, float), np.asarray(score, float)
    cells = np.minimum(np.floor(time / (time.max() * 1.0001) * CELLS), CELLS - 1)
    ranked = np.argsort(np.argsort(score, kind="stable"), kind="stable") / len(score)
    return Cohort(cells, np.asarray(event).astype(int), np.where(first, 0, 1), np.floor(ranked * 20) / 20 + 0.025)


# Equality at a huge epsilon.


def differences(cohort: Cohort) -> dict[str, float]:
    """The largest difference from the other packages, of each number."""
    import lifelines
    from lifelines.statistics import logrank_test
    from lifelines.utils import restricted_mean_survival_time
    from sksurv.linear_model import CoxPHSurvivalAnalysis
    from sksurv.metrics import brier_score, cumulative_dynamic_auc
    from sksurv.nonparametric import cumulative_incidence_competing_risks
    from sksurv.util import Surv

    given, units = cohort.columns, both(len(cohort.t))[0]
    ask = lambda question: answer(question, given, HUGE, units, 1)  # noqa: E731
    arms = ask(dp.SurvivalQuestion("t", "e", GRID, by=GROUPS))
    parts = [cohort.g == group for group in (0, 1)]
    whole, months = np.arange(CELLS), int(np.quantile(cohort.t, 0.6))
    fits = [lifelines.KaplanMeierFitter().fit(cohort.t[part], cohort.e[part]) for part in parts]
    hazards = [
        lifelines.NelsonAalenFitter(nelson_aalen_smoothing=False).fit(cohort.t[part], cohort.e[part]) for part in parts
    ]
    found = {
        "Kaplan-Meier": _apart(arms[0].y[1:], fits[0].survival_function_at_times(whole)),
        "Nelson-Aalen": _apart(arms[0].cumulative_hazard[1:], hazards[0].cumulative_hazard_at_times(whole)),
        "restricted mean": _apart(
            dp.restricted_mean_difference(arms[0], arms[1], months).value,
            restricted_mean_survival_time(fits[0], months) - restricted_mean_survival_time(fits[1], months),
        ),
        "conditional": _apart(
            dp.survival_at(arms[0], months, 2).value, fits[0].predict(float(months)) / fits[0].predict(2.0)
        ),
    }  # fmt: skip
    for name, weights in (
        ("log-rank", None),
        ("Fleming-Harrington (1, 1)", {"weightings": "fleming-harrington", "p": 1, "q": 1}),
    ):
        powers = {} if weights is None else {"rho": 1, "gamma": 1}
        exact = logrank_test(
            *(cohort.t[part] + 1 for part in parts), *(cohort.e[part] for part in parts), **(weights or {})
        )
        found[name] = _apart(dp.log_rank_test(arms[0], arms[1], **powers).statistic, exact.test_statistic)
    target = Surv.from_arrays(cohort.e == 1, cohort.t + 1)
    cox = CoxPHSurvivalAnalysis(ties="breslow", tol=1e-14, n_iter=200).fit(
        (1 - cohort.g)[:, None].astype(float), target
    )
    found["hazard ratio"] = _apart(dp.hazard_ratio(arms[0], arms[1]).value, np.exp(cox.coef_[0]))
    risks = ask(dp.CompetingRisksQuestion("t", "cause", GRID, (1, 2)))
    times, exact = cumulative_incidence_competing_risks(given["cause"], cohort.t)
    at = np.searchsorted(times, whole, side="right") - 1
    true = np.where(at >= 0, exact[1:, np.maximum(at, 0)], 0.0)
    found["incidence"] = _apart(risks.incidence[:, 1:], true)
    late = ask(dp.DelayedEntryQuestion("entry", "t", "e", GRID))
    fit = lifelines.KaplanMeierFitter().fit(cohort.t + 1, cohort.e, entry=given["entry"])
    found["delayed entry"] = _apart(late.y[1:], fit.survival_function_at_times(whole + 1))
    # Events before the censored of their month, as here: the other package takes ties the other way round.
    ties = Surv.from_arrays(cohort.e == 1, cohort.t + np.where(cohort.e == 1, 1.0, 1.5))
    model = ask(
        dp.SurvivalModelQuestion("p", "t", "e", dp.Values(range(months + 1)), dp.Values(np.arange(20) / 20 + 0.025))
    )
    area = cumulative_dynamic_auc(ties, ties, cohort.p, [months + 1.75])[0][0]
    found["AUC at a horizon"] = _apart(model.auc.value, area)
    error = brier_score(ties, ties, (1 - cohort.p)[:, None], [months + 1.75])[1][0]
    found["Brier score"] = _apart(model.brier.value, error)
    return found


def _apart(one: Any, other: Any) -> float:
    return float(np.max(np.abs(np.asarray(one, float) - np.asarray(other, float))))


def turnbull() -> float:
    """The largest difference of the share without an event from that of lifelines on its own data, in years."""
    import lifelines
    from lifelines.datasets import load_diabetes

    given = load_diabetes()
    last, first = given["left"].to_numpy(float), given["right"].to_numpy(float)
    last = np.where(last == first, last - 1, last)
    question = dp.IntervalCensoredQuestion("last", "first", dp.Values(range(1, 45)))
    found = answer(question, {"last": last, "first": first}, HUGE, both(len(first))[0], 1)
    fit = lifelines.KaplanMeierFitter().fit_interval_censoring(last + 1, first, tol=1e-12, max_iter=100_000)
    years, left = fit.survival_function_.index.to_numpy(), fit.survival_function_.iloc[:, 0].to_numpy()
    at = np.searchsorted(years, np.arange(2, 45), side="right") - 1  # it tells the share before a year, not past it
    return _apart(found.y[1:-1], left[at])


# Errors.


READ: Mapping[str, Callable[[Any], Any]] = {
    "curve": lambda arms: arms[0].y,
    "restricted mean": lambda arms: dp.restricted_mean(arms[0], 30).value,
    "difference of shares": lambda arms: dp.survival_difference(arms[0], arms[1], 20).value,
    "log hazard ratio": lambda arms: np.log(dp.hazard_ratio(arms[0], arms[1]).value),
}
"""Numbers of the first group, in cells of a fortieth of the follow-up; or of both."""


def errors(cohort: Cohort, releases: int) -> dict[str, list[float]]:
    """Root mean square errors at each epsilon, and of samples."""
    question, columns = dp.SurvivalQuestion("t", "e", GRID, by=GROUPS), cohort._asdict()
    units = both(len(cohort.t))
    exact = answer(question, columns, HUGE, units[0], 1)
    found: dict[str, list[float]] = {name: [] for name in READ}
    draw, samples = np.random.default_rng(1), list[Any]()
    for _ in range(SAMPLES):
        drawn = draw.integers(len(cohort.t), size=len(cohort.t))
        samples.append(_exact(Cohort(*(each[drawn] for each in cohort))))
    rows = [
        [answer(question, columns, PrivacyLoss.pure(epsilon), units[seed % 2], seed) for seed in range(releases)]
        for epsilon in EPSILONS
    ]
    for arms in [*rows, samples]:
        for name, read in READ.items():
            off = [np.asarray(read(each)) - np.asarray(read(exact)) for each in arms]
            found[name].append(float(np.sqrt(np.mean(np.square(off)))))
    return found


def _exact(cohort: Cohort) -> Any:
    """Counts of a sample without noise, as curves: shrinking nothing."""
    return answer(dp.SurvivalQuestion("t", "e", GRID, by=GROUPS), cohort._asdict(), HUGE, both(len(cohort.t))[0], 1)


def tables(releases: int) -> Iterator[str]:
    """Both tables, line by line."""
    found = dict(cohorts())
    apart = {name: differences(cohort) for name, cohort in found.items()}
    yield "| equal to `lifelines` and `scikit-survival` within | " + " | ".join(found) + " |"
    yield "|---|" + "---:|" * len(found)
    for number in next(iter(apart.values())):
        yield f"| {number} | " + " | ".join(f"{each[number]:.0e}" for each in apart.values()) + " |"
    yield ""
    yield f"Turnbull's estimate of the interval-censored data of `lifelines` differs by {turnbull():.0e} at most."
    yield ""
    heads = [*(f"epsilon {epsilon}" for epsilon in EPSILONS), "sampling"]
    yield "| cohort | records | error of | " + " | ".join(heads) + " |"
    yield "|---|---:|---|" + "---:|" * len(heads)
    for name, cohort in found.items():
        for number, row in errors(cohort, releases).items():
            yield f"| {name} | {len(cohort.t):,} | {number} | " + " | ".join(map(shown, row)) + " |"


def shown(error: float) -> str:
    """An error; where some release could tell nothing there is none."""
    return f"{error:.3g}" if np.isfinite(error) else "not known"


def main() -> None:
    """Print the tables, or write them into a page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--releases", type=int, default=12)
    parser.add_argument("--page", type=Path)
    asked = parser.parse_args()
    if find_spec("lifelines") is None or find_spec("sksurv") is None:
        print("lifelines and scikit-survival are not installed: nothing is measured")
        return
    warnings.simplefilter("ignore")
    lines = list[str]()
    for line in tables(asked.releases):
        print(line, flush=True)
        lines.append(line)
    if asked.page is not None:
        head, _, rest = asked.page.read_text(encoding="utf-8").partition(BEGIN)
        asked.page.write_text(
            f"{head}{BEGIN}\n" + "\n".join(lines) + f"\n\n{END}{rest.partition(END)[2]}", encoding="utf-8"
        )


if __name__ == "__main__":
    main()
