"""Mutants of this package for trials of the auditor: scales, sensitivities, rounding, caps, seeds, names and steps.

Each is one line of the source that is replaced in a copy, and the releases of `dpcurves audit self --quick` that it
concerns: these are audited with the time and the samples that the whole quick audit gives them.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import NamedTuple

SOURCE = Path(__file__).resolve().parent.parent / "src"


class Mutant(NamedTuple):
    """A fault that is planted into a copy of the package.

    Attributes:
        name: The fault.
        file: The changed file, below `src`.
        old: The text that is replaced; it stands in the file once.
        new: The faulty text.
        only: The words of `dpcurves audit self --only`: releases that have the fault.
    """

    name: str
    file: str
    old: str
    new: str
    only: str


DISTRIBUTION = "dpcurves/distributions/output_distribution.py"
LINEAR = "dpcurves/mechanisms/linear.py"
EXPONENTIAL = "dpcurves/mechanisms/exponential.py"
THRESHOLDS = "dpcurves/mechanisms/thresholds.py"
SELECTION = "dpcurves/mechanisms/partition_selection.py"
ADJACENCY = "dpcurves/privacy/adjacency.py"
RANDOMISER = "dpcurves_local/responses/randomiser.py"
COUNTERS = "dpcurves_streams/mechanisms/counters.py"

MUTANTS = (
    Mutant(
        "Laplace noise of half the scale",
        DISTRIBUTION,
        "l1_distance / loss.epsilon",
        "l1_distance / (2 * loss.epsilon)",
        "flat histogram",
    ),
    Mutant(
        "Gaussian noise of half the variance",
        DISTRIBUTION,
        "squared_l2_distance / (2 * loss.rho))",
        "squared_l2_distance / (4 * loss.rho))",
        "flat histogram",
    ),
    Mutant(
        "sensitivity of add-remove under replace-one, L1",
        ADJACENCY,
        "return 2 * self.unit.records\n",
        "return self.unit.records\n",
        "flat histogram",
    ),
    Mutant(
        "sensitivity of add-remove under replace-one, L2",
        ADJACENCY,
        "return 2 * self.unit.records**2",
        "return self.unit.records**2",
        "flat histogram",
    ),
    Mutant("a unit counts as one record", ADJACENCY, "return self.unit.records\n", "return 1\n", "histogram of units"),
    Mutant(
        "each level of a tree gets the whole loss",
        LINEAR,
        "calibrate_noise(query, loss * share, adjacency)",
        "calibrate_noise(query, loss, adjacency)",
        "tree of sums",
    ),
    Mutant(
        "sums of values have the sensitivity of counts",
        LINEAR,
        "Fraction(adjacency.l1_sensitivity * query.per_record_sensitivity)",
        "Fraction(adjacency.l1_sensitivity)",
        "sums of values",
    ),
    Mutant(
        "signed sums have the L2 sensitivity of counts",
        LINEAR,
        "if query.is_signed:\n        return",
        "if False:\n        return",
        "sums of values",
    ),
    Mutant(
        "one draw of noise for all sums",
        LINEAR,
        "noises = sample_noise(noise, sums.size, randomness)",
        "noises = sample_noise(noise, 1, randomness).repeat(sums.size)",
        "cdf: epsilon,calibration",
    ),
    Mutant(
        "zero noise twice as often",
        "dpcurves/noise/discrete_laplace.py",
        "return magnitude ^ -(signed & 1)",
        "return magnitude * (1 - 2 * (signed & 1))",
        "flat histogram",
    ),
    Mutant(
        "wavelets without their sensitivity",
        "dpcurves/mechanisms/wavelets.py",
        "return Budgets(allowed / record_sensitivity, allowed)",
        "return Budgets(allowed, allowed)",
        "avelets",
    ),
    Mutant(
        "a tree on demand pays for one block of a path",
        "dpcurves/mechanisms/lazy_tree.py",
        "step_budget = budget / entering_steps",
        "step_budget = budget",
        "tree on demand",
    ),
    Mutant(
        "a sparse vector pays for thresholds or for sums",
        THRESHOLDS,
        "adjacency.unit.records / (1 + ratio)",
        "adjacency.unit.records",
        "sparse vector",
    ),
    Mutant(
        "merged cells with half the noise",
        THRESHOLDS,
        "adjacency.l1_sensitivity / epsilon)",
        "adjacency.l1_sensitivity / (2 * epsilon))",
        "merged cells",
    ),
    Mutant(
        "PrivTree pays for one split of a path",
        THRESHOLDS,
        "scale = adjacency.unit.records * record_sensitivity / loss.epsilon",
        "scale = adjacency.unit.records / (2 * loss.epsilon)",
        "PrivTree",
    ),
    Mutant(
        "boxes are chosen with four times the rate",
        EXPONENTIAL,
        "bounded_range(loss) / (2 * adjacency.unit.records)",
        "2 * bounded_range(loss) / adjacency.unit.records",
        "worst box",
    ),
    Mutant(
        "cuts are chosen with four times the rate",
        EXPONENTIAL,
        "epsilon / (2 * (pieces - left_pieces))",
        "2 * epsilon / (pieces - left_pieces)",
        "quantile cuts",
    ),
    Mutant(
        "partition thresholds two units too low",
        SELECTION,
        "return cls(rate, start)",
        "return cls(rate, max(start - 2, 1))",
        "name search",
    ),
    Mutant(
        "names without units are never released", SELECTION, "if name not in units:", "if False:", "names of a universe"
    ),
    Mutant(
        "binary responses with twice the epsilon",
        RANDOMISER,
        "below = bound_exp_neg_above(self.epsilon)\n        return round_down((1 - below) / (1 - below + ",
        "below = bound_exp_neg_above(2 * self.epsilon)\n        return round_down((1 - below) / (1 - below + ",
        "k-ary of",
    ),
    Mutant(
        "Hadamard responses with twice the epsilon",
        RANDOMISER,
        "1 / (1 + bound_exp_neg_above(self.epsilon))",
        "1 / (1 + bound_exp_neg_above(2 * self.epsilon))",
        "hadamard of",
    ),
    Mutant(
        "a site adds half of its share of noise",
        "dpcurves_sites/shares.py",
        "discrete_gaussian.sample(variance / shares,",
        "discrete_gaussian.sample(variance / (2 * shares),",
        "sites",
    ),
    Mutant(
        "each level of a stream's tree gets the whole loss",
        COUNTERS,
        "full_loss_noise.parameter / share)",
        "full_loss_noise.parameter)",
        "totals by a tree",
    ),
    Mutant(
        "groups of a stream lose four times their part",
        "dpcurves_streams/mechanisms/pegasus.py",
        "level_loss * (1 - query.budget_fraction), adjacency",
        "level_loss * 4, adjacency",
        " groups: epsilon 1",
    ),
    Mutant(
        "all names have one key stream",
        "dpcurves/noise/randomness.py",
        'hmac.digest(secret, name.encode(), "sha256")',
        'hmac.digest(secret, b"", "sha256")',
        "followed stream,two questions,two servers",
    ),
    Mutant(
        "noisy counts are clipped near the exact ones",
        LINEAR,
        "noisy.extend(map(add, sums.tolist(), noises.tolist()))",
        "noisy.extend((sums + noises.clip(-3)).tolist())",
        "flat histogram",
    ),
    Mutant(
        "empty cells get no noise",
        LINEAR,
        "noises = sample_noise(noise, sums.size, randomness)",
        "noises = sample_noise(noise, sums.size, randomness) * (sums != 0)",
        "cdf: epsilon,calibration",
    ),
    Mutant(
        "new blocks of a tree on demand share one draw",
        "dpcurves/mechanisms/lazy_tree.py",
        "noise for name, noise in zip(blocks, noises, strict=True)",
        "noises[0] for name in blocks",
        "tree on demand",
    ),
    Mutant(
        "noise from a seed that is the number of sums",
        LINEAR,
        "noises = sample_noise(noise, sums.size, randomness)",
        "noises = sample_noise(noise, sums.size, type(randomness).from_seed(sums.size))",
        "cdf: epsilon,calibration",
    ),
    Mutant(
        "thresholds are measured from the least exact sum",
        THRESHOLDS,
        "return [int(total) - threshold for",
        "return [int(total) - int(min(sums)) - threshold for",
        "sparse vector",
    ),
    Mutant(
        "categories are selected by their exact counts",
        SELECTION,
        "np.flatnonzero(noisy > noise.threshold)",
        "np.flatnonzero(table[:, 1].astype(np.int64) > 1)",
        "name search",
    ),
    Mutant(
        "two servers name the noise of a block by its level alone",
        "dpcurves_parties/serving/noise_key.py",
        'name = f"noise path {facts} {block[0]} {block[1]}"',
        'name = f"noise path {facts} {block[0]}"',
        "two servers",
    ),
    Mutant(
        "the true bit is always set",
        RANDOMISER,
        "sample_bernoulli(ONE_PROBABILITY // 2, people, randomness)",
        "np.ones(people, dtype=np.bool_)",
        "unary of",
    ),
    Mutant(
        "public coins decide the noise too",
        "dpcurves_local/task.py",
        "source = randomness.expand()",
        "source = Randomness.from_seed(int(names.sum()))",
        "public coins",
    ),
    Mutant(
        "a pair's random bits are those of the first party",
        "dpcurves_parties/pairs/mechanisms.py",
        "(getattr(first, name) ^ getattr(second, name)).to_bits()",
        "(getattr(first, name) ^ getattr(first, name)).to_bits()",
        "pairs",
    ),
    Mutant(
        "a node of a stream has the noise of the step before",
        "dpcurves_streams/mechanisms/hierarchy.py",
        "noise = sample_noise(distribution.levels[0].noise, distribution.cells, randomness)",
        "noise = sample_noise(distribution.levels[0].noise, distribution.cells, "
        "type(randomness).from_key(bytes(range(32)), str(time_step // 2)))",
        "stream, each step",
    ),
    Mutant(
        "the sensitivity of a median decays nine times as fast with distance",
        "dpcurves/mechanisms/smooth_sensitivity.py",
        "rule.noise_scale(median_sensitivity(counts, rule.beta)) / 2",
        "rule.noise_scale(median_sensitivity(counts, 9 * rule.beta)) / 2",
        "median",
    ),
)


def plant_mutant(name: str, folder: Path) -> Path:
    """Return a copy of the source in which a mutant is planted.

    Raises:
        ValueError: the text that is replaced does not stand in the file exactly once: a docstring may quote it.
    """
    mutant = next(mutant for mutant in MUTANTS if mutant.name == name)
    source = folder / "src"
    shutil.copytree(SOURCE, source)
    file = source / mutant.file
    text = file.read_text(encoding="utf-8")
    if text.count(mutant.old) != 1:
        raise ValueError(f"{mutant.file} has {mutant.old!r} {text.count(mutant.old)} times")
    file.write_text(text.replace(mutant.old, mutant.new), encoding="utf-8")
    return source
