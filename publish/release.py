"""Makes a release of what is committed, all but its tag and its upload: `python publish/release.py VERSION`.

Checks the tree and the version, runs continuous integration (or takes `--tested COMMIT` for it), builds source archive
and wheel twice, tries the wheel in fresh environments, and writes a bill of materials and hashes beside both, to
`dist/`. `--tag` makes the tag, once all of this has been done to the same commit.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from pathlib import Path

from archives import build, digest, opened, telling, told, unlike
from environments import PYTHONS, Fresh, all_of_them, run, there
from public_names import differences
from public_names import version as version_of

ROOT = Path(__file__).resolve().parents[1]
DIST = ROOT / "dist"
MADE = DIST / "release.json"
UNTESTED = "untested"
DATED = r"^## {} - \d{{4}}-\d{{2}}-\d{{2}}$"
UPLOAD = "Nothing is uploaded. A person does that, with a token of the index: {} upload {}"


def main() -> int:
    """Make a release, or tag the one that was made; a line says what stops it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("version")
    parser.add_argument("--tested", metavar="COMMIT", default="", help="CI was run on this commit, and passed")
    parser.add_argument("--untested", action="store_true", help="try all but CI; what comes out can not be tagged")
    parser.add_argument("--tag", action="store_true", help="tag the release that was made of this commit")
    given = parser.parse_args()
    try:
        commit = ready(given.version)
        if given.tag:
            tag(given.version, commit)
        else:
            tested = UNTESTED if given.untested else given.tested
            make(given.version, commit, tested)
    except RuntimeError as stopped:
        print(f"release: {stopped}", file=sys.stderr)
        return 1
    return 0


def ready(version: str) -> str:
    """The commit that is released: nothing lies beside it, and it has this version."""
    if told(ROOT, "status", "--porcelain"):
        raise RuntimeError("the tree is not clean: commit, or put away, what `git status` shows")
    said = version_of(ROOT)
    if said != version:
        raise RuntimeError(f"pyproject.toml says version {said}, not {version}")
    if changed := differences(ROOT, version):
        raise RuntimeError(f"run `python publish/public_names.py --keep` and commit: {', '.join(changed[:5])} ...")
    return told(ROOT, "rev-parse", "HEAD")


def blanks(root: Path, version: str) -> Iterator[str]:
    """What nobody but a person knows, and does not stand there yet: a release is made without it, and says so."""
    read = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
    if not read["tool"]["dpcurves"]["repository"]:
        yield "`repository` in pyproject.toml: the page of an index will have no links and no pictures"
    if not read["tool"]["dpcurves"]["pages"]:
        yield "`pages` in pyproject.toml: without it `make versions` does not know where pages will stand"
    if not any("email" in author for author in read["project"]["authors"]):
        yield "an `email` of the authors in pyproject.toml: an index will show no address"
    if not dated(root, version):
        yield f"the day of `## {version}` in CHANGELOG.md: there is no tag without it"


def dated(root: Path, version: str) -> bool:
    """Whether the section of a version has its day."""
    changelog = (root / "CHANGELOG.md").read_text(encoding="utf-8")
    return re.search(DATED.format(re.escape(version)), changelog, re.MULTILINE) is not None


def make(version: str, commit: str, tested: str) -> None:
    """Test, build, try, and write down what was done."""
    continuous(commit, tested)
    archives = built(commit)
    say(run(sys.executable, "-m", "twine", "check", "--strict", *archives).strip())
    for each in archives:
        if found := telling(opened(each)):
            raise RuntimeError(f"{each.name} names a folder of somebody or a host of downloads: {found}")
    (wheel,) = (each for each in archives if each.suffix == ".whl")
    missing = sorted({*PYTHONS} - {*there()})
    for fresh in all_of_them():
        say(f"{fresh}: {', '.join(line.partition(':')[0] for line in fresh.smoke(wheel).splitlines())} answer")
    if missing:
        say(f"not tried, as they are not on this machine: Python {', '.join(missing)}")
    bill = materials(wheel, version)
    DIST.joinpath("SHA256SUMS").write_text("".join(f"{digest(each)}  {each.name}\n" for each in (*archives, bill)))
    done = {"version": version, "commit": commit, "not tried": missing, "tested": tested != UNTESTED}
    MADE.write_text(json.dumps(done, indent=1) + "\n")
    for line in blanks(ROOT, version):
        say(f"A person fills in, and releases again: {line}")
    named = " ".join(each.relative_to(ROOT).as_posix() for each in archives)
    say(UPLOAD.format(".venv/bin/twine", named))
    if tested != UNTESTED:
        say(f"`make tag VERSION={version}` tags commit {commit[:12]}")


def continuous(commit: str, tested: str) -> None:
    """Run what CI runs, unless somebody says that it was run on this very commit."""
    if tested == UNTESTED:
        say(f"CI is not run on {commit[:12]}: what comes out can not be tagged")
    elif tested == commit:
        say(f"CI passed on {commit[:12]}, says --tested")
    elif tested:
        raise RuntimeError(f"--tested names {tested[:12]}; what is released is {commit}")
    elif subprocess.run(["bash", ".ci/run"], cwd=ROOT, check=False).returncode != 0:
        raise RuntimeError("CI failed")


def built(commit: str) -> list[Path]:
    """Both archives in an empty `dist`, after two builds gave the same bytes."""
    shutil.rmtree(DIST, ignore_errors=True)
    archives = build(ROOT, commit, DIST)
    with tempfile.TemporaryDirectory() as again:
        if apart := unlike(archives, build(ROOT, commit, Path(again))):
            raise RuntimeError(f"two builds are not the same bytes: {', '.join(apart)}")
    say(f"two builds, the same bytes: {', '.join(each.name for each in archives)}")
    return archives


def materials(wheel: Path, version: str) -> Path:
    """The bill of materials: all that an environment with the wheel and its newest dependencies holds."""
    bill = DIST / f"dpcurves-{version}.cdx.json"
    with tempfile.TemporaryDirectory() as name:
        python = Fresh(next(there()), "highest", "[all]").install(wheel, Path(name, "fresh"))
        run(sys.executable, "-m", "cyclonedx_py", "environment", "--output-reproducible", "--output-file", bill, python)
    # Where the wheel lay when it was installed is nobody's business.
    plain = json.loads(bill.read_text(encoding="utf-8"))
    for component in plain["components"]:
        component.pop("externalReferences", None)
    bill.write_text(json.dumps(plain, indent=1) + "\n", encoding="utf-8")
    return bill


def tag(version: str, commit: str) -> None:
    """Tag a commit of which a release was made, and whose changelog has its day."""
    if not MADE.exists() or json.loads(MADE.read_text(encoding="utf-8"))["commit"] != commit:
        raise RuntimeError(f"no release was made of commit {commit[:12]}: `make release VERSION={version}`")
    if not json.loads(MADE.read_text(encoding="utf-8"))["tested"]:
        raise RuntimeError(f"CI was not run on commit {commit[:12]}: `make release VERSION={version}` without UNTESTED")
    if not dated(ROOT, version):
        raise RuntimeError(f"CHANGELOG.md has no heading `## {version} - YYYY-MM-DD`")
    told(ROOT, "tag", "--annotate", "--message", f"dpcurves {version}", f"v{version}", commit)
    say(f"tagged v{version}")


def say(line: str) -> None:
    print(line, flush=True)


if __name__ == "__main__":
    sys.exit(main())
