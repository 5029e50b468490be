"""The settings of an installation, read once from the environment."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeVar
from urllib.parse import urlsplit

from connector_gateway.core.sites import Site
from connector_gateway.kit.budget import Budget
from connector_gateway.kit.operation import AnyConnector
from connector_gateway.kit.upstream import Timeouts

PREFIX = "GATEWAY_"
DAY_SECONDS = 24 * 60 * 60

N = TypeVar("N", int, float)


class SettingsError(ValueError):
    """A setting is missing or cannot be used; the message names it and says what is expected."""


@dataclass(frozen=True)
class Settings:
    """Everything that can be set; docs/guide/settings.md explains each name."""

    database_url: str
    secret_keys: tuple[str, ...] = field(repr=False)
    operator_token: str = field(repr=False)
    shared_url: str | None
    base_url: str
    download_base: str
    link_seconds: float
    max_file_bytes: int
    workers: int
    max_body_bytes: int
    max_calls: int
    upstream_timeout_seconds: float
    storage_seconds: float
    """How long anybody waits for the database."""

    stop_seconds: float
    """How long calls under way may take to end once the process was told to stop."""

    keep_runs_days: float
    watch: bool
    """Whether this process takes part in observing changes."""

    timeouts: Timeouts
    sites: Mapping[str, Site]

    @property
    def download_path(self) -> str:
        """Where downloads are answered: the path of their address, less what a proxy before this service takes off."""
        return urlsplit(self.download_base.removeprefix(self.base_url)).path

    @classmethod
    def read(cls, environment: Mapping[str, str], connectors: Mapping[str, AnyConnector]) -> "Settings":
        """The settings of *environment*; ``SettingsError`` if one is missing or does not fit."""
        reader = _Reader(environment)
        base_url = reader.text("BASE_URL", "http://127.0.0.1:8080").rstrip("/")
        settings = cls(
            database_url=reader.text("DATABASE_URL", "sqlite:///gateway.db"),
            secret_keys=tuple(reader.required("SECRET_KEYS").split(",")),
            operator_token=reader.required("OPERATOR_TOKEN"),
            shared_url=reader.text("SHARED_URL", "") or None,
            base_url=base_url,
            download_base=reader.text("DOWNLOAD_BASE", f"{base_url}/v1/downloads").rstrip("/"),
            link_seconds=reader.number("LINK_SECONDS", 15 * 60.0),
            max_file_bytes=reader.number("MAX_FILE_BYTES", 100 * 1024 * 1024),
            workers=reader.number("WORKERS", 1),
            max_body_bytes=reader.number("MAX_BODY_BYTES", 1024 * 1024),
            max_calls=reader.number("MAX_CALLS", 5000),
            upstream_timeout_seconds=reader.number("UPSTREAM_TIMEOUT_SECONDS", 30.0),
            storage_seconds=reader.number("STORAGE_SECONDS", 10.0),
            stop_seconds=reader.number("STOP_SECONDS", 30.0),
            keep_runs_days=reader.number("KEEP_RUNS_DAYS", 30.0),
            watch=reader.switch("WATCH", default=True),
            timeouts=Timeouts(
                queue_seconds=reader.number("QUEUE_SECONDS", 30.0),
                run_seconds=reader.number("RUN_SECONDS", 120.0),
                grace_seconds=reader.number("GRACE_SECONDS", 5.0),
                attempts=reader.number("ATTEMPTS", 3),
                backoff_seconds=reader.number("BACKOFF_SECONDS", 0.25),
            ),
            sites={name: reader.site(connector) for name, connector in connectors.items()},
        )
        settings.check()
        return settings

    def check(self) -> None:
        """Refuse what would break promises: several workers that do not share what must be shared."""
        if self.workers < 1:
            raise SettingsError(f"{PREFIX}WORKERS is {self.workers}; there must be at least one.")
        if self.workers > 1:
            raise SettingsError(
                f"{PREFIX}WORKERS is {self.workers}, but pacing and key windows are counted in one process's memory: "
                "several workers would exceed the third parties' budgets. Run one worker."
            )
        if self.shared_url:
            raise SettingsError(f"{PREFIX}SHARED_URL is set, but a shared store is not supported yet; leave it out.")


class _Reader:
    """Reads settings by their names without the prefix."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._environment = environment

    def text(self, name: str, default: str) -> str:
        """A setting, or *default*."""
        return self._environment.get(PREFIX + name, "").strip() or default

    def required(self, name: str) -> str:
        """A setting that there is no default for."""
        value = self.text(name, "")
        if not value:
            raise SettingsError(f"{PREFIX}{name} is not set; it has no default.")
        return value

    def number(self, name: str, default: N) -> N:
        """A positive number of the default's type."""
        text = self.text(name, str(default))
        try:
            value = type(default)(text)
        except ValueError:
            value = type(default)(-1)
        if value <= 0:
            raise SettingsError(f"{PREFIX}{name} is {text!r}; it should be a number above 0.")
        return value

    def switch(self, name: str, *, default: bool) -> bool:
        """A setting that is ``on`` or ``off``."""
        text = self.text(name, "on" if default else "off").lower()
        if text not in {"on", "off"}:
            raise SettingsError(f"{PREFIX}{name} is {text!r}; it should be on or off.")
        return text == "on"

    def site(self, connector: AnyConnector) -> Site:
        """Where *connector* is and what it allows: its own facts, unless set otherwise."""
        prefix = connector.name.upper()
        addresses = {
            host: self.text(f"{prefix}_{host.upper()}_URL", address).rstrip("/")
            for host, address in connector.addresses.items()
        }
        budgets = dict(connector.budgets)
        primary = next(iter(budgets))
        text = self.text(f"{prefix}_BUDGET", "")
        try:
            budgets[primary] = Budget.parse(text) if text else budgets[primary]
        except ValueError as fault:
            raise SettingsError(f"{PREFIX}{prefix}_BUDGET: {fault}") from fault
        secrets = tuple(filter(None, self.text(f"{prefix}_HOOK_SECRET", "").split(",")))
        observing = connector.observing
        every = self.number(f"{prefix}_WATCH_SECONDS", observing.every_seconds) if observing else None
        settle = self.number(f"{prefix}_SETTLE_SECONDS", connector.settle_seconds)
        return Site(connector, addresses, budgets, settle, every, secrets)
