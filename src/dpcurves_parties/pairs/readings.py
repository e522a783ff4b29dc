"""U-statistics of any kernel, computed from the answers of pairs of people: spends nothing."""

from __future__ import annotations

from dataclasses import replace

from dpcurves.arguments import Refused, require_kind, whole
from dpcurves.curves.pair_mean import UStatistic
from dpcurves.curves.question import require_independent, statement_of
from dpcurves.laws.law import Law
from dpcurves.release import Release

from .pair_means import pair_interval, pair_law, pair_mean


def pair_statistic(release: Release) -> UStatistic:
    """The mean of a kernel over all pairs of people, from the pairs that answered.

    Its interval for these records accounts for the noise and the random choice of pairs; that for the population for
    the sampling of people, too. Whether a pair answers is assumed not to depend on values.

    Raises:
        TypeError: the release is about something else than pairs.
    """
    law: Law = release.plan.law
    known, values, privacy = pair_law(law), release.values, statement_of([release])
    planned = release.plan.query.pairing.overlaps(known.people).pairs  # type: ignore[union-attr]
    notes = [f"{known.pairs} pairs of about {planned:.0f} came"] if known.pairs < 0.99 * planned else []

    def ends(level: float, population: bool) -> tuple[float, float]:
        if population:
            require_independent(privacy)
        return pair_interval(known, values, level, population=population)

    least, most = (float(known.step * end) for end in (known.least, known.most))
    return UStatistic(pair_mean(known, values), 0.0, ends, privacy, tuple(notes), least, most, known.pairs)


def area_of(found: UStatistic, people: int, positives: int) -> UStatistic:
    """The area under the ROC curve from the mean of `AUC`'s kernel, where the number of positives is public.

    A part ``2 p (n - p) / (n (n - 1))`` of all pairs is of two classes; a tie of scores counts one half.

    Raises:
        TypeError: `found` is no statistic, or a number is not whole.
        ValueError: there are no positives, or no negatives.
    """
    require_kind("found", found, UStatistic, "a U-statistic")
    everybody, some = whole("people", people), whole("positives", positives)
    if not 0 < some < everybody:
        raise Refused("positives", "at least one positive and one negative person are needed")
    scale = everybody * (everybody - 1) / (4 * some * (everybody - some))

    def ends(level: float, population: bool) -> tuple[float, float]:
        low, high = found.level_of(level, population)
        return 0.5 + scale * low, 0.5 + scale * high

    return replace(found, value=0.5 + scale * found.value, level_of=ends, least=0.0, most=1.0)
