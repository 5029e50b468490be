"""The environment's variables as settings: read by name, and each fault told in a sentence."""

import re
from collections.abc import Collection, Mapping
from difflib import get_close_matches
from ipaddress import IPv4Network, IPv6Network, ip_network
from pathlib import Path
from typing import TypeVar
from urllib.parse import parse_qsl, urlsplit

PREFIX = "GATEWAY_"
MOST: Mapping[type, int] = {int: 10**12, float: 31 * 24 * 60 * 60}
"""What can be set at most, unless a setting says otherwise: of what is counted, and of seconds.

So many seconds fit what counts milliseconds in 32 bits.
"""

MAX_SHOWN = 60
"""Characters of a value that are shown where it is wrong."""

STORES = frozenset({"valkey", "valkeys", "redis", "rediss", "unix"})
"""How addresses of shared stores begin; the second and fourth are encrypted."""

STORE_FILES = frozenset({"ssl_ca_certs", "ssl_certfile", "ssl_keyfile"})
"""Files that the address of an encrypted store may name: whom to trust, and its own certificate with its key."""

STORE_PATH = re.compile(r"(/\d{0,4})?")

READ_ELSEWHERE = frozenset({f"{PREFIX}URL", f"{PREFIX}API_KEY", f"{PREFIX}ENV_FILE"})
"""What ``connector-gateway call`` reads, and the file that settings are read from."""

FROM_KUBERNETES = re.compile(r"GATEWAY_(?:SERVICE_HOST|SERVICE_PORT\w*|PORT_\d+_(?:TCP|UDP|SCTP)\w*)")
"""What Kubernetes puts into the environment where a service is called ``gateway``.
Source: kubernetes.io/docs/concepts/services-networking/service, "Environment variables".
"""

GENERATE = """Make one with python3 -c "import secrets; print(secrets.token_urlsafe(32))"."""
"""The remedy for a secret that is short or weak."""

N = TypeVar("N", int, float)
IpNetwork = IPv4Network | IPv6Network


class SettingsError(ValueError):
    """A setting is missing or cannot be used; the message names it and says what is expected."""


class Environment:
    """Reads settings by their names without the prefix, and knows afterwards which names there are."""

    def __init__(self, variables: Mapping[str, str]) -> None:
        self._variables = variables
        self._names: set[str] = set()

    @property
    def names(self) -> Collection[str]:
        """Every name that was asked for, whether it is set or not."""
        return self._names

    def text(self, name: str, default: str) -> str:
        """A setting, or *default*."""
        self._names.add(PREFIX + name)
        value = self._variables.get(PREFIX + name, "").strip()
        try:
            value.encode()
        except UnicodeEncodeError as fault:
            raise SettingsError(f"{PREFIX}{name} is not written in UTF-8.") from fault
        return value or default

    def required(self, name: str) -> str:
        """A setting that there is no default for."""
        value = self.text(name, "")
        if not value:
            raise SettingsError(f"{PREFIX}{name} is not set; it has no default.")
        return value

    def secrets(self, name: str, shortest: int, *, required: bool = True) -> tuple[str, ...]:
        """Return secrets that commas separate; ``SettingsError`` if one is shorter than *shortest*."""
        text = self.required(name) if required else self.text(name, "")
        secrets = tuple(text.split(",")) if text else ()
        for place, secret in enumerate(secrets, 1):
            if len(secret) < shortest:
                raise SettingsError(
                    f"{PREFIX}{name}: secret {place} of {len(secrets)} has {len(secret)} characters; "
                    f"each needs {shortest} or more. {GENERATE}"
                )
        return secrets

    def number(self, name: str, default: N, *, most: int | None = None) -> N:
        """A number of the default's type, above 0 and no more than *most*."""
        text = self.text(name, str(default))
        most = most or MOST[type(default)]
        value = _number(type(default), text)
        if value is None or not 0 < value <= most:
            raise SettingsError(f"{PREFIX}{name} is {_shown(text)}; it should be a number above 0, at most {most:,}.")
        return value

    def switch(self, name: str, *, default: bool) -> bool:
        """A setting that is ``on`` or ``off``."""
        return self.choice(name, ("on", "off"), "on" if default else "off") == "on"

    def choice(self, name: str, allowed: Collection[str], default: str) -> str:
        """A setting that is one of a few words."""
        text = self.text(name, default).lower()
        if text not in allowed:
            raise SettingsError(f"{PREFIX}{name} is {_shown(text)}; it should be {' or '.join(allowed)}.")
        return text

    def networks(self, name: str) -> tuple[IpNetwork, ...]:
        """Addresses and networks of IP, separated by commas; none where it is not set."""
        text = self.text(name, "")
        return tuple(_network(name, one.strip()) for one in text.split(",")) if text else ()

    def address(self, name: str, default: str) -> str:
        """The address of a server, without a slash at its end."""
        text = self.text(name, default).rstrip("/")
        wrong = _wrong_with(text)
        if wrong:
            raise SettingsError(f"{PREFIX}{name} {wrong}; it should be an address such as https://gateway.example.com.")
        return text

    def store(self, name: str) -> str | None:
        """The address of a shared store, or None; what it says of users and passwords is shown nowhere."""
        text = self.text(name, "")
        wrong = _wrong_with_store(text) if text else ""
        if wrong:
            raise SettingsError(
                f"{PREFIX}{name} {wrong}; it should be an address such as valkey://store.internal:6379/0."
            )
        return text or None

    def check_names(self) -> None:
        """Refuse a variable that looks like a setting and is none: most often it is misspelt."""
        known = {*self._names, *READ_ELSEWHERE}
        # Without the prefix: all names share it, and would all seem to be alike.
        similar = [name.removeprefix(PREFIX) for name in known]
        for name in sorted(self._variables):
            if name.startswith(PREFIX) and name not in known and not self._from_kubernetes(name):
                close = get_close_matches(name.removeprefix(PREFIX), similar, 1)
                hint = f"did you mean {PREFIX}{close[0]}?" if close else "docs/guide/settings.md names all there are."
                raise SettingsError(f"{_shown(name, '')} is no setting; {hint}")

    def _from_kubernetes(self, name: str) -> bool:
        address = name == f"{PREFIX}PORT" and "://" in self._variables[name]
        return address or FROM_KUBERNETES.fullmatch(name) is not None


def _number(kind: type[N], text: str) -> N | None:
    try:
        return kind(text)
    except ValueError:
        return None


def _network(name: str, text: str) -> IpNetwork:
    """The network *text*, where an address is a network of its own."""
    try:
        network = ip_network(text)
    except ValueError as error:
        raise SettingsError(
            f"{PREFIX}{name} has {_shown(text)}; it should be addresses and networks such as 10.0.0.7,192.168.0.0/16."
        ) from error
    if not network.prefixlen:
        raise SettingsError(f"{PREFIX}{name} has {_shown(text)}, by which every client could name its own address.")
    return network


def _wrong_with(address: str) -> str:
    """What is wrong with an address; empty if nothing is. Names and passwords in it are not shown."""
    if not address.isascii() or not address.isprintable() or set(address) & set(" {}<>\\\"'"):
        return "has characters that an address cannot have"
    try:
        parts = urlsplit(address)
        port = parts.port
    except ValueError:
        return "has no port between 1 and 65535" if "://" in address else "cannot be read"
    if parts.username is not None:
        return "holds a name or password"
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        return f"is {_shown(address)}"
    if port == 0:
        return "has no port between 1 and 65535"
    return "has a query or fragment" if parts.query or parts.fragment else ""


def _wrong_with_store(address: str) -> str:
    """What is wrong with the address of a shared store; empty if nothing is."""
    if not address.isascii() or not address.isprintable() or " " in address:
        return "has characters that an address cannot have"
    try:
        parts = urlsplit(address)
        port = parts.port
    except ValueError:
        return "has no port between 1 and 65535"
    if parts.scheme not in STORES:
        return f"names {_shown(parts.scheme)}, which is not supported" if parts.scheme else "names no kind of store"
    if parts.scheme == "unix":
        return "" if parts.path.strip("/") and not parts.hostname else "names no file, as unix:///run/valkey.sock does"
    whole = STORE_PATH.fullmatch(parts.path) and not parts.fragment and port != 0
    if not parts.hostname or not whole:
        return "has more or less than a server, a port and the number of a database"
    return _wrong_with_files(parts.query, encrypted=parts.scheme in {"rediss", "valkeys"})


def _wrong_with_files(query: str, *, encrypted: bool) -> str:
    """What is wrong with the files that the address of a store names; empty if nothing is."""
    named = dict(parse_qsl(query, keep_blank_values=True)) if query else {}
    if query and not (encrypted and named and named.keys() <= STORE_FILES):
        return f"has a query other than {', '.join(sorted(STORE_FILES))} of an encrypted store"
    missing = next((name for name, path in named.items() if not Path(path).is_file()), None)
    return f"names a file that is not there: {missing}" if missing else ""


def _shown(text: str, quote: str = "'") -> str:
    """The beginning of a value, on one line."""
    short = text if len(text) <= MAX_SHOWN else f"{text[:MAX_SHOWN]}…"
    return f"{quote}{ascii(short)[1:-1] if not short.isprintable() else short}{quote}"
