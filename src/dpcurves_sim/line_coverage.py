"""Lines of protocol modules that simulated schedules execute."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

PROTOCOLS = {
    "ledger": (
        "dpcurves.ledger.ledger", "dpcurves.ledger.chain", "dpcurves.ledger.sqlite", "dpcurves.ledger.head_copy",
        "dpcurves.ledger.stream_state", "dpcurves.ledger.verification", "dpcurves.drafts",
        "dpcurves_streams.feed.follow",
    ),
    "sites": ("dpcurves_sites.secure_sum", "dpcurves_sites.site", "dpcurves_sites.relay", "dpcurves_sites.remote"),
    "servers": (
        "dpcurves_parties.serving.two_servers.collection", "dpcurves_parties.serving.two_servers.store",
        "dpcurves_parties.serving.two_servers.report_set", "dpcurves_parties.serving.group_commit",
        "dpcurves_parties.shares.aggregation",
    ),
}  # fmt: skip
"""Protocol modules by scenario."""


def measure_lines(scenario: str, run: Callable[[], object]) -> dict[str, tuple[int, int]]:
    """Call `run`; return the numbers of executed and of all lines inside functions, by protocol module of the
    scenario."""
    files = {module: str(getattr(find_spec(module), "origin", "")) for module in PROTOCOLS[scenario]}
    lines = {file: set(list_function_lines(Path(file))) for file in files.values()}
    executed: dict[str, set[int]] = {file: set() for file in lines}

    def trace_line(frame: FrameType, event: str, _: Any) -> Any:
        """Record the line that a frame executes: the local trace function of `sys.settrace`."""
        if event == "line":
            executed[frame.f_code.co_filename].add(frame.f_lineno)
        return trace_line

    def trace_call(frame: FrameType, event: str, _: Any) -> Any:
        """Return the function that traces the lines of a call, or None outside of the protocol modules: the global
        trace function of `sys.settrace`."""
        return trace_line if frame.f_code.co_filename in executed else None

    sys.settrace(trace_call)
    try:
        run()
    finally:
        sys.settrace(None)
    return {module: (len(executed[file] & lines[file]), len(lines[file])) for module, file in files.items()}


def list_function_lines(file: Path) -> Iterator[int]:
    """Yield the numbers of the lines inside the functions of a file; lines of modules and classes run at the import."""
    pending = [compile(file.read_text(encoding="utf-8"), str(file), "exec")]
    while pending:
        code = pending.pop()
        pending += [constant for constant in code.co_consts if isinstance(constant, CodeType)]
        if code.co_flags & 2:  # CO_NEWLOCALS: a function
            yield from (line for _, _, line in code.co_lines() if line is not None and line != code.co_firstlineno)
