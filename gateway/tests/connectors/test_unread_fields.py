"""A field that a vendor documents is not reported as a change of its API."""

import json
from collections.abc import Collection, Iterator
from importlib.resources import files
from typing import Any

import pytest
from hubspot.crm import contacts, owners, pipelines, properties
from hubspot.crm.associations import v4 as associations
from msgspec import inspect
from pyairtable.models import schema

from connector_gateway.connectors import CONNECTORS
from connector_gateway.connectors.crm import vendor_models as crm
from connector_gateway.connectors.mail import vendor_models as mail
from connector_gateway.connectors.tables import vendor_models as tables

GMAIL = files("googleapiclient") / "discovery_cache" / "documents" / "gmail.v1.json"

Case = tuple[str, Any, Collection[str]]
"""The connector, a shape, and the fields that the vendor documents."""


def gmail() -> Iterator[Case]:
    schemas = json.loads(GMAIL.read_text(encoding="utf-8"))["schemas"]
    for model, name in (
        (mail.MessageList, "ListMessagesResponse"),
        (mail.Listed, "Message"),
        (mail.Message, "Message"),
        (mail.Part, "MessagePart"),
        (mail.Content, "MessagePartBody"),
        (mail.Thread, "Thread"),
        (mail.Draft, "Draft"),
        (mail.Label, "Label"),
        (mail.Profile, "Profile"),
        (mail.SendAs, "SendAs"),
    ):
        yield "mail", model, schemas[name]["properties"]


def hubspot() -> Iterator[Case]:
    for model, documented in (
        (crm.Page[crm.Record], contacts.CollectionResponseWithTotalSimplePublicObjectForwardPaging),
        (crm.Record, contacts.SimplePublicObjectWithAssociations),
        (crm.Upserted, contacts.SimplePublicUpsertObject),
        (crm.Batch[crm.Record], contacts.BatchResponseSimplePublicObjectWithErrors),
        (crm.Paging, contacts.Paging),
        (crm.NextPage, contacts.NextPage),
        (crm.Batch[crm.Associated], associations.BatchResponsePublicDefaultAssociation),
        (crm.Associated, associations.PublicDefaultAssociation),
        (crm.Links, associations.PublicAssociationMultiWithLabel),
        (crm.Linked, associations.MultiAssociatedObjectWithLabel),
        (crm.Pipeline, pipelines.Pipeline),
        (crm.Stage, pipelines.PipelineStage),
        (crm.Definition, properties.ModelProperty),
        (crm.Modification, properties.PropertyModificationMetadata),
        (crm.Option, properties.Option),
        (crm.Owner, owners.PublicOwner),
    ):
        yield "crm", model, documented.attribute_map.values()


def airtable() -> Iterator[Case]:
    for model, documented in (
        (tables.Base, schema.Bases.Info),
        (tables.Table, schema.TableSchema),
        (tables.View, schema.ViewSchema),
        (tables.Field, schema.SingleSelectFieldSchema),
    ):
        yield "tables", model, [field.alias or name for name, field in documented.model_fields.items()]


@pytest.mark.parametrize(("connector", "model", "documented"), [*gmail(), *hubspot(), *airtable()])
def test_every_documented_field_is_read_or_listed(connector: str, model: Any, documented: Collection[str]) -> None:
    shape = inspect.type_info(model)
    assert isinstance(shape, inspect.StructType)

    assert set() == set(documented) - set(CONNECTORS[connector].unread_fields) - {
        field.encode_name for field in shape.fields
    }
