"""Oblivious transfer: base transfers on ristretto255, and the extension that makes labels of many bits out of 128."""

from .base import POINT_SIZE, BaseReceiver, BaseSender, require_point
from .extension import IKNP, SOFTSPOKEN, ChoosingSide, OffsetSide, Trees, bits_of_offset

__all__ = [
    "IKNP", "POINT_SIZE", "SOFTSPOKEN", "BaseReceiver", "BaseSender", "ChoosingSide", "OffsetSide", "Trees",
    "bits_of_offset", "require_point",
]  # fmt: skip
