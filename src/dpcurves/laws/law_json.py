"""Laws as plain objects: formulas are written as formulas."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from math import prod
from typing import Any

from .haar_sums import HaarSums
from .haar_tensor_sums import HaarTensorSums
from .law import Family, IntervalSums, Level, Noise
from .noise_law import NoisySums
from .path_sums import PathSums
from .toeplitz_sums import ToeplitzSums

MOST_CELLS = 2**22
"""The largest number of cells: a curator counts as many one by one."""
MOST_BITS = 256


def law_to_json(law: NoisySums | PathSums | HaarTensorSums) -> dict[str, Any]:
    """Plain objects: ``levels``, ``contrasts``, ``convolved``, ``path`` or ``wavelets`` tells which law it is."""
    return {"rows": law.rows, "cells": law.cells, **_sums(law), "missing": _optional(law.missing)}


def law_from_json(stored: Mapping[str, Any]) -> NoisySums | PathSums | HaarTensorSums:
    """The inverse of `law_to_json`.

    Raises:
        ValueError: it is larger than any that this package makes: a text of a few bytes could ask for all memory.
    """
    rows, cells, missing = int(stored["rows"]), int(stored["cells"]), _read_optional(stored["missing"])
    _require_readable(stored, rows * cells)
    if "contrasts" in stored:
        levels = tuple(_read_noise(noise) for noise in stored["contrasts"])
        return HaarSums(rows, cells, int(stored["width"]), _read_optional(stored["top"]), levels, missing)
    if "convolved" in stored:
        return ToeplitzSums(
            rows, cells, int(stored["width"]), int(stored["bits"]), _read_noise(stored["convolved"]), missing
        )
    if "path" in stored:
        at = tuple(int(threshold) for threshold in stored["at"])
        noise, parties = _read_noise(stored["path"]), int(stored.get("parties", 1))
        return PathSums(cells, at, int(stored["blocks"]), noise, missing, parties)
    if "wavelets" in stored:
        sides = tuple(int(side) for side in stored["sides"])
        noises = tuple(_read_noise(noise) for noise in stored["wavelets"])
        return HaarTensorSums(sides, noises, _read_optional(stored["apart"]), _read_noise(stored["missing"]))
    return IntervalSums(rows, cells, tuple(_read_level(level) for level in stored["levels"]), missing)


def _require_readable(stored: Mapping[str, Any], cells: int) -> None:
    """Refuse what would be laid out in more cells, or worked out in more digits, than is ever written."""
    for name in ("bits", "blocks", "parties"):
        if not 0 <= int(stored.get(name, 0)) <= MOST_BITS:
            raise ValueError(f"evidence.{name}: at most {MOST_BITS} are read")
    laid_out = prod(int(side) for side in stored.get("sides", ())) if "wavelets" in stored else cells
    if "path" not in stored and not 0 < laid_out <= MOST_CELLS:
        raise ValueError(f"evidence.cells: from 1 to {MOST_CELLS} in all rows together are read, got {laid_out}")


def _sums(law: NoisySums | PathSums | HaarTensorSums) -> dict[str, Any]:
    match law:
        case IntervalSums():
            return {"levels": [{"starts": _starts(level.starts), **_noise(level.noise)} for level in law.levels]}
        case HaarSums():
            return {"width": law.width, "top": _optional(law.top), "contrasts": [_noise(own) for own in law.levels]}
        case ToeplitzSums():
            return {"width": law.width, "bits": law.bits, "convolved": _noise(law.noise)}
        case PathSums():
            parties = {"parties": law.parties} if law.parties > 1 else {}
            return {"at": list(law.at), "blocks": law.levels, "path": _noise(law.noise), **parties}
        case HaarTensorSums():
            apart, noises = _optional(law.apart), [_noise(own) for own in law.noises]
            return {"sides": list(law.sides), "wavelets": noises, "apart": apart}


def _starts(starts: range | tuple[int, ...]) -> dict[str, list[int]]:
    if isinstance(starts, range):
        return {"range": [starts.start, starts.stop, starts.step]}
    return {"list": list(starts)}


def _read_level(stored: Mapping[str, Any]) -> Level:
    starts = stored["starts"]
    return Level(
        range(*starts["range"]) if "range" in starts else tuple(int(start) for start in starts["list"]),
        _read_noise(stored),
    )


def _noise(noise: Noise) -> dict[str, str]:
    return {"family": noise.family.value, "parameter": str(noise.parameter)}


def _read_noise(stored: Mapping[str, Any]) -> Noise:
    return Noise(Family(stored["family"]), Fraction(stored["parameter"]))


def _optional(noise: Noise | None) -> dict[str, str] | None:
    return None if noise is None else _noise(noise)


def _read_optional(stored: Mapping[str, Any] | None) -> Noise | None:
    return None if stored is None else _read_noise(stored)
