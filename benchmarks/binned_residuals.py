"""Binned residuals: what tells a wrong model from a right one? `python benchmarks/binned_residuals.py [releases]`.

Chen (2018, section 4.4.3): lines are fitted to the mean residuals left and right of 0.5, their slopes compared with
those of a right model without noise, and the distances of many releases of both models by their total variation.
"""

from __future__ import annotations

import numpy as np
from command_line import parse_numbers
from numpy.typing import NDArray
from rich.progress import track

from dpcurves.conversation import Release, Step
from dpcurves.curves import BinnedResiduals, BinnedResidualsQuestion
from dpcurves.data import Axis
from dpcurves.ledger import Grant, QuestionBudget
from dpcurves.mechanisms import AUTO
from dpcurves.noise.randomness import Randomness
from dpcurves.privacy import DISJOINT_RECORDS, EACH_RECORD, PrivacyLoss, ReplaceOne
from dpcurves.queries import Query, SumQuery
from dpcurves.session import answer_steps
from dpcurves.trust import Central, run_conversation

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
RECORDS, RELEASES, BINS, SEED = 50_000, 100, 256, 1
PRODUCTS = (1000, 2000, 3000, 5000, 20000)
QUESTION = BinnedResidualsQuestion("label", "score", DISJOINT_RECORDS)
PUBLISHED = "published algorithm: at least 0.9 from 20000 on"


def judged(square: float, chance: np.random.Generator) -> tuple[IntArray, FloatArray]:
    """Labels, and predictions of a model that knows no square, trained on as many other records."""
    from sklearn.linear_model import LogisticRegression

    x = chance.uniform(-1, 1, 2 * RECORDS)
    label = (chance.random(x.size) < 1 / (1 + np.exp(-(square * x**2 + 2 * x - square)))).astype(np.int64)
    model = LogisticRegression(C=1e6).fit(x[:RECORDS, None], label[:RECORDS])
    return label[RECORDS:], model.predict_proba(x[RECORDS:, None])[:, 1]


def table(label: IntArray, score: FloatArray, query: Query) -> NDArray[np.object_] | IntArray:
    axis, size = query.axes[-1], query.rows * query.cells
    assert isinstance(axis, Axis)
    place = axis.grid.cell_of(score) + (label * query.cells if query.rows > 1 else 0)
    if not isinstance(query, SumQuery):
        return np.bincount(place, minlength=size + 1).astype(np.int64)
    sums = np.zeros(size + 1, dtype=np.int64)
    np.add.at(sums, place, axis.grid.offset_of(score, query.half))
    return sums.astype(object)


def released(label: IntArray, score: FloatArray, epsilon: str, seed: int) -> BinnedResiduals:
    loss, adjacency, chance = PrivacyLoss.pure(epsilon), ReplaceOne(EACH_RECORD, RECORDS), Randomness.from_seed(seed)
    budget = QuestionBudget(Grant("benchmark", loss, "benchmark", 1))

    def reply(step: Step) -> Release:
        allotment = budget.pay(step.query.charged_query, step.budget_fraction)
        plan = AUTO.plan(step.query, allotment.loss, adjacency)
        return Release(plan, AUTO.run(table(label, score, step.query), plan, chance), allotment, seeded=True)

    return answer_steps(run_conversation(QUESTION, loss, adjacency, Central()), reply)


def slopes(mean: FloatArray, residual: FloatArray) -> FloatArray:
    sides = [mean <= 0.5, mean > 0.5]
    return np.array([np.polyfit(mean[side], residual[side], 1)[0] if side.sum() > 1 else 0.0 for side in sides])


def exact(label: IntArray, score: FloatArray) -> FloatArray:
    bins = np.array_split(np.argsort(score), BINS)
    means = [score[own].mean() for own in bins]
    return slopes(np.array(means), np.array([(label[own] - score[own]).mean() for own in bins]))


def total_variation(some: FloatArray, others: FloatArray) -> float:
    """The total variation distance of two samples, in twenty cells of equal width."""
    ends = min(some.min(), others.min()), max(some.max(), others.max())
    shares = [np.histogram(each, 20, ends)[0] / len(each) for each in (some, others)]
    return float(np.abs(shares[0] - shares[1]).sum() / 2)


def main() -> None:
    releases = parse_numbers(__doc__, releases=RELEASES).releases
    chance = np.random.default_rng(SEED)
    models = [judged(square, chance) for square in (0.0, 1.0)]
    truth = exact(*models[0])
    lines = []
    for product in track(PRODUCTS, description="Binned residuals"):
        distances = []
        for label, score in models:
            found = [released(label, score, str(product / RECORDS), seed) for seed in range(releases)]
            distances.append(np.array([np.abs(slopes(each.prob_pred, each.residual) - truth).sum() for each in found]))
        lines.append(f"{product:22}{total_variation(*distances):26.2f}")
    print(f"{'records x epsilon':>22}{'total variation distance':>26}   ({releases} releases of each; {PUBLISHED})")
    print("\n".join(lines))


if __name__ == "__main__":
    main()
