"""The public names of the package, with their signatures, beside those of the last release.

`python publish/public_names.py [--keep]` prints what differs; `--keep` writes today's names as those of the version
that pyproject.toml has. Names are those of `dpcurves.__all__`, and the public members of its classes.
"""

from __future__ import annotations

import argparse
import re
import sys
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path

import griffe

ROOT = Path(__file__).resolve().parents[1]
KEPT = ROOT / "publish" / "names"


def public(root: Path) -> dict[str, str]:
    """Each public name, with its signature: `Grid.nearest_edge` and `(values)`."""
    sys.path.insert(0, str(root / "docs"))
    from doctests import Doctests  # spells out the arguments that all questions in one call take

    loader = griffe.GriffeLoader(search_paths=[str(root / "src")], extensions=griffe.Extensions(Doctests()))
    for each in sorted((root / "src").glob("dpcurves*/__init__.py")):
        loader.load(each.parent.name)
    loader.resolve_aliases()
    package = loader.modules_collection["dpcurves"]
    return dict(sorted(pair for name in exported(root) for pair in described(name, exported_from(package, name))))


def exported(root: Path) -> list[str]:
    """The names of `dpcurves` itself, as an interpreter lists them."""
    sys.path.insert(0, str(root / "src"))
    import dpcurves

    return list(dpcurves.__all__)


def exported_from(package: griffe.Object | griffe.Alias, name: str) -> griffe.Object | None:
    """What a name of `dpcurves` stands for: in one of the rooms whose names are imported when they are used."""
    from dpcurves.extensions import find_packages

    rooms = package["curves"], *(package.modules_collection[each.__name__] for each in find_packages())
    places = (found(room, name) for room in (package, *rooms))
    return next((each for each in places if each is not None), None)


def found(package: griffe.Object | griffe.Alias, name: str) -> griffe.Object | None:
    """What a name stands for; None where only the interpreter knows, as for members of an enumeration."""
    try:
        there: griffe.Object | griffe.Alias = package[name]
        return there.final_target if isinstance(there, griffe.Alias) else there
    except (griffe.AliasResolutionError, KeyError):
        return None


def described(name: str, there: griffe.Object | None) -> Iterator[tuple[str, str]]:
    """A name and, of a class, its public members."""
    yield name, signature(there)
    if there is None or not there.is_class:
        return
    for member in there.all_members:
        if member == "__init__" or not member.startswith("_"):
            target = found(there, member)
            yield f"{name}.{member}", signature(target)


def signature(there: griffe.Object | None) -> str:
    """The parameters of a function: names, kinds and which may be left out, for these are what callers rely on."""
    if not isinstance(there, griffe.Function):
        return ""
    return "(" + ", ".join(parameter(each) for each in there.parameters if each.name not in ("self", "cls")) + ")"


def parameter(each: griffe.Parameter) -> str:
    star = {"keyword-only": "*:", "variadic positional": "*", "variadic keyword": "**"}.get(
        each.kind.value if each.kind else "", ""
    )
    return f"{star}{each.name}{'' if each.required or star in ('*', '**') else '='}"


def read(path: Path) -> dict[str, str]:
    """Names as they were kept."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return {name: rest for name, _, rest in (line.partition(" ") for line in lines)}


def last(folder: Path = KEPT) -> Path:
    """The names of the newest version that is kept."""
    return max(folder.glob("*.txt"), key=lambda path: [int(part) for part in path.stem.split(".")])


def unsaid(before: Mapping[str, str], now: Mapping[str, str], said: str) -> Iterator[str]:
    """What went, came or changed between two lists, and of which a changelog has no word in backticks."""
    named = set(re.findall(r"[A-Za-z_]+", " ".join(re.findall(r"`([^`]+)`", said))))
    for name in sorted({*before, *now}):
        if before.get(name) != now.get(name) and name.rpartition(".")[2] not in named:
            word = "gone" if name not in now else "new" if name not in before else "changed"
            yield f"{name} is {word}"


def since(changelog: str, version: str) -> str:
    """What a changelog says above the section of a version; that section too, while it is unreleased."""
    above, _, below = changelog.partition(f"\n## {version}")
    heading, _, section = below.partition("\n")
    return above + section.partition("\n## ")[0] if "unreleased" in heading else above


def version(root: Path) -> str:
    """The version of this code."""
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return str(project["version"])


def differences(root: Path, said: str) -> list[str]:
    """What the list of a version does not say of this code."""
    kept = root / "publish" / "names" / f"{said}.txt"
    return list(unsaid(read(kept) if kept.exists() else {}, public(root), ""))


def main() -> int:
    """Print what differs from the names that are kept, or keep today's."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--keep", action="store_true", help="write today's names as those of this version")
    given, now = parser.parse_args(), public(ROOT)
    if given.keep:
        KEPT.mkdir(exist_ok=True)
        (KEPT / f"{version(ROOT)}.txt").write_text(lines(now), encoding="utf-8")
    for said in unsaid(read(last()), now, ""):
        print(said)
    return 0


def lines(names: Mapping[str, str]) -> str:
    return "".join(f"{name} {rest}".rstrip() + "\n" for name, rest in names.items())


if __name__ == "__main__":
    sys.exit(main())
