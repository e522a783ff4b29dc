"""Line coverage of deterministic simulation tests: which lines of the protocol code they execute.

A simulation test runs a protocol, such as the storage of a ledger or a secure sum, in one process. Network, clock and
disk are simulated. A schedule is one run of it: an order of messages, delays and crashes that is derived from a seed.
The coverage shows code of the protocol that no schedule has reached, and so no simulated crash has tested.

    PROTOCOLS              the modules that each scenario (kind of simulation) must cover
    NOT_SIMULATED          functions that no schedule can reach, with the reason; their lines do not count
    measure_lines          run schedules under a trace function, and return the coverage of each module
    list_function_lines    the lines of a file that count: those inside functions

Lines of modules and of class bodies run at the import, not in a schedule, and do not count.
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
"""Import names of the modules that the schedules of a scenario must cover, by the scenario's name. Modules of command
lines, sockets and TLS are left out, because the simulation replaces them."""
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
"""Functions of protocol modules that no schedule can run, by the reason. Each text is the beginning of qualified names
(``Class.method``), so ``Resources.`` stands for all methods of that class. Their lines do not count."""


class Coverage(NamedTuple):
    """Line coverage of one module.

    Attributes:
        executed: How many lines were executed, of those that count.
        lines: How many lines count: lines inside functions that a schedule can run.
        missed: How many lines were not executed, by the qualified name of their function; functions without a missed
            line are absent.
    """

    executed: int
    lines: int
    missed: Mapping[str, int]


def measure_lines(scenario: str, run: Callable[[], object]) -> dict[str, Coverage]:
    """Call `run` once under a trace function and return the line coverage of a scenario's modules.

    The trace function (`sys.settrace`) sees the calling thread only and replaces a debugger's. It is removed at the
    end, also if `run` raises; the exception is passed on.

    Args:
        scenario: A key of `PROTOCOLS`.
        run: Function without arguments that runs the schedules; its result is dropped.

    Returns:
        The coverage by the module's import name, in the order of `PROTOCOLS`.

    Raises:
        KeyError: There is no such scenario.
    """
    files = {module: str(getattr(find_spec(module), "origin", "")) for module in PROTOCOLS[scenario]}
    lines = {file: dict(list_function_lines(Path(file))) for file in files.values()}
    executed: dict[str, set[int]] = {file: set() for file in lines}

    def trace_line(frame: FrameType, event: str, _: Any) -> Any:
        """Record a line that is executed; a local trace function of `sys.settrace`, which returns itself.

        Args:
            frame: Running frame.
            event: Name of the trace event; only ``line`` has an effect.
        """
        if event == "line":
            executed[frame.f_code.co_filename].add(frame.f_lineno)
        return trace_line

    def trace_call(frame: FrameType, event: str, _: Any) -> Any:
        """Return `trace_line` for a call in one of the modules; None for other calls, whose lines are not traced.

        Args:
            frame: Frame of the called function.
            event: Name of the trace event, without effect.
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
    """Yield the lines of a Python file that count for the coverage: those inside functions that a schedule can run.

    The file is compiled, not run. A function's first line (``def`` or its first decorator) is left out, and so are the
    functions of `NOT_SIMULATED`.

    Args:
        file: Path of a Python file.

    Yields:
        Pairs of a line number, from 1, and the qualified name of its function (``Class.method``). Lines ascend within a
        function.
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
