"""Two parties who compute together, as processes that talk."""

from .connection import Connection, conducted

__all__ = ["Connection", "conducted"]
