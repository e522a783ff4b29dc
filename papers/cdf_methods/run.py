"""Every claim of the article on four private distribution functions, measured: `python papers/cdf_methods/run.py`.

Compares quantiles with noise of global and of smooth sensitivity, histograms and dichotomy with what dpcurves does, on
samples of normal distributions, and draws four figures into `out/`. No data is needed. --quick takes less than two
minutes.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1]))  # what all papers share

import comparison
import figures
import statements
from comparison import PACKAGE
from methods import METHODS
from reproduction import command, report
from reproduction.report import Steps
from sizes import FULL, QUICK, TINY

SEED = 7


def main() -> None:
    """Measure, draw, report."""
    options = command.parse(__file__, __doc__, FULL, QUICK, TINY)
    size, out, console = options.size, options.out, report.console()
    with report.progress(console) as progress:
        findings = statements.of_noise(size)
        sizes = comparison.against_size(size, SEED, Steps(progress, "Distances by size", METHODS))
        epsilons = comparison.against_epsilon(size, SEED, Steps(progress, "Distances by epsilon", size.epsilons))
        deviations = comparison.against_deviation(size, SEED, Steps(progress, "Distances by spread", size.deviations))
        findings |= statements.of_distances(epsilons, deviations, sizes)
        figures.draw_curves(size, sizes, SEED, out)
    figures.draw_along(epsilons, "ε", "Standard deviation 1, best size of each method", 2, out)
    figures.draw_along(deviations, "standard deviation of the sample", "ε = 1, best size of each method", 3, out)
    ours = deviations.mean[PACKAGE[0]][deviations.x.index(1.0)]
    figures.draw_sizes(sizes, ours, 4, out)
    command.finish(options, findings, console)


if __name__ == "__main__":
    main()
