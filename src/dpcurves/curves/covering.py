"""Bands and intervals, for these records and for the population they were drawn from, one beside the other."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..arguments import chance
from ..display.shade import POPULATION, RECORDS, Shade, covering
from ..release import PrivacyStatement

SEVERAL = "all intervals are for these records: a unit may have several of them, so nothing is said of the population"
"""Where units are not single, independent records."""
EACH = "interval, each,"
"""What intervals are called that cover one by one, not all at once."""
MOST_SHADED = 2**16 + 1
SCOPES: Mapping[str, bool] = MappingProxyType({RECORDS: False, POPULATION: True})
"""Whom intervals speak of, and whether that is the population."""
ONLY_RECORDS: Mapping[str, bool] = MappingProxyType({RECORDS: False})


class Ends(Protocol):
    """Lower and upper ends of a band or of intervals."""

    def __call__(self, level: float, /, *, population: bool) -> tuple[ArrayLike, ArrayLike] | NDArray[np.float64]:
        """At this level, for these records or for the population."""
        ...


def ends_of(intervals: Callable[..., NDArray[np.float64]], **always: Any) -> Ends:
    """Lower and upper ends of intervals of shape ``(many, 2)``."""

    def ends(level: float, /, *, population: bool) -> NDArray[np.float64]:
        return intervals(level, population=population, **always).T

    return ends


def scopes(privacy: PrivacyStatement, *, population: bool = True) -> Mapping[str, bool]:
    """Whom the intervals of a curve speak of: of the population only where each unit is one record, and if wanted."""
    return SCOPES if population and privacy.rows_per_unit == 1 else ONLY_RECORDS


def shades(whom: Mapping[str, bool], level: float | None, what: str, ends: Ends) -> tuple[Shade, ...]:
    """The shaded bands of a picture, the wider ones first.

    Args:
        whom: Some of `SCOPES`.
        level: The chance to cover; None: nothing is shaded.
        what: The kind, as ``band`` or ``intervals``.
        ends: Lower and upper ends.

    Raises:
        ValueError: the level is not between 0 and 1.
    """
    if level is None:
        return ()
    level = chance("level", level)
    found = []
    for name, population in whom.items():
        lower, upper = ends(level, population=population)
        found.append(Shade(lower, upper, covering(level, what, name)))
    return tuple(reversed(found))


def pictured(
    privacy: PrivacyStatement, level: float | None, points: int, *, population: bool = True
) -> tuple[PrivacyStatement, float | None]:
    """The statement below a picture of so many points, and the level of what is shaded on it.

    A line says so where nothing is shaded, for it would take long to simulate, or where nothing can be said of the
    population.
    """
    if level is None:
        return privacy, None
    if points > MOST_SHADED:
        return privacy.noted(f"no bands or intervals are drawn of more than {MOST_SHADED:,} points"), None
    return privacy.noted(SEVERAL) if population and privacy.rows_per_unit != 1 else privacy, level
