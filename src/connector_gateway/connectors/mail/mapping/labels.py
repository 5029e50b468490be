"""Labels: what is to be put on and taken off."""

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
"""Labels that the vendor alone puts on and takes off."""

UNMOVABLE_MESSAGE = "Is put on and taken off by the application alone"


@dataclass(frozen=True, slots=True)
class Wanted:
    """A label that a call names, and the label of the mailbox that it means."""

    parameter: str
    index: int
    name: str
    known: str | None

    @property
    def sameness(self) -> str:
        """Equal for two names of the same label."""
        return self.known or self.name.strip().casefold()

    def fault(self, code: str, message: str) -> Detail:
        """What is wrong with it."""
        place = {"parameter": f"{self.parameter}.{self.index}", "index": self.index}
        return {"code": code, **place, "value": self.name, "message": message}


def change(
    names: Mapping[str, str], add: Sequence[str], remove: Sequence[str], *, create_missing: bool
) -> dict[str, list[Any]]:
    """The labels meant by *add* and *remove*, by identifiers, and the names of those that are to be created.

    In *add* the place of each of these is kept by a None.
    ``LabelNotFound`` or ``InvalidParameters`` with every fault, if there is any; the first one decides which.
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
    """The label of that name: exactly, or else but for case."""
    wanted = name.strip()
    exact = next((found for found, known in names.items() if known == wanted), None)
    folded = wanted.casefold()
    return exact or next((found for found, known in names.items() if known.casefold() == folded), None)


def kept_label(label: wire.Label) -> dict[str, Any]:
    """What is kept of a label that was created."""
    return {"id": label.id, "name": label.name, "created": True}


def kept_labels(told: wire.Labelled) -> dict[str, Any]:
    """What is kept of a message whose labels were changed."""
    return {"id": told.id, "label_ids": list(told.label_ids)}


def is_changed(kept: Kept, wanted: Kept) -> bool:
    """Whether a message bears just those of the labels in question that it should."""
    present = set(kept["label_ids"])
    return present.issuperset(wanted["add"]) and present.isdisjoint(wanted["remove"])


def assumed_label(intent: StepInput) -> dict[str, Any]:
    """What a dry run takes for a label that was made."""
    return {"id": f"new-label-{intent['name']}", "name": intent["name"], "created": True}


def told_label(kept: Kept) -> dict[str, Any]:
    """What callers are told of a label when something else fails."""
    return {"label": kept["name"], "created": kept["created"]}


def changed_labels(kept: Kept, names: Mapping[str, str], labels: Iterable[Kept]) -> ChangedLabels:
    """The labels after a change; *labels* are those that were to be created on the way."""
    return ChangedLabels(
        message_id=kept["id"],
        labels=[names.get(label_id, label_id) for label_id in kept["label_ids"]],
        created=[label["name"] for label in labels if label["created"]],
    )
