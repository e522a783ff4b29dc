"""Two-party computation of a circuit: sessions that send and get messages, and end with an XOR share each."""

from .job import Ending, Job, Owner, Talk, together
from .sessions import evaluate, evaluate_one, garble, garble_one

__all__ = ["Ending", "Job", "Owner", "Talk", "evaluate", "evaluate_one", "garble", "garble_one", "together"]
