"""What an experiment found for one claim."""

from __future__ import annotations

from dataclasses import dataclass

DIGITS = 6


@dataclass(frozen=True)
class Measured:
    """Numbers for one claim, all in the unit that the claim is stated in, kept to six digits.

    Attributes:
        printed: From what the paper prints.
        corrected: The number with the paper's slip put right; None where it has none.
        package: From what dpcurves does instead; None where there is nothing to set beside it.
    """

    printed: float
    corrected: float | None = None
    package: float | None = None

    def __post_init__(self) -> None:
        for part in ("printed", "corrected", "package"):
            value = getattr(self, part)
            if value is not None:
                object.__setattr__(self, part, float(f"{value:.{DIGITS}g}"))


Findings = dict[str, Measured]
