"""The links of a package index, and its page: the README, whose links lead into the repository, or nowhere."""

import re
import tomllib
from pathlib import Path

from setuptools import setup

INSIDE = r"(?![a-z]+:|#)[^)]*"  # the target of a link that begins with no scheme, and leads to another file
HEADING = re.compile(r"\[([^\]]+)\]\(#[^)]*\)")  # an index gives headings no names
ELSEWHERE = rf"\({INSIDE}\)"
PICTURE = re.compile(rf"^!\[[^\]]*\]{ELSEWHERE}\n+", re.MULTILINE)
LINK = re.compile(rf"\[([^\]]+)\]{ELSEWHERE}")

HERE = Path(__file__).parent
PLACES = {"Source": "", "Issues": "/issues", "Changelog": "/blob/{tag}/CHANGELOG.md", "Security": "/security/policy"}


def page(readme: str, repository: str, tag: str) -> str:
    """The README with absolute links and pictures; without those, where no repository is published."""
    readme = HEADING.sub(r"\1", readme)
    if not repository:
        return LINK.sub(r"\1", PICTURE.sub("", readme))
    shown = re.sub(rf"(!\[[^\]]*\])\(({INSIDE})\)", rf"\1({repository}/raw/{tag}/\2)", readme)
    return re.sub(rf"(?<!!)(\[[^\]]+\])\(({INSIDE})\)", rf"\1({repository}/blob/{tag}/\2)", shown)


said = tomllib.loads((HERE / "pyproject.toml").read_text(encoding="utf-8"))
repository, tag = said["tool"]["dpcurves"]["repository"], f"v{said['project']['version']}"
setup(
    long_description=page((HERE / "README.md").read_text(encoding="utf-8"), repository, tag),
    long_description_content_type="text/markdown",
    project_urls={name: repository + place.format(tag=tag) for name, place in PLACES.items() if repository},
)
