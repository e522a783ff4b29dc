"""Commands of streams."""

from dpcurves.cli.app import Provided

from .stream import STREAM_COMMANDS, STREAM_PLANS

PROVIDED = Provided(commands=STREAM_COMMANDS, plans=STREAM_PLANS)
