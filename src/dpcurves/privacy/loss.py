"""How much a release reveals, and how losses add up: exactly."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from math import isfinite

Exact = Fraction | Decimal | int | float | str


@dataclass(frozen=True, slots=True)
class PrivacyLoss:
    """An upper bound on what a release reveals, in two currencies at once.

    A pure loss has an epsilon, and therefore ``rho = epsilon**2 / 2`` (Bun and Steinke 2016, Proposition 1.4).
    A loss of zero-concentrated differential privacy has no epsilon. A float means the decimal that it prints.

    Formal guarantees: losses of releases on the same records, each chosen after seeing those before it, add up by
    ``+`` in either currency (basic composition; Bun and Steinke 2016, Lemma 2.3). Pure converts to rho, never back.

    >>> third = PrivacyLoss.pure(0.3) * Fraction(1, 3)
    >>> third + third + third == PrivacyLoss.pure("0.3")
    True
    """

    epsilon: Fraction | None
    rho: Fraction

    @classmethod
    def pure(cls, epsilon: Exact) -> PrivacyLoss:
        """Pure differential privacy."""
        exact = _exact(epsilon, "epsilon")
        return cls(exact, exact**2 / 2)

    @classmethod
    def zcdp(cls, rho: Exact) -> PrivacyLoss:
        """Zero-concentrated differential privacy."""
        return cls(None, _exact(rho, "rho"))

    def __post_init__(self) -> None:
        if (self.epsilon is not None and self.epsilon < 0) or self.rho < 0:
            raise ValueError(f"epsilon, rho: a privacy loss is never negative, got {self}")

    def __add__(self, other: PrivacyLoss) -> PrivacyLoss:
        if self.epsilon is None or other.epsilon is None:
            return PrivacyLoss(None, self.rho + other.rho)
        return PrivacyLoss(self.epsilon + other.epsilon, self.rho + other.rho)

    def __mul__(self, share: Fraction) -> PrivacyLoss:
        """A part of this loss; parts whose shares add up to 1 add up to this loss."""
        return PrivacyLoss(None if self.epsilon is None else self.epsilon * share, self.rho * share)

    @property
    def is_pure(self) -> bool:
        """Whether the loss has an epsilon."""
        return self.epsilon is not None

    def __str__(self) -> str:
        return f"rho {float(self.rho):g}" if self.epsilon is None else f"epsilon {float(self.epsilon):g}"


def _exact(value: Exact, name: str) -> Fraction:
    if isinstance(value, float) and not isfinite(value):
        raise ValueError(f"{name}: a finite number above zero is needed, got {value}")
    try:
        exact = value if isinstance(value, Fraction) else Fraction(str(value))
    except (ValueError, ZeroDivisionError):
        raise ValueError(f"{name}: a number above zero is needed, got {value!r}") from None
    if exact <= 0:
        raise ValueError(f"{name}: a number above zero is needed, got {value}")
    return exact
