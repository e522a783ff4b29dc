"""The room is light to enter: the command line answers before heavy libraries are loaded; workers load no server."""

from __future__ import annotations

import subprocess
import sys

import pytest

HEAVY = {"matplotlib", "pandas", "polars", "pyarrow", "narwhals", "rich", "scipy"}


def list_libraries(modules: str) -> set[str]:
    """Return the libraries that a new process has loaded after it imported these modules."""
    code = f"import sys, {modules}; print(*{{name.partition('.')[0] for name in sys.modules}})"
    return set(subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout.split())


@pytest.mark.parametrize("module", ["dpcurves.display", "dpcurves.display.canvas", "dpcurves.display.scores"])
def test_entering_the_room_loads_no_heavy_library(module: str) -> None:
    assert not HEAVY & list_libraries(module)


def test_processes_of_a_server_that_answer_on_pipes_load_no_web_framework() -> None:
    """FastAPI and what it loads take a third of a second to a second of each start."""
    modules = (f"dpcurves_server.{name}" for name in ("worker", "renderer", "planner", "declared_columns"))
    assert not {"fastapi", "pydantic", "opentelemetry"} & list_libraries(", ".join(modules))
