from .linear import Scorecard
from .model_json import Residual, predictor_from_json, predictor_of
from .terms import Level, Link, Power, Ranged, Term, Transform
from .trees import Tree, Trees

__all__ = [
    "Level", "Link", "Power", "Ranged", "Residual", "Scorecard", "Term", "Transform", "Tree", "Trees",
    "predictor_from_json", "predictor_of",
]  # fmt: skip
