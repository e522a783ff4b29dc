"""Oblivious transfer: base transfers on ristretto255, and the extension that makes labels of many bits out of 128."""

from .base import BaseReceiver, BaseSender
from .extension import IKNP, SOFTSPOKEN, ChoosingSide, OffsetSide, bits_of_offset
from .group import POINT_SIZE, require_point
from .trees import Trees

__all__ = [
    "IKNP", "POINT_SIZE", "SOFTSPOKEN", "BaseReceiver", "BaseSender", "ChoosingSide", "OffsetSide", "Trees",
    "bits_of_offset", "require_point",
]  # fmt: skip
