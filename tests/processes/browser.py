"""Chromium and Playwright for tests that look at pages, or a skip that says how to run these tests.

With ``DPCURVES_BROWSER=required``, as continuous integration sets it, a missing browser is an error.
"""

from __future__ import annotations

import os
import shutil
from importlib.util import find_spec

import pytest

FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
    "--disable-background-networking", "--disable-component-update",
)  # fmt: skip
MODULES = {"playwright": "Playwright", "axe_playwright_python": "axe"}
"""What drives the browser and reads pages: parts of the dependency group `dev`."""


def require_chromium() -> str:
    """Return the path of Chromium; skip the test or its file where it or Playwright is not installed."""
    chromium = shutil.which("chromium")
    missing = [] if chromium else ["Chromium"]
    missing += [name for module, name in MODULES.items() if find_spec(module) is None]
    if missing:
        reason = f"{' and '.join(missing)} not installed: apt-get install chromium, pip install --group dev"
        if os.environ.get("DPCURVES_BROWSER") == "required":
            raise RuntimeError(f"DPCURVES_BROWSER=required, but {reason}")
        pytest.skip(reason, allow_module_level=True)
    assert chromium is not None
    return chromium
