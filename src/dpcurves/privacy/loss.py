"""Privacy losses: exact composition, and conversion from zCDP to (epsilon, delta)-DP.

`PrivacyLoss` is an upper bound on what a release reveals about one unit. A release is epsilon-DP if the probabilities
of its outcomes on neighbouring tables differ by a factor of at most ``exp(epsilon)``. It is rho-zCDP if its Renyi
divergence of each order a > 1 is at most ``a * rho``.

    pure to rho            rho = epsilon**2 / 2
    rho to (eps, delta)    the least epsilon over all orders (`epsilon_of_zcdp`); never back to pure
    composition            epsilons add up, rhos add up, deltas add up

Amounts are exact fractions, and a float means the decimal that it prints. Text is rounded up, so it never states less
than the loss.

References: Dwork, McSherry, Nissim and Smith 2006; Bun and Steinke 2016, Proposition 1.4 and Lemma 2.3; Canonne, Kamath
and Steinke 2020 (conversion); Kairouz, Oh and Viswanath 2015 (optimal composition).

>>> loss = PrivacyLoss.pure("0.3") + PrivacyLoss.pure("0.4")
>>> loss.epsilon, loss.rho
(Fraction(7, 10), Fraction(1, 8))
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal, Inexact
from fractions import Fraction
from importlib import import_module
from math import ceil, exp, gcd, isfinite, lcm, log, log1p, sqrt
from types import ModuleType
from typing import TYPE_CHECKING, Any

from ..arguments import (
    Exact,
    InvalidArgument,
    MissingPackage,
    WrongArgumentType,
    parse_positive_fraction,
    require_number,
)
from ..codec import STORED_CODEC, parse_exact_number
from ..object_summary import ObjectSummary

if TYPE_CHECKING:
    from rich.table import Table

BILLIONTH = Decimal("1e-9")
"""rho. The unit that a ledger stores: a computed rho of at least 1e-4 is rounded down to a multiple."""


def format_loss(amount: Fraction | float, figures: int = 6) -> str:  # significant digits
    """Return an epsilon, rho or delta as text, rounded up, so that a text never states less than the loss.

    Args:
        amount: A number of at least 0.
        figures: Significant digits.

    >>> format_loss(Fraction(1, 3)), format_loss(1.0000049), format_loss(0.1 + 0.2), format_loss(2.0)
    ('0.333334', '1.00001', '0.3', '2')
    """
    exact_amount = Fraction(amount)
    if isinstance(amount, float):
        # Texts ignore a relative rounding error of 2**-50 of a sum of doubles: 0.1 + 0.2 is written as 0.3
        exact_amount *= 1 - Fraction(1, 2**50)
    rounding = Context(prec=figures, rounding=ROUND_CEILING)
    return _write_decimal(rounding.divide(Decimal(exact_amount.numerator), Decimal(exact_amount.denominator)), figures)


def format_remaining(amount: Fraction) -> str:
    """Return what remains of a budget as text, rounded down: a text never promises more than remains.

    Args:
        amount: Remaining epsilon, rho or delta, at least 0.

    Returns:
        A decimal of at most 6 significant digits.

    >>> format_remaining(Fraction(2, 3)), format_remaining(Fraction("1e-6"))
    ('0.666666', '1e-06')
    """
    rounding = Context(prec=6, rounding=ROUND_FLOOR)  # significant digits, as of a loss
    return _write_decimal(rounding.divide(Decimal(amount.numerator), Decimal(amount.denominator)), rounding.prec)


def _format_exact_loss(amount: Fraction) -> str:
    """Return an epsilon, rho or delta as text: in full if it is a short decimal, else rounded up.

    What remains in a ledger is always a short decimal.

    Args:
        amount: Epsilon, rho or delta, at least 0.

    >>> _format_exact_loss(Fraction("0.333333333")), _format_exact_loss(Fraction(1, 3))
    ('0.333333333', '0.333334')
    """
    rounded = format_loss(amount)
    is_amount_of_ledger = (amount / Fraction(BILLIONTH)).denominator == 1
    most_figures = 19  # significant digits of 1e9, the largest amount of a ledger, in billionths
    exact = Context(prec=most_figures if is_amount_of_ledger else 12, traps=[Inexact])  # digits that are read easily
    try:
        decimal = exact.divide(Decimal(amount.numerator), Decimal(amount.denominator))
    except Inexact:
        return rounded
    return rounded if Fraction(Decimal(rounded)) == amount else _write_decimal(decimal, most_figures)


def _write_decimal(decimal: Decimal, figures: int) -> str:
    """Return a decimal as text, in exponent form if it is below 1e-4 or has more than `figures` digits before the
    point.

    Args:
        decimal: The number.
        figures: Largest number of digits before the point.
    """
    if not decimal or -4 <= decimal.adjusted() < figures:
        return f"{decimal.normalize():f}"
    digits, _, power = f"{decimal.normalize():e}".partition("e")
    return f"{digits}e{int(power):+03d}"


def epsilon_of_zcdp(rho: Fraction | float, delta: float) -> float:
    """Return the smallest known epsilon for which every rho-zCDP release is (epsilon, delta)-DP.

    Formal guarantees: rho-zCDP implies (epsilon, delta)-DP for the same neighbours (Canonne, Kamath and Steinke 2020,
    Proposition 12 and Corollary 13). Each order above 1 gives a valid epsilon, so an inexact search for the best order
    costs tightness, not validity.

    The derivative of epsilon in the order is ``rho - log(1 / (delta * order)) / (order - 1)**2``, which changes its
    sign once. The best order is found to the last bit, and epsilon to 1e-12 (relative above 1).

    Args:
        rho: Loss under zCDP, at least 0.
        delta: Probability strictly between 0 and 1.

    Raises:
        ValueError: `delta` is not strictly between 0 and 1, or `rho` is negative or not finite.

    >>> round(epsilon_of_zcdp(0.5, 1e-6), 4)
    5.2215
    """
    loss = _require_nonnegative(rho, "rho")
    log_term = -log(_require_probability(delta))
    if loss == 0:
        return 0.0
    order = _find_root(lambda order: loss * order * order + log1p(order) - log_term, sqrt(log_term) / sqrt(loss))
    return max(0.0, (1 + order) * loss + (log_term - log1p(order)) / order - log1p(1 / order))


def delta_of_zcdp(rho: Fraction | float, epsilon: Fraction | float) -> float:
    """Return the smallest known delta for which every rho-zCDP release is (epsilon, delta)-DP; 1 if there is none
    below.

    It is the inverse of `epsilon_of_zcdp`, by the same bound at the best order for this epsilon.

    Args:
        rho: Loss under zCDP, at least 0.
        epsilon: At least 0.

    Raises:
        ValueError: an argument is negative or not finite.

    >>> round(delta_of_zcdp(0.5, epsilon_of_zcdp(0.5, 1e-6)), 12)
    1e-06
    """
    loss = _require_nonnegative(rho, "rho")
    target = _require_nonnegative(epsilon, "epsilon")
    if loss == 0:
        return 0.0
    order = _find_root(lambda order: (1 + 2 * order) * loss - target - log1p(1 / order), target / loss + 1 / sqrt(loss))
    return exp(min(0.0, order * ((1 + order) * loss - target - log1p(1 / order)) - log1p(order)))


def rho_for(epsilon: Fraction | float, delta: float) -> Fraction:
    """Return the largest rho for which every rho-zCDP release is (epsilon, delta)-DP, by `epsilon_of_zcdp`.

    The result is rounded down to 12 digits, so the guarantee holds for the returned fraction. From 1e-4 on it is
    rounded down to whole billionths, which a ledger can store.

    Args:
        epsilon: Above 0.
        delta: Probability strictly between 0 and 1.

    Raises:
        ValueError: `epsilon` is not a finite number above zero, or `delta` is not strictly between 0 and 1.

    >>> rho = rho_for(1, 1e-6)
    >>> float(rho), epsilon_of_zcdp(rho, 1e-6) <= 1
    (0.02435597, True)
    """
    target = _require_nonnegative(epsilon, "epsilon")
    if target == 0:
        raise InvalidArgument("epsilon", "a number above zero is needed, as in 0.5, got 0")
    upper = target
    while epsilon_of_zcdp(upper, delta) <= target:
        upper *= 2
    rho = _find_root(lambda rho: epsilon_of_zcdp(rho, delta) - target, upper)
    digits = Context(prec=12, rounding=ROUND_FLOOR).create_decimal_from_float(rho)  # significant digits
    # from 1e-4 on, whole billionths, which a ledger can store
    return Fraction(digits if rho < 1e-4 else digits.quantize(BILLIONTH, rounding=ROUND_FLOOR))


def _find_root(rising: Callable[[float], float], upper: float) -> float:
    """Return the zero of an increasing function between 0 and `upper`, to the last bit, by bisection.

    Args:
        rising: The increasing function, with a zero from 0 to `upper`.
        upper: End of the search.

    Returns:
        The zero, as the smallest double at which the function is not negative. If it is negative everywhere, `upper`.
    """
    lower = 0.0
    while lower < (middle := (lower + upper) / 2) < upper:
        if rising(middle) < 0:
            lower = middle
        else:
            upper = middle
    return upper


def _require_probability(delta: float) -> float:
    """Return delta as a float if it lies strictly between 0 and 1.

    Args:
        delta: The value of the argument `delta`.

    Raises:
        InvalidArgument: it does not.
    """
    probability = require_number("delta", delta)
    if not 0 < probability < 1:
        raise InvalidArgument("delta", f"must be a probability strictly between 0 and 1, as in 1e-6, got {delta}")
    return probability


def _require_nonnegative(value: Fraction | float, name: str) -> float:
    """Return the value as a number, after a check that it is finite and at least 0.

    Args:
        value: The number.
        name: Name of the argument, for the message.

    Raises:
        ValueError: it is not; the message names the argument `name`.
    """
    number = float(value)
    if not (isfinite(number) and number >= 0):
        raise InvalidArgument(name, f"must be a finite number of at least 0, got {value}")
    return number


MOST_STEPS = 2**17
"""Steps. Largest number of steps of a privacy loss distribution; more losses are rounded up to a coarser step."""


def composed_epsilon(pure: Sequence[Fraction], rho: Fraction, delta: float) -> float:
    """Return an epsilon for which several releases together are (epsilon, delta)-DP, by composing their privacy loss
    distributions.

    Among all releases of pure loss epsilon, randomised response that is truthful with odds ``exp(epsilon)`` is the
    worst, alone and in composition. Its loss is plus or minus epsilon; losses of independent responses add up as random
    variables, and delta follows from their sum. Losses are multiples of a step that divides them all, or, if there were
    too many steps, rounded up to multiples.

    A release that is known by its `rho` alone has no loss distribution. With half of `delta` it is converted to a
    release that reveals everything with that probability and has a pure loss otherwise.

    Formal guarantees: an upper bound if the sizes of the losses were fixed before the first answer; the releases
    themselves may be chosen adaptively (Kairouz, Oh and Viswanath 2015; Zhu, Dong and Wang 2022). Sums are in floating
    point, with absolute errors in delta below 1e-12.

    Args:
        pure: Epsilon of each release with a pure loss.
        rho: Sum of the rhos of all other releases.
        delta: Probability strictly between 0 and 1.

    Raises:
        ImportError: dp-accounting is not installed.
    """
    library = _import_accounting()
    losses = Counter(epsilon for epsilon in pure if epsilon > 0)
    if not losses:
        return epsilon_of_zcdp(rho, delta)
    step = _common_step(losses)
    spent_delta = delta / 2 if rho > 0 else 0.0
    distribution = library.identity(value_discretization_interval=float(step))
    for epsilon, count in losses.items():
        distribution = distribution.compose(_randomised_response(library, epsilon, 0.0, step).self_compose(count))
    if rho > 0:
        distribution = distribution.compose(
            _randomised_response(library, Fraction(epsilon_of_zcdp(rho, spent_delta)), spent_delta, step)
        )
    return float(distribution.get_epsilon_for_delta(delta))


def _randomised_response(library: ModuleType, epsilon: Fraction, revealing: float, step: Fraction) -> Any:
    """Return the privacy loss distribution of randomised response that reveals everything with probability
    `revealing`.

    Args:
        library: The module that makes loss distributions.
        epsilon: Loss of the randomised response.
        revealing: Probability of revealing everything, the delta.
        step: Distance of the losses on which the distribution is rounded.
    """
    truth = (1 - revealing) / (1 + exp(-epsilon))
    probabilities: defaultdict[int, float] = defaultdict(float, {ceil(epsilon / step): truth})
    probabilities[ceil(-epsilon / step)] += 1 - revealing - truth  # with epsilon 0 both entries are the same
    return library.PrivacyLossDistribution.create_from_rounded_probability(probabilities, revealing, float(step))


def _common_step(losses: Counter[Fraction]) -> Fraction:
    """Return a step of which all losses are multiples, for the privacy loss distribution; a fixed fraction of their sum
    if the exact step is smaller.

    Args:
        losses: Number of releases by their pure epsilon.

    >>> _common_step(Counter([Fraction(1, 2), Fraction(1, 3)]))
    Fraction(1, 6)
    """
    denominator = lcm(*(epsilon.denominator for epsilon in losses))
    common = Fraction(gcd(*(int(epsilon * denominator) for epsilon in losses)), denominator)
    return max(common, sum(losses.elements(), Fraction(0)) / MOST_STEPS)


def _import_accounting() -> ModuleType:
    """Import the optional package dp-accounting, and return its module of privacy loss distributions.

    Raises:
        ImportError: dp-accounting is not installed.
    """
    try:
        return import_module("dp_accounting.pld.privacy_loss_distribution")
    except ImportError:
        raise MissingPackage("accountant", "'pld' needs dp-accounting; install dpcurves[accounting]") from None


@dataclass(frozen=True, slots=True)
class PrivacyLoss:
    """An upper bound on what a release reveals: an epsilon if the guarantee is pure DP, and a rho in any case.

    A pure loss has an epsilon, and therefore ``rho = epsilon**2 / 2`` (Bun and Steinke 2016, Proposition 1.4). A loss
    of zero-concentrated differential privacy has no epsilon. A float means the decimal that it prints.

    Formal guarantees: losses of adaptively chosen releases on the same records add up by ``+``, in epsilon or in rho
    (basic composition; Bun and Steinke 2016, Lemma 2.3). Pure converts to rho, never back.

    Attributes:
        epsilon: The loss under pure DP; None if the guarantee is not pure.
        rho: The loss under zCDP.
        parts: The summands of this loss, for accountants with tighter composition. They are ignored in comparisons and
            in print. Empty: the loss is not a sum.
        delta: The probability with which more may be lost; 0 except for partition selection.

    >>> third = PrivacyLoss.pure(0.3) * Fraction(1, 3)
    >>> third + third + third == PrivacyLoss.pure("0.3")
    True
    """

    epsilon: Fraction | None
    rho: Fraction
    parts: tuple[PrivacyLoss, ...] = field(default=(), repr=False, compare=False)
    delta: Fraction = field(default=Fraction(0), repr=False, metadata={"told": True})

    @classmethod
    def pure(cls, epsilon: Exact, delta: Exact = 0) -> PrivacyLoss:
        """Return the loss of pure DP, or of (epsilon, delta)-DP if a delta is given.

        Args:
            epsilon: Above 0; a number, a fraction, or a text such as "0.3".
            delta: Probability with which more may be lost; 0 for pure DP.

        Raises:
            ValueError: `epsilon` is not above 0, or `delta` is not a probability below 1.
        """
        exact = parse_positive_fraction("epsilon", epsilon)
        return cls(exact, exact**2 / 2, delta=parse_positive_fraction("delta", delta) if delta else Fraction(0))

    @classmethod
    def zcdp(cls, rho: Exact, delta: Exact = 0) -> PrivacyLoss:
        """Return the loss of zero-concentrated DP (Bun and Steinke 2016), with a delta if given (section 8.1).

        Args:
            rho: Above 0; a number, a fraction, or a text such as "0.125".
            delta: Probability with which more may be lost; 0 for none.

        Raises:
            ValueError: `rho` is not above 0, or `delta` is not a probability below 1.
        """
        return cls(
            None,
            parse_positive_fraction("rho", rho),
            delta=parse_positive_fraction("delta", delta) if delta else Fraction(0),
        )

    def __post_init__(self) -> None:
        if not all(isinstance(value, Fraction | int | None) for value in (self.epsilon, self.rho)):
            raise WrongArgumentType(
                "epsilon, rho", "write PrivacyLoss.pure(epsilon) or PrivacyLoss.zcdp(rho), which are exact"
            )
        if (self.epsilon is not None and self.epsilon < 0) or self.rho < 0:
            raise InvalidArgument("epsilon, rho", f"must be at least 0, got {self}")
        if not 0 <= self.delta < 1:
            raise InvalidArgument(
                "delta", f"must be a probability from 0 to below 1, as in 1e-6, got {float(self.delta):g}"
            )

    def __add__(self, other: PrivacyLoss) -> PrivacyLoss:
        pure = None if self.epsilon is None or other.epsilon is None else self.epsilon + other.epsilon
        return PrivacyLoss(pure, self.rho + other.rho, self._pieces + other._pieces, self.delta + other.delta)

    def __mul__(self, share: Fraction) -> PrivacyLoss:
        """Return a fraction of this loss; fractions that add up to 1 add up to this loss.

        Args:
            share: Budget fraction, above 0 and at most 1.
        """
        pure = None if self.epsilon is None else self.epsilon * share
        return PrivacyLoss(pure, self.rho * share, tuple(part * share for part in self.parts), self.delta * share)

    def with_delta(self, delta: Exact) -> PrivacyLoss:
        """Return a loss with the same epsilon or rho, and this delta.

        Args:
            delta: Probability below 1; a number, a fraction, or a text such as "1e-6".

        Raises:
            ValueError: `delta` is not a probability below 1.
        """
        return replace(self, delta=parse_positive_fraction("delta", delta) if delta else Fraction(0))

    @property
    def _pieces(self) -> tuple[PrivacyLoss, ...]:
        """Losses of the releases that this loss is the sum of, in the order in which they were added; the loss alone if
        it is not a sum.
        """
        return self.parts or (self,)

    def as_single_release(self) -> PrivacyLoss:
        """Return the loss of a single release that spends all of this loss at once.

        A sum of pure losses has a smaller rho than a single release at the summed epsilon, which this method returns.

        >>> ten = sum([PrivacyLoss.pure(1)] * 9, start=PrivacyLoss.pure(1))
        >>> ten.rho, ten.as_single_release().rho
        (Fraction(5, 1), Fraction(50, 1))
        """
        once = PrivacyLoss(None, self.rho) if self.epsilon is None else PrivacyLoss.pure(self.epsilon)
        return once.with_delta(self.delta)

    @property
    def is_pure(self) -> bool:
        """Return True if the loss has an epsilon, so that noise is Laplace; False if it has a rho alone."""
        return self.epsilon is not None

    def epsilon_at(self, delta: float, *, accountant: str = "zcdp") -> float:
        """Return an epsilon for which all releases under this loss together are (epsilon, delta)-private.

        Args:
            delta: The probability with which the bound may fail: strictly between 0 and 1, and far below one over the
                number of units. It includes the loss's own delta.
            accountant: ``zcdp`` converts the sum of rho, or returns epsilon if that is smaller. ``pld`` also composes
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
        delta = require_number("delta", delta)
        if self.delta and not self.delta < delta:
            raise InvalidArgument(
                "delta",
                f"a delta above {format_loss(self.delta)}, the delta of the loss itself, is needed; give a larger one",
            )
        delta -= float(self.delta)
        converted = epsilon_of_zcdp(self.rho, delta)
        bound = converted if self.epsilon is None else min(converted, float(self.epsilon))
        if accountant == "zcdp":
            return bound
        if accountant != "pld":
            raise InvalidArgument("accountant", f"must be 'zcdp' or 'pld', got {accountant!r}")
        pure = [part.epsilon for part in self._pieces if part.epsilon is not None]
        rho = sum((part.rho for part in self._pieces if part.epsilon is None), Fraction(0))
        return min(bound, composed_epsilon(pure, rho, delta))

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """Print the loss as a user would write it, in notebooks; `repr` names the fields, as requests store them.

        Args:
            printer: Printer of IPython, which receives the text.
            cycle: Whether the loss contains itself, which never happens; without effect.
        """
        printer.text(f"PrivacyLoss({self})")

    def _build_summary(self) -> ObjectSummary:
        """Return what notebooks show of the loss: its parameters, its delta, and what it means as a bound."""
        rows = [("loss", str(self))]
        if self.epsilon is None:
            bound = f"a times {format_loss(self.rho)}"
            rows.append(("meaning", f"Renyi divergence of order a at most {bound}, for each a above 1"))
            if not self.delta:
                rows.append(("epsilon at delta 0.000001", f"{epsilon_of_zcdp(self.rho, 1e-6):.3g}"))
        else:
            factor = f"{exp(self.epsilon):.3g}" if self.epsilon < 700 else f"e to the power {format_loss(self.epsilon)}"
            rows.append(("meaning", f"no outcome becomes more than {factor} times as likely, or as unlikely"))
        if self.delta:
            rows.append(("exception", f"more may be lost with probability at most {format_loss(self.delta)}"))
        return ObjectSummary("Privacy loss", rows)

    def _repr_html_(self) -> str:
        """Return the summary of the loss as HTML, for notebooks."""
        return self._build_summary().to_html()

    def __rich__(self) -> Table:
        """Return the summary of the loss, for terminals with rich."""
        return self._build_summary().to_rich()

    def __str__(self) -> str:
        name, amount = ("rho", self.rho) if self.epsilon is None else ("epsilon", self.epsilon)
        loss = f"{name} {_format_exact_loss(Fraction(amount))}"
        return f"{loss}, delta {_format_exact_loss(self.delta)}" if self.delta else loss


def _parse_loss(stored: Mapping[str, str]) -> PrivacyLoss:
    """Return the loss that was stored as ``{"epsilon": "1/2"}`` or ``{"rho": "1/8"}``.

    Args:
        stored: JSON object of the loss.
    """
    if "epsilon" in stored:
        return PrivacyLoss.pure(parse_exact_number(stored["epsilon"]))
    return PrivacyLoss.zcdp(parse_exact_number(stored["rho"]))


STORED_CODEC.add(
    PrivacyLoss,
    lambda loss: {"rho": str(loss.rho)} if loss.epsilon is None else {"epsilon": str(loss.epsilon)},
    _parse_loss,
)
