"""Vendor reads that do not depend on each other. Like all others, each waits for its reservation."""

import asyncio
from collections.abc import Awaitable
from typing import TypeVar

A = TypeVar("A")
B = TypeVar("B")


async def gather_pair(first: Awaitable[A], second: Awaitable[B]) -> tuple[A, B]:
    """Await both concurrently and return their results. If both fail, the first error is raised.

    Only reads before the first write of an operation may be concurrent.
    """
    one, other = await asyncio.gather(first, second, return_exceptions=True)
    if isinstance(one, BaseException):
        raise one
    if isinstance(other, BaseException):
        raise other
    return one, other
