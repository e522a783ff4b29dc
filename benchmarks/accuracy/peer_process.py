"""Curves of other libraries, in their own environment: `python peer_process.py WAY IN OUT`, or `... serve`.

Runs without dpcurves. Losses are for replace-one, where these libraries mean add-remove: a replaced record is one less
and one more, so each gets half of the epsilon.
"""

from __future__ import annotations

import sys
import warnings

import numpy as np

HEIGHT, BRANCHING = 4, 16  # what Google's library takes where nothing is said
LEVELS = 1000
TWENTIETHS = np.arange(1, 20) / 20


def google(values, ends, cells, epsilon, seed):
    """The distribution function through a thousand quantiles of one tree."""
    from pydp._pydp._algorithms import QuantileTree

    tree = QuantileTree(*ends, HEIGHT, BRANCHING)
    for value in values.tolist():
        tree.add_entry(value)
    levels = np.linspace(0, 1, LEVELS + 1)
    found = tree.compute_quantiles(epsilon / 2, 0.0, 1, 1, levels.tolist(), "laplace")
    return through(np.array(found), levels, ends, cells)


def histogram(values, ends, cells, epsilon, seed):
    """Noisy counts of cells, none negative, cumulated."""
    from diffprivlib import tools

    counts, _ = tools.histogram(values, epsilon=epsilon / 2, bins=cells, range=tuple(ends), random_state=seed)
    cumulated = np.append(0.0, np.cumsum(counts))
    return cumulated / max(cumulated[-1], 1.0)


def quantiles(values, ends, cells, epsilon, seed):
    """The distribution function through 19 quantiles, which share the loss."""
    from diffprivlib import tools

    found = tools.quantile(values, list(TWENTIETHS), epsilon=epsilon / 2, bounds=tuple(ends), random_state=seed)
    places, levels = np.concatenate([ends[:1], found, ends[1:]]), np.concatenate([[0], TWENTIETHS, [1]])
    return through(places, levels, ends, cells)


def through(places, levels, ends, cells):
    """Straight lines through quantiles, as shares below edges."""
    rising = np.maximum.accumulate(places)
    shares = np.interp(np.linspace(*ends, cells + 1), rising, levels)
    shares[0], shares[-1] = 0, 1
    return shares


def main(way, read, written):
    given = np.load(read)
    counts, ends = given["counts"], given["ends"].tolist()
    cells = counts.shape[1]
    edges = np.linspace(*ends, cells + 1)
    values = [np.repeat((edges[:-1] + edges[1:]) / 2, row) for row in counts]
    jobs = zip(given["sample"].tolist(), given["epsilon"].tolist(), given["seed"].tolist(), strict=True)
    np.save(written, np.stack([way(values[sample], ends, cells, epsilon, seed) for sample, epsilon, seed in jobs]))


def serve():
    """Answer lines of a way and two files, until there are no more."""
    for line in sys.stdin:
        way, read, written = line.rstrip("\n").split("\t")
        try:
            main(WAYS[way], read, written)
            said = "done"
        except Exception as error:
            said = repr(error).replace("\n", " ")
        print(said, flush=True)


WAYS = {"google": google, "histogram": histogram, "quantiles": quantiles}

if __name__ == "__main__":
    warnings.simplefilter("ignore")
    if sys.argv[1] == "check":
        import diffprivlib.tools  # noqa: F401
        from pydp._pydp._algorithms import QuantileTree  # noqa: F401
    elif sys.argv[1] == "serve":
        serve()
    else:
        main(WAYS[sys.argv[1]], *sys.argv[2:])
