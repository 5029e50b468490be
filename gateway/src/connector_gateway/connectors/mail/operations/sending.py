"""Sending of messages and creation of drafts."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from connector_gateway.connectors.mail import mapping, mime
from connector_gateway.connectors.mail.client import MARKER, SEND_REQUEST, requests
from connector_gateway.connectors.mail.mapping.messages import StoredData
from connector_gateway.connectors.mail.mime import Mailbox
from connector_gateway.connectors.mail.models import CreatedDraft, CreateDraft, SendMessage, SentMessage
from connector_gateway.connectors.mail.operations import in_doubt_search
from connector_gateway.connectors.mail.operations.message_contents import MailCall
from connector_gateway.kit import errors
from connector_gateway.kit.context import CachedLookup
from connector_gateway.kit.operation import writes
from connector_gateway.kit.upstream.budget import TypicalRequests
from connector_gateway.kit.write_steps import Match, SentStep, StepInput, StepResult, WriteStep

LOST_DRAFT_ID = ""
"""The identifier of a draft that was sent during a period that the database lost."""

SENDER_SECONDS = 60 * 60.0


# Write steps


async def _send_new_draft(body_html: str, ctx: MailCall, intent: StepInput, mark: str) -> StepResult:
    """Create a draft with the marker in a header."""
    message = mapping.outgoing_messages.build_message(intent, body_html, (MARKER, mark))
    draft = await ctx.upstream.create_draft(await asyncio.to_thread(mime.to_bytes, message), intent["thread_id"])
    return mapping.outgoing_messages.stored_draft(draft.id, draft.message, mark, ctx.clock.now())


async def _find_draft(ctx: MailCall, _: StepInput, sent: SentStep) -> Sequence[Match]:
    """Return the draft with the marker from all drafts that are not too old. After a restore it may have been sent."""
    drafts = ctx.upstream.list_drafts()
    async for draft, message in in_doubt_search.iter_not_older(
        ctx, drafts, lambda draft: draft.message.id, sent.earliest
    ):
        if in_doubt_search.is_marked(message, sent.mark):
            return [
                Match(
                    mapping.outgoing_messages.stored_draft(
                        draft.id, message, sent.mark, mapping.messages.arrived_at(message)
                    )
                )
            ]
    message_sent = await in_doubt_search.marked_among_sent(ctx, {"mark": sent.mark}, sent) if sent.restored else None
    if message_sent is None:
        return []
    return [
        Match(
            mapping.outgoing_messages.stored_draft(
                LOST_DRAFT_ID, message_sent, sent.mark, mapping.messages.arrived_at(message_sent)
            )
        )
    ]


async def _send_message(ctx: MailCall, intent: StepInput, _: str) -> StepResult:
    message = await ctx.upstream.send_draft(intent["draft_id"])
    if message is None:
        raise errors.UpstreamConflict("The draft was deleted before it could be sent.", doubt="failed")
    return mapping.outgoing_messages.stored_message(message, ctx.clock.now())


async def _find_message(ctx: MailCall, intent: StepInput, sent: SentStep) -> Sequence[Match]:
    """Return the message that a draft became, or nothing while the draft exists, because sending removes it."""
    if intent["draft_id"] != LOST_DRAFT_ID and await ctx.upstream.get_draft(intent["draft_id"]):
        return []
    message = await in_doubt_search.marked_in_thread(ctx, intent) or await in_doubt_search.marked_among_sent(
        ctx, intent, sent
    )
    if message is None:
        raise errors.OutcomeUnknown(
            "The draft no longer exists, and the message sent from it cannot be found.", doubt="silent"
        )
    return [Match(mapping.outgoing_messages.stored_message(message, mapping.messages.arrived_at(message)))]


async def _delete_draft(ctx: MailCall, intent: StepInput, _: str) -> StepResult:
    await ctx.upstream.delete_draft(intent["draft_id"])
    return {}


async def _find_deletion(ctx: MailCall, intent: StepInput, _: SentStep) -> Sequence[Match]:
    return [] if await ctx.upstream.get_draft(intent["draft_id"]) else [Match({})]


def _draft_step(body_html: str) -> "WriteStep[MailCall]":
    """Return the step that creates a draft. Its body may be large, so only the call's arguments store it."""
    return WriteStep(
        "make the draft",
        partial(_send_new_draft, body_html),
        _find_draft,
        public_result=mapping.outgoing_messages.public_draft,
        dry_run_result=mapping.outgoing_messages.dry_run_draft,
        preview=partial(mapping.outgoing_messages.preview, body_html),
    )


SEND_DRAFT = WriteStep(
    "send the draft", _send_message, _find_message, public_result=mapping.outgoing_messages.public_message
)


def _send_step(message_plan: StepInput) -> "WriteStep[MailCall]":
    """Return the step that sends the draft of *message_plan*."""
    return replace(SEND_DRAFT, notifies=lambda _: [recipient["address"] for recipient in message_plan["to"]])


DELETE_DRAFT = WriteStep("delete the draft", _delete_draft, _find_deletion)


# The operations


@writes(
    "POST /messages",
    errors=[errors.InvalidRecipient, errors.ThreadNotFound],
    targets=["thread_id"],
    requests=TypicalRequests(
        requests(1, 10) + SEND_REQUEST, requests(10) + SEND_REQUEST, "sender's addresses; a draft"
    ),
    examples=[lambda _: {"to": ["sam@example.com"], "subject": "Your invoice", "body_html": "<p>It is attached.</p>"}],
)
async def send_message(ctx: MailCall, params: SendMessage) -> SentMessage:
    """Send an email from the connected address, or reply inside a thread.

    For an email that a person checks first, use ``mail_create_draft``.

    Every recipient is validated first. If one of them is not a valid address, nothing is sent.
    The message is created as a draft and then sent, so that a retry can determine whether it was sent.
    """
    message_plan = await ctx.plan(partial(_plan_message, ctx, params, params.thread_id))
    draft = await ctx.step(_draft_step(params.body_html), message_plan)
    try:
        sent = await ctx.step(_send_step(message_plan), mapping.outgoing_messages.send_intent(draft))
    except errors.GatewayError:
        # The mailbox's owner would mistake a leftover draft for an unfinished email.
        await ctx.undo(DELETE_DRAFT, {"draft_id": draft["id"]})
        raise
    return mapping.outgoing_messages.sent_message(sent, message_plan)


@writes(
    "POST /drafts",
    errors=[errors.InvalidRecipient],
    requests=TypicalRequests(requests(1, 10), requests(10), "sender's addresses"),
    examples=[lambda _: {"to": ["sam@example.com"], "subject": "Next steps", "body_html": "<p>As agreed</p>"}],
)
async def create_draft(ctx: MailCall, params: CreateDraft) -> CreatedDraft:
    """Save an email as an unsent draft, which a person can check and send.

    To send an email, use ``mail_send_message``.
    """
    message_plan = await ctx.plan(partial(_plan_message, ctx, params, None))
    draft = await ctx.step(_draft_step(params.body_html), message_plan)
    if draft["id"] == LOST_DRAFT_ID:
        raise errors.OutcomeUnknown(
            "The draft was created, and was sent by someone else since.", {"message_id": draft["message_id"]}
        )
    return mapping.outgoing_messages.created_draft(draft)


# Planning


async def _plan_message(ctx: MailCall, params: SendMessage | CreateDraft, thread_id: str | None) -> StoredData:
    """Plan a message without its body."""
    to = mapping.outgoing_messages.recipients(params.to)
    parent = mapping.outgoing_messages.ReplyTarget(params.subject)
    if thread_id is not None:
        parent = mapping.outgoing_messages.parent(await ctx.upstream.get_thread(thread_id), thread_id)
    return mapping.outgoing_messages.plan_message(await _sender(ctx), to, parent, thread_id, ctx.clock.now())


async def _sender(ctx: MailCall) -> Mailbox:
    async def find() -> Mailbox:
        return mapping.outgoing_messages.own_mailbox(await ctx.upstream.list_send_as())

    return await ctx.cached(CachedLookup("sender", SENDER_SECONDS, find))
