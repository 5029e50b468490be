"""Settings from environment variables, read by name, with one sentence per error."""

import re
from collections.abc import Collection, Mapping, Sequence
from difflib import get_close_matches
from ipaddress import IPv4Network, IPv6Network, ip_network
from pathlib import Path
from typing import TypeVar
from urllib.parse import parse_qsl, urlsplit

PREFIX = "GATEWAY_"
MAX_VALUES: Mapping[type, int] = {int: 10**12, float: 31 * 24 * 60 * 60}
"""Default maximum of settings by type: counts (int) and seconds (float).

The maximum seconds fit into 32 bits as milliseconds.
"""

MAX_QUOTED = 60
"""Maximum characters of an invalid value that an error message quotes."""

STORE_SCHEMES = frozenset({"valkey", "valkeys", "redis", "rediss", "unix"})
"""URL schemes of shared stores. ``valkeys`` and ``rediss`` are encrypted."""

STORE_FILES = frozenset({"ssl_ca_certs", "ssl_certfile", "ssl_keyfile"})
"""Files in the URL of an encrypted store: the trusted CAs, and a client certificate with its key."""

STORE_PATH = re.compile(r"(/\d{0,4})?")

READ_ELSEWHERE = frozenset({f"{PREFIX}URL", f"{PREFIX}API_KEY", f"{PREFIX}ENV_FILE"})
"""Variables that only ``connector-gateway call`` reads, and the path of the settings file."""

FROM_KUBERNETES = re.compile(r"GATEWAY_(?:SERVICE_HOST|SERVICE_PORT\w*|PORT_\d+_(?:TCP|UDP|SCTP)\w*)")
"""Variables that Kubernetes sets if a service is named ``gateway``.
Source: kubernetes.io/docs/concepts/services-networking/service, "Environment variables".
"""

GENERATE = """Generate one with python3 -c "import secrets; print(secrets.token_urlsafe(32))"."""
"""The remedy for a short or weak secret."""

N = TypeVar("N", int, float)
IpNetwork = IPv4Network | IPv6Network


class SettingsError(ValueError):
    """A setting is missing or invalid. The message names it and the expected values."""


class SettingsReader:
    """Reads settings by their names without the prefix, and collects the existing names."""

    def __init__(self, variables: Mapping[str, str]) -> None:
        self._variables = variables
        self._names: set[str] = set()

    @property
    def names(self) -> Collection[str]:
        """Every name that was read, set or not."""
        return self._names

    def text(self, name: str, default: str) -> str:
        """Return a setting, or *default*."""
        self._names.add(PREFIX + name)
        value = self._variables.get(PREFIX + name, "").strip()
        try:
            value.encode()
        except UnicodeEncodeError as error:
            raise SettingsError(f"{PREFIX}{name} is not valid UTF-8.") from error
        return value or default

    def required(self, name: str) -> str:
        """Return a setting that has no default."""
        value = self.text(name, "")
        if not value:
            raise SettingsError(f"{PREFIX}{name} is not set, and has no default.")
        return value

    def secrets(self, name: str, min_length: int, *, required: bool = True) -> tuple[str, ...]:
        """Return secrets separated by commas. Raises ``SettingsError`` if one is shorter than *min_length*."""
        text = self.required(name) if required else self.text(name, "")
        secrets = tuple(text.split(",")) if text else ()
        for position, secret in enumerate(secrets, 1):
            if len(secret) < min_length:
                raise SettingsError(
                    f"{PREFIX}{name}: secret {position} of {len(secrets)} has {len(secret)} characters; "
                    f"each needs {min_length} or more. {GENERATE}"
                )
        return secrets

    def number(self, name: str, default: N, *, maximum: int | None = None) -> N:
        """Return a number of the default's type, above 0 and at most *maximum*."""
        text = self.text(name, str(default))
        maximum = maximum or MAX_VALUES[type(default)]
        value = _parse_number(type(default), text)
        if value is None or not 0 < value <= maximum:
            raise SettingsError(
                f"{PREFIX}{name} is {_quote(text)}; it should be a number above 0, at most {maximum:,}."
            )
        return value

    def switch(self, name: str, *, default: bool) -> bool:
        """Return a setting that is ``on`` or ``off``."""
        return self.choice(name, ("on", "off"), "on" if default else "off") == "on"

    def choice(self, name: str, allowed: Collection[str], default: str) -> str:
        """Return a setting that is one of *allowed*."""
        text = self.text(name, default).lower()
        if text not in allowed:
            raise SettingsError(f"{PREFIX}{name} is {_quote(text)}; it should be {' or '.join(allowed)}.")
        return text

    def networks(self, name: str) -> tuple[IpNetwork, ...]:
        """Return IP addresses and networks separated by commas, or an empty tuple if unset."""
        text = self.text(name, "")
        return tuple(_parse_network(name, part.strip()) for part in text.split(",")) if text else ()

    def url(self, name: str, default: str) -> str:
        """Return the URL of a server, without a trailing slash."""
        text = self.text(name, default).rstrip("/")
        reason = _url_problem(text)
        if reason:
            raise SettingsError(f"{PREFIX}{name} {reason}; it should be a URL such as https://gateway.example.com.")
        return text

    def store_url(self, name: str) -> str | None:
        """Return the URL of a shared store, or None. Error messages do not quote its user and password."""
        text = self.text(name, "")
        reason = _store_url_problem(text) if text else ""
        if reason:
            raise SettingsError(f"{PREFIX}{name} {reason}; it should be a URL such as valkey://store.internal:6379/0.")
        return text or None

    def check_names(self, ignored: Sequence[str] = ()) -> None:
        """Raise ``SettingsError`` for a variable with the prefix that is not a setting, which is usually a typo.

        Names that begin with one of *ignored* are not checked.
        """
        existing = {*self._names, *READ_ELSEWHERE}
        # Compared without the prefix, which would make all names similar.
        similar = [name.removeprefix(PREFIX) for name in existing]
        for name in sorted(self._variables):
            if name in existing or name.startswith(tuple(ignored)) or self._from_kubernetes(name):
                continue
            if name.startswith(PREFIX):
                matches = get_close_matches(name.removeprefix(PREFIX), similar, 1)
                hint = (
                    f"did you mean {PREFIX}{matches[0]}?" if matches else "docs/guide/settings.md lists all settings."
                )
                raise SettingsError(f"{_quote(name, '')} is not a setting; {hint}")

    def _from_kubernetes(self, name: str) -> bool:
        address = name == f"{PREFIX}PORT" and "://" in self._variables[name]
        return address or FROM_KUBERNETES.fullmatch(name) is not None


def _parse_number(number_type: type[N], text: str) -> N | None:
    try:
        return number_type(text)
    except ValueError:
        return None


def _parse_network(name: str, text: str) -> IpNetwork:
    """Parse *text* as a network. A single address is a network too."""
    try:
        network = ip_network(text)
    except ValueError as error:
        raise SettingsError(
            f"{PREFIX}{name} has {_quote(text)}; it should be IP addresses and networks such as 10.0.0.7,10.1.0.0/16."
        ) from error
    if not network.prefixlen:
        raise SettingsError(f"{PREFIX}{name} has {_quote(text)}, which would let every client choose its IP address.")
    return network


def _url_problem(url: str) -> str:
    """Return why a URL is invalid, or an empty string. User names and passwords are not quoted."""
    if not url.isascii() or not url.isprintable() or set(url) & set(" {}<>\\\"'"):
        return "has characters that a URL cannot contain"
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return "has no port between 1 and 65535" if "://" in url else "is not a valid URL"
    if parts.username is not None:
        return "contains a user name or password"
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        return f"is {_quote(url)}"
    if port == 0:
        return "has no port between 1 and 65535"
    return "has a query or fragment" if parts.query or parts.fragment else ""


def _store_url_problem(url: str) -> str:
    """Return why the URL of a shared store is invalid, or an empty string."""
    if not url.isascii() or not url.isprintable() or " " in url:
        return "has characters that a URL cannot contain"
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return "has no port between 1 and 65535"
    if parts.scheme not in STORE_SCHEMES:
        return f"has the scheme {_quote(parts.scheme)}, which is not supported" if parts.scheme else "has no scheme"
    if parts.scheme == "unix":
        return "" if parts.path.strip("/") and not parts.hostname else "has no path, such as unix:///run/valkey.sock"
    is_valid_path = STORE_PATH.fullmatch(parts.path) and not parts.fragment and port != 0
    if not parts.hostname or not is_valid_path:
        return "should contain only a server, a port and a database number"
    return _store_files_problem(parts.query, encrypted=parts.scheme in {"rediss", "valkeys"})


def _store_files_problem(query: str, *, encrypted: bool) -> str:
    """Return why the files in the URL of a store are invalid, or an empty string."""
    files = dict(parse_qsl(query, keep_blank_values=True)) if query else {}
    if query and not (encrypted and files and files.keys() <= STORE_FILES):
        return f"has a query other than {', '.join(sorted(STORE_FILES))} of an encrypted store"
    missing = next((name for name, path in files.items() if not Path(path).is_file()), None)
    return f"names a file that does not exist: {missing}" if missing else ""


def _quote(text: str, quote: str = "'") -> str:
    """Quote the beginning of a value on one line."""
    short = text if len(text) <= MAX_QUOTED else f"{text[:MAX_QUOTED]}…"
    return f"{quote}{ascii(short)[1:-1] if not short.isprintable() else short}{quote}"
