"""Label changes."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from connector_gateway.connectors.mail import vendor_models
from connector_gateway.connectors.mail.mapping.messages import StoredData
from connector_gateway.connectors.mail.models import ChangedLabels
from connector_gateway.kit.errors import Detail, GatewayError, InvalidParameters, LabelNotFound
from connector_gateway.kit.errors.suggestions import nearest_first
from connector_gateway.kit.write_steps import StepInput

UNMOVABLE = frozenset({"SENT", "DRAFT"})
"""Labels that only the vendor adds and removes."""

UNMOVABLE_MESSAGE = "Is applied and stripped only by the vendor"


@dataclass(frozen=True, slots=True)
class RequestedLabel:
    """A label name of a call, and the mailbox's label for it."""

    parameter: str
    index: int
    name: str
    label_id: str | None

    @property
    def comparison_key(self) -> str:
        """Return a key that is equal for two names of the same label."""
        return self.label_id or self.name.strip().casefold()

    def violation(self, code: str, message: str) -> Detail:
        """Return the error detail of this name."""
        location = {"parameter": f"{self.parameter}.{self.index}", "index": self.index}
        return {"code": code, **location, "value": self.name, "message": message}


def change(
    names: Mapping[str, str], add: Sequence[str], remove: Sequence[str], *, create_missing: bool
) -> dict[str, list[Any]]:
    """Return the identifiers of the labels to *add* and *remove*, and the names of those to create.

    In *add*, None marks the position of each label to create.
    Raises ``LabelNotFound`` or ``InvalidParameters`` with all errors. The first one determines the class.
    """
    adding = [RequestedLabel("add", index, name, label_id(names, name)) for index, name in enumerate(add)]
    removing = [RequestedLabel("remove", index, name, label_id(names, name)) for index, name in enumerate(remove)]
    existing = [label_name for label_id, label_name in names.items() if label_id not in UNMOVABLE]
    violations = [
        *_violations_of_adding(adding, existing, create_missing=create_missing),
        *_violations_of_removing(removing, adding),
    ]
    if violations:
        raise _to_error(violations)
    by_key = {label.comparison_key: label for label in reversed(adding)}
    distinct = [label for label in adding if by_key[label.comparison_key] is label]
    return {
        "add": [label.label_id for label in distinct],
        "remove": list(dict.fromkeys(label.label_id for label in removing if label.label_id is not None)),
        "missing": [label.name.strip() for label in distinct if label.label_id is None],
    }


def _violations_of_adding(
    adding: Sequence[RequestedLabel], existing: Sequence[str], *, create_missing: bool
) -> Iterable[Detail]:
    for label in adding:
        if label.label_id in UNMOVABLE:
            yield label.violation(InvalidParameters.code, UNMOVABLE_MESSAGE)
        elif label.label_id is None and not create_missing:
            detail = label.violation(LabelNotFound.code, "The mailbox has no such label")
            yield {**detail, "allowed": nearest_first(label.name.strip(), existing)}


def _violations_of_removing(removing: Sequence[RequestedLabel], adding: Sequence[RequestedLabel]) -> Iterable[Detail]:
    added = {label.comparison_key for label in adding}
    for label in removing:
        if label.label_id in UNMOVABLE:
            yield label.violation(InvalidParameters.code, UNMOVABLE_MESSAGE)
        elif label.comparison_key in added:
            yield label.violation(InvalidParameters.code, "Is also in add")


def _to_error(violations: Sequence[Detail]) -> GatewayError:
    lacking = [violation["value"] for violation in violations if violation["code"] == LabelNotFound.code]
    error_class = LabelNotFound if violations[0]["code"] == LabelNotFound.code else InvalidParameters
    if len(lacking) < len(violations):
        return error_class("Some of the label changes are not possible.", *violations)
    quoted_names = ", ".join(f'"{name}"' for name in lacking)
    return error_class(f"The mailbox has no label {quoted_names}.", *violations)


def label_id(names: Mapping[str, str], name: str) -> str | None:
    """Return the label of that name, preferring an exact match over one that ignores case."""
    stripped = name.strip()
    exact = next((match for match, label_name in names.items() if label_name == stripped), None)
    folded = stripped.casefold()
    return exact or next((match for match, label_name in names.items() if label_name.casefold() == folded), None)


def stored_label(label: vendor_models.Label) -> dict[str, Any]:
    """Return the stored form of a created label."""
    return {"id": label.id, "name": label.name, "created": True}


def stored_labels(source: vendor_models.Labelled) -> dict[str, Any]:
    """Return the stored form of a message whose labels were changed."""
    return {"id": source.id, "label_ids": list(source.label_ids)}


def is_changed(stored: StoredData, expected: StoredData) -> bool:
    """Return True if a message has all labels to add and none of those to remove."""
    present = set(stored["label_ids"])
    return present.issuperset(expected["add"]) and present.isdisjoint(expected["remove"])


def dry_run_label(intent: StepInput) -> dict[str, Any]:
    """Return the assumed result of creating a label, for dry runs."""
    return {"id": f"new-label-{intent['name']}", "name": intent["name"], "created": True}


def public_label(stored: StoredData) -> dict[str, Any]:
    """Return the part of a label that is included in the error when a later step fails."""
    return {"label": stored["name"], "created": stored["created"]}


def changed_labels(stored: StoredData, names: Mapping[str, str], labels: Iterable[StoredData]) -> ChangedLabels:
    """Return the result of a change. *labels* are the results of creating labels."""
    return ChangedLabels(
        message_id=stored["id"],
        labels=[names.get(label_id, label_id) for label_id in stored["label_ids"]],
        created=[label["name"] for label in labels if label["created"]],
    )
