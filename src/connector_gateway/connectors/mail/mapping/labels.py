"""Label changes."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from connector_gateway.connectors.mail import wire
from connector_gateway.connectors.mail.mapping.messages import Kept
from connector_gateway.connectors.mail.models import ChangedLabels
from connector_gateway.kit.errors import Detail, GatewayError, InvalidParameters, LabelNotFound
from connector_gateway.kit.errors.suggestions import nearest_first
from connector_gateway.kit.write_steps import StepInput

UNMOVABLE = frozenset({"SENT", "DRAFT"})
"""Labels that only the vendor adds and removes."""

UNMOVABLE_MESSAGE = "Is put on and taken off by the application alone"


@dataclass(frozen=True, slots=True)
class Wanted:
    """A label name of a call, and the mailbox's label for it."""

    parameter: str
    index: int
    name: str
    known: str | None

    @property
    def sameness(self) -> str:
        """Return a key that is equal for two names of the same label."""
        return self.known or self.name.strip().casefold()

    def fault(self, code: str, message: str) -> Detail:
        """Return the error detail of this name."""
        place = {"parameter": f"{self.parameter}.{self.index}", "index": self.index}
        return {"code": code, **place, "value": self.name, "message": message}


def change(
    names: Mapping[str, str], add: Sequence[str], remove: Sequence[str], *, create_missing: bool
) -> dict[str, list[Any]]:
    """Return the identifiers of the labels to *add* and *remove*, and the names of those to create.

    In *add*, None marks the position of each label to create.
    Raises ``LabelNotFound`` or ``InvalidParameters`` with all errors. The first one determines the class.
    """
    adding = [Wanted("add", index, name, label_id(names, name)) for index, name in enumerate(add)]
    removing = [Wanted("remove", index, name, label_id(names, name)) for index, name in enumerate(remove)]
    known = [found for label_id, found in names.items() if label_id not in UNMOVABLE]
    faults = [*_faults_of_adding(adding, known, create_missing=create_missing), *_faults_of_removing(removing, adding)]
    if faults:
        raise _refusal(faults)
    unlike = {wanted.sameness: wanted for wanted in reversed(adding)}
    placed = [wanted for wanted in adding if unlike[wanted.sameness] is wanted]
    return {
        "add": [wanted.known for wanted in placed],
        "remove": list(dict.fromkeys(wanted.known for wanted in removing if wanted.known is not None)),
        "missing": [wanted.name.strip() for wanted in placed if wanted.known is None],
    }


def _faults_of_adding(adding: Sequence[Wanted], known: Sequence[str], *, create_missing: bool) -> Iterable[Detail]:
    for wanted in adding:
        if wanted.known in UNMOVABLE:
            yield wanted.fault(InvalidParameters.code, UNMOVABLE_MESSAGE)
        elif wanted.known is None and not create_missing:
            detail = wanted.fault(LabelNotFound.code, "The mailbox has no such label")
            yield {**detail, "allowed": nearest_first(wanted.name.strip(), known)}


def _faults_of_removing(removing: Sequence[Wanted], adding: Sequence[Wanted]) -> Iterable[Detail]:
    added = {wanted.sameness for wanted in adding}
    for wanted in removing:
        if wanted.known in UNMOVABLE:
            yield wanted.fault(InvalidParameters.code, UNMOVABLE_MESSAGE)
        elif wanted.sameness in added:
            yield wanted.fault(InvalidParameters.code, "Is in add as well")


def _refusal(faults: Sequence[Detail]) -> GatewayError:
    lacking = [fault["value"] for fault in faults if fault["code"] == LabelNotFound.code]
    refusal = LabelNotFound if faults[0]["code"] == LabelNotFound.code else InvalidParameters
    if len(lacking) < len(faults):
        return refusal("Some of the labels cannot be changed like that.", *faults)
    named = ", ".join(f'"{name}"' for name in lacking)
    return refusal(f"The mailbox has no label {named}.", *faults)


def label_id(names: Mapping[str, str], name: str) -> str | None:
    """Return the label of that name, preferring an exact match over one that ignores case."""
    wanted = name.strip()
    exact = next((found for found, known in names.items() if known == wanted), None)
    folded = wanted.casefold()
    return exact or next((found for found, known in names.items() if known.casefold() == folded), None)


def kept_label(label: wire.Label) -> dict[str, Any]:
    """Return the stored form of a created label."""
    return {"id": label.id, "name": label.name, "created": True}


def kept_labels(told: wire.Labelled) -> dict[str, Any]:
    """Return the stored form of a message whose labels were changed."""
    return {"id": told.id, "label_ids": list(told.label_ids)}


def is_changed(kept: Kept, wanted: Kept) -> bool:
    """Return True if a message has exactly the wanted ones of the labels in question."""
    present = set(kept["label_ids"])
    return present.issuperset(wanted["add"]) and present.isdisjoint(wanted["remove"])


def assumed_label(intent: StepInput) -> dict[str, Any]:
    """Return the assumed result of creating a label, for dry runs."""
    return {"id": f"new-label-{intent['name']}", "name": intent["name"], "created": True}


def told_label(kept: Kept) -> dict[str, Any]:
    """Return the part of a label that is included in the error when a later step fails."""
    return {"label": kept["name"], "created": kept["created"]}


def changed_labels(kept: Kept, names: Mapping[str, str], labels: Iterable[Kept]) -> ChangedLabels:
    """Return the result of a change. *labels* are those that were to be created on the way."""
    return ChangedLabels(
        message_id=kept["id"],
        labels=[names.get(label_id, label_id) for label_id in kept["label_ids"]],
        created=[label["name"] for label in labels if label["created"]],
    )
