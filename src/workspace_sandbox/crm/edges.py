"""Associations: the types there are, and the edges between records, kept in both directions."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

HUBSPOT_DEFINED = "HUBSPOT_DEFINED"
USER_DEFINED = "USER_DEFINED"

Reference = tuple[str, int]
"""A record: the plural name of its type, and its id."""


@dataclass(frozen=True, slots=True, eq=False)
class AssociationType:
    """One direction of a relation between two object types; there is one object for each."""

    type_id: int
    source: str
    target: str
    inverse_id: int
    name: str
    label: str | None = None
    category: str = HUBSPOT_DEFINED

    @property
    def primary(self) -> bool:
        """Whether a record has at most one of it."""
        return self.label == "Primary" and self.target == "companies"

    @property
    def spec(self) -> dict[str, Any]:
        """What names it in a request, and in the answer to a default association."""
        return {"associationCategory": self.category, "associationTypeId": self.type_id}

    @property
    def labelled(self) -> dict[str, Any]:
        """What names it where associations are listed."""
        return {"category": self.category, "typeId": self.type_id, "label": self.label}


def _pair(there: int, back: int, source: str, target: str, *names: str, **more: str) -> Iterator[AssociationType]:
    yield AssociationType(there, source, target, back, names[0], **more)
    yield AssociationType(back, target, source, there, names[1], **more)


TYPES: tuple[AssociationType, ...] = (
    *_pair(279, 280, "contacts", "companies", "contact_to_company_unlabeled", "company_to_contact_unlabeled"),
    *_pair(1, 2, "contacts", "companies", "contact_to_company", "company_to_contact", label="Primary"),
    *_pair(3, 4, "deals", "contacts", "deal_to_contact", "contact_to_deal"),
    *_pair(341, 342, "deals", "companies", "deal_to_company_unlabeled", "company_to_deal_unlabeled"),
    *_pair(5, 6, "deals", "companies", "deal_to_company", "company_to_deal", label="Primary"),
    *_pair(202, 201, "notes", "contacts", "note_to_contact", "contact_to_note"),
    *_pair(190, 189, "notes", "companies", "note_to_company", "company_to_note"),
    *_pair(214, 213, "notes", "deals", "note_to_deal", "deal_to_note"),
    *_pair(
        *(36, 35, "deals", "contacts", "decision_maker_of_deal", "deal_with_decision_maker"),
        label="Decision maker",
        category=USER_DEFINED,
    ),
    *_pair(
        *(38, 37, "contacts", "companies", "billing_contact_of", "company_with_billing_contact"),
        label="Billing contact",
        category=USER_DEFINED,
    ),
)
"""The first of each pair of object types is the one that carries no label."""

_NAMED = {(kind.source, kind.target, kind.category, kind.type_id): kind for kind in TYPES}
_PLAIN = {(kind.source, kind.target): kind for kind in reversed(TYPES)}
_PRIMARY = {(kind.source, kind.target): kind for kind in TYPES if kind.primary}


def types_between(source: str, target: str) -> list[AssociationType]:
    """Every type in that direction, the unlabelled one first."""
    return [kind for kind in TYPES if (kind.source, kind.target) == (source, target)]


def plain_type(source: str, target: str) -> AssociationType | None:
    """The unlabelled type in that direction."""
    return _PLAIN.get((source, target))


def named_type(source: str, target: str, category: str, type_id: int) -> AssociationType | None:
    """The type of that number, if it has that direction."""
    return _NAMED.get((source, target, category, type_id))


def inverse(kind: AssociationType) -> AssociationType:
    """The same relation, told from the other end."""
    return _NAMED[kind.target, kind.source, kind.category, kind.inverse_id]


class Edges:
    """Which records are associated, and how."""

    def __init__(self, edges: Mapping[Reference, Mapping[Reference, set[AssociationType]]] | None = None) -> None:
        self._edges: dict[Reference, dict[Reference, set[AssociationType]]] = defaultdict(dict)
        for source, targets in (edges or {}).items():
            self._edges[source] = {target: set(kinds) for target, kinds in targets.items()}

    def copy(self) -> "Edges":
        """An independent copy."""
        return Edges(self._edges)

    def associate(self, source: Reference, target: Reference, kind: AssociationType | None = None) -> AssociationType:
        """Associate two records, without a label unless *kind* has one; returns the type that was set.

        A label brings the unlabelled type with it, the first company of a record becomes its primary one,
        and a new primary one displaces the old.
        """
        plain = _PLAIN[source[0], target[0]]
        self._add(source, target, plain)
        if kind is not None and kind != plain:
            self._add(source, target, kind)
        self._choose_primary(source, target)
        return kind or plain

    def remove(self, source: Reference, target: Reference) -> None:
        """Remove every association of the two."""
        self._edges[source].pop(target, None)
        self._edges[target].pop(source, None)

    def remove_type(self, source: Reference, target: Reference, kind: AssociationType) -> None:
        """Remove one association of the two; without its unlabelled type nothing is left."""
        if kind == _PLAIN[kind.source, kind.target]:
            self.remove(source, target)
            return
        self._edges[source].get(target, set()).discard(kind)
        self._edges[target].get(source, set()).discard(inverse(kind))

    def linked(self, source: Reference, target: str) -> list[tuple[int, list[AssociationType]]]:
        """The records of the type *target* that *source* is associated with, by id."""
        found = [(far[1], in_order(kinds)) for far, kinds in self._edges[source].items() if far[0] == target]
        return sorted(found, key=lambda link: link[0])

    def _add(self, source: Reference, target: Reference, kind: AssociationType) -> None:
        told_back = inverse(kind)
        for near, exclusive in ((source, kind), (target, told_back)):
            if exclusive.primary:
                self._displace(near, exclusive)
        self._edges[source].setdefault(target, set()).add(kind)
        self._edges[target].setdefault(source, set()).add(told_back)

    def _choose_primary(self, source: Reference, target: Reference) -> None:
        for near, far in ((source, target), (target, source)):
            primary = _PRIMARY.get((near[0], far[0]))
            if primary and not self._with(near, primary):
                self._add(near, far, primary)

    def _displace(self, source: Reference, kind: AssociationType) -> None:
        for target in self._with(source, kind):
            self._edges[source][target].discard(kind)
            self._edges[target][source].discard(inverse(kind))

    def _with(self, source: Reference, kind: AssociationType) -> Sequence[Reference]:
        return [target for target, kinds in self._edges[source].items() if kind in kinds]


def in_order(kinds: set[AssociationType]) -> list[AssociationType]:
    """The types as the vendor lists them."""
    return sorted(kinds, key=TYPES.index)
