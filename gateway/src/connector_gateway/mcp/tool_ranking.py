"""Ranking of tools for a request in words, by Okapi BM25.

Source: Robertson and Zaragoza, The Probabilistic Relevance Framework: BM25 and Beyond, 2009.
"""

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence

SATURATION, LENGTH_NORMALISATION = 1.2, 0.75
"""The usual parameters k1 and b."""

WORD = re.compile(r"[a-z0-9_]+")
"""A word. The names of tools and fields are single words, so that a reference to a tool is not taken for its topic."""

STOP_WORDS = frozenset(
    WORD.findall(
        """
        i me my we our ours you your he him his she her hers it its they them their what which who whom this that these
        those am is are was were be been being have has had do does did a an the and but if or because as until while
        of at by for with about between into through before after to from in out on off then once here there when where
        why how all any both each few more most other some such no not only own same so than too very s t can will just
        """
    )
)
"""English function words. Source: the list of the Snowball project, shortened."""

SUFFIX = re.compile(r"(?<=[a-z]{3})(?:ments?|ions?|ing|ed|es|s|e)$")
"""The endings that distinguish forms of a word: attach, attached, attachments."""


def rank(query: str, documents: Mapping[str, str]) -> Sequence[str]:
    """Return the names of *documents*, best match for *query* first."""
    counts = {name: Counter(_terms(text)) for name, text in documents.items()}
    containing = Counter(term for terms in counts.values() for term in terms)
    mean_length = sum(terms.total() for terms in counts.values()) / max(len(counts), 1)

    def score(name: str) -> float:
        terms = counts[name]
        norm = SATURATION * (1 - LENGTH_NORMALISATION + LENGTH_NORMALISATION * terms.total() / mean_length)
        return sum(
            math.log(1 + (len(counts) - containing[term] + 0.5) / (containing[term] + 0.5))
            * terms[term]
            * (SATURATION + 1)
            / (terms[term] + norm)
            for term in set(_terms(query))
        )

    return sorted(documents, key=score, reverse=True)


def _terms(text: str) -> list[str]:
    return [SUFFIX.sub("", word) for word in WORD.findall(text.lower()) if word not in STOP_WORDS]
