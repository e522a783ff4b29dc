"""A new public method comes with a test, an example and a docstring.

`python tests/test_public_methods.py` writes the methods that lack one into `public_methods_lacking.json`, which may
only become shorter.
"""

from __future__ import annotations

import inspect
import json
import re
from collections import defaultdict
from functools import cached_property
from pathlib import Path

import dpcurves as dp

ROOT = Path(__file__).resolve().parents[1]
STORED = ROOT / "tests" / "public_methods_lacking.json"
HERE = "test_public_methods.py"


def list_public_methods() -> dict[str, list[object]]:
    """Return the public methods and properties of all classes in `dir(dp)`, by name."""
    methods: dict[str, list[object]] = defaultdict(list)
    for public_name in dir(dp):
        value = getattr(dp, public_name)
        if inspect.isclass(value) and value.__module__.startswith("dpcurves"):
            for name, member in vars(value).items():
                is_method = inspect.isfunction(member) or isinstance(
                    member, property | classmethod | staticmethod | cached_property
                )
                if is_method and not name.startswith("_"):
                    methods[name].append(member)
    return methods


def find_lacking() -> dict[str, list[str]]:
    """Return the names of public methods without a test, without an example, and without a docstring."""
    methods = list_public_methods()
    tests = "".join(path.read_text() for path in (ROOT / "tests").rglob("*.py") if path.name != HERE)
    pages = [*(ROOT / "docs").rglob("*.md"), ROOT / "README.md", *(ROOT / "examples").rglob("*.py")]
    sources = "\n".join(path.read_text() for path in (ROOT / "src").rglob("*.py"))
    doctests = "\n".join(line for line in sources.splitlines() if line.lstrip().startswith((">>>", "...")))
    examples = "".join(path.read_text() for path in pages) + doctests
    tested = set(re.findall(r"\w+", tests))
    shown = set(re.findall(r"(?<=\.)\w+", examples))
    undocumented = [name for name, members in methods.items() if not any(inspect.getdoc(member) for member in members)]
    return {
        "test": sorted(methods.keys() - tested), "example": sorted(methods.keys() - shown),
        "docstring": sorted(undocumented),
    }  # fmt: skip


def test_a_public_method_has_a_test_an_example_and_a_docstring() -> None:
    stored, lacking = json.loads(STORED.read_text()), find_lacking()
    for what, names in lacking.items():
        assert set(names) <= set(stored[what]), f"public methods without a {what}"
        assert set(stored[what]) <= set(names), f"take these out of {STORED.name}: they have a {what} now"


if __name__ == "__main__":
    STORED.write_text(json.dumps(find_lacking(), indent=1) + "\n")
