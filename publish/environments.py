"""Fresh environments: the wheel alone, for each Python that is there, with the oldest and the newest that it allows."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

UV = Path(sys.executable).with_name("uv")
SMOKE = Path(__file__).with_name("smoke.py")
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
RESOLUTIONS = ("lowest-direct", "highest")
ENTRIES = {"": "core", "[all]": "all"}
"""What is asked for with the wheel, and the entry points that are tried then."""


class Fresh(NamedTuple):
    """One environment that is made for one trial."""

    python: str
    resolution: str
    extras: str

    def __str__(self) -> str:
        return f"Python {self.python}, {self.resolution}, dpcurves{self.extras}"

    def install(self, wheel: Path, folder: Path) -> Path:
        """The interpreter of an environment that has the wheel and what it asks for."""
        run(UV, "venv", "--quiet", "--no-python-downloads", "--python", self.python, folder)
        asked = f"dpcurves{self.extras} @ {wheel.resolve().as_uri()}"
        run(UV, "pip", "install", "--quiet", "--python", folder, "--resolution", self.resolution, asked)
        return folder / "bin" / "python"

    def smoke(self, wheel: Path) -> str:
        """What the entry points say, from an empty folder; an error if one does not answer."""
        with tempfile.TemporaryDirectory() as name:
            python, empty = self.install(wheel, Path(name, "fresh")), Path(name, "empty")
            empty.mkdir()
            # -I: neither this folder nor what PYTHONPATH says is looked into.
            return run(python, "-I", SMOKE, ENTRIES[self.extras], cwd=empty)


def there() -> Iterator[str]:
    """Pythons of this machine that the package is for."""
    for version in PYTHONS:
        words: list[str | Path] = [UV, "python", "find", "--no-python-downloads", "--system", version]
        if subprocess.run(words, capture_output=True, check=False).returncode == 0:
            yield version


def all_of_them() -> Iterator[Fresh]:
    """Each Python, with the oldest and the newest, with and without extras."""
    for python in there():
        for resolution in RESOLUTIONS:
            yield from (Fresh(python, resolution, extras) for extras in ENTRIES)


def run(*words: object, cwd: Path | None = None) -> str:
    """What a program prints; what it said, if it failed."""
    done = subprocess.run([str(word) for word in words], cwd=cwd, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(map(str, words[:4]))} ...: status {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout
