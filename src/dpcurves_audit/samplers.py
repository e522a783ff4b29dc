"""Samplers: how an audit calls a release, and what counts as its outcome.

    CallableSampler    a function in this process
    BatchSampler       a function that returns many independent outcomes at once
    PackageSampler     a function of an installed package, in separate processes
    CommandSampler     a command that reads a CSV file and writes JSON
    KilledSampler      a service that is killed when it answers, and restarted

An outcome is everything that an observer sees: the answer, printed text, exceptions, exit status and timeouts.
"""

from __future__ import annotations

import copy
import csv
import io
import json
import os
import pickle
import select
import shlex
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager, redirect_stderr, redirect_stdout, suppress
from importlib import import_module
from pathlib import Path
from types import FrameType
from typing import Any, Protocol, runtime_checkable
from warnings import catch_warnings

import numpy as np

from dpcurves.arguments import InvalidArgument, describe_value

from .outcome_scores import Failure

Release = Callable[[Any], Any]
Many = Callable[[Any, int], Any]
SAMPLER_SECONDS = 10.0
"""Seconds: timeout of a call; a call that takes longer is stopped, and counts as the outcome "hangs"."""
LONGEST_MESSAGE = 2000
"""Characters of an error message or of printed output that are audited as part of an outcome; the rest is cut."""


@runtime_checkable
class Sampler(Protocol):
    """Interface of a release under audit: takes a data set, and returns the outcomes of independent calls."""

    @property
    def name(self) -> str:
        """Name of the release, for reports."""
        ...

    def draw(self, data: Any, number: int) -> Any:
        """Return the outcomes of independent calls with the same data.

        Args:
            data: The data set.
            number: Number of calls.

        Returns:
            An array with one row per call, or a sequence of any objects.
        """
        ...


class CallTimeout(BaseException):
    """A call took too long. It is no `Exception`, so that a release that catches all exceptions does not catch it."""


@contextmanager
def limit_time(seconds: float) -> Iterator[None]:
    """Raise `CallTimeout` in the main thread after `seconds`. In other threads nothing limits the time."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def raise_timeout(number: int, frame: FrameType | None) -> None:
        """Raise `CallTimeout`; the system's alarm calls this handler with the signal and the frame.

        Args:
            number: Number of the signal; without effect.
            frame: Frame that was interrupted; without effect.
        """
        raise CallTimeout

    before = signal.signal(signal.SIGALRM, raise_timeout)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def call_release(release: Release, data: Any, timeout: float) -> Any:
    """Return the outcome of one call: its answer and printed text, or its failure.

    Args:
        release: The audited function.
        data: The data set; the function gets a copy.
        timeout: Seconds after which the call counts as hanging.

    Returns:
        The answer (an iterator as a list); or a `Failure` for an exception or a time-out; or a dict of answer and
        printed text, if the function prints.
    """
    output = io.StringIO()
    try:
        with limit_time(timeout), redirect_stdout(output), redirect_stderr(output):
            answer = release(copy.deepcopy(data))
            if isinstance(answer, Iterator):
                answer = list(answer)
    except CallTimeout:
        return Failure("hangs", f"for more than {timeout:g} seconds")
    except (Exception, SystemExit) as error:
        answer = Failure.from_exception(error)
    printed = output.getvalue()
    if not printed:
        return answer
    shown_output = printed[:LONGEST_MESSAGE]
    if isinstance(answer, Failure):
        return Failure(answer.kind, f"{answer.message}; prints {shown_output}")
    return {"answer": answer, "prints": shown_output}


class CallableSampler:
    """Calls a function in this process.

    Args:
        release: Function of a data set.
        timeout: Seconds after which a call counts as hanging.
    """

    def __init__(self, release: Release, timeout: float = SAMPLER_SECONDS) -> None:
        if not callable(release):
            raise InvalidArgument(
                "release",
                "a function that takes data is needed, as in lambda data: release(data), got "
                f"{describe_value(release)}",
            )
        self._release = release
        self._patience = timeout
        self.name = getattr(release, "__name__", type(release).__name__)

    def draw(self, data: Any, number: int) -> list[Any]:
        """Return the outcomes of `number` calls. Each call gets a fresh copy of the data.

        Args:
            data: Data set of the pair.
            number: Number of calls.

        Returns:
            An outcome for each call: its answer, or a `Failure`.
        """
        return [call_release(self._release, data, self._patience) for _ in range(number)]


class BatchSampler:
    """Calls a function ``release(data, k)`` that returns `k` independent outcomes at once.

    Args:
        release: The function; it returns an array with one row per outcome, or a list.
    """

    def __init__(self, release: Many) -> None:
        if not callable(release):
            raise InvalidArgument(
                "release",
                f"a function that takes data and a number of outcomes is needed, got {describe_value(release)}",
            )
        self._release = release
        self.name = getattr(release, "__name__", type(release).__name__)

    def draw(self, data: Any, number: int) -> Any:
        """Call the release once for `number` outcomes, and return them.

        Args:
            data: Data set of the pair; the function gets a copy.
            number: Number of outcomes; below 1, the function is not called.

        Returns:
            An outcome for each row of the array, or each entry of the list.

        Raises:
            InvalidArgument: the function returned another number of outcomes, or no array or list.
        """
        if number < 1:
            return []
        outcomes = self._release(copy.deepcopy(data), number)
        try:
            length = len(outcomes)
        except TypeError:
            length = -1
        if length != number:
            raise InvalidArgument(
                "release",
                f"the function was asked for {number} outcomes and gave {describe_value(outcomes)} of"
                " another length; return one outcome for each",
            )
        if isinstance(outcomes, np.ndarray) or not isinstance(outcomes, str | bytes | Mapping):
            return outcomes
        raise InvalidArgument(
            "release",
            f"the function must return an array with a row for each outcome, or a list, got {describe_value(outcomes)}",
        )


def import_function(function_path: str) -> Release:
    """Return a function by its name, imported from the working directory or the environment.

    Args:
        function_path: The name as ``module:function``; both parts may have dots.

    Raises:
        ValueError: the function does not exist.
    """
    module, mark, name = function_path.partition(":")
    if not mark or not name:
        raise InvalidArgument("function", f"must be module:function, as in mycode:release, got {function_path!r}")
    sys.path.insert(0, os.getcwd())
    try:
        target: Any = import_module(module)
        for attribute in name.split("."):
            target = getattr(target, attribute)
    except ImportError as error:
        raise InvalidArgument(
            "function",
            f"{module!r} cannot be imported ({type(error).__name__});"
            " run the audit from the folder of the module, or install it",
        ) from None
    except AttributeError:
        raise InvalidArgument("function", f"{module!r} has no {name!r}; correct the name after the colon") from None
    finally:
        sys.path.pop(0)
    if not callable(target):
        raise InvalidArgument("function", f"{function_path!r} is not a function; name one after the colon")
    release: Release = target
    return release


def _call_in_worker(function_path: str, data: Any, number: int, timeout: float) -> list[Any]:
    """Return outcomes of calls in a worker process. An interrupt that a call raises is an outcome as well.

    Args:
        function_path: Name of the audited function as ``module:function``.
        data: The data set.
        number: Number of calls.
        timeout: Seconds after which a call counts as hanging.
    """
    release = import_function(function_path)
    outcomes: list[Any] = []
    for _ in range(number):
        try:
            outcomes.append(make_picklable(call_release(release, data, timeout)))
        except KeyboardInterrupt as error:
            outcomes.append(Failure.from_exception(error))
    return outcomes


def make_picklable(outcome: Any) -> Any:
    """Return an outcome that can be sent to another process: unchanged if pickle can store it, else a mapping with its
    text.

    Args:
        outcome: Outcome of a call.
    """
    try:
        pickle.dumps(outcome)
    except Exception:
        return {"text": str(outcome)}
    return outcome


def fork_process() -> int:
    """Fork this process, without Python's warning about threads, of which the child uses none."""
    with catch_warnings(action="ignore", category=DeprecationWarning):
        return os.fork()


class PackageSampler:
    """Calls a function of any package in spawned processes.

    Processes are spawned, not forked, so they share no generator state with each other.

    Args:
        function_path: The function as ``module:function``.
        processes: Number of processes.
        timeout: Seconds after which a call counts as hanging.

    Raises:
        ValueError: the function does not exist.
    """

    def __init__(self, function_path: str, processes: int = 1, timeout: float = SAMPLER_SECONDS) -> None:
        import_function(function_path)
        self.name = function_path
        self._place = function_path
        self._processes = processes
        self._patience = timeout
        self._pool: Executor | None = None

    def draw(self, data: Any, number: int) -> list[Any]:
        """Return the outcomes of `number` calls, shared among the processes.

        Args:
            data: Data set of the pair.
            number: Number of calls.

        Returns:
            An outcome for each call: its answer, or a `Failure`.

        Raises:
            InvalidArgument: a process ended.
        """
        from concurrent.futures.process import BrokenProcessPool
        from multiprocessing import get_context

        if self._pool is None:
            self._pool = ProcessPoolExecutor(self._processes, mp_context=get_context("spawn"))
        sizes = [number // self._processes + (index < number % self._processes) for index in range(self._processes)]
        futures = [
            self._pool.submit(_call_in_worker, self._place, data, size, self._patience) for size in sizes if size
        ]
        try:
            return [outcome for future in futures for outcome in future.result()]
        except BrokenProcessPool:
            raise InvalidArgument(
                "function", f"{self._place} ended the process that called it; let it return or raise instead of exiting"
            ) from None

    def close(self) -> None:
        """End the spawned processes that call the release."""
        if self._pool is not None:
            self._pool.shutdown()
            self._pool = None


class CommandSampler:
    """A command that reads a CSV file, and writes JSON to a file or to standard output.

    Exit status, messages, and output that is not JSON are outcomes as well.

    Args:
        template: The command. ``{data}`` is the CSV file; ``{out}`` the file for JSON, if it writes one.
        processes: Simultaneous calls.
        timeout: Seconds after which a call is killed.

    Raises:
        ValueError: the command does not contain ``{data}``, or cannot be split into words.
    """

    def __init__(self, template: str, processes: int = 1, timeout: float = SAMPLER_SECONDS) -> None:
        try:
            self._words = shlex.split(template)
        except ValueError as error:
            raise InvalidArgument("command", f"the quotes do not match ({error}); close each quote") from None
        if not any("{data}" in word for word in self._words):
            raise InvalidArgument("command", "the command must contain {data}, as in './release.sh {data} {out}'")
        self.name = template
        self._writes = any("{out}" in word for word in self._words)
        self._processes = processes
        self._patience = timeout

    def draw(self, data: Any, number: int) -> list[Any]:
        """Return the outcomes of `number` runs of the command on the data as a CSV file.

        Args:
            data: Data set of the pair, which is written as a CSV file.
            number: Number of runs.

        Returns:
            An outcome for each run: parsed JSON, words of other output, or a `Failure`.
        """
        with tempfile.TemporaryDirectory() as folder:
            source = Path(folder, "data.csv")
            source.write_text(as_csv(data), encoding="utf-8")
            if self._processes == 1:
                return [self._run_command(source, Path(folder, f"{index}.json")) for index in range(number)]
            with ThreadPoolExecutor(self._processes) as pool:
                return list(
                    pool.map(lambda index: self._run_command(source, Path(folder, f"{index}.json")), range(number))
                )

    def _run_command(self, source: Path, target: Path) -> Any:
        """Return the outcome of one run: its JSON or words, with messages; or its failure.

        Args:
            source: File of the data set.
            target: File to which the command may write its answer.

        Raises:
            InvalidArgument: the command cannot be started.
        """
        words = [word.replace("{data}", str(source)).replace("{out}", str(target)) for word in self._words]

        # A separate session lets a timeout end the command together with the processes that it started.
        try:
            process = subprocess.Popen(
                words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
            )
        except OSError as error:
            raise InvalidArgument(
                "command", f"{words[0]!r} cannot be run ({error.strerror}); give the path of an executable file"
            ) from None
        try:
            output, errors = process.communicate(timeout=self._patience)
        except subprocess.TimeoutExpired as late:
            has_ended = process.poll() is not None
            _end_session(process)
            if not has_ended:
                return Failure("hangs", f"for more than {self._patience:g} seconds")
            # a process that it left running holds its output open; what the command wrote itself is the outcome
            output, errors = late.output or b"", late.stderr or b""

        # Paths of one run are no part of its outcome, so they are masked in messages.
        messages = _decode_output(errors, str(source), str(target))
        written: bytes | None = output
        if self._writes:
            messages += _decode_output(output, str(source), str(target))
            written = target.read_bytes() if target.exists() else None
        target.unlink(missing_ok=True)

        if process.returncode:
            return Failure(f"ends with status {process.returncode}", messages)
        if written is None:
            return Failure("writes no file", messages)
        try:
            answer = json.loads(written)
        except ValueError:
            answer = _parse_words(written)
        return {"answer": answer, "messages": messages} if messages else answer


def _end_session(process: subprocess.Popen[bytes]) -> None:
    """Kill a command with the processes of its session, and close its output, which a process that began a session of
    its own may hold open for ever.
    """
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    for pipe in (process.stdout, process.stderr):
        if pipe is not None:
            pipe.close()
    process.wait()


def _decode_output(text: bytes, *paths: str) -> str:
    """Return printed bytes as text, with these paths replaced, cut to the longest message."""
    decoded = text.decode(errors="replace")
    for path in paths:
        decoded = decoded.replace(path, "FILE")
    return decoded.strip()[:LONGEST_MESSAGE]


def _parse_words(output: bytes) -> Any:
    """Return the words of a text that is not JSON, as numbers where possible.

    Args:
        output: Output of a command, decoded as UTF-8; commas separate words, too.

    Returns:
        Floats and texts in their order.
    """
    words: list[Any] = []
    for word in output.decode(errors="replace").replace(",", " ").split():
        try:
            words.append(float(word))
        except ValueError:
            words.append(word)
    return words


def as_csv(data: Any) -> str:
    """Return data as the text of a CSV file with a header.

    Args:
        data: Columns by name; or one column, which gets the name ``value``.
    """
    columns: Mapping[str, Sequence[Any]] = data if isinstance(data, Mapping) else {"value": data}
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    for row in zip(*columns.values(), strict=True):
        writer.writerow([value.item() if hasattr(value, "item") else value for value in row])
    return text.getvalue()


Publish = Callable[[Any], None]
Service = Callable[[Any, Path, Publish], Any]
"""Answers one request about data, with its state in a folder, and publishes its answer with the given function."""


class KilledSampler:
    """Kills a service as soon as it publishes its answer, and restarts it on the same folder of state. Each run of the
    service, from start to kill, is a *life*.

    The outcome has the outputs of all lives. A correct service charges and stores its answer before it publishes. It
    then repeats the same answer or none, so all lives together lose what one release loses.

    Args:
        service: Answers the request. Each life is a forked process, so noise must come from the operating system: a
            generator of this process would repeat.
        lives: Number of starts.
        spare_last: Whether the last life is not killed.
    """

    def __init__(self, service: Service, lives: int = 3, *, spare_last: bool = True) -> None:
        if lives < 1:
            raise InvalidArgument("lives", "at least 1 run of the stream is needed, as in lives=3")
        self.name = f"{getattr(service, '__name__', 'a service')}, killed when it answers"
        self._service = service
        self._lives = lives
        self._spare = spare_last
        self._is_loaded = False

    def draw(self, data: Any, number: int) -> list[Any]:
        """Return the outcomes of `number` requests. Each outcome lists the answers of all lives.

        Args:
            data: Data set of the pair.
            number: Number of requests.
        """
        if not self._is_loaded:
            self._warm_up(data)
        return [self._run_lives(data) for _ in range(number)]

    def _warm_up(self, data: Any) -> None:
        """Run the service once in this process and discard its answer, so that forked processes find all modules
        loaded.

        Args:
            data: Data set of the pair; the service gets a copy.
        """
        with tempfile.TemporaryDirectory() as folder, suppress(Exception):
            self._service(copy.deepcopy(data), Path(folder), lambda shown: None)
        self._is_loaded = True

    def _run_lives(self, data: Any) -> list[Any]:
        """Return the answers of all lives on one folder of state, in order; None for a life that published none.

        Args:
            data: Data set of the pair; each life gets a copy.
        """
        with tempfile.TemporaryDirectory() as folder:
            return [
                self._run_life(copy.deepcopy(data), Path(folder), kill=not (self._spare and life == self._lives - 1))
                for life in range(self._lives)
            ]

    def _run_life(self, data: Any, folder: Path, *, kill: bool) -> Any:
        """Return the answer that one forked life of the service publishes; with `kill`, kill the service at once after
        that.

        Args:
            data: Data set of the pair.
            folder: Folder of the service's state.
            kill: Whether the service is killed after it publishes; else it ends by itself.

        Returns:
            The answer; kind and message of a `Failure` for an exception; ``hangs`` after a time-out; or None.
        """
        read, write = os.pipe()
        child = fork_process()
        if child == 0:
            os.close(read)
            try:
                self._service(data, folder, lambda shown: _send_outcome(write, shown))
            except Exception as error:
                _send_outcome(write, Failure.from_exception(error))
            finally:
                os._exit(0)
        os.close(write)
        patience = 0.0  # seconds: after an error, and for a life that is killed
        try:
            shown = _receive_outcome(read)
            patience = 0.0 if kill else SAMPLER_SECONDS
        finally:
            os.close(read)
            _end_child(child, patience)
        return shown


def _end_child(child: int, patience: float) -> None:
    """Wait up to `patience` seconds for the end of a child process, then kill it: a service may go on after its
    answer."""
    deadline = time.monotonic() + patience
    while time.monotonic() < deadline:
        if os.waitpid(child, os.WNOHANG)[0]:
            return
        time.sleep(0.0005)  # seconds between two looks
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)


def _send_outcome(pipe: int, shown: Any) -> None:
    """Write an outcome into a pipe, with its length before it.

    Args:
        pipe: File descriptor to write to.
        shown: Answer that the service published, or a `Failure`, of which kind and message are sent.
    """
    text = pickle.dumps((shown.kind, shown.message) if isinstance(shown, Failure) else make_picklable(shown))
    os.write(pipe, len(text).to_bytes(8) + text)


def _receive_outcome(pipe: int) -> Any:
    """Return the first output in a pipe; ``hangs`` after a time-out, None if the process ended before.

    Args:
        pipe: File descriptor to read from.
    """
    text = b""
    while len(text) < 8 or len(text) < 8 + int.from_bytes(text[:8]):
        if not select.select([pipe], [], [], SAMPLER_SECONDS)[0]:
            return "hangs"
        piece = os.read(pipe, 65536)
        if not piece:
            return None
        text += piece
    return pickle.loads(text[8:])
