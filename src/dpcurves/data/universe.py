"""Public universes of category names: sets of names too large to list, from which partition selection finds categories.

If categories are not listed in advance, their names must be found privately. Without a delta this needs a public set
that contains every possible name. Noise is added to every name of the set, whether a record has it or not, and the
names whose noisy counts exceed a threshold are released. Two sets of possible names are defined here:

- `TextUniverse`: all texts over an alphabet up to a maximum length;
- `HashUniverse`: all hashes with a number of bits, for names of any letters.

Names of one length have the same rank, and each rank has its own threshold. Thresholds are such that the expected
number of released names without a record is at most `FALSE_NAMES`. A smaller universe has lower thresholds.

Formal guarantees: a universe is a public fact, declared before any record is read. The mechanism and its proof are in
`mechanisms.partition_selection.UniverseCategories`.

Reference: Cormode, Procopiuc, Srivastava and Tran 2012, *Differentially private summaries for sparse data*.

>>> digits = TextUniverse("0-9", 3)
>>> digits.sizes  # names of one, two and three digits
(10, 100, 1000)
>>> digits.find_rank("407")  # the rank is the length minus one
2
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from hashlib import sha256
from re import finditer

from ..arguments import InvalidArgument, WrongArgumentType, convert_to_integers, require_type

LONGEST_NAME_BYTES = 200
"""Largest length of a category name, in bytes of UTF-8. A universe of texts that may be longer is refused."""
FALSE_NAMES = Fraction(1, 10)
"""Upper bound on the expected number of released names that no record has. A smaller bound means higher thresholds, so
that more rare names are missed. Partition selection splits it evenly over the ranks."""
BITS_A_DIGIT = 4
"""Bits of a hexadecimal digit. A universe of hashes whose length in bits is no multiple is refused."""


@dataclass(frozen=True, slots=True)
class TextUniverse:
    """Universe of all texts over an alphabet up to a length, from which unlisted categories are selected.

    All names of one length are equally easy to select, shorter names more easily. A smaller alphabet or length lowers
    the number of units that a name needs. Any other text counts in ``other``.

    Attributes:
        alphabet: Letters, each once, with ranges as in ``"a-z0-9 "``. A hyphen must come first or last.
        longest: Maximum number of letters of a name.

    Raises:
        ValueError: the alphabet is empty, a range decreases, or names may exceed 200 bytes of UTF-8.
        TypeError: the alphabet is not a string, or the length not an integer.

    >>> digits = TextUniverse("0-9", 5)
    >>> digits.alphabet, digits.sizes, digits.find_rank("407"), digits.name_at(2, 407), digits.find_rank("x")
    ('0123456789', (10, 100, 1000, 10000, 100000), 2, '407', None)
    """

    alphabet: str
    longest: int

    def __post_init__(self) -> None:
        """Expand the ranges of the alphabet, and check the length.

        Raises:
            InvalidArgument: the alphabet is invalid, or names may exceed 200 bytes.
            WrongArgumentType: a field has another type.
        """
        require_type("alphabet", self.alphabet, str, 'letters, as in "a-z0-9",')
        convert_to_integers(self, longest="longest")
        letters = _expand_letters(self.alphabet)
        object.__setattr__(self, "alphabet", letters)
        widest = max(len(letter.encode()) for letter in letters)
        if not 1 <= self.longest <= LONGEST_NAME_BYTES // widest:
            raise InvalidArgument(
                "longest",
                f"a length from 1 to {LONGEST_NAME_BYTES // widest} is needed, because names have up to 200"
                " bytes; choose such a length",
            )

    @property
    def sizes(self) -> tuple[int, ...]:
        """Number of possible names of each rank, that is, of length 1, 2, and so on."""
        return tuple(len(self.alphabet) ** length for length in range(1, self.longest + 1))

    def label(self, name: str) -> str:
        """Return how a name is released: unchanged, in contrast to hashed names.

        Args:
            name: Name of a category.
        """
        return name

    def find_rank(self, name: str) -> int | None:
        """Return the rank of a name, its length minus one; None if the universe does not contain the name.

        Args:
            name: Name of a category.
        """
        return len(name) - 1 if 0 < len(name) <= self.longest and not set(name) - set(self.alphabet) else None

    def name_at(self, rank: int, index: int) -> str:
        """Return the name at a position in the alphabetical list of all names of one rank.

        Args:
            rank: Length of the name, minus one.
            index: Position in the list, from 0 to ``sizes[rank] - 1``.
        """
        name = ""
        for _ in range(rank + 1):
            index, digit = divmod(index, len(self.alphabet))
            name = self.alphabet[digit] + name
        return name

    def __str__(self) -> str:
        """Return the universe in words, such as "texts of up to 12 of 26 letters"."""
        return f"texts of up to {self.longest} of {len(self.alphabet)} letters"


@dataclass(frozen=True, slots=True)
class HashUniverse:
    """Universe of hashes: a category is released as the first digits of the SHA-256 of its name.

    Anyone with a list of candidate names finds them with `label`, so a hash hides nothing. Names with equal hashes
    are one category; at 52 bits, a million names have no collision with probability 0.9999.

    Attributes:
        bits: Bits of a hash, a multiple of 4. Fewer bits lower the number of units that a name needs.

    Raises:
        ValueError: `bits` is below 16, above 256 or not a multiple of 4.
        TypeError: `bits` is not an integer.

    >>> HashUniverse(32).label("nurse")
    '#781e5116'
    """

    bits: int

    def __post_init__(self) -> None:
        """Check the number of bits.

        Raises:
            InvalidArgument: `bits` is no multiple of 4 from 16 to 256.
            WrongArgumentType: `bits` is no integer.
        """
        convert_to_integers(self, bits="bits")
        most_hash_bits = 256  # bits of the longest hash: SHA-256
        least_hash_bits = 16  # bits of the shortest hash
        if not least_hash_bits <= self.bits <= most_hash_bits or self.bits % BITS_A_DIGIT:
            raise InvalidArgument(
                "bits", f"a multiple of 4 from {least_hash_bits} to {most_hash_bits} is needed, as in 32"
            )

    @property
    def digits(self) -> int:
        """Number of hexadecimal digits with which a hash is printed."""
        return self.bits // BITS_A_DIGIT

    @property
    def sizes(self) -> tuple[int, ...]:
        """Number of hashes of each rank: a single rank with all ``2**bits`` hashes."""
        return (1 << self.bits,)

    def label(self, name: str) -> str:
        """Return how a name is released: ``#`` and the first hexadecimal digits of its SHA-256 hash.

        Args:
            name: Name of a category.
        """
        return f"#{sha256(name.encode()).hexdigest()[: self.digits]}"

    def find_rank(self, name: str) -> int | None:
        """Return 0 for every name: a universe of hashes has one rank, and every name has a hash in it.

        Args:
            name: Not used.
        """
        return 0

    def name_at(self, rank: int, number: int) -> str:
        """Return a hash by its number, as ``#`` and hexadecimal digits.

        Args:
            rank: Not used; hashes have a single rank.
            number: Number of the hash, from 0 to ``2**bits - 1``.
        """
        return f"#{number:0{self.digits}x}"

    def __str__(self) -> str:
        """Return the universe in words, such as "hashes of 32 bits"."""
        return f"hashes of {self.bits} bits"


Universe = TextUniverse | HashUniverse
"""A universe of either kind."""


def parse_universe(text: str) -> Universe:
    """Parse a universe as users type it: ``LETTERS:LENGTH``, or ``hashed:BITS``.

    Raises:
        ValueError: the text has another form, or the universe is not valid.
        TypeError: `text` is not a string.

    >>> parse_universe("0-9:5"), parse_universe("hashed:32")
    (TextUniverse(alphabet='0123456789', longest=5), HashUniverse(bits=32))
    """
    require_type("universe", text, str, "a text, as a-z:12 or hashed:32,")
    letters, colon, length = text.rpartition(":")
    if not (colon and letters and length.isascii() and length.isdigit()):
        raise InvalidArgument("universe", "letters and the maximum length are needed, as in a-z:12, or hashed:32")
    return HashUniverse(int(length)) if letters == "hashed" else TextUniverse(letters, int(length))


def require_universe(universe: object) -> None:
    """Refuse a value that is neither None nor a universe.

    Args:
        universe: Value of the argument.

    Raises:
        TypeError: the value has another type.
    """
    if universe is not None and not isinstance(universe, TextUniverse | HashUniverse):
        raise WrongArgumentType("universe", 'a universe is needed, as in TextUniverse("a-z", 12) or HashUniverse(32)')


def _expand_letters(alphabet: str) -> str:
    """Return the letters of an alphabet, each once and sorted, with a hyphen last.

    Args:
        alphabet: Letters and ranges, as in ``"a-z0-9"``.

    Raises:
        InvalidArgument: a range decreases, there is no letter, or a letter is a lone surrogate.
    """
    letters: set[str] = set()
    for match in finditer("(?s)(.)-(.)|(.)", alphabet):
        first, last, single = match.groups()
        if single is None and first > last:
            raise InvalidArgument("alphabet", "a range of letters must increase, as in a-z, not z-a")
        letters.update([single] if single is not None else map(chr, range(ord(first), ord(last) + 1)))
    if not letters:
        raise InvalidArgument("alphabet", "at least one letter is needed, as in a-z")
    if any("\ud800" <= letter <= "\udfff" for letter in letters):
        raise InvalidArgument("alphabet", "letters of Unicode without lone surrogates are needed, as in a-z")
    ordered = "".join(sorted(letters - {"-"}))
    return f"{ordered}-" if "-" in letters else ordered  # last, where a hyphen cannot mean a range
