"""The rules for property values: validation of writes and calculated properties."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from workspace_sandbox.crm.data.account import Owner, PortalAccount
from workspace_sandbox.crm.data.built_in_properties import LIFECYCLE
from workspace_sandbox.crm.data.object_types import COMPANIES, ObjectType
from workspace_sandbox.crm.data.pipelines import Pipeline
from workspace_sandbox.crm.data.property_definitions import Definition, Option
from workspace_sandbox.crm.data.property_values import (
    InvalidValue,
    normalise,
    normalise_domain,
    normalise_email,
    normalise_options,
    to_text,
)
from workspace_sandbox.crm.data.records import Record
from workspace_sandbox.crm.error_responses import (
    PropertyViolation,
    invalid_properties,
    malformed,
    missing_properties,
    unknown_property,
)
from workspace_sandbox.kit.clock import format_timestamp

MARKUP = re.compile(r"<[^>]+>")
NORMALISED = {"email": normalise_email, "domain": normalise_domain, "hs_additional_emails": str.lower}
"""Properties whose values are normalised before they are stored."""

STAGES_IN_ORDER = [option.value for option in LIFECYCLE]


class RuleContext(Protocol):
    """The data of a portal that the rules need."""

    account: PortalAccount
    owners: dict[int, Owner]
    pipelines: dict[str, Pipeline]

    def live_definitions(self, kind: ObjectType) -> Mapping[str, Definition]:
        """Return the current properties of *kind*."""

    def options(self, definition: Definition) -> Sequence[Option]:
        """Return the options of a property."""

    def knob(self, name: str) -> Any:
        """Return the value of a knob."""


class Rules:
    """Validates writes to records of a portal."""

    def __init__(self, portal: RuleContext) -> None:
        self._portal = portal

    def validate(self, kind: ObjectType, properties: Any, record: Record | None) -> dict[str, str]:
        """Validate *properties* and return their stored values, empty if cleared.

        Raises one error with all violations.
        """
        if not isinstance(properties, Mapping):
            raise malformed('Some required fields were not set: ["properties"]')
        definitions = self._portal.live_definitions(kind)
        values: dict[str, str] = {}
        violations: list[PropertyViolation] = []
        for name, value in properties.items():
            try:
                values[name] = self._value(definitions.get(name), name, value, record)
            except InvalidValue as error:
                violations.append(PropertyViolation(name, error.code, error.message))
            except TypeError:
                raise malformed(f"Cannot deserialize value of type `String` (property {name})") from None
        violations = violations or self._combined_violations(kind, values, record)
        if violations:
            raise invalid_properties(violations, self._portal.account.portal_id)
        return values

    def require(self, kind: ObjectType, values: Mapping[str, str]) -> None:
        """Raise an error if a new record lacks properties that the vendor or the portal requires."""
        # From version 2026-09, a portal's own rules apply to API writes, so requests that used to succeed can be
        # rejected.
        required = [*kind.required, *self._portal.knob("required_properties").get(kind.plural, ())]
        missing = [name for name in required if not values.get(name)]
        # A company needs one of the two ("Companies" guide).
        if kind is COMPANIES and not (values.get("name") or values.get("domain")):
            missing = ["name", "domain", *missing]
        if missing:
            raise missing_properties(kind.singular.upper(), missing)

    def with_calculated(self, record: Record, properties: Mapping[str, str]) -> dict[str, str]:
        """Return *properties* with the calculated ones and without the empty ones."""
        stamps = {
            "hs_object_id": str(record.id),
            record.kind.created: format_timestamp(record.created_at),
            record.kind.modified: format_timestamp(record.updated_at),
        }
        calculate = CALCULATIONS.get(record.kind.plural)
        calculated = calculate(self._portal, properties) if calculate else {}
        return {name: value for name, value in {**properties, **stamps, **calculated}.items() if value}

    def _value(self, definition: Definition | None, name: str, value: Any, record: Record | None) -> str:
        if definition is None:
            raise InvalidValue("PROPERTY_DOESNT_EXIST", unknown_property(name).message)
        if definition.read_only:
            raise InvalidValue("READ_ONLY_VALUE", f'"{name}" is a read only property; its value cannot be set.')
        text = to_text(value)
        if not text.strip():
            return ""
        if definition.type == "enumeration":
            current = record.properties.get(name) if record else None
            return normalise_options(text, self._allowed(definition), many=definition.many, current=current)
        return NORMALISED.get(name, str)(normalise(definition.type, text))

    def _allowed(self, definition: Definition) -> Sequence[str]:
        if definition.refers_to == "OWNER":
            return [str(owner) for owner in self._portal.owners]
        return [option.value for option in self._portal.options(definition)]

    def _combined_violations(
        self, kind: ObjectType, values: dict[str, str], record: Record | None
    ) -> list[PropertyViolation]:
        """Return violations that involve several values. Drops a backward lifecycle stage if the knob allows that."""
        before = record.properties if record else {}
        violations = []
        if moves_backward(before.get("lifecyclestage"), values.get("lifecyclestage")):
            stage = values.pop("lifecyclestage")
            # It is documented that the stage only moves forward, but not whether a backward move is rejected or
            # ignored.
            if self._portal.knob("backward_lifecycle") == "refuse":
                violations.append(
                    PropertyViolation("lifecyclestage", "INVALID_OPTION", f"{stage} would move it backward")
                )
        if kind.pipeline_properties:
            if record is None and not values.get(kind.pipeline_properties[0]):
                values[kind.pipeline_properties[0]] = kind.first_pipeline
            violations += self._stage_violations(kind.pipeline_properties, {**before, **values})
        return violations

    def _stage_violations(self, names: tuple[str, str], values: Mapping[str, str]) -> list[PropertyViolation]:
        stage, pipeline = (
            values.get(names[1]),
            self._portal.pipelines.get(values.get(names[0], "")),
        )
        if not stage or pipeline is None or pipeline.find_stage(stage):
            return []
        allowed = ", ".join(stage.id for stage in pipeline.stages)
        message = f"{stage} was not one of the allowed options: [{allowed}]"
        return [PropertyViolation(names[1], "INVALID_OPTION", message)]


def moves_backward(before: str | None, after: str | None) -> bool:
    """Return True if a lifecycle stage would move backward, which is possible only by clearing it first."""
    if not before or not after:
        return False
    return STAGES_IN_ORDER.index(after) < STAGES_IN_ORDER.index(before)


def _of_contacts(_: RuleContext, contact: Mapping[str, str]) -> dict[str, str]:
    email = contact.get("email", "")
    full_name = " ".join(filter(None, (contact.get("firstname"), contact.get("lastname"))))
    return {"hs_email_domain": email.partition("@")[2], "hs_full_name_or_email": full_name or email}


def _of_notes(_: RuleContext, note: Mapping[str, str]) -> dict[str, str]:
    return {"hs_body_preview": MARKUP.sub("", note.get("hs_note_body", ""))[:200]}


def _of_line_items(_: RuleContext, item: Mapping[str, str]) -> dict[str, str]:
    price, quantity = item.get("price", ""), item.get("quantity") or "1"
    return {"amount": to_text(float(price) * float(quantity))} if price else {}


def _of_deals(portal: RuleContext, deal: Mapping[str, str]) -> dict[str, str]:
    pipeline = portal.pipelines.get(deal.get("pipeline", ""))
    stage = pipeline.find_stage(deal.get("dealstage")) if pipeline else None
    return {
        "hs_is_closed": str(bool(stage and stage.closed)).lower(),
        "hs_is_closed_won": str(bool(stage and stage.won)).lower(),
        "hs_deal_stage_probability": stage.metadata.get("probability", "") if stage else "",
        "amount_in_home_currency": deal.get("amount", ""),
    }


CALCULATIONS: Mapping[str, Callable[[RuleContext, Mapping[str, str]], dict[str, str]]] = {
    "contacts": _of_contacts,
    "deals": _of_deals,
    "notes": _of_notes,
    "line_items": _of_line_items,
}
"""The functions for calculated properties by object type."""
