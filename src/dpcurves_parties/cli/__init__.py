"""Commands of two servers, of people in pairs, and of those who ask them."""

from dpcurves.cli.app import Group, Provided
from dpcurves.cli.one_table import QUESTIONS

from .pair import ASK_PAIRS, PAIR_COMMANDS, SERVER_COMMANDS, asks_of, said_of
from .pair_tasks import PAIR_PLANS
from .tasks import TASK_COMMANDS

PROVIDED = Provided(
    commands={**SERVER_COMMANDS, **PAIR_COMMANDS},
    plans=PAIR_PLANS,
    groups={
        "task": Group("Tasks for two servers, neither of them trusted alone.", TASK_COMMANDS),
        "ask": Group(
            "Questions to the two servers of a task. The first answer is paid with all of its loss; others are free.",
            {**asks_of(QUESTIONS), **ASK_PAIRS},
            said=said_of(QUESTIONS),
        ),
    },
)
