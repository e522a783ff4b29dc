"""Models that stand where a column of scores stands: functions of one record, and of nothing else."""

from lazy_loader import attach_stub

__getattr__, __dir__, __all__ = attach_stub(__name__, __file__)
