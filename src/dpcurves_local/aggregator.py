"""Aggregation in local differential privacy: count one randomised report per person, and estimate the curve.

A task is the public document with the question and the privacy loss. Each person's device randomises one answer to it,
and sends the result, a report, under a pseudonym. The aggregator counts how many reports support each answer, and
removes the bias of the randomisation.

    aggregate     task, all reports -> the estimated curve, such as a distribution function
    Collection    adds reports batch by batch; counts each pseudonym once, and skips damaged reports
    Inviter       signs invitations (Ed25519), so that a server accepts one report per invited person

A collection stores counts and pseudonyms only, so single reports cannot be read again.

Formal guarantees: reports are randomised on the devices, and the aggregator never sees a true value. Each result
is a function of the reports alone, so it adds no privacy loss (post-processing).
"""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import Any, Self

import numpy as np
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
)
from numpy.typing import NDArray

from dpcurves.arguments import InvalidArgument
from dpcurves.arrays import BoolArray, IntArray, loops_are_compiled
from dpcurves.conversation import Release
from dpcurves.curves.result import warn_about_notes
from dpcurves.ledger import Allotment
from dpcurves.ledger.chain import publish_file

from .report_file import (
    PSEUDONYM_SIZE,
    HashedNameSet,
    Octets,
    ReportBatch,
    has_drawn_names,
    map_report_file,
    names_to_numbers,
)
from .task import Task
from .trust import ReportAggregator

BATCH_REPORTS = 2**14
"""Largest number of reports that are counted together: each batch has a fixed cost, and one of this size takes about a
megabyte. The number changes speed and memory, not the counts."""


def aggregate(reports: Iterable[bytes] | bytes | str | Path, task: Task) -> Any:
    """Return the curve of a task, estimated from the reports of people.

    A person counts once. Damaged reports and reports of another task are left out. Use `Collection` to see how many
    these were, or to read several files.

    Args:
        reports: Results of `Task.randomize`, one per item or concatenated; the bytes that `Task.randomize_table`
            returns; or the path of a file of them.
        task: The task of the reports.

    Returns:
        The result of the task's question, such as a `CDF`.

    Raises:
        ValueError: there are no reports, or the file cannot be read.

    >>> import dpcurves as dp
    >>> task = Task(dp.CdfQuestion("age", dp.Grid(0, 100, cells=4)), dp.PrivacyLoss.pure(8), people=400)
    >>> aggregate([task.randomize(30) for _ in range(400)], task).quantile_cell(0.5).tolist()
    [25.0, 50.0]
    """
    collection = Collection(task)
    if isinstance(reports, str | Path):
        collection.add_file(reports)
    else:
        collection.add_each([reports] if isinstance(reports, bytes) else reports)
    return collection.curve()


class Collection:
    """Running totals of the reports of one task, and the pseudonyms of the people counted so far.

    Attributes:
        task: The task of the reports. Messages of another task are refused.
        refused: Number of messages that were damaged, truncated, of another task, or not reports.
        repeated: Number of further reports of people who were counted in this collection already.
        met: Number of reports left out because the task lists their pseudonyms: these people reported in an earlier
            round of questions already.
        any_drawn: Whether a counted person has a random pseudonym. Such a person cannot be recognised in another round.
    """

    def __init__(self, task: Task) -> None:
        """Begin to count the reports of people to a task, without reports.

        Args:
            task: The task; messages of another task are refused.
        """
        self.task = task
        self.refused = 0
        self.repeated = 0
        self.met = 0
        self.any_drawn = False
        self._tables = ReportAggregator(task.plan)
        self._seen = HashedNameSet(task.people) if loops_are_compiled() else SortedNameSet()

    @property
    def reports(self) -> int:
        """Number of people whose report was counted."""
        return sum(self._tables.reports)

    def add_file(self, path: str | Path) -> None:
        """Count the reports in a file; damaged, invalid and repeated ones only increase their counters.

        Args:
            path: File of concatenated messages, as a report server writes it.

        Raises:
            ValueError: the file cannot be read.
        """
        self.add(map_report_file(path))

    def add(self, data: bytes | memoryview) -> None:
        """Count the reports in concatenated messages. Damaged, invalid and repeated ones only increase their counters.

        Args:
            data: Messages, as `Task.randomize` returns them, one after another.
        """
        for records in self.task.report_format.parse_reports(data):
            self._add_batch(records)

    def add_each(self, reports: Iterable[bytes]) -> None:
        """Count reports that come one by one, in batches of 16,384.

        Damaged and repeated reports only increase their counters.

        Args:
            reports: Messages, as `Task.randomize` returns them, one per person.
        """
        for batch in _split_batches(reports):
            self.add(b"".join(batch))

    def _add_batch(self, records: ReportBatch) -> None:
        """Count the valid reports of new people in a batch, and add to the counters of refused and repeated ones.

        Args:
            records: Consecutive records of a file.
        """
        batches, is_valid = self._tables.sort_by_level(self.task.expand_messages(records))
        all_valid = bool(is_valid.all())
        self.refused += records.damaged_count + int(len(is_valid) - is_valid.sum())
        reported_earlier = is_valid & self.task.mark_repeats(records.names)
        if reported_earlier.any():
            self.met = self.met + int(reported_earlier.sum())
            all_valid = False
            is_valid = is_valid & ~reported_earlier
        self.any_drawn |= has_drawn_names(records.names[is_valid])
        is_new = self._seen.mark_new(records.names if all_valid else records.names[is_valid])
        self.repeated += int(len(is_new) - is_new.sum())
        is_valid[is_valid] = is_new
        self._tables.count_reports(batches, is_valid)

    def names(self) -> bytes:
        """Return the pseudonyms of the counted people, 8 bytes for each, in the order of their values as integers.

        A pseudonym is a salted hash of the person's name, or random if the device was given no name. The bytes are
        little-endian, and empty if no person was counted.
        """
        return self._seen.list_names().astype(f"<u{PSEUDONYM_SIZE}").tobytes()

    def release(self, allotment: Allotment) -> Release:
        """Return the aggregated counts of all reports as a release, with the plan of the task.

        Args:
            allotment: Receipt of the privacy loss of these counts, which the devices have paid.

        Raises:
            ValueError: no report was added.
        """
        return self._tables.release(allotment, seeded=False)

    def curve(self) -> Any:
        """Return the result of the task's question, such as a `CDF`, estimated from the reports counted so far.

        Warns:
            CurveWarning: each of the curve's `notes`.

        Raises:
            ValueError: there are no reports.
        """
        met = None if self.any_drawn else self.met
        curve = self.task.compute_curve(lambda step, allotment: self.release(allotment), repeated_people=met)
        warn_about_notes(curve)
        return curve


def _split_batches(reports: Iterable[bytes]) -> Iterator[list[bytes]]:
    """Yield lists of up to `BATCH_REPORTS` reports.

    Args:
        reports: Reports of any number of people.
    """
    iterator = iter(reports)
    while batch := list(islice(iterator, BATCH_REPORTS)):
        yield batch


class SortedNameSet:
    """A set of 8-byte pseudonyms, stored as sorted runs. It needs no compiled loops, unlike `HashedNameSet`."""

    def __init__(self) -> None:
        self._runs: list[NDArray[np.uint64]] = []

    @property
    def count(self) -> int:
        """Number of pseudonyms in the set."""
        return sum(map(len, self._runs))

    def mark_new(self, names: Octets) -> BoolArray:
        """Add pseudonyms, and return a mask of the new ones.

        Args:
            names: Pseudonyms, (people, 8) bytes.

        Returns:
            True where the pseudonym is neither in the set nor earlier in `names`.
        """
        is_new, run = self.find_new(names)
        self.insert_run(run)
        return is_new

    def find_new(self, names: Octets) -> tuple[BoolArray, NDArray[np.uint64]]:
        """Return which pseudonyms are not in the set, without adding them.

        Args:
            names: Pseudonyms, (people, 8) bytes.

        Returns:
            A mask (people,), True for pseudonyms that are neither in the set nor earlier in `names`; and these
            pseudonyms as sorted integers, which `insert_run` adds.
        """
        numbers = names_to_numbers(names)
        order = _sort_indices(numbers)
        ordered = numbers[order]
        is_new = np.zeros(len(numbers), dtype=np.bool_)
        is_first = np.append(True, ordered[1:] != ordered[:-1])[: len(ordered)]
        for run in self._runs:  # searched in sorted order, which keeps memory accesses close together
            position = np.minimum(np.searchsorted(run, ordered), len(run) - 1)
            is_first &= run[position] != ordered
        is_new[order] = is_first
        return is_new, ordered[is_first]

    def list_names(self) -> NDArray[np.uint64]:
        """Return all pseudonyms of the set as sorted integers."""
        return np.sort(np.concatenate([np.zeros(0, dtype=np.uint64), *self._runs]))

    def insert_run(self, run: NDArray[np.uint64]) -> None:
        """Add sorted pseudonyms to the set as one run, merged with earlier runs of up to twice its length.

        The number of sorted runs that a look-up searches therefore grows only with the logarithm of the number of
        pseudonyms.

        Args:
            run: New pseudonyms as sorted integers, as `find_new` returns them.
        """
        while run.size and self._runs and len(self._runs[-1]) <= 2 * len(run):
            run = np.sort(np.concatenate([self._runs.pop(), run]), kind="stable")
        if run.size:
            self._runs.append(run)


def _sort_indices(numbers: NDArray[np.uint64]) -> IntArray:
    """Return the indices that sort pseudonyms; equal ones, which are rare, keep their order.

    Args:
        numbers: Pseudonyms as integers, of shape ``(n,)``.
    """
    order = np.argsort(numbers)
    ordered = numbers[order]
    if np.any(ordered[1:] == ordered[:-1]):
        return np.argsort(numbers, kind="stable")
    return order


INVITATION_CONTEXT = (
    b"dpcurves local invitation\n"  # signed before the task, so that no other signature is an invitation
)
"""First bytes of what an invitation signs, so that no signature made for another purpose passes as one."""
UNSIGNED_INVITATION = "is not signed for this task; ask the author of the task for another invitation"
"""Refusal of an invitation that is malformed, or not signed with the key of this task's author."""


@dataclass(frozen=True)
class Inviter:
    """The aggregator's secret key, which signs invitations to tasks that name its public key.

    An invitation is a pseudonym and an Ed25519 signature of it under a label and the task's hash. A server accepts at
    most one report per invitation, so a client cannot send reports under invented names or in another person's name. An
    invitation shows the server only the pseudonym, which the report contains too.

    Formal guarantees: invitations protect accuracy, not privacy. The loss of a report is bounded without them.

    Attributes:
        private_key: An Ed25519 private key.
    """

    private_key: Ed25519PrivateKey

    @classmethod
    def load_or_create(cls, path: str | Path) -> Self:
        """Load the key from a PEM file; create the file if it does not exist, readable by its owner only.

        Args:
            path: Path of the PEM file (PKCS #8, without a password).

        Raises:
            ValueError: the file cannot be used, or holds something else.
        """
        key_path = Path(path)
        key = None
        try:
            if not key_path.exists():
                made = Ed25519PrivateKey.generate().private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
                # whole and flushed before it has its name: half a key would refuse all later starts
                publish_file(key_path, lambda draft: draft.write_bytes(made))
            stored_key = load_pem_private_key(key_path.read_bytes(), password=None)
            key = stored_key if isinstance(stored_key, Ed25519PrivateKey) else None
        except OSError as error:
            raise InvalidArgument(
                "invitation_key", f"the file cannot be opened ({error.strerror}); name another file"
            ) from None
        except (ValueError, TypeError):
            pass
        if key is None:
            raise InvalidArgument(
                "invitation_key",
                "the file holds no Ed25519 private key, or it is protected by a password; name the file that "
                "`local task` made",
            )
        return cls(key)

    @cached_property
    def public_key(self) -> str:
        """The public key in 64 hexadecimal digits, for `Task(..., invitations=...)`."""
        return self.private_key.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw).hex()

    def sign_invitation(self, task: Task, person: str) -> str:
        """SECRET: return the invitation of a person as URL-safe Base64. Hand it to that person only.

        Args:
            task: The task, which must name `public_key`.
            person: The person's name; it must not be empty.

        Raises:
            ValueError: the task names another key, or the person has no name.
        """
        if task.invitations != self.public_key:
            raise InvalidArgument(
                "task", "names another key for invitations, or none; make the task with the public key of this inviter"
            )
        name = task.hash_name(person)
        return urlsafe_b64encode(name + self.private_key.sign(_encode_signed_name(task, name))).decode()


def verify_invitation(task: Task, invitation: str) -> bytes:
    """Return the pseudonym (8 bytes) in an invitation, after its signature was checked.

    Args:
        task: The task, which names the public key.
        invitation: Base64 text from `Inviter.sign_invitation`.

    Raises:
        ValueError: the text is no invitation, the signature was not made with the task's key or is of another pseudonym
            or task, or the task names no key.
    """
    try:
        decoded = urlsafe_b64decode(invitation.encode("ascii"))
        name = decoded[:PSEUDONYM_SIZE]
        Ed25519PublicKey.from_public_bytes(bytes.fromhex(task.invitations or "")).verify(
            decoded[PSEUDONYM_SIZE:], _encode_signed_name(task, name)
        )
    except (ValueError, InvalidSignature):
        raise InvalidArgument("invitation", UNSIGNED_INVITATION) from None
    return name


def _encode_signed_name(task: Task, name: bytes) -> bytes:
    """Return the bytes that an invitation signs: a label, the task's hash and the pseudonym.

    Args:
        task: The task.
        name: The pseudonym, 8 bytes.
    """
    return INVITATION_CONTEXT + bytes.fromhex(task.hash) + name
