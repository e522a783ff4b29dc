"""Models of survival judged at a horizon: areas, squared errors and observed shares, weighted by inverse censoring."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dpcurves.arrays import FloatArray, IntArray

LEAST, LEAST_RECORDS = 0.02, 0.5
"""The least share under observation that is divided by, and the fewest records."""


class AtHorizon(NamedTuple):
    """Weighted counts by score, each (..., scores): of events before the horizon, of records past it, and of all."""

    events: FloatArray
    past: FloatArray
    records: FloatArray

    @classmethod
    def weighted(cls, counts: FloatArray, *, early: bool, known: FloatArray | None) -> AtHorizon:
        """Weights are the inverse of the share under observation: just before an event, and at the horizon.

        That share is Kaplan and Meier's for censoring (Robins and Rotnitzky 1992), from all scores together.

        Args:
            counts: By censored or event, by cell of time, below, inside and beyond the grid whose end is the horizon,
                and by score, (..., 2, cells + 2, scores).
            early: Whether the censored of a cell leave before its events, or after them.
            known: The public share under observation before each edge, (cells + 1,); None: as counts tell.
        """
        inside = counts[..., 1:-1, :].copy()
        inside[..., 0, :] += counts[..., 0, :]
        censored, events = inside[..., 0, :, :], inside[..., 1, :, :]
        past = counts[..., -1, :].sum(axis=-2)
        gone, died = censored.sum(axis=-1), events.sum(axis=-1)
        left = (gone + died)[..., ::-1].cumsum(axis=-1)[..., ::-1] + past.sum(axis=-1)[..., None]
        at_risk = np.maximum(left if early else left - died, LEAST_RECORDS)
        watched = np.cumprod(1 - (gone / at_risk).clip(0, 1), axis=-1)
        before = np.concatenate([np.ones((*watched.shape[:-1], 1)), watched], axis=-1)
        if known is not None:
            before = np.broadcast_to(known, before.shape)
        before = np.maximum(before, LEAST)
        at = before[..., 1:] if early else before[..., :-1]
        total = counts.sum(axis=(-3, -2))
        return cls((events / at[..., None]).sum(axis=-2), past / before[..., -1:], total)

    def area(self) -> FloatArray:
        """The chance that a record with an event before the horizon has the higher score than one past it: (...).

        Cumulative cases and dynamic controls (Uno and others 2007); a tie counts for a half.
        """
        below = np.cumsum(self.past, axis=-1) - self.past / 2
        whole = self.events.sum(axis=-1) * self.past.sum(axis=-1)
        won = (self.events * below).sum(axis=-1)
        return np.asarray(np.divide(won, whole, out=np.full_like(whole, 0.5), where=whole > 0))

    def tied(self) -> FloatArray:
        """Half of the share of such pairs with one score: by so much the order inside cells may move the area."""
        whole = self.events.sum(axis=-1) * self.past.sum(axis=-1)
        both = (self.events * self.past).clip(0, None).sum(axis=-1) / 2
        return np.asarray(np.divide(both, whole, out=np.full_like(whole, 0.5), where=whole > 0))

    def squared_error(self, scores: FloatArray) -> FloatArray:
        """The Brier score at the horizon (Graf and others 1999), of these probabilities of an event: (...)."""
        found = (self.events * (1 - scores) ** 2 + self.past * scores**2).sum(axis=-1)
        return np.asarray(found / np.maximum(self.records.sum(axis=-1), LEAST_RECORDS))

    def observed(self, starts: IntArray) -> FloatArray:
        """The share with an event before the horizon in each group of scores: (..., groups); NaN of nobody."""
        events, past = (np.add.reduceat(each, starts, axis=-1) for each in (self.events, self.past))
        whole = events + past
        return np.asarray(np.divide(events, whole, out=np.full_like(whole, np.nan), where=whole > LEAST_RECORDS))
