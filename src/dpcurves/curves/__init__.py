"""Curves: each file has a question and the result that is read from its answer."""

from typing import Any

from lazy_loader import attach_stub

_own, __dir__, __all__ = attach_stub(__name__, __file__)


def __getattr__(name: str) -> Any:
    """Import a name where it is used; those of fields, which stand in packages of their own, are found here as well."""
    if name in __all__:
        return _own(name)
    from ..extensions import load_field_object

    try:
        return load_field_object(name)
    except AttributeError:
        return _own(name)
