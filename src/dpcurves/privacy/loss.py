"""Privacy loss and its composition: exact."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction

from ..arguments import Exact, Refused, WrongKind, exact
from .composition import composed_epsilon
from .conversion import epsilon_of_zcdp


@dataclass(frozen=True, slots=True)
class PrivacyLoss:
    """An upper bound on what a release reveals: an epsilon, if it is pure, and a rho in any case.

    A pure loss has an epsilon, and therefore ``rho = epsilon**2 / 2`` (Bun and Steinke 2016, Proposition 1.4).
    A loss of zero-concentrated differential privacy has no epsilon. A float means the decimal that it prints.

    Formal guarantees: losses of releases on the same records, each chosen after seeing those before it, add up by
    ``+`` in either currency (basic composition; Bun and Steinke 2016, Lemma 2.3). Pure converts to rho, never back.

    Attributes:
        epsilon: The loss under pure differential privacy; None where there is none.
        rho: The loss under zero-concentrated differential privacy.
        parts: The losses that this one was added up from, for accountants that can do better than a sum. They are
            ignored in comparisons and in print. Empty: the loss is not a sum.

    >>> third = PrivacyLoss.pure(0.3) * Fraction(1, 3)
    >>> third + third + third == PrivacyLoss.pure("0.3")
    True
    """

    epsilon: Fraction | None
    rho: Fraction
    parts: tuple[PrivacyLoss, ...] = field(default=(), repr=False, compare=False)

    @classmethod
    def pure(cls, epsilon: Exact) -> PrivacyLoss:
        """Pure differential privacy."""
        known = exact("epsilon", epsilon)
        return cls(known, known**2 / 2)

    @classmethod
    def zcdp(cls, rho: Exact) -> PrivacyLoss:
        """Zero-concentrated differential privacy."""
        return cls(None, exact("rho", rho))

    def __post_init__(self) -> None:
        if not all(isinstance(part, Fraction | int | None) for part in (self.epsilon, self.rho)):
            raise WrongKind("epsilon, rho", "write PrivacyLoss.pure(epsilon) or PrivacyLoss.zcdp(rho), which are exact")
        if (self.epsilon is not None and self.epsilon < 0) or self.rho < 0:
            raise Refused("epsilon, rho", f"a privacy loss is never negative, got {self}")

    def __add__(self, other: PrivacyLoss) -> PrivacyLoss:
        pure = None if self.epsilon is None or other.epsilon is None else self.epsilon + other.epsilon
        return PrivacyLoss(pure, self.rho + other.rho, self._pieces + other._pieces)

    def __mul__(self, share: Fraction) -> PrivacyLoss:
        """A part of this loss; parts whose shares add up to 1 add up to this loss."""
        pure = None if self.epsilon is None else self.epsilon * share
        return PrivacyLoss(pure, self.rho * share, tuple(part * share for part in self.parts))

    @property
    def _pieces(self) -> tuple[PrivacyLoss, ...]:
        return self.parts or (self,)

    def of_one_release(self) -> PrivacyLoss:
        """The loss of a single release that spends all of this loss at once.

        A sum of pure losses has a smaller rho than a single release at the summed epsilon, which this method returns.

        >>> ten = sum([PrivacyLoss.pure(1)] * 9, start=PrivacyLoss.pure(1))
        >>> ten.rho, ten.of_one_release().rho
        (Fraction(5, 1), Fraction(50, 1))
        """
        return PrivacyLoss(None, self.rho) if self.epsilon is None else PrivacyLoss.pure(self.epsilon)

    @property
    def is_pure(self) -> bool:
        """Tell whether the loss has an epsilon."""
        return self.epsilon is not None

    def epsilon_at(self, delta: float, *, accountant: str = "zcdp") -> float:
        """An epsilon for which all that was released under this loss together is (epsilon, delta)-private.

        Args:
            delta: The chance with which the bound may fail: strictly between 0 and 1, and far below one over the
                number of units.
            accountant: ``zcdp`` converts the sum of rho, or gives epsilon where that is smaller. ``pld`` also composes
                the loss distributions of the pure parts, and is never worse. It needs dp-accounting.

        Formal guarantees: an upper bound, for the neighbours that the loss was stated for (see `epsilon_of_zcdp` and
        `composed_epsilon`). Sizes of parts must have been fixed before the first answer. If they are chosen adaptively
        under a cap, ``zcdp`` bounds what the cap allows, and ``pld`` gives no guarantee (Feldman and Zrnic 2021).

        Raises:
            ValueError: `delta` is not strictly between 0 and 1, or `accountant` is neither ``zcdp`` nor ``pld``.
            ImportError: dp-accounting is not installed.

        >>> hundred = sum([PrivacyLoss.pure(0.1)] * 99, start=PrivacyLoss.pure(0.1))
        >>> hundred.epsilon, round(hundred.epsilon_at(1e-6), 2)
        (Fraction(10, 1), 5.22)
        """
        converted = epsilon_of_zcdp(self.rho, delta)
        known = converted if self.epsilon is None else min(converted, float(self.epsilon))
        if accountant == "zcdp":
            return known
        if accountant != "pld":
            raise Refused("accountant", f"write 'zcdp' or 'pld', not {accountant!r}")
        pure = [part.epsilon for part in self._pieces if part.epsilon is not None]
        rest = sum((part.rho for part in self._pieces if part.epsilon is None), Fraction(0))
        return min(known, composed_epsilon(pure, rest, delta))

    def __str__(self) -> str:
        return f"rho {float(self.rho):g}" if self.epsilon is None else f"epsilon {float(self.epsilon):g}"
