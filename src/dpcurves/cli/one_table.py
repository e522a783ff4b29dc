"""Commands for all questions to one table, by their names."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from .bounds import BOUNDS_COMMANDS
from .columns import COLUMN_COMMANDS
from .contingencies import CONTINGENCY_COMMANDS
from .option_groups import Command
from .planes import PLANE_COMMANDS
from .residuals import RESIDUAL_COMMANDS
from .scores import SCORE_COMMANDS
from .studies import STUDY_COMMANDS
from .summaries import SUMMARY_COMMANDS
from .survivals import SURVIVAL_COMMANDS
from .verifications import VERIFY_COMMANDS

QUESTIONS: Mapping[str, Command] = MappingProxyType({
    **COLUMN_COMMANDS, **SUMMARY_COMMANDS, **CONTINGENCY_COMMANDS, **SURVIVAL_COMMANDS, **BOUNDS_COMMANDS,
    **SCORE_COMMANDS, **RESIDUAL_COMMANDS, **PLANE_COMMANDS, **VERIFY_COMMANDS, **STUDY_COMMANDS,
})  # fmt: skip
