"""The settings of an installation, read once from the environment."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from importlib.util import find_spec
from typing import TypeVar
from urllib.parse import urlsplit

from connector_gateway.core.access.quotas import Quotas
from connector_gateway.core.connector_config import ConnectorConfig
from connector_gateway.core.secrets.secret_keys import MIN_SECRET_LENGTH, weakness
from connector_gateway.http.server.connection_limits import ConnectionLimits
from connector_gateway.kit.oauth import OAuthClient
from connector_gateway.kit.operation import AnyConnector
from connector_gateway.kit.upstream.budget import Budget
from connector_gateway.kit.upstream.client import Timeouts
from connector_gateway.settings_reader import GENERATE, PREFIX, IpNetwork, SettingsError, SettingsReader
from connector_gateway.storage.sql.engines import parse_url

DATABASE_URL = "sqlite:///gateway.db"
"""The default database, in the working folder."""

MAX_DAYS = 100 * 366
MAX_WORKERS = 1000
MAX_PORT = 65_535
MAX_QUOTA = 1_000_000
FIXED = {"attempts", "backoff_seconds"}
"""Fields of groups that are not settings."""

LOG_LEVELS = ("debug", "info", "warning", "error")
LOOPBACK_HOSTS = ("127.0.0.1", "localhost", "::1")

FORWARDED_HEADERS = ("x-forwarded-for", "forwarded")

G = TypeVar("G", ConnectionLimits, Quotas, Timeouts)


@dataclass(frozen=True)
class Settings:
    """All settings, which docs/guide/settings.md explains."""

    database_url: str
    secret_keys: tuple[str, ...] = field(repr=False)
    decrypt_only_keys: tuple[str, ...] = field(repr=False)
    """Former secret keys, which only decrypt."""

    operator_token: str = field(repr=False)
    metrics_token: str = field(repr=False)
    """The token that the metrics require. If empty, they are public."""

    shared_url: str | None = field(repr=False)
    """The URL of the store in which several processes count together. None if one process counts in memory."""

    traces_url: str | None
    """The URL to which traces are sent, or None."""

    base_url: str
    download_base: str
    link_seconds: float
    console_idle_seconds: float
    """Seconds without a request after which a console session ends."""

    max_file_bytes: int
    admin_port: int | None
    """The port that serves the console and management routes exclusively. None if the main port serves them."""

    workers: int
    """The number of processes that ``serve`` starts."""

    max_body_bytes: int
    max_calls: int
    upstream_timeout_seconds: float
    storage_seconds: float
    """Maximum seconds of any wait for the database."""

    stop_seconds: float
    """Maximum seconds for running calls to end during shutdown."""

    retire_seconds: float
    """Seconds for which new calls are accepted after SIGTERM, until load balancers have noticed it. 0 if none."""

    keep_runs_days: float
    watch: bool
    """Whether this process polls vendors for changes and delivers webhooks."""

    private_webhooks: bool
    """Whether the URLs of webhooks can lead to private IP addresses, such as those of this machine."""

    agent_oauth: bool
    """Whether clients of agents can be authorised with OAuth."""

    log_level: str
    access_log: bool
    """Whether a line is logged for every response."""

    trusted_proxies: tuple[IpNetwork, ...]
    """Proxies whose requests are trusted to name the client IP."""

    forwarded_header: str
    """The header in which trusted proxies name the client IP."""

    clients: ConnectionLimits
    quotas: Quotas
    timeouts: Timeouts
    required_connectors: tuple[str, ...]
    """Connectors without which the service does not start."""

    connectors: Mapping[str, ConnectorConfig]

    @property
    def download_path(self) -> str:
        """The path of the download route, without the prefix that a proxy before this service removes."""
        if self.download_base.startswith(f"{self.base_url}/"):
            return self.download_base.removeprefix(self.base_url)
        return urlsplit(self.download_base).path

    @property
    def operators_url(self) -> str:
        """The URL of the console and the management routes on this machine."""
        return self.base_url if self.admin_port is None else f"http://127.0.0.1:{self.admin_port}"

    @property
    def shareable(self) -> bool:
        """Whether several processes can serve, which requires a database server and a shared store."""
        return self.shared_url is not None and parse_url(self.database_url).get_backend_name() != "sqlite"

    @classmethod
    def read(
        cls, environment: Mapping[str, str], connectors: Mapping[str, AnyConnector], rejected: Collection[str] = ()
    ) -> "Settings":
        """Return the settings in *environment*. Raises ``SettingsError`` if one is missing or invalid.

        The settings of *rejected* connectors are ignored.
        """
        reader = SettingsReader(environment)
        settings = cls.read_from(reader, connectors)
        reader.check_names([f"{PREFIX}{name.upper()}_" for name in rejected])
        settings.check()
        return settings

    @classmethod
    def read_from(cls, reader: SettingsReader, connectors: Mapping[str, AnyConnector]) -> "Settings":
        """Return the settings of *reader* without checking their combination or unknown names."""
        base_url = reader.url("BASE_URL", "http://127.0.0.1:8080")
        return cls(
            database_url=_database_url(reader),
            secret_keys=reader.secrets("SECRET_KEYS", MIN_SECRET_LENGTH),
            decrypt_only_keys=reader.secrets("DECRYPT_ONLY_KEYS", MIN_SECRET_LENGTH, required=False),
            operator_token=_token("OPERATOR_TOKEN", reader.required("OPERATOR_TOKEN")),
            metrics_token=_token("METRICS_TOKEN", reader.text("METRICS_TOKEN", "")),
            shared_url=reader.store_url("SHARED_URL"),
            traces_url=_traces_url(reader),
            base_url=base_url,
            download_base=reader.url("DOWNLOAD_BASE", f"{base_url}/v1/downloads"),
            link_seconds=reader.number("LINK_SECONDS", 15 * 60.0),
            console_idle_seconds=reader.number("CONSOLE_IDLE_SECONDS", 30 * 60.0),
            max_file_bytes=reader.number("MAX_FILE_BYTES", 100 * 1024 * 1024),
            admin_port=_admin_port(reader),
            workers=reader.number("WORKERS", 1, maximum=MAX_WORKERS),
            max_body_bytes=reader.number("MAX_BODY_BYTES", 1024 * 1024),
            max_calls=reader.number("MAX_CALLS", 5000),
            upstream_timeout_seconds=reader.number("UPSTREAM_TIMEOUT_SECONDS", 30.0),
            storage_seconds=reader.number("STORAGE_SECONDS", 10.0),
            stop_seconds=reader.number("STOP_SECONDS", 30.0),
            retire_seconds=_retire_seconds(reader),
            keep_runs_days=reader.number("KEEP_RUNS_DAYS", 30.0, maximum=MAX_DAYS),
            watch=reader.switch("WATCH", default=True),
            private_webhooks=reader.switch("PRIVATE_WEBHOOKS", default=False),
            agent_oauth=reader.switch("AGENT_OAUTH", default=False),
            log_level=reader.choice("LOG_LEVEL", LOG_LEVELS, "info"),
            access_log=reader.switch("ACCESS_LOG", default=False),
            trusted_proxies=reader.networks("TRUSTED_PROXIES"),
            forwarded_header=reader.choice("FORWARDED_HEADER", FORWARDED_HEADERS, FORWARDED_HEADERS[0]),
            clients=_numbers(reader, ConnectionLimits(), "MAX_"),
            quotas=_numbers(reader, Quotas(), "QUOTA_", maximum=MAX_QUOTA),
            timeouts=_numbers(reader, Timeouts()),
            required_connectors=tuple(filter(None, map(str.strip, reader.text("CONNECTORS", "").split(",")))),
            connectors={name: _configure(reader, connector) for name, connector in connectors.items()},
        )

    def check(self) -> None:
        """Raise ``SettingsError`` for contradictory settings."""
        if not self.download_path:
            raise SettingsError(f"{PREFIX}DOWNLOAD_BASE requires a path, such as {self.base_url}/v1/downloads.")
        url = urlsplit(self.base_url)
        if self.agent_oauth and url.scheme != "https" and url.hostname not in LOOPBACK_HOSTS:
            raise SettingsError(
                f"{PREFIX}AGENT_OAUTH requires an https URL in {PREFIX}BASE_URL, or one of this machine such as "
                f"http://127.0.0.1:8080, not {self.base_url}."
            )
        if self.access_log and self.log_level not in {"debug", "info"}:
            raise SettingsError(
                f"{PREFIX}ACCESS_LOG is on, but {PREFIX}LOG_LEVEL {self.log_level} omits its lines; set it to info."
            )

    def check_connectors(self, rejected: Mapping[str, str]) -> None:
        """Raise ``SettingsError`` if a required connector is not served. *rejected* contains the known reasons."""
        for name in self.required_connectors:
            if name not in self.connectors:
                reason = rejected.get(name, f"There is no connector {name}.")
                raise SettingsError(f"{PREFIX}CONNECTORS requires {name}. {reason}")

    def check_strength(self) -> None:
        """Raise ``SettingsError`` for guessable secrets, with a command that generates a strong one.

        The check takes some time, so only commands that start a service run it. Keys that only decrypt can be weak,
        because they are being replaced and grant no access.
        """
        for name, secrets in self._secrets().items():
            for position, secret in enumerate(secrets, 1):
                if why := weakness(secret):
                    which = f", secret {position} of {len(secrets)}," if len(secrets) > 1 else ""
                    raise SettingsError(f"{PREFIX}{name}{which} is too weak: {why}. {GENERATE}")

    def _secrets(self) -> Mapping[str, Sequence[str]]:
        """Return the secrets that grant access or verify senders, by setting."""
        hooks = {f"{name.upper()}_HOOK_SECRET": configured.hook_secrets for name, configured in self.connectors.items()}
        tokens = {"OPERATOR_TOKEN": [self.operator_token], "METRICS_TOKEN": [*filter(None, [self.metrics_token])]}
        return {"SECRET_KEYS": self.secret_keys, **tokens, **hooks}


def _token(name: str, token: str) -> str:
    """Return *token*. Raises ``SettingsError`` if no header can contain it."""
    if not (token.isascii() and token.isprintable()):
        raise SettingsError(f"{PREFIX}{name} has a character that headers cannot contain; use printable ASCII.")
    return token


def _database_url(reader: SettingsReader) -> str:
    """Return the URL of the database. Error messages do not quote its password."""
    text = reader.text("DATABASE_URL", DATABASE_URL)
    try:
        parse_url(text)
    except ValueError as error:
        raise SettingsError(f"{PREFIX}DATABASE_URL {error}") from error
    return text


def _retire_seconds(reader: SettingsReader) -> float:
    return reader.number("RETIRE_SECONDS", 1.0) if reader.text("RETIRE_SECONDS", "") else 0.0


def _admin_port(reader: SettingsReader) -> int | None:
    return reader.number("ADMIN_PORT", 1, maximum=MAX_PORT) if reader.text("ADMIN_PORT", "") else None


def _traces_url(reader: SettingsReader) -> str | None:
    """Return the URL for traces, or None. Raises ``SettingsError`` if OpenTelemetry is not installed."""
    if not reader.text("TRACES_URL", ""):
        return None
    if any(find_spec(f"opentelemetry{part}") is None for part in ("", ".sdk", ".exporter")):
        raise SettingsError(
            f"{PREFIX}TRACES_URL requires OpenTelemetry: pip install opentelemetry-sdk "
            "opentelemetry-exporter-otlp-proto-http."
        )
    return reader.url("TRACES_URL", "")


def _numbers(reader: SettingsReader, group: G, prefix: str = "", *, maximum: int | None = None) -> G:
    """Read the numbers of a *group*, each by its name after *prefix*. Fields that are not settings are unchanged."""
    names = [one.name for one in fields(group) if one.name not in FIXED]
    read = {name: reader.number(prefix + name.upper(), getattr(group, name), maximum=maximum) for name in names}
    return replace(group, **read)


def _configure(reader: SettingsReader, connector: AnyConnector) -> ConnectorConfig:
    """Return the URLs and limits of *connector*, its defaults unless they are set."""
    prefix = connector.name.upper()
    addresses = {
        host: reader.url(f"{prefix}_{host.upper()}_URL", address) for host, address in connector.base_urls.items()
    }
    settle = reader.number(f"{prefix}_SETTLE_SECONDS", connector.settle_seconds)
    observing, client = connector.event_source, _client(reader, connector)
    key = _api_key(reader, connector)
    if observing is None:
        return ConnectorConfig(connector, addresses, _budgets(reader, connector), settle, client=client, api_key=key)
    every = reader.number(f"{prefix}_WATCH_SECONDS", observing.poll_interval_seconds)
    hook_secret = "" if observing.receive is None else reader.text(f"{prefix}_HOOK_SECRET", "")
    secrets = tuple(filter(None, hook_secret.split(",")))
    return ConnectorConfig(connector, addresses, _budgets(reader, connector), settle, every, secrets, client, key)


def _client(reader: SettingsReader, connector: AnyConnector) -> OAuthClient | None:
    """Return the OAuth client of this installation, or None if it is not registered with the vendor."""
    if connector.oauth is None:
        return None
    prefix = connector.name.upper()
    client_id, secret = (reader.text(f"{prefix}_CLIENT_{part}", "") for part in ("ID", "SECRET"))
    if bool(client_id) != bool(secret):
        raise SettingsError(
            f"{PREFIX}{prefix}_CLIENT_ID and {PREFIX}{prefix}_CLIENT_SECRET require each other; set both."
        )
    return OAuthClient(client_id, secret) if client_id else None


def _api_key(reader: SettingsReader, connector: AnyConnector) -> str:
    """Return the API key of this installation for the vendor's token page, or an empty string if there is none."""
    if connector.oauth is None or connector.oauth.token_page is None:
        return ""
    return reader.text(f"{connector.name.upper()}_API_KEY", "")


def _budgets(reader: SettingsReader, connector: AnyConnector) -> dict[str, Budget]:
    """Return the budgets of *connector*. Only the first one can be set."""
    name = f"{connector.name.upper()}_BUDGET"
    text = reader.text(name, "")
    if not text:
        return dict(connector.budgets)
    try:
        return {**connector.budgets, next(iter(connector.budgets)): Budget.parse(text)}
    except ValueError as error:
        raise SettingsError(f"{PREFIX}{name}: {error}") from error
