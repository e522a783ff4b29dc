"""Two-party computation of a circuit: sessions that send and get messages, and end with an XOR share each."""

from .evaluator import evaluate
from .garbler import garble
from .job import Ending, Job, Owner
from .one_pair import evaluate_one, garble_one
from .talk import Talk, together

__all__ = ["Ending", "Job", "Owner", "Talk", "evaluate", "evaluate_one", "garble", "garble_one", "together"]
