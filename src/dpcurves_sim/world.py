"""A simulated world: processes that take turns in one thread, a clock, faults, and a trace, all decided by one seed.

Product code runs unchanged. Where it waits, sends or stores, the world counts an *event*: it lets other processes run,
checks the invariants, and decides whether a fault strikes. A decision is a function of the seed, the process, the
number of its event and the purpose alone, so that leaving out a fault or a process leaves the decisions of others as
they were.
"""

from __future__ import annotations

import heapq
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from math import inf
from typing import TYPE_CHECKING, Any
from zlib import crc32

from dpcurves.arguments import ArgumentError, InvalidArgument

if TYPE_CHECKING:
    from greenlet import greenlet

DRAW_VALUES = 2**64
"""Number of values of a simulated draw: 64 bits."""
LARGEST_SEED = DRAW_VALUES - 1
"""Largest seed of a schedule: 8 bytes; a larger one is refused."""


@dataclass(frozen=True)
class Tuning:
    """Probabilities and durations of the world."""

    fault: float = 0.05  # probability of a fault at an event that allows faults
    longest_step: float = 0.02  # seconds between two events of a process at most, without a fault
    longest_poll: float = 0.5  # seconds between two polls of a waiting process while no other process runs
    stall: float = 0.02  # probability that a process sleeps long before an event, as a stopped one
    longest_stall: float = 8.0  # seconds; longer than the patience of waiting writers
    longest_restart: float = 2.0  # seconds until an operator starts a killed process again, at most
    longest_storm: float = 120.0  # seconds after which no fault strikes any more
    patience: float = 300.0  # seconds without faults after which a schedule that goes on counts as stuck


TUNING = Tuning()
"""Default probabilities and durations of the simulated world."""
PROCESS_KILLED = "process killed"
"""Fault: the process ends at once. Its writes stay in the system's cache, also unflushed writes."""
POWER_LOST = "power lost"
"""Fault: all processes of the machine end, and unflushed writes may be lost or torn."""


class Killed(BaseException):
    """The process that runs was killed. Nothing in it may catch this, as nothing can catch SIGKILL."""


class Violation(BaseException):
    """An invariant does not hold. Product code that reports any error must not hide it."""


ProcessEvent = tuple[str, int]
"""A process, and the number of one of its events."""


@dataclass(frozen=True)
class Schedule:
    """What decides a run.

    Attributes:
        scenario: The name of the scenario.
        seed: From 0 to 2**64 - 1.
        events: Number of events after which no fault strikes any more.
        skipped: Events whose fault is left out, each a process and the number of its event.
        cut: Events after which a process ends for good; with number 0 it does not begin.

    Raises:
        ValueError: The seed does not fit 8 bytes, or `events` is negative.
    """

    scenario: str
    seed: int
    events: int = 150
    skipped: frozenset[ProcessEvent] = frozenset()
    cut: frozenset[ProcessEvent] = frozenset()

    def __post_init__(self) -> None:
        if not 0 <= self.seed <= LARGEST_SEED:
            raise InvalidArgument("seed", f"must be from 0 to 2**64 - 1, got {self.seed}")
        if self.events < 0:
            raise InvalidArgument("events", f"must be at least 0, got {self.events}")

    @property
    def command(self) -> str:
        """Shell command that replays this schedule: its scenario, seed, number of events, and the skipped and cut
        events.
        """
        text = f"dpcurves-sim {self.scenario} --seed {self.seed} --events {self.events}"
        for option, events in (("skip", self.skipped), ("cut", self.cut)):
            text += f" --{option} {','.join(f'{name}:{number}' for name, number in sorted(events))}" if events else ""
        return text


@dataclass(frozen=True)
class Event:
    """One step of a process.

    Attributes:
        number: Number of the event, from 1.
        time: Seconds since the start.
        process: The process.
        action: The next action of the process.
        fault: The fault that struck; empty if none did.
    """

    number: int
    time: float
    process: str
    action: str
    fault: str = ""

    def __str__(self) -> str:
        fault = f"  <- {self.fault}" if self.fault else ""
        return f"{self.number:5d} {self.time:9.3f}s  {self.process:<12} {self.action}{fault}"


@dataclass(eq=False)
class Process:
    """A simulated process.

    Attributes:
        name: Its name in the trace.
        machine: The machine whose power it needs.
        main: Function of the process; called again after a kill.
        group: Processes of one group end together, as threads of one program do.
        is_daemon: A server: the schedule ends without it. A thread of a server does not start again.
        starts_again: Whether it starts again after it was killed.
        is_dead: True from a kill to the next start.
        is_done: True after `main` has returned.
        starts: Number of starts.
        events: Number of its events.
    """

    name: str
    machine: str
    main: Callable[[], object]
    group: str
    is_daemon: bool = False
    starts_again: bool = True
    is_dead: bool = False
    is_done: bool = False
    starts: int = 0
    events: int = 0
    draws: dict[str, int] = field(default_factory=dict, repr=False)
    _greenlet: greenlet | None = field(default=None, repr=False)


class World:
    """Processes, clock, faults and invariants of one schedule.

    Args:
        schedule: What decides the run.
        tuning: Probabilities and durations.
    """

    def __init__(self, schedule: Schedule, tuning: Tuning = TUNING) -> None:
        """Make a simulated world without processes, whose time, order and faults a schedule decides.

        Args:
            schedule: Seed, scenario and limits on faults.
            tuning: Probabilities and durations.
        """
        self.schedule, self.tuning = schedule, tuning
        self.now = 0.0
        self.event = 0
        self.trouble = -1.0
        self.patience = tuning.patience
        self.trace: deque[Event] = deque(maxlen=10)
        self.struck: list[ProcessEvent] = []
        self.fault_counts: Counter[str] = Counter()
        self.invariants: list[Callable[[], None]] = []
        self.on_kill: list[Callable[[str, str], Callable[[], None]]] = []
        self._processes: list[Process] = []
        self._agenda: list[tuple[float, int, Process]] = []
        self._polling: set[Process] = set()
        self._orders = count()
        self._calm_since = 0.0
        self._outside = Process("world", "", lambda: None, "")  # decides while no process runs
        self._cause = self._outside
        self.waits_for_nothing = False
        self._current: Process | None = None
        self._hub: greenlet | None = None
        self._loss: tuple[str, str, Sequence[Process]] | None = None

    # Decisions

    def draw(self, purpose: str) -> float:
        """Return a pseudorandom number from 0 to below 1, decided by seed, process, event and purpose.

        Args:
            purpose: Name of what the number decides; another purpose gives an independent number.
        """
        return self.draw_word(purpose) / DRAW_VALUES

    def draw_word(self, purpose: str) -> int:
        """Return a 64-bit pseudorandom number, decided by seed, process, event, purpose and number of earlier draws
        there.

        Args:
            purpose: Name of what the number decides; another purpose gives an independent number.
        """
        process = self._current or self._cause
        number = process.draws.get(purpose, 0)
        key = crc32(f"{process.name} {process.events} {number} {purpose}".encode())
        process.draws[purpose] = number + 1
        mixed = self.schedule.seed ^ (key << 32) ^ key
        for factor in (0xBF58476D1CE4E5B9, 0x94D049BB133111EB):  # SplitMix64 (Steele, Lea, Flood 2014)
            mixed = (mixed + 0x9E3779B97F4A7C15) % DRAW_VALUES
            mixed = ((mixed ^ (mixed >> 30)) * factor) % DRAW_VALUES
            mixed ^= mixed >> 27
        return mixed ^ (mixed >> 31)

    def choose(self, purpose: str, options: Sequence[Any]) -> Any:
        """Return one of the options, with equal probabilities, drawn from the seed under the name `purpose`.

        Args:
            purpose: Name under which the seed decides; another purpose gives an independent choice.
            options: Options, at least one.
        """
        return options[self.draw_word(purpose) % len(options)]

    @property
    def is_calm(self) -> bool:
        """True once the schedule injects no further faults, so that all processes must make progress."""
        return self.event > self.schedule.events or self.now > self.tuning.longest_storm

    # Processes

    def start(
        self, name: str, machine: str, main: Callable[[], object], *, group: str = "", is_daemon: bool = False,
        starts_again: bool = True,
    ) -> Process:  # fmt: skip
        """Create a process that calls `main` after a random delay; return the process.

        Args:
            name: Name of the process.
            machine: Name of its machine, on which a loss of power kills all processes.
            main: What the process does.
            group: Name of processes that are killed together; empty: its own.
            is_daemon: Whether the simulation may end before the process does.
            starts_again: Whether it is started again after a kill.
        """
        process = Process(name, machine, main, group or name, is_daemon, starts_again)
        self._processes.append(process)
        if (name, 0) in self.schedule.cut:
            process.is_done = True
            return process
        self._schedule(process, self.draw(f"start of {name}") * self.tuning.longest_step)
        return process

    def run(self) -> None:
        """Run all processes to their end.

        Raises:
            Violation: An invariant does not hold, a process failed, or a process makes no progress without faults.
        """
        from greenlet import getcurrent

        self._hub = getcurrent()
        try:
            while self._agenda and not all(process.is_done or process.is_daemon for process in self._processes):
                time, _, process = heapq.heappop(self._agenda)
                self.now = max(self.now, time)
                self._resume(process)
                self._calm_since = self._calm_since or (self.now if self.is_calm else 0.0)
                if self._calm_since and self.now > self._calm_since + self.patience:
                    waiting = ", ".join(one.name for one in self._processes if not (one.is_done or one.is_daemon))
                    raise Violation(f"no progress: {waiting} did not end although no fault strikes any more")
        finally:
            self._end_all()
        self.check()

    def _resume(self, process: Process) -> None:
        """Let a process run to its next event; if a fault happened there, end and restart all processes that it killed.

        Args:
            process: The process.
        """
        from greenlet import greenlet

        if process._greenlet is None:
            process.is_dead, process.starts = False, process.starts + 1
            process._greenlet = greenlet(self._run_process)
        self._polling.discard(process)
        self._current = process
        process._greenlet.switch(process)
        self._current = None
        if self._loss is not None:
            self._end_lost(*self._loss)

    def _end_lost(self, machine: str, fault: str, lost: Sequence[Process]) -> None:
        """End the processes that a fault kills, bring the disk into the state after the fault, and schedule restarts.

        Args:
            machine: Name of the machine.
            fault: Name of the fault.
            lost: Processes to end.
        """
        self._loss = None
        undo = [prepare(machine, fault) for prepare in self.on_kill]
        for victim in lost:
            self._end(victim)
        for finish in undo:
            finish()
        for victim in lost:
            if victim.starts_again and not victim.is_done:
                self._schedule(victim, self.draw(f"restart of {victim.name}") * self.tuning.longest_restart)
        self._cause = self._outside
        self._forget_ended()

    def _forget_ended(self) -> None:
        """Remove simulated server threads that have ended from the list of processes."""
        self._processes = [one for one in self._processes if one.starts_again or not (one.is_done or one.is_dead)]

    def _end(self, process: Process) -> None:
        """End a killed process by unwinding its stack, and remove it from the schedule.

        Args:
            process: The process.
        """
        process.is_dead = True
        thread = process._greenlet
        process._greenlet = None
        self._agenda = [entry for entry in self._agenda if entry[2] is not process]
        heapq.heapify(self._agenda)
        if thread is not None and not thread.dead:
            self._current = process
            thread.throw(Killed)
            self._current = None

    def _end_all(self) -> None:
        """End all processes that still run, after the end of the schedule, by unwinding their stacks."""
        for process in self._processes:
            self._end(process)

    def _run_process(self, process: Process) -> None:
        """Run the program of a simulated process to its end; an error that no operator would expect is a violation.

        Args:
            process: The process.
        """
        try:
            process.main()
        except Killed:
            return
        except Violation:
            raise
        except ArgumentError as error:
            raise Violation(f"{process.name} gave up: {error}") from error
        except Exception as error:
            raise Violation(f"{process.name} failed with {type(error).__name__}: {error}") from error
        process.is_done = True
        if not process.starts_again:
            self._forget_ended()

    def _schedule(self, process: Process, delay: float) -> None:
        """Plan to continue a process after some simulated seconds.

        Args:
            process: Process to continue.
            delay: Simulated seconds until then.
        """
        heapq.heappush(self._agenda, (self.now + delay, next(self._orders), process))

    def count_events(self) -> tuple[ProcessEvent, ...]:
        """Return how many events each process has had, for the processes that are restarted after a kill.

        Returns:
            Pairs of the name of a process and its number of events.
        """
        return tuple((process.name, process.events) for process in self._processes if process.starts_again)

    # What simulated code calls

    @property
    def current(self) -> Process:
        """The simulated process that runs at this moment.

        Raises:
            RuntimeError: no process runs.
        """
        if self._current is None:
            raise RuntimeError("no process runs")
        return self._current

    @property
    def is_running(self) -> bool:
        """True while a simulated process runs; False between processes, as in checks of invariants."""
        return self._current is not None

    def sleep(self, seconds: float) -> None:
        """Let other simulated processes run for some seconds; not an event, so no fault is injected.

        Args:
            seconds: Simulated seconds.
        """
        process = self.current
        if process.is_dead:
            raise Killed
        if self.waits_for_nothing:
            raise Violation(f"{process.name} waits on the event loop, and all other clients with it")
        self._schedule(process, seconds)
        assert self._hub is not None  # noqa: S101
        self._hub.switch()
        if process.is_dead:
            raise Killed

    def poll(self, seconds: float, deadline: float = inf) -> None:
        """Sleep between two checks of a condition by a simulated process.

        The sleep takes longer while all other processes wait or are stopped, because checks in between would find
        nothing new. A process that polls wakes up at its deadline, and at the latest after `Tuning.longest_poll`, since
        what it waits for may be the time.

        Args:
            seconds: Simulated seconds until the next check.
            deadline: Simulated time at which the wait ends; infinite: none.
        """
        active = (time for time, _, process in self._agenda if process not in self._polling)
        latest = min(self.now + self.tuning.longest_poll, deadline)
        wake_up = max(self.now + seconds, min(min(active, default=latest), latest))
        self._polling.add(self.current)
        self.sleep(wake_up - self.now)

    def wait_until(self, holds: Callable[[], bool], pause: float = 0.05) -> None:
        """Wait until a condition holds, looking at it every `pause` seconds while others do something.

        Args:
            holds: Condition without side effects.
            pause: Simulated seconds between two checks.
        """
        while not holds():
            self.poll(pause)

    def step(self, action: str, *faults: str, probability: float | None = None) -> str:
        """Count an event of the running process just before an action, and return the fault that is injected there, or
        "".

        Other processes may run first. A process that is killed does not return.

        Args:
            action: Name of the action, for the trace.
            faults: Faults that may be injected here.
            probability: Probability of a fault; None: the world's.
        """
        process = self.current
        process.events += 1
        process.draws.clear()
        delay = self.draw("delay") * self.tuning.longest_step
        if self.draw("stall") < self.tuning.stall and self._can_strike(process):
            delay += self.draw("stall time") * self.tuning.longest_stall
            self.trouble = max(self.trouble, self.now + delay)
        self.sleep(delay)
        self.event += 1
        fault = self._choose_fault(process, faults, probability)
        self.trace.append(Event(self.event, self.now, process.name, action, fault))
        self.check()
        if (process.name, process.events) in self.schedule.cut:
            process.is_done = True
            self.trouble = self.now
            self._lose(process, PROCESS_KILLED, [process])
        if fault in (PROCESS_KILLED, POWER_LOST):
            running = self._list_running(process.machine)
            self._lose(
                process, fault, running if fault == POWER_LOST else [v for v in running if v.group == process.group]
            )
        return fault

    def _lose(self, process: Process, fault: str, victims: Sequence[Process]) -> None:
        """End some processes by a fault, among them the running process, so that this call does not return.

        Args:
            process: The running process.
            fault: Name of the fault.
            victims: Processes to end.
        """
        self._loss = (process.machine, fault, victims)
        self._cause = process
        process.is_dead = True
        assert self._hub is not None  # noqa: S101
        self._hub.switch()  # the hub unwinds this process by an exception

    def _list_running(self, machine: str) -> list[Process]:
        """Return the processes of a machine that have not ended.

        Args:
            machine: Name of the machine.
        """
        return [process for process in self._processes if process.machine == machine and not process.is_done]

    def stop_machine(self, machine: str) -> None:
        """Kill all processes of a machine other than the running process's; they are restarted later.

        Args:
            machine: Name of the machine.
        """
        self._loss, self._cause = (machine, PROCESS_KILLED, self._list_running(machine)), self.current
        self.sleep(0.0)

    def _can_strike(self, process: Process) -> bool:
        """Count a fault that was drawn for the present event; return False if the schedule leaves this fault out.

        Args:
            process: Process that runs.
        """
        if self.is_calm:
            return False
        event = process.name, process.events
        if event not in self.struck[-1:]:
            self.struck.append(event)
        return event not in self.schedule.skipped

    def _choose_fault(self, process: Process, faults: Sequence[str], probability: float | None) -> str:
        """Return the fault that the seed injects at the present event of a process, or "" for none.

        Args:
            process: The running process.
            faults: Faults that may be injected here.
            probability: Probability of a fault; None: the world's.
        """
        strikes = self.draw("fault") < (self.tuning.fault if probability is None else probability)
        if not (faults and strikes and self._can_strike(process)):
            return ""
        fault = str(self.choose("kind of fault", faults))
        self.fault_counts[fault] += 1
        self.trouble = max(self.trouble, self.now)
        return fault

    def note(self, text: str) -> None:
        """Add a line to the trace of the simulation, without counting an event.

        Args:
            text: Content of the line.
        """
        name = self.current.name if self.is_running else "operator"
        self.trace.append(Event(self.event, self.now, name, text))

    def check(self) -> None:
        """Check that all invariants of the scenario hold in the present state.

        Raises:
            Violation: one of them does not hold.
        """
        for invariant in self.invariants:
            invariant()

    def random_bytes(self, name: str) -> Callable[[int], bytes]:
        """Return a source of pseudorandom bytes that the seed and a name decide; no byte is given twice.

        Args:
            name: Name of the source; sources of other names are independent.
        """
        from cryptography.hazmat.primitives.ciphers import Cipher, algorithms

        key = self.draw_word(f"noise of {name}").to_bytes(8, "little") * 4
        stream = Cipher(algorithms.ChaCha20(key, bytes(16)), mode=None).encryptor()
        return lambda length: stream.update(bytes(length))


class SimulatedLock:
    """A lock whose waiting processes let others run. It replaces `threading.Lock` in product objects."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._held = False

    def acquire(self, blocking: bool = True) -> bool:
        """Acquire the lock for the running simulated process; return True if it was acquired.

        Args:
            blocking: Whether to wait for the lock.
        """
        if not blocking and self._held:
            return False
        while self._held:
            self._world.poll(0.01)  # seconds between two looks at a lock
        self._held = True
        return True

    def release(self) -> None:
        """Release the lock; a simulated process that waits for it gets it when it runs next."""
        self._held = False

    def locked(self) -> bool:
        """Return True if a process holds the lock."""
        return self._held

    def __enter__(self) -> SimulatedLock:
        self.acquire()
        return self

    def __exit__(self, *_: object) -> None:
        self.release()


@contextmanager
def replace_attributes(*replacements: tuple[Any, str, Any]) -> Iterator[None]:
    """Replace attributes of modules and objects, and put the old ones back at the end.

    Args:
        replacements: Object, name of the attribute and new value of each.

    Raises:
        AttributeError: an object has no attribute of the name.
    """
    old_values = [(owner, name, getattr(owner, name)) for owner, name, _ in replacements]
    for owner, name, value in replacements:
        setattr(owner, name, value)
    try:
        yield
    finally:
        for owner, name, value in reversed(old_values):
            setattr(owner, name, value)
