"""The page of a package index: the README without what only a repository can show."""

import re
from pathlib import Path

from setuptools import setup

ELSEWHERE = r"\((?![a-z]+:)[^)]*\)"  # the target of a link that begins with no scheme
PICTURE = re.compile(rf"^!\[[^\]]*\]{ELSEWHERE}\n+", re.MULTILINE)
LINK = re.compile(rf"\[([^\]]+)\]{ELSEWHERE}")

readme = Path(__file__).with_name("README.md").read_text(encoding="utf-8")
setup(long_description=LINK.sub(r"\1", PICTURE.sub("", readme)), long_description_content_type="text/markdown")
