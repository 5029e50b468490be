"""The settings of an installation, read once from the environment."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from importlib.util import find_spec
from typing import TypeVar
from urllib.parse import urlsplit

from connector_gateway.core.access.quotas import Quotas
from connector_gateway.core.pacing.upstreams import UpstreamConfig
from connector_gateway.core.secrets.secret_keys import MIN_SECRET_LENGTH, weakness
from connector_gateway.environment import GENERATE, PREFIX, Environment, IpNetwork, SettingsError
from connector_gateway.http.server.connection_limits import ConnectionLimits
from connector_gateway.kit.oauth import OAuthClient
from connector_gateway.kit.operation import AnyConnector
from connector_gateway.kit.upstream.budget import Budget
from connector_gateway.kit.upstream.client import Timeouts
from connector_gateway.storage.sql.engines import parse_url

DATABASE_URL = "sqlite:///gateway.db"
"""Where state is kept unless it is set: in the working folder."""

DAY_SECONDS = 24 * 60 * 60
MOST_DAYS = 100 * 366
MOST_WORKERS = 1000
MAX_PORT = 65_535
MOST_OF_A_WORKSPACE = 1_000_000
FIXED = {"attempts", "backoff_seconds"}
"""Numbers of groups that are no settings."""

LOG_LEVELS = ("debug", "info", "warning", "error")
FORWARDED_HEADERS = ("x-forwarded-for", "forwarded")

G = TypeVar("G", ConnectionLimits, Quotas, Timeouts)


@dataclass(frozen=True)
class Settings:
    """Everything that can be set; docs/guide/settings.md explains each name."""

    database_url: str
    secret_keys: tuple[str, ...] = field(repr=False)
    decrypt_only_keys: tuple[str, ...] = field(repr=False)
    """Former secret keys, with which nothing is encrypted, signed or verified."""

    operator_token: str = field(repr=False)
    metrics_token: str = field(repr=False)
    """What the metrics are shown for; to everybody if empty."""

    shared_url: str | None = field(repr=False)
    """Where several processes count together; None where one counts in its memory."""

    traces_url: str | None
    """Where traces are sent; None for nowhere."""

    base_url: str
    download_base: str
    link_seconds: float
    console_idle_seconds: float
    """How long a session in the console lasts without a page being asked for."""

    max_file_bytes: int
    admin_port: int | None
    """The only port at which operators are served, beside the one for everybody; None for that one."""

    workers: int
    """How many processes serve, started by ``serve``."""

    max_body_bytes: int
    max_calls: int
    upstream_timeout_seconds: float
    storage_seconds: float
    """How long anybody waits for the database."""

    stop_seconds: float
    """How long calls under way may take to end once the process was told to stop."""

    retire_seconds: float
    """How long calls are taken after SIGTERM, until those who send them have noticed; 0 for not at all."""

    keep_runs_days: float
    watch: bool
    """Whether this process takes part in observing changes, and in delivering them to webhooks."""

    private_webhooks: bool
    """Whether webhooks may be at private addresses, such as those of this machine."""

    log_level: str
    access_log: bool
    """Whether a line is logged for every answer."""

    trusted_proxies: tuple[IpNetwork, ...]
    """From where a request may name the address of its client."""

    forwarded_header: str
    """The one header in which it does."""

    clients: ConnectionLimits
    quotas: Quotas
    timeouts: Timeouts
    sites: Mapping[str, UpstreamConfig]

    @property
    def download_path(self) -> str:
        """Where downloads are answered: the path of their address, less what a proxy before this service takes off."""
        if self.download_base.startswith(f"{self.base_url}/"):
            return self.download_base.removeprefix(self.base_url)
        return urlsplit(self.download_base).path

    @property
    def operators_url(self) -> str:
        """Address of the console and the management routes, as seen from this machine."""
        return self.base_url if self.admin_port is None else f"http://127.0.0.1:{self.admin_port}"

    @property
    def shareable(self) -> bool:
        """Whether several processes may serve: on a database for several, with a store to count together in."""
        return self.shared_url is not None and parse_url(self.database_url).get_backend_name() != "sqlite"

    @classmethod
    def read(cls, environment: Mapping[str, str], connectors: Mapping[str, AnyConnector]) -> "Settings":
        """The settings of *environment*; ``SettingsError`` if one is missing or does not fit."""
        names = Environment(environment)
        settings = cls.read_from(names, connectors)
        names.check_names()
        settings.check()
        return settings

    @classmethod
    def read_from(cls, environment: Environment, connectors: Mapping[str, AnyConnector]) -> "Settings":
        """The same, each for itself: not yet whether they fit together, nor whether there are other names."""
        base_url = environment.url("BASE_URL", "http://127.0.0.1:8080")
        return cls(
            database_url=_database_url(environment),
            secret_keys=environment.secrets("SECRET_KEYS", MIN_SECRET_LENGTH),
            decrypt_only_keys=environment.secrets("DECRYPT_ONLY_KEYS", MIN_SECRET_LENGTH, required=False),
            operator_token=_token("OPERATOR_TOKEN", environment.required("OPERATOR_TOKEN")),
            metrics_token=_token("METRICS_TOKEN", environment.text("METRICS_TOKEN", "")),
            shared_url=environment.store_url("SHARED_URL"),
            traces_url=_traces_url(environment),
            base_url=base_url,
            download_base=environment.url("DOWNLOAD_BASE", f"{base_url}/v1/downloads"),
            link_seconds=environment.number("LINK_SECONDS", 15 * 60.0),
            console_idle_seconds=environment.number("CONSOLE_IDLE_SECONDS", 30 * 60.0),
            max_file_bytes=environment.number("MAX_FILE_BYTES", 100 * 1024 * 1024),
            admin_port=_admin_port(environment),
            workers=environment.number("WORKERS", 1, maximum=MOST_WORKERS),
            max_body_bytes=environment.number("MAX_BODY_BYTES", 1024 * 1024),
            max_calls=environment.number("MAX_CALLS", 5000),
            upstream_timeout_seconds=environment.number("UPSTREAM_TIMEOUT_SECONDS", 30.0),
            storage_seconds=environment.number("STORAGE_SECONDS", 10.0),
            stop_seconds=environment.number("STOP_SECONDS", 30.0),
            retire_seconds=_retire_seconds(environment),
            keep_runs_days=environment.number("KEEP_RUNS_DAYS", 30.0, maximum=MOST_DAYS),
            watch=environment.switch("WATCH", default=True),
            private_webhooks=environment.switch("PRIVATE_WEBHOOKS", default=False),
            log_level=environment.choice("LOG_LEVEL", LOG_LEVELS, "info"),
            access_log=environment.switch("ACCESS_LOG", default=False),
            trusted_proxies=environment.networks("TRUSTED_PROXIES"),
            forwarded_header=environment.choice("FORWARDED_HEADER", FORWARDED_HEADERS, FORWARDED_HEADERS[0]),
            clients=_numbers(environment, ConnectionLimits(), "MAX_"),
            quotas=_numbers(environment, Quotas(), "QUOTA_", most=MOST_OF_A_WORKSPACE),
            timeouts=_numbers(environment, Timeouts()),
            sites={name: _site(environment, connector) for name, connector in connectors.items()},
        )

    def check(self) -> None:
        """Refuse what would break promises, and what contradicts itself."""
        if not self.download_path:
            raise SettingsError(f"{PREFIX}DOWNLOAD_BASE needs a path, such as {self.base_url}/v1/downloads.")
        if self.access_log and self.log_level not in {"debug", "info"}:
            raise SettingsError(
                f"{PREFIX}ACCESS_LOG is on, and {PREFIX}LOG_LEVEL {self.log_level} leaves it out; make that info."
            )

    def check_strength(self) -> None:
        """Refuse secrets that could be guessed; ``SettingsError`` tells how to make one that cannot.

        It is checked where a service is started, since it takes some time. Keys that only decrypt may be weak, for
        they are on their way out and let nobody in.
        """
        for name, secrets in self._secrets().items():
            for place, secret in enumerate(secrets, 1):
                if why := weakness(secret):
                    which = f", secret {place} of {len(secrets)}," if len(secrets) > 1 else ""
                    raise SettingsError(f"{PREFIX}{name}{which} is too weak: {why}. {GENERATE}")

    def _secrets(self) -> Mapping[str, Sequence[str]]:
        """Return the secrets that let somebody in or prove who sent something, by setting."""
        hooks = {f"{name.upper()}_HOOK_SECRET": site.hook_secrets for name, site in self.sites.items()}
        tokens = {"OPERATOR_TOKEN": [self.operator_token], "METRICS_TOKEN": [*filter(None, [self.metrics_token])]}
        return {"SECRET_KEYS": self.secret_keys, **tokens, **hooks}


def _token(name: str, token: str) -> str:
    """A token as it can be sent in a header; ``SettingsError`` where nobody could ever present it."""
    if not (token.isascii() and token.isprintable()):
        raise SettingsError(f"{PREFIX}{name} has a character that no header carries; use those of ASCII.")
    return token


def _database_url(environment: Environment) -> str:
    """Where state is kept; its password is shown nowhere."""
    text = environment.text("DATABASE_URL", DATABASE_URL)
    try:
        parse_url(text)
    except ValueError as fault:
        raise SettingsError(f"{PREFIX}DATABASE_URL {fault}") from fault
    return text


def _retire_seconds(environment: Environment) -> float:
    return environment.number("RETIRE_SECONDS", 1.0) if environment.text("RETIRE_SECONDS", "") else 0.0


def _admin_port(environment: Environment) -> int | None:
    return environment.number("ADMIN_PORT", 1, maximum=MAX_PORT) if environment.text("ADMIN_PORT", "") else None


def _traces_url(environment: Environment) -> str | None:
    """Where traces are sent; ``SettingsError`` if what sends them is not installed."""
    if not environment.text("TRACES_URL", ""):
        return None
    if any(find_spec(f"opentelemetry{part}") is None for part in ("", ".sdk", ".exporter")):
        raise SettingsError(
            f"{PREFIX}TRACES_URL needs what sends traces: pip install opentelemetry-sdk "
            "opentelemetry-exporter-otlp-proto-http."
        )
    return environment.url("TRACES_URL", "")


def _numbers(environment: Environment, group: G, prefix: str = "", *, most: int | None = None) -> G:
    """Read the numbers of a *group*, each by its own name after *prefix*; those that cannot be set stay as they are."""
    names = [one.name for one in fields(group) if one.name not in FIXED]
    read = {name: environment.number(prefix + name.upper(), getattr(group, name), maximum=most) for name in names}
    return replace(group, **read)


def _site(environment: Environment, connector: AnyConnector) -> UpstreamConfig:
    """Where *connector* is and what it allows: its own facts, unless set otherwise."""
    prefix = connector.name.upper()
    addresses = {
        host: environment.url(f"{prefix}_{host.upper()}_URL", address) for host, address in connector.base_urls.items()
    }
    settle = environment.number(f"{prefix}_SETTLE_SECONDS", connector.settle_seconds)
    observing, client = connector.event_source, _client(environment, connector)
    key = _api_key(environment, connector)
    if observing is None:
        return UpstreamConfig(
            connector, addresses, _budgets(environment, connector), settle, client=client, api_key=key
        )
    every = environment.number(f"{prefix}_WATCH_SECONDS", observing.poll_interval_seconds)
    secrets = tuple(filter(None, environment.text(f"{prefix}_HOOK_SECRET", "").split(",")))
    return UpstreamConfig(connector, addresses, _budgets(environment, connector), settle, every, secrets, client, key)


def _client(environment: Environment, connector: AnyConnector) -> OAuthClient | None:
    """What this installation is called at the third party; None where it is not registered."""
    if connector.oauth is None:
        return None
    prefix = connector.name.upper()
    client_id, secret = (environment.text(f"{prefix}_CLIENT_{part}", "") for part in ("ID", "SECRET"))
    if bool(client_id) != bool(secret):
        raise SettingsError(f"{PREFIX}{prefix}_CLIENT_ID and {PREFIX}{prefix}_CLIENT_SECRET belong together; set both.")
    return OAuthClient(client_id, secret) if client_id else None


def _api_key(environment: Environment, connector: AnyConnector) -> str:
    """What this installation is called at the page that hands out tokens; empty where there is none."""
    if connector.oauth is None or connector.oauth.token_page is None:
        return ""
    return environment.text(f"{connector.name.upper()}_API_KEY", "")


def _budgets(environment: Environment, connector: AnyConnector) -> dict[str, Budget]:
    """What *connector* may send; the first of its budgets can be set."""
    name = f"{connector.name.upper()}_BUDGET"
    text = environment.text(name, "")
    if not text:
        return dict(connector.budgets)
    try:
        return {**connector.budgets, next(iter(connector.budgets)): Budget.parse(text)}
    except ValueError as fault:
        raise SettingsError(f"{PREFIX}{name}: {fault}") from fault
