"""What identifiers, tokens and everything else that is made by chance are drawn from."""

from random import Random

OFFSET_BITS = 36
"""Room for 69 billion; identifiers of records are that long."""


class ReproducibleRandom(Random):
    """The same at each first start, and another after each new beginning."""

    offset = 0
    """What sets identifiers that are counted apart from those of earlier beginnings."""

    def begin_anew(self, word: str) -> None:
        """Go on as *word* tells: no application gives an identifier again."""
        self.seed(word)
        self.offset = self.getrandbits(OFFSET_BITS)
