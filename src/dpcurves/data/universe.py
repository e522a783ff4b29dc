"""Public universes of names that are too large to list: all texts of some letters, ranked by length, or hashes."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from hashlib import sha256
from re import finditer

from ..arguments import InvalidArgument, WrongArgumentType, convert_to_integers, require_type

MOST_BYTES = 200
"""Bytes of UTF-8 of a name, at most."""
FAKES = Fraction(1, 10)
"""The names that nobody has and that are told, on average, at most; as many of each rank."""
LEAST_BITS = 16
MOST_BITS = 256
BITS_A_DIGIT = 4
"""Bits of a hexadecimal digit."""


@dataclass(frozen=True, slots=True)
class TextUniverse:
    """Universe of the texts of an alphabet's letters, up to a length: names that nobody has to list.

    Names of one length are found as easily as each other, and shorter ones more easily. The fewer letters, and the
    shorter, the fewer units a name needs to be found. Any other text is in ``other``.

    Attributes:
        alphabet: Its letters, each once, with ranges as in ``"a-z0-9 "``; a hyphen stands first or last.
        longest: The most letters of a name.

    Raises:
        ValueError: there is no letter, a range falls, or names may have more than 200 bytes of UTF-8.
        TypeError: the alphabet is no text, or the length no whole number.

    >>> digits = TextUniverse("0-9", 5)
    >>> digits.alphabet, digits.sizes, digits.find_rank("407"), digits.name_at(2, 407), digits.find_rank("x")
    ('0123456789', (10, 100, 1000, 10000, 100000), 2, '407', None)
    """

    alphabet: str
    longest: int

    def __post_init__(self) -> None:
        require_type("alphabet", self.alphabet, str, 'letters, as in "a-z0-9",')
        convert_to_integers(self, longest="longest")
        letters = _expand_letters(self.alphabet)
        object.__setattr__(self, "alphabet", letters)
        widest = max(len(letter.encode()) for letter in letters)
        if not 1 <= self.longest <= MOST_BYTES // widest:
            raise InvalidArgument(
                "longest", f"from 1 to {MOST_BYTES // widest} letters are needed: names have up to 200 bytes"
            )

    @property
    def sizes(self) -> tuple[int, ...]:
        """The number of names of each rank: of one letter, of two, and so on."""
        return tuple(len(self.alphabet) ** length for length in range(1, self.longest + 1))

    def label(self, name: str) -> str:
        """A name as it is told: itself."""
        return name

    def find_rank(self, name: str) -> int | None:
        """The rank of a name; None if it is none of these."""
        return len(name) - 1 if 0 < len(name) <= self.longest and not set(name) - set(self.alphabet) else None

    def name_at(self, rank: int, number: int) -> str:
        """The name of this number among those of a rank."""
        found = ""
        for _ in range(rank + 1):
            number, digit = divmod(number, len(self.alphabet))
            found = self.alphabet[digit] + found
        return found

    def __str__(self) -> str:
        return f"texts of up to {self.longest} of {len(self.alphabet)} letters"


@dataclass(frozen=True, slots=True)
class HashUniverse:
    """Hashes of names of any letters: a group is told by the first digits of the SHA-256 of its name.

    Who knows what names there may be finds each with `label`. A hash hides nothing: anybody can try names. Names that
    share a hash are one group; of a million names, none does with a chance of 0.9999 at 52 bits.

    Attributes:
        bits: The bits of a hash: a multiple of 4. The fewer, the fewer units a name needs to be found.

    Raises:
        ValueError: there are less than 16 or more than 256, or no multiple of 4.
        TypeError: it is no whole number.

    >>> HashUniverse(32).label("nurse")
    '#781e5116'
    """

    bits: int

    def __post_init__(self) -> None:
        convert_to_integers(self, bits="bits")
        if not LEAST_BITS <= self.bits <= MOST_BITS or self.bits % BITS_A_DIGIT:
            raise InvalidArgument("bits", f"a multiple of 4 from {LEAST_BITS} to {MOST_BITS} is needed")

    @property
    def digits(self) -> int:
        """The hexadecimal digits of a hash."""
        return self.bits // BITS_A_DIGIT

    @property
    def sizes(self) -> tuple[int, ...]:
        """The number of hashes, which are all of one rank."""
        return (1 << self.bits,)

    def label(self, name: str) -> str:
        """The hash of a name, as it is told."""
        return f"#{sha256(name.encode()).hexdigest()[: self.digits]}"

    def find_rank(self, name: str) -> int | None:
        """The rank of each name: the only one."""
        return 0

    def name_at(self, rank: int, number: int) -> str:
        """The hash of this number."""
        return f"#{number:0{self.digits}x}"

    def __str__(self) -> str:
        return f"hashes of {self.bits} bits"


Universe = TextUniverse | HashUniverse


def parse_universe(given: str) -> Universe:
    """A universe as commands name it: letters and a length, or a number of bits.

    Raises:
        ValueError: it is of another form.

    >>> parse_universe("0-9:5"), parse_universe("hashed:32")
    (TextUniverse(alphabet='0123456789', longest=5), HashUniverse(bits=32))
    """
    require_type("universe", given, str, "a text, as a-z:12 or hashed:32,")
    word, sign, number = given.rpartition(":")
    if not (sign and word and number.isascii() and number.isdigit()):
        raise InvalidArgument("universe", "letters and the most of them are needed, as in a-z:12, or hashed:32")
    return HashUniverse(int(number)) if word == "hashed" else TextUniverse(word, int(number))


def require_universe(given: object) -> None:
    """Refuse what is no universe.

    Raises:
        TypeError: says so.
    """
    if given is not None and not isinstance(given, TextUniverse | HashUniverse):
        raise WrongArgumentType("universe", 'write TextUniverse("a-z", 12) or HashUniverse(32)')


def _expand_letters(alphabet: str) -> str:
    """Letters, each once, in their order, with a hyphen last."""
    found: set[str] = set()
    for part in finditer("(?s)(.)-(.)|(.)", alphabet):
        first, last, alone = part.groups()
        if alone is None and first > last:
            raise InvalidArgument("alphabet", "a range rises, as in a-z")
        found.update([alone] if alone is not None else map(chr, range(ord(first), ord(last) + 1)))
    if not found:
        raise InvalidArgument("alphabet", "at least one letter is needed")
    if any("\ud800" <= letter <= "\udfff" for letter in found):
        raise InvalidArgument("alphabet", "letters of Unicode are needed, without lone surrogates")
    return "".join(sorted(found - {"-"})) + "-" * ("-" in found)
