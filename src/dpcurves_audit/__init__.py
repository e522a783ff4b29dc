"""Privacy audits: lower confidence bounds of the privacy loss of any release that can be called.

`audit` calls a release many times on neighbouring data sets, and searches for an event whose probabilities contradict
the claimed loss. It tests claims from outside; it proves none.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .auditor import audit as audit

__all__ = ["audit"]


def __getattr__(name: str) -> Any:
    """Import a name at its first use, so that the command line starts before NumPy is loaded."""
    if name == "audit":
        return import_module(".auditor", __name__).audit
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
