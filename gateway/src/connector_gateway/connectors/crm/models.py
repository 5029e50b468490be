"""Parameters and results of the crm operations."""

from decimal import Decimal
from typing import Annotated, Any, Literal, Self

from email_validator import EmailNotValidError, validate_email
from pydantic import (
    AfterValidator,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    WithJsonSchema,
    model_validator,
)
from pydantic_core import PydanticCustomError

from connector_gateway.connectors.crm import urls
from connector_gateway.kit.identifier_urls import id_or_url, name_or_url
from connector_gateway.kit.models import NON_EMPTY, Cursor, Name, Params, Result, TextPattern, UtcDatetime

MAX_TEXT = 65_536
"""Maximum characters of a note or of any other text that the vendor stores."""


def _email(text: str) -> str:
    address = text.strip().lower()
    try:
        validate_email(address, check_deliverability=False, test_environment=True)
    except EmailNotValidError as error:
        raise PydanticCustomError("email", "Should be an e-mail address") from error
    return address


def _trimmed_lower(text: str) -> str:
    return text.strip().lower()


def _amount(value: object) -> object:
    if isinstance(value, bool) or not isinstance(value, int | Decimal):
        raise PydanticCustomError("number", "Input should be a number")
    amount = Decimal(value)
    if not amount.is_finite() or Decimal(repr(float(amount))) != amount:
        raise PydanticCustomError(
            "exact_number",
            "Should be a number that 64-bit floating point represents exactly, as it does up to 15 digits",
        )
    return amount


def _number(amount: Decimal) -> int | float:
    return int(amount) if amount == amount.to_integral_value() else float(amount)


Email = Annotated[str, Field(min_length=3, max_length=320), AfterValidator(_email)]
"""An email address, trimmed and lower-cased."""

SearchedEmail = Annotated[
    str,
    Field(min_length=3, max_length=320),
    TextPattern(r"^\s*[^@\s]+@[^@\s]+\s*$", "Should be an e-mail address"),
    AfterValidator(_trimmed_lower),
]
"""An email address to search for, trimmed and lower-cased."""

Amount = Annotated[
    Decimal, BeforeValidator(_amount), WithJsonSchema({"type": "number", "examples": [1250.5]}, mode="validation")
]
"""A decimal value, not minor units."""

Number = Annotated[Decimal, PlainSerializer(_number, return_type=int | float), WithJsonSchema({"type": "number"})]
"""A decimal value, as a JSON number."""

CompanyReference = Annotated[
    str,
    Field(min_length=1, max_length=300),
    TextPattern(r"^\s*[^\s@,;]+\s*$", "Should be a domain or an identifier"),
    name_or_url(*urls.COMPANY),
]
"""A company's domain (anything with a dot; scheme, ``www.`` and path are ignored) or identifier."""

CrmId = Annotated[str, Field(max_length=200), TextPattern(r"^[0-9]+$", "Should be an identifier of decimal digits")]
ContactId = Annotated[CrmId, id_or_url("a contact", *urls.CONTACT)]
DealId = Annotated[CrmId, id_or_url("a deal", *urls.DEAL)]

Title = Annotated[str, Field(min_length=1, max_length=1000), NON_EMPTY]

Properties = dict[str, Any]


class CreateOrUpdateContact(Params):
    """A contact to create, or to update if one has the email."""

    email: Email
    """Match key; trimmed and lowercased before comparison."""

    properties: Properties
    """Internal property names to values, including custom properties. Null clears a property."""

    on_conflict: Literal["update", "skip"] = "update"
    """The treatment of an existing contact. ``skip`` leaves it unchanged."""

    associate_company: CompanyReference | None = None
    """A company domain or identifier to link the contact to."""

    create_company: bool = False
    """Create the company if ``associate_company`` is a domain that no company has."""

    @model_validator(mode="after")
    def _names_one_email(self) -> Self:
        email = self.properties.get("email", self.email)
        if not isinstance(email, str) or _trimmed_lower(email) != self.email:
            raise PydanticCustomError("email_differs", "Should equal email", {"parameter": "properties.email"})
        return self


class WrittenContact(Result):
    """The contact after the call."""

    contact_id: str
    action: Literal["created", "updated", "skipped"]
    email: str
    properties_written: list[str]
    """Internal names of the properties whose values were accepted."""

    portal_id: str


class LookUpContacts(Params):
    """A filter for contacts: by email, by another property, or none."""

    email: SearchedEmail | None = None
    """Exact email match."""

    property: Name | None = None
    """Alternative property to match on. ``owner_email`` matches the email address of the contact's owner."""

    value: Annotated[str, Field(max_length=2000), NON_EMPTY] | None = None
    """Value to match against ``property``. For an enumeration, the value of an option."""

    limit: Annotated[int, Field(ge=1, le=100)] = 25
    cursor: Cursor | None = None
    """``next_cursor`` of the previous response."""

    @model_validator(mode="after")
    def _has_one_filter(self) -> Self:
        if (self.property is None) != (self.value is None):
            missing, present = ("value", "property") if self.value is None else ("property", "value")
            raise PydanticCustomError("pair", f"Should be given together with {present}", {"parameter": missing})
        if self.email is not None and self.property is not None:
            raise PydanticCustomError(
                "one_filter", "Should not be given together with email", {"parameter": "property"}
            )
        return self


class Contact(Result):
    """A contact. The searched property is an additional field. Values are text, as the vendor stores them."""

    model_config = ConfigDict(extra="allow")

    contact_id: str
    email: str | None
    firstname: str | None
    lastname: str | None
    phone: str | None
    company: str | None
    jobtitle: str | None
    lifecyclestage: str | None
    owner_email: str | None
    """Email address of the contact's owner."""


class CreateDeal(Params):
    """A deal to open."""

    dealname: Title
    """Deal title."""

    pipeline: Name
    """Pipeline name or identifier."""

    dealstage: Name
    """Stage name or identifier inside that pipeline."""

    amount: Amount | None = None
    """Decimal value (not minor units)."""

    contact_id: ContactId | None = None
    """Contact to associate."""


class CreatedDeal(Result):
    """The created deal."""

    deal_id: str
    dealname: str
    pipeline: str
    """Identifier of the pipeline."""

    dealstage: str
    """Identifier of the stage."""

    amount: Number | None
    associated_contacts: list[str]


class UpdateDeal(Params):
    """The changes of a deal: at least one of stage, properties and note."""

    deal_id: DealId
    dealstage: Name | None = None
    """Name or identifier of the stage to move to, which must exist in the deal's pipeline."""

    properties: Properties | None = None
    """Other deal properties. Only keys sent are changed."""

    note: Annotated[str, Field(min_length=1, max_length=MAX_TEXT)] | None = None
    """Plain text logged on the deal timeline with the change."""

    @model_validator(mode="after")
    def _moves_by_names(self) -> Self:
        for name in ("pipeline", "dealstage"):
            if not isinstance((self.properties or {}).get(name, name), str):
                where = {"parameter": f"properties.{name}"}
                raise PydanticCustomError("name", "Should be a name or identifier", where)
        return self

    @model_validator(mode="after")
    def _changes_something(self) -> Self:
        if self.dealstage is None and self.properties is None and self.note is None:
            raise PydanticCustomError(
                "nothing_to_do", "Should be given, unless properties or note is", {"parameter": "dealstage"}
            )
        if self.dealstage is not None and "dealstage" in (self.properties or {}):
            raise PydanticCustomError(
                "given_twice", "Should not be given together with dealstage", {"parameter": "properties.dealstage"}
            )
        return self


class UpdatedDeal(Result):
    """The deal after the change."""

    deal_id: str
    dealstage_from: str | None
    """Identifier of the stage before the call."""

    dealstage_to: str | None
    """Identifier of the stage after the call, unchanged if the deal was not moved."""

    note_logged: bool
    """False if no note was requested, or if it could not be logged after the change."""

    updated_at: UtcDatetime


class ListProperties(Params):
    """The properties to list."""

    object_type: Literal["contacts", "companies", "deals"]
    custom_only: bool = False
    """Only properties defined in the portal."""


class PropertyDefinition(Result):
    """A property of an object type."""

    name: str
    """Internal name."""

    label: str
    type: str
    """The vendor's type, such as ``string``, ``number``, ``date``, ``datetime``, ``enumeration`` or ``bool``."""

    options: list[str]
    """The values that an enumeration accepts. Empty for other types."""

    custom: bool
    """Whether the property was defined in the portal."""
