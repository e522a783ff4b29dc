"""Lines of protocol modules that simulated schedules execute.

A protocol module is covered if simulated schedules execute each line of its functions, except those that cannot run
there (`NOT_SIMULATED`, with the reasons). Lines of modules and classes run at the import and do not count.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, NamedTuple

PROTOCOLS = {
    "ledger": (
        "dpcurves.ledger.ledger", "dpcurves.ledger.chain", "dpcurves.ledger.sqlite", "dpcurves.ledger.head_copy",
        "dpcurves.ledger.stream_state", "dpcurves.ledger.verification", "dpcurves.drafts",
        "dpcurves_streams.feed.follow",
    ),
    "sites": (
        "dpcurves_sites.secure_sum", "dpcurves_sites.site", "dpcurves_sites.relay", "dpcurves_sites.remote",
        "dpcurves_sites.round_request", "dpcurves_parties.serving.task_app",
    ),
    "servers": (
        "dpcurves_parties.serving.two_servers.app", "dpcurves_parties.serving.task_app",
        "dpcurves_parties.serving.two_servers.collection", "dpcurves_parties.serving.two_servers.store",
        "dpcurves_parties.serving.two_servers.report_set", "dpcurves_parties.serving.group_commit",
        "dpcurves_parties.shares.aggregation",
    ),
}  # fmt: skip
"""Protocol modules by scenario. Command lines, and servers of sockets and TLS, are no protocol modules."""
NOT_SIMULATED = {
    "PostgreSQL, which runs in the kill tests": (
        "ServerStorage.", "_make_server_engine", "_create_once", "_has_ledger", "acquire_lock",
    ),
    "ledgers in memory, which no fault reaches": ("MemoryStorage.",),
    "starts of servers with sockets and TLS": ("Coordinator.serve", "Aggregator.serve"),
    "sessions of pairs, another protocol": ("make_session_handler",),
    "sums in one process, without a network": ("Federation.", "simulate_round"),
    "other ways to send than HTTPS": ("SiteAgent.use_transport", "_CoordinatorConnection.use_transport", "Transport."),
    "tables that are made at the import": ("_text_columns", "_integer_columns", "_make_entry_table"),
    "what the simulator replaces": (
        "find_folder", "_begin_with", "_make_engine", "_make_unpooled_engine", "_make_pooled_engine",
        "require_same_file", "close_when_unused", "_dispose_without_closing", "Resources.",
    ),
}  # fmt: skip
"""Functions of protocol modules that no schedule can run, by the reason: beginnings of their names. They do not count.
"""


class Coverage(NamedTuple):
    """Executed lines of a module.

    Attributes:
        executed: Number of executed lines in functions.
        lines: Number of lines in functions that a schedule can run.
        missed: Numbers of lines that were not executed, by function.
    """

    executed: int
    lines: int
    missed: Mapping[str, int]


def measure_lines(scenario: str, run: Callable[[], object]) -> dict[str, Coverage]:
    """Call `run`; return the executed lines by protocol module of the scenario."""
    files = {module: str(getattr(find_spec(module), "origin", "")) for module in PROTOCOLS[scenario]}
    lines = {file: dict(list_function_lines(Path(file))) for file in files.values()}
    executed: dict[str, set[int]] = {file: set() for file in lines}

    def trace_line(frame: FrameType, event: str, _: Any) -> Any:
        """Record the line that a frame executes: the local trace function of `sys.settrace`."""
        if event == "line":
            executed[frame.f_code.co_filename].add(frame.f_lineno)
        return trace_line

    def trace_call(frame: FrameType, event: str, _: Any) -> Any:
        """Return the function that traces the lines of a call; None outside of the protocol modules. For
        `sys.settrace`.
        """
        return trace_line if frame.f_code.co_filename in executed else None

    sys.settrace(trace_call)
    try:
        run()
    finally:
        sys.settrace(None)
    result = {}
    for module, file in files.items():
        missed = Counter(function for line, function in lines[file].items() if line not in executed[file])
        result[module] = Coverage(len(lines[file]) - missed.total(), len(lines[file]), missed)
    return result


def list_function_lines(file: Path) -> Iterator[tuple[int, str]]:
    """Yield the numbers of the lines that schedules can run, each with the name of its function.

    Only lines inside functions are listed; lines of modules and classes run at the import.

    Args:
        file: A Python file.
    """
    left_out = tuple(name for names in NOT_SIMULATED.values() for name in names)
    pending = [compile(file.read_text(encoding="utf-8"), str(file), "exec")]
    while pending:
        code = pending.pop()
        pending += [constant for constant in code.co_consts if isinstance(constant, CodeType)]
        function = code.co_qualname.replace(".<locals>", "")
        if code.co_flags & 2 and not function.startswith(left_out):  # 2: CO_NEWLOCALS, a function
            lines = {line for _, _, line in code.co_lines() if line is not None and line != code.co_firstlineno}
            yield from ((line, function) for line in sorted(lines))
