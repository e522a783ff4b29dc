"""The local model of differential privacy: each person's device adds the noise, so people need to trust no server.

`Task` states the question in public, `Task.randomize` makes one person's report, and `aggregate` estimates the curve
from the reports. Also called local differential privacy (LDP).

Formal guarantees: the report of a person has the privacy loss that the task states, even if the aggregator is
malicious.
"""

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
