"""Private statistics and curves (CDF, histogram, ROC, calibration and others): a question and its result in each file.

A question is a frozen dataclass of public facts that an analyst asks of a data set. Its result is computed from the
noisy counts that were released for it, never from records.
"""

from typing import Any

from lazy_loader import attach_stub

_own, __dir__, __all__ = attach_stub(__name__, __file__)


def __getattr__(name: str) -> Any:
    """Return a public name of this package or of a field's package, imported when it is first used. Raises
    `AttributeError` for an unknown name."""
    if name in __all__:
        return _own(name)
    from ..extensions import load_field_object

    try:
        return load_field_object(name)
    except AttributeError:
        return _own(name)
