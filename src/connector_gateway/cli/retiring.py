"""How a process makes room for another without failing a call: the parts of it that concern its listening sockets."""

import asyncio
import select
import socket
import struct
import sys
from collections.abc import Sequence
from contextlib import suppress
from ctypes import addressof, create_string_buffer

SETTLE_SECONDS = 0.5
"""How long connections that a client has begun to open may take until they can be accepted. It is less than the second
after which a client tries again to open one."""

PAUSE_SECONDS = 0.02

LONGEST_SECONDS = 5.0
"""How long is waited for an empty queue, which there may never be where others go on connecting."""

SO_ATTACH_FILTER = 26
"""From Linux's asm-generic/socket.h; Python has no name for it."""

DROPS_OPENINGS = (
    (0x30, 0, 0, 13),  # load the flags of the TCP header
    (0x54, 0, 0, 0x12),  # keep SYN and ACK of them
    (0x15, 0, 1, 0x02),  # is it SYN alone?
    (0x06, 0, 0, 0),  # then drop the packet
    (0x06, 0, 0, 0xFFFFFFFF),  # else keep it
)
"""A classic BPF program as socket(7) takes it, each instruction as linux/filter.h has it: code, jumps, operand."""


async def take_the_last(listening: Sequence[socket.socket]) -> None:
    """Have the system open no new connections on *listening*, and wait until those that it opened are accepted.

    To close a listening socket resets the connections that nobody has accepted yet, some with a request that was sent
    already. After this there are none, and whoever tries to open one is refused once the socket is closed, which is
    known to be safe to repeat elsewhere. Where the system holds nothing back, as elsewhere than on Linux, those are
    reset that are opened between the last look and the end of the socket.
    """
    held_back = [opens_no_more(one) for one in listening]
    if all(held_back):
        await asyncio.sleep(SETTLE_SECONDS)
    with suppress(TimeoutError):
        async with asyncio.timeout(LONGEST_SECONDS):
            while _have_some(listening):  # noqa: ASYNC110  # the event loop accepts them, and tells nobody
                await asyncio.sleep(PAUSE_SECONDS)


def opens_no_more(listening: socket.socket) -> bool:
    """Have the system drop what would open a connection; whether it does."""
    if sys.platform != "linux":
        return False
    program = create_string_buffer(b"".join(struct.pack("HBBI", *one) for one in DROPS_OPENINGS))
    with suppress(OSError):
        listening.setsockopt(
            socket.SOL_SOCKET, SO_ATTACH_FILTER, struct.pack("HP", len(DROPS_OPENINGS), addressof(program))
        )
        return True
    return False


def _have_some(listening: Sequence[socket.socket]) -> bool:
    """Whether a connection waits to be accepted."""
    waiting = select.poll()
    for one in listening:
        waiting.register(one, select.POLLIN)
    return bool(waiting.poll(0))
