"""Streams: what is asked of them, how they are followed and drawn, and how noisy counts are read."""

from typing import Any

from lazy_loader import attach_stub

_own, _, __all__ = attach_stub(__name__, __file__)
__all__ += ["Forest"]


def __getattr__(name: str) -> Any:
    """Import a name where it is used."""
    if name == "Forest":
        from dpcurves.data import Forest

        return Forest
    return _own(name)


def __dir__() -> list[str]:
    return list(__all__)
