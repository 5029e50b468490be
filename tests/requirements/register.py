"""Everything that is promised, in the order of the contract."""

from collections.abc import Sequence
from importlib import import_module
from itertools import chain

from connector_gateway.connectors import ROOMS
from requirements.administration import ADMINISTRATION
from requirements.agents import AGENTS
from requirements.around import AROUND
from requirements.calls import CALLS
from requirements.connections import CONNECTIONS
from requirements.deliveries import DELIVERIES
from requirements.deployment import DEPLOYMENT
from requirements.keys import KEYS
from requirements.limits import LIMITS
from requirements.requirement import Requirement
from requirements.secrecy import SECRECY
from requirements.writes import WRITES


def of_room(room: str) -> Sequence[Requirement]:
    """What is promised of a room; its module has the room's name, and the requirements the same in capitals."""
    found: Sequence[Requirement] = getattr(import_module(f"requirements.{room}"), room.upper())
    return found


REGISTER: Sequence[Requirement] = (
    *CALLS,
    *chain.from_iterable(map(of_room, ROOMS)),
    *KEYS,
    *AROUND,
    *CONNECTIONS,
    *AGENTS,
    *DELIVERIES,
    *DEPLOYMENT,
    *LIMITS,
    *SECRECY,
    *WRITES,
    *ADMINISTRATION,
)
