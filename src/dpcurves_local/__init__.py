"""The local model of differential privacy: tasks, the code of a person's device, the aggregator. Nobody is trusted."""

from typing import Any

from lazy_loader import attach_stub

_own, _, __all__ = attach_stub(__name__, __file__)
__all__ += ["CountUse"]


def __getattr__(name: str) -> Any:
    """Return the public name, imported at its first use. Raises `AttributeError` for an unknown name."""
    if name == "CountUse":
        from dpcurves.queries import CountUse

        return CountUse
    return _own(name)


def __dir__() -> list[str]:
    return list(__all__)
