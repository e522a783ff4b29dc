"""Commands for all questions to one table, by their names."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from .columns import (
    BOUNDS_COMMANDS,
    COLUMN_COMMANDS,
    CONTINGENCY_COMMANDS,
    PLANE_COMMANDS,
    SUMMARY_COMMANDS,
    SURVIVAL_COMMANDS,
)
from .option_groups import Command
from .scores import RESIDUAL_COMMANDS, SCORE_COMMANDS, VERIFY_COMMANDS
from .studies import STUDY_COMMANDS

QUESTIONS: Mapping[str, Command] = MappingProxyType({
    **COLUMN_COMMANDS, **SUMMARY_COMMANDS, **CONTINGENCY_COMMANDS, **SURVIVAL_COMMANDS, **BOUNDS_COMMANDS,
    **SCORE_COMMANDS, **RESIDUAL_COMMANDS, **PLANE_COMMANDS, **VERIFY_COMMANDS, **STUDY_COMMANDS,
})  # fmt: skip
