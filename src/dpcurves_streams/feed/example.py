"""A day of a small campus that nobody lived on: made by formula, so that everybody sees the same."""

from __future__ import annotations

from collections.abc import Iterator
from math import pi, sin
from typing import Any

STATES = ("cafeteria", "gym", "library")
START, END, EVERY = "2026-03-02T06:00", "2026-03-02T22:00", "10m"
_FIRST = 1_772_431_200
_STEPS, _SECONDS = 96, 600
_PEAKS = {"cafeteria": (38, 60), "gym": (82, 25), "library": (55, 90)}


def example() -> Iterator[dict[str, Any]]:
    """Tuples of a day: when (seconds since 1970), at which access point, and whose."""
    for step in range(_STEPS):
        for place, (peak, most) in _PEAKS.items():
            for number in range(round(most * max(0.0, sin(pi * (step - peak + 24) / 48)) ** 2)):
                user = (number * 7919 + step // 6 * 31) % 400
                yield {"ts": _FIRST + step * _SECONDS + number * 6 % _SECONDS, "ap": place, "mac": f"{place[0]}{user}"}
