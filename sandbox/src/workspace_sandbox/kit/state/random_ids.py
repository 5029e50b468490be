"""The reproducible random source for identifiers and tokens."""

from random import Random

OFFSET_BITS = 36
"""Bits of the offset, enough for 69 billion values. Record identifiers have that many digits."""


class ReproducibleRandom(Random):
    """A random generator that repeats on each first start, and differs after each reset."""

    offset = 0
    """An offset that makes counted identifiers differ from those before a reset."""

    def reseed(self, word: str) -> None:
        """Reseed the generator with *word*, so that no identifier is used twice."""
        self.seed(word)
        self.offset = self.getrandbits(OFFSET_BITS)
