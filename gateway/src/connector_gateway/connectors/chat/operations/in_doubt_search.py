"""Recognition of the results of writes."""

from collections.abc import AsyncIterator

from connector_gateway.connectors.chat import vendor_models
from connector_gateway.connectors.chat.operations.cached_lookups import ChatCall
from connector_gateway.kit.write_steps import StepInput


def since_post(ctx: ChatCall, intent: StepInput, earliest: float) -> AsyncIterator[vendor_models.Message]:
    """Yield the messages that include a post, if it was posted."""
    channel_id, thread_ts = intent["channel_id"], intent["thread_ts"]
    if thread_ts is None:
        return ctx.upstream.history(channel_id, earliest)
    return _thread(ctx, channel_id, thread_ts, earliest)


async def _thread(ctx: ChatCall, channel_id: str, ts: str, earliest: float) -> AsyncIterator[vendor_models.Message]:
    """Yield the messages of the thread that message *ts* starts or belongs to."""
    first = ts
    async for message in ctx.upstream.replies(channel_id, ts, earliest):
        first = message.thread_ts or first
        yield message
    if first != ts:
        async for message in ctx.upstream.replies(channel_id, first, earliest):
            yield message
