"""Choice of the randomiser with the least error, from public facts alone."""

from __future__ import annotations

from fractions import Fraction

from dpcurves.arguments import Refused

from .hadamard import Hadamard
from .k_ary import KAry
from .randomiser import Randomiser
from .subset import MOST_ANSWERS, Subset
from .unary import Unary

RANDOMISERS: tuple[type[Randomiser], ...] = (KAry, Hadamard, Subset, Unary)
"""Each with a `NAME` of its own: a new randomiser is its own file, and a word here."""
LONGEST = 64
"""Octets of a report that are sent rather than a shorter one that errs more."""


def randomiser_named(name: str, answers: int, epsilon: Fraction) -> Randomiser:
    """The randomiser of this name.

    Raises:
        ValueError: none has this name, or there are too many answers for it.
    """
    known = {each.NAME: each for each in RANDOMISERS}
    if name not in known:
        raise Refused("randomiser", f"one of {', '.join(known)} is needed")
    return known[name](answers, epsilon)


def choose_randomiser(
    answers: int, epsilon: Fraction, longest: int = LONGEST, among: tuple[type[Randomiser], ...] = RANDOMISERS
) -> Randomiser:
    """The randomiser with the least variance of counts of rare answers; of equal ones the shortest.

    Variances are per report, so the choice does not depend on how many there are. Sums of several answers, which are
    read from a tree, are sums of few of them at each level.

    Args:
        answers: How many there are.
        epsilon: What one report may lose.
        longest: Octets of a report at most.
        among: Those that may be taken.

    >>> from fractions import Fraction
    >>> [choose_randomiser(answers, Fraction(1)).NAME for answers in (2, 16, 64, 2**16)]
    ['k-ary', 'subset', 'subset', 'hadamard']
    """
    known = [each(answers, epsilon) for each in among if each is not Subset or answers <= MOST_ANSWERS]
    return min((each for each in known if each.octets <= longest), key=lambda each: (each.variance(), each.octets))
