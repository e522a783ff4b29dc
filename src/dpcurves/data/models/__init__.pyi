from .link import Link
from .model_json import predictor_from_json, predictor_of
from .residual import Residual
from .scorecard import Scorecard
from .terms import Level, Power, Ranged, Term, Transform
from .tree import Tree
from .trees import Trees

__all__ = [
    "Level", "Link", "Power", "Ranged", "Residual", "Scorecard", "Term", "Transform", "Tree", "Trees",
    "predictor_from_json", "predictor_of",
]  # fmt: skip
