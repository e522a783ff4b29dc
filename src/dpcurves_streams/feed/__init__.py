"""Stream processing under differential privacy: tuples in, windows that close at a watermark, noisy counts out."""

from .files import CsvFile, CsvLines, JsonLines, JsonLinesTuples
from .follow import FollowedStream, Source, follow
from .reading import StepReading, plot
from .redis_streams import RedisSink, RedisStream
from .schedule import Fields, Schedule
from .windows import DropCounts, Window, Windows

__all__ = [
    "CsvFile", "CsvLines", "DropCounts", "Fields", "FollowedStream", "JsonLines", "JsonLinesTuples", "RedisSink",
    "RedisStream", "Schedule", "Source", "StepReading", "Window", "Windows",
    "follow", "plot",
]  # fmt: skip
