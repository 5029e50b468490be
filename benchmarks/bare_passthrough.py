"""The reference: Starlette and aiohttp only; one request body, one vendor request, one response."""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import aiohttp
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

UPSTREAM = os.environ.get("UPSTREAM", "")


@asynccontextmanager
async def lifespan(application: Starlette) -> AsyncIterator[None]:
    async with aiohttp.ClientSession() as session:
        application.state.session = session
        yield


async def forward(request: Request) -> JSONResponse:
    body = await request.json()
    async with request.app.state.session.post(UPSTREAM + request.url.path, json=body) as response:
        return JSONResponse(await response.json())


app = Starlette(routes=[Route("/{path:path}", forward, methods=["POST"])], lifespan=lifespan)
