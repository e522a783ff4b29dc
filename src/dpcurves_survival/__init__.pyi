from .competing_risks import CompetingRisks, CompetingRisksQuestion
from .kaplan_meier import Survival, SurvivalQuestion, log_rank_test
from .one_call import survival
from .survival_models import SurvivalModel, SurvivalModelQuestion
from .survival_readings import (
    CumulativeHazard,
    Estimate,
    SurvivalNumbers,
    hazard_at,
    hazard_ratio,
    number_needed,
    restricted_mean,
    restricted_mean_difference,
    share_at,
    share_difference,
    survival_figure,
    survival_numbers,
)
from .variants import (
    DelayedEntry,
    DelayedEntryQuestion,
    IntervalCensored,
    IntervalCensoredQuestion,
    UnboundedSurvivalQuestion,
    WeightedSurvival,
    WeightedSurvivalQuestion,
)

__all__ = [
    "CompetingRisks", "CompetingRisksQuestion", "CumulativeHazard", "DelayedEntry", "DelayedEntryQuestion", "Estimate",
    "IntervalCensored", "IntervalCensoredQuestion", "Survival", "SurvivalModel", "SurvivalModelQuestion",
    "SurvivalNumbers", "SurvivalQuestion", "UnboundedSurvivalQuestion", "WeightedSurvival", "WeightedSurvivalQuestion",
    "hazard_at", "hazard_ratio", "log_rank_test", "number_needed", "restricted_mean", "restricted_mean_difference",
    "share_at", "share_difference", "survival", "survival_figure", "survival_numbers",
]  # fmt: skip
