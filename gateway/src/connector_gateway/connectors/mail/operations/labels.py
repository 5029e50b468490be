"""Labels: look-up, creation and changes of messages."""

from collections.abc import Mapping, Sequence
from functools import partial

from connector_gateway.connectors.mail import mapping
from connector_gateway.connectors.mail.client import requests
from connector_gateway.connectors.mail.mapping.messages import StoredData
from connector_gateway.connectors.mail.models import ChangedLabels, ChangeMessageLabels
from connector_gateway.connectors.mail.operations.message_contents import MailCall
from connector_gateway.kit.context import CachedLookup
from connector_gateway.kit.errors import LabelNotFound, MessageNotFound, UpstreamConflict, UpstreamRefused
from connector_gateway.kit.operation import writes
from connector_gateway.kit.upstream.budget import TypicalRequests
from connector_gateway.kit.write_steps import Match, SentStep, StepInput, StepResult, WriteStep

Names = Mapping[str, str]
LABELS_SECONDS = 60.0


# Write steps


async def _send_label(ctx: MailCall, intent: StepInput, _: str) -> StepResult:
    """Create a label, or use the one that another request has created since."""
    label = await ctx.upstream.create_label(intent["name"])
    if label is not None:
        return mapping.labels.stored_label(label)
    names = await _every_label(ctx)
    label_id = mapping.labels.label_id(names, intent["name"])
    if label_id is None:
        raise UpstreamConflict("A label of that name was created and deleted at the same time.")
    return {"id": label_id, "name": names[label_id], "created": False}


async def _find_label(ctx: MailCall, intent: StepInput, _: SentStep) -> Sequence[Match]:
    """Return the label of that name, which did not exist at planning time. Another spelling is not ours."""
    names = await _every_label(ctx)
    label_id = mapping.labels.label_id(names, intent["name"])
    if label_id is None:
        return []
    name = names[label_id]
    return [Match({"id": label_id, "name": name, "created": name == intent["name"]})]


async def _send_change(ctx: MailCall, intent: StepInput, _: str) -> StepResult:
    return mapping.labels.stored_labels(
        await ctx.upstream.modify_message(intent["message_id"], intent["add"], intent["remove"])
    )


async def _find_change(ctx: MailCall, intent: StepInput, _: SentStep) -> Sequence[Match]:
    """Return the message if it has all labels to add and none of those to remove."""
    stored = mapping.labels.stored_labels(await ctx.upstream.get_message_labels(intent["message_id"]))
    return [Match(stored)] if mapping.labels.is_changed(stored, intent) else []


CREATE_LABEL = WriteStep(
    "create the label",
    _send_label,
    _find_label,
    public_result=mapping.labels.public_label,
    dry_run_result=mapping.labels.dry_run_label,
)
CHANGE_LABELS = WriteStep(
    "change the labels",
    _send_change,
    _find_change,
    # Each label of a message is set separately, so changes of other labels undo nothing.
    changes=lambda intent: [
        f"message {intent['message_id']} {label_id}" for label_id in (*intent["add"], *intent["remove"])
    ],
    public_result=mapping.outgoing_messages.public_message,
)


# The operation


@writes(
    "POST /messages/{message_id}/labels",
    errors=[MessageNotFound, LabelNotFound],
    overwrites=True,
    idempotent=True,
    requests=TypicalRequests(requests(1, 5), requests(5), "labels"),
    examples=[
        lambda one: {"message_id": one["message_id"], "add": ["Follow Up"]},
        lambda one: {"message_id": one["message_id"], "remove": ["Follow Up"]},
    ],
)
async def change_message_labels(ctx: MailCall, params: ChangeMessageLabels) -> ChangedLabels:
    """Apply labels to an email and strip others from it, by their names.

    Stripping ``INBOX`` archives the email, and stripping ``UNREAD`` marks it as read.

    A label to apply that does not exist is rejected, or created if ``create_missing`` is true.
    """
    change = await ctx.plan(partial(_change, ctx, params))
    try:
        return await _change_labels(ctx, params.message_id, change)
    except UpstreamRefused:
        if not change["remembered"]:
            raise
    # A cached label may have been deleted since.
    change = await ctx.plan(partial(_change, ctx, params, renewed=True))
    return await _change_labels(ctx, params.message_id, change)


# Planning


async def _change(ctx: MailCall, params: ChangeMessageLabels, *, renewed: bool = False) -> StoredData:
    """Plan the labels to add, remove and create, for a message that exists."""
    requested = [*params.add, *params.remove]
    cached: Names | None = ctx.cache.get("labels")
    labels = labels_lookup(ctx)
    names = await (
        ctx.reload(labels)
        if renewed
        else ctx.cached(labels, suffices=lambda names: all(mapping.labels.label_id(names, name) for name in requested))
    )
    change = mapping.labels.change(names, params.add, params.remove, create_missing=params.create_missing)
    ctx.record_casts(partial(mapping.labels.cast_report, names, add=params.add, remove=params.remove))
    if change["missing"]:
        await ctx.upstream.get_message_labels(params.message_id)
    return change | {"remembered": names is cached}


# Execution


async def _change_labels(ctx: MailCall, message_id: str, change: StoredData) -> ChangedLabels:
    created = [await ctx.step(CREATE_LABEL, {"name": name}) for name in change["missing"]]
    created_ids = iter(created)
    add = [label_id or next(created_ids)["id"] for label_id in change["add"]]
    intent = {"message_id": message_id, "add": add, "remove": change["remove"]}
    try:
        changed = await _read_changed_labels(ctx, intent)
    except UpstreamRefused:
        # The vendor may have rejected the identifier of the message.
        await ctx.upstream.get_message_labels(message_id)
        raise
    new = {label["id"]: label["name"] for label in created}
    names = await ctx.cached(
        labels_lookup(ctx), suffices=lambda names: names.keys() | new.keys() >= set(changed["label_ids"])
    )
    return mapping.labels.changed_labels(changed, {**new, **names}, created)


async def _read_changed_labels(ctx: MailCall, intent: StepInput) -> StoredData:
    """Return the message after a change, which may be empty."""
    if intent["add"] or intent["remove"]:
        return await ctx.step(CHANGE_LABELS, intent)
    return mapping.labels.stored_labels(await ctx.upstream.get_message_labels(intent["message_id"]))


# Existing labels


def labels_lookup(ctx: MailCall) -> CachedLookup[Names]:
    """Return the look-up of all label names by identifier."""
    return CachedLookup("labels", LABELS_SECONDS, partial(_every_label, ctx))


async def _every_label(ctx: MailCall) -> Names:
    return {label.id: label.name for label in await ctx.upstream.list_labels()}
