"""Validation of settings: each error is one sentence that names the setting."""

import pytest

from connector_gateway.connectors import CONNECTORS
from connector_gateway.settings import Settings
from connector_gateway.settings_reader import GENERATE, SettingsError
from harness.requirement import requirement

REQUIRED = {"GATEWAY_SECRET_KEYS": "a secret that only tests know", "GATEWAY_OPERATOR_TOKEN": "op_0123456789abcdef"}


def error_message(**variables: str) -> str:
    """Return the error message for these settings."""
    with pytest.raises(SettingsError) as raised:
        Settings.read(REQUIRED | variables, CONNECTORS)
    return str(raised.value)


WRITTEN = "write it as sqlite:////folder/gateway.db or postgresql://user:password@host/database."
ADDRESS = "it should be a URL such as https://gateway.example.com."
BAD = {
    "GATEWAY_SECRET_KEYS": {
        "short": "secret 1 of 1 has 5 characters; each needs 16 or more.",
        "a secret that only tests know,": "secret 2 of 2 has 0 characters; each needs 16 or more.",
        " ": "is not set",
    },
    "GATEWAY_DECRYPT_ONLY_KEYS": {
        "short": "secret 1 of 1 has 5 characters; each needs 16 or more.",
        "a secret that only tests know,short": "secret 2 of 2 has 5 characters; each needs 16 or more.",
    },
    "GATEWAY_OPERATOR_TOKEN": {
        "": "is not set",
        "jeton-secret-à-vous": "has a character that headers cannot contain",
    },
    "GATEWAY_DATABASE_URL": {
        "gateway.db": f"is not the URL of a database; {WRITTEN}",
        "mysql://root@127.0.0.1/x": f"names mysql, which is not supported; {WRITTEN}",
        "postgresql+asyncpg://127.0.0.1/x": f"names postgresql+asyncpg, which is not supported; {WRITTEN}",
        "postgresql://me@127.0.0.1:port/x": f"is not the URL of a database; {WRITTEN}",
        "postgresql://me@127.0.0.1:99999/x": f"has no port between 1 and 65535; {WRITTEN}",
        "sqlite://": f"has no file; {WRITTEN}",
        "sqlite:///:memory:": f"has no file; {WRITTEN}",
    },
    "GATEWAY_BASE_URL": {
        "gateway.example.com": f"is 'gateway.example.com'; {ADDRESS}",
        "127.0.0.1:8080": f"is '127.0.0.1:8080'; {ADDRESS}",
        "ftp://gateway.example.com": f"is 'ftp://gateway.example.com'; {ADDRESS}",
        "https://": ADDRESS,
        "https://:443": ADDRESS,
        "https://gateway.example.com:99999": f"has no port between 1 and 65535; {ADDRESS}",
        "https://gateway.example.com:0": f"has no port between 1 and 65535; {ADDRESS}",
        "https://me:secret@gateway.example.com": f"contains a user name or password; {ADDRESS}",
        "https://gateway.example.com?x=1": f"has a query or fragment; {ADDRESS}",
        "https://gateway example.com": f"has characters that a URL cannot contain; {ADDRESS}",
        "https://gateway.example.com\r\nX: 1": f"has characters that a URL cannot contain; {ADDRESS}",
        "https://[gateway": f"has no port between 1 and 65535; {ADDRESS}",
        "https://\udcff.example.com": "is not valid UTF-8",
    },
    "GATEWAY_TRUSTED_PROXIES": {
        "proxy.internal": "has 'proxy.internal'; it should be IP addresses and networks such as 10.0.0.7,10.1.0.0/16.",
        "10.0.0.1/8": "has '10.0.0.1/8'; it should be",
        "10.0.0.7,": "has ''; it should be",
        "0.0.0.0/0": "has '0.0.0.0/0', which would let every client choose its IP address.",
        "10.0.0.7,::/0": "has '::/0', which would let every client choose its IP address.",
    },
    "GATEWAY_FORWARDED_HEADER": {"x-real-ip": "is 'x-real-ip'; it should be x-forwarded-for or forwarded."},
    "GATEWAY_DOWNLOAD_BASE": {
        "files.example.com/x": ADDRESS,
        "https://files.example.com": "requires a path, such as http://127.0.0.1:8080/v1/downloads.",
        "https://files.example.com/{token}": f"has characters that a URL cannot contain; {ADDRESS}",
    },
    "GATEWAY_NOTES_BASE_URL": {"localhost": f"is 'localhost'; {ADDRESS}"},
    "GATEWAY_TABLES_CONTENT_URL": {"localhost": f"is 'localhost'; {ADDRESS}"},
    "GATEWAY_QUEUE_SECONDS": {
        "soon": "is 'soon'; it should be a number above 0, at most 2,678,400.",
        "0": "is '0'; it should be a number above 0, at most 2,678,400.",
        "-1": "is '-1'",
        "nan": "is 'nan'",
        "inf": "is 'inf'",
        "1e30": "is '1e30'",
    },
    "GATEWAY_MAX_CALLS": {
        "1.5": "is '1.5'; it should be a number above 0, at most 1,000,000,000,000.",
        "9" * 5000: f"is '{'9' * 60}…'",
    },
    "GATEWAY_KEEP_RUNS_DAYS": {"40000": "it should be a number above 0, at most 36,600."},
    "GATEWAY_WORKERS": {"0": "is '0'", "1.5": "is '1.5'", "1001": "at most 1,000."},
    "GATEWAY_METRICS_TOKEN": {"two\nlines": "has a character that headers cannot contain"},
    "GATEWAY_SHARED_URL": {
        "store.internal:6379": "has the scheme 'store.internal', which is not supported; it should be a URL such as",
        "//store": "has no scheme",
        "http://store": "has the scheme 'http', which is not supported",
        "valkey://": "should contain only a server",
        "valkey://store:99999": "has no port between 1 and 65535",
        "redis://store/first": "should contain only a server",
        "redis://store/first?db=1": "should contain only a server",
        "redis://store/0?db=1": "has a query other than ssl_ca_certs, ssl_certfile, ssl_keyfile of an encrypted store",
        "redis://store/0?ssl_ca_certs=/ca.pem": "has a query other than",
        "rediss://store/0?ssl_cert_reqs=none": "has a query other than",
        "rediss://store/0?ssl_ca_certs=/not/there.pem": "names a file that does not exist: ssl_ca_certs",
        "unix://": "has no path",
        "valkey://störe": "has characters that a URL cannot contain",
    },
    "GATEWAY_WATCH": {"maybe": "is 'maybe'; it should be on or off."},
    "GATEWAY_LOG_LEVEL": {"loud": "is 'loud'; it should be debug or info or warning or error."},
    "GATEWAY_NOTES_BUDGET": {
        "many": "'many' is not a budget. Write it as requests/seconds, such as 3/1.",
        "0/1": "'0/1' is not a budget",
        "inf/1": "'inf/1' is not a budget",
        "3/nan": "'3/nan' is not a budget",
    },
    "GATEWAY_CHAT_WATCH_SECONDS": {"never": "is 'never'"},
    "GATEWAY_CRM_SETTLE_SECONDS": {"": "", "never": "is 'never'"},
}
CASES = [(name, value, expected) for name, wrong in BAD.items() for value, expected in wrong.items() if expected]


@pytest.mark.parametrize(
    ("name", "value", "expected"), CASES, ids=[f"{name}={value[:40]!r}" for name, value, _ in CASES]
)
@requirement("common-146")
def test_invalid_settings_are_reported_in_a_sentence(name: str, value: str, expected: str) -> None:
    sentence = error_message(**{name: value})

    assert sentence.startswith(name)
    assert expected in sentence
    assert [sentence] == sentence.splitlines()
    assert len(sentence) < 250


STRONG = {
    "GATEWAY_SECRET_KEYS": "Wq7ZkT2mXv9BnLr4Yc5Hd8sJf1Gp6EaU",
    "GATEWAY_OPERATOR_TOKEN": "op_Zr4kT9wQm2XvB7nLc5Yd8HsJ1fGp6EaU",
    "GATEWAY_METRICS_TOKEN": "3c7a1e9f0b52d84466c1f7a9350be28d",
    "GATEWAY_CHAT_HOOK_SECRET": "8f742231b10e8888abcd99yyyzzz85a5",
}
WEAK = [
    ("GATEWAY_SECRET_KEYS", "a secret that only tests know", "GATEWAY_SECRET_KEYS is too weak"),
    (
        "GATEWAY_SECRET_KEYS",
        f"{STRONG['GATEWAY_SECRET_KEYS']},aaaaaaaaaaaaaaaa",
        "GATEWAY_SECRET_KEYS, secret 2 of 2, is too weak",
    ),
    ("GATEWAY_OPERATOR_TOKEN", "Password12345678", "GATEWAY_OPERATOR_TOKEN is too weak"),
    ("GATEWAY_METRICS_TOKEN", "a", "GATEWAY_METRICS_TOKEN is too weak"),
    ("GATEWAY_CHAT_HOOK_SECRET", "x", "GATEWAY_CHAT_HOOK_SECRET is too weak"),
    ("GATEWAY_NOTES_HOOK_SECRET", "verification", "GATEWAY_NOTES_HOOK_SECRET is too weak"),
]


@requirement("common-163", "secrets-4")
@pytest.mark.parametrize(("name", "value", "expected"), WEAK)
def test_weak_secrets_are_rejected_with_a_command_to_generate_one(name: str, value: str, expected: str) -> None:
    settings = Settings.read(STRONG | {name: value}, CONNECTORS)
    with pytest.raises(SettingsError) as raised:
        settings.check_strength()
    sentence = str(raised.value)

    assert sentence.startswith(f"{expected}: its entropy is about ")
    assert sentence.endswith('Generate one with python3 -c "import secrets; print(secrets.token_urlsafe(32))".')
    assert value not in sentence.removeprefix(expected).removesuffix(GENERATE) or len(value) == 1


@requirement("secrets-3", "secrets-4")
def test_keys_used_only_for_decryption_may_be_weak() -> None:
    settings = Settings.read(STRONG | {"GATEWAY_DECRYPT_ONLY_KEYS": "aaaaaaaaaaaaaaaa"}, CONNECTORS)
    settings.check_strength()

    assert ("aaaaaaaaaaaaaaaa",) == settings.decrypt_only_keys


@pytest.mark.parametrize(
    "url", ["postgresql://me:s3cret@127.0.0.1:99999/x", "mysql://me:s3cret@127.0.0.1/x", "postgresql:me:s3cret@"]
)
@requirement("common-146")
def test_database_passwords_are_not_in_error_messages(url: str) -> None:
    assert "s3cret" not in error_message(GATEWAY_DATABASE_URL=url)


@pytest.mark.parametrize("url", ["redis://me:s3cret@store:99999", "rediss://:s3cret@", "mysql://me:s3cret@store"])
@requirement("common-146")
def test_store_passwords_are_not_in_error_messages(url: str) -> None:
    assert "s3cret" not in error_message(GATEWAY_SHARED_URL=url)


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("GATEWAY_MAX_BODY_BYTE", "did you mean GATEWAY_MAX_BODY_BYTES?"),
        ("GATEWAY_SECRET_KEY", "did you mean GATEWAY_SECRET_KEYS?"),
        ("GATEWAY_NOTES_BUDGETS", "did you mean GATEWAY_NOTES_BUDGET?"),
        ("GATEWAY_MAIL_HOOK_SECRET", "did you mean "),
        ("GATEWAY_X", "docs/guide/settings.md lists all settings."),
    ],
)
@requirement("common-147")
def test_unknown_settings_are_rejected_with_a_similar_name(name: str, hint: str) -> None:
    sentence = error_message(**{name: "1"})

    assert sentence.startswith(f"{name} is not a setting; {hint}")


@requirement("common-147")
def test_variables_of_other_programs_are_ignored() -> None:
    kubernetes = {
        "GATEWAY_SERVICE_HOST": "10.0.0.1",
        "GATEWAY_SERVICE_PORT": "8080",
        "GATEWAY_SERVICE_PORT_HTTP": "8080",
        "GATEWAY_PORT": "tcp://10.0.0.1:8080",
        "GATEWAY_PORT_8080_TCP": "tcp://10.0.0.1:8080",
        "GATEWAY_PORT_8080_TCP_ADDR": "10.0.0.1",
    }
    others = {"GATEWAY_URL": "http://127.0.0.1", "GATEWAY_API_KEY": "key", "PATH": "/bin", "MY_GATEWAY_X": "1"}

    assert Settings.read(REQUIRED | kubernetes | others, CONNECTORS) == Settings.read(REQUIRED, CONNECTORS)


@requirement("common-147")
def test_a_numeric_port_is_not_taken_for_a_kubernetes_variable() -> None:
    assert error_message(GATEWAY_PORT="9000").startswith("GATEWAY_PORT is not a setting")


@requirement("common-146")
def test_an_access_log_below_the_log_level_is_rejected() -> None:
    sentence = error_message(GATEWAY_ACCESS_LOG="on", GATEWAY_LOG_LEVEL="warning")

    assert "GATEWAY_ACCESS_LOG is on, but GATEWAY_LOG_LEVEL warning omits its lines; set it to info." == sentence


@pytest.mark.parametrize(
    ("base", "download", "path"),
    [
        ("https://a.example", "https://a.example/v1/downloads", "/v1/downloads"),
        ("https://a.example/gateway", "https://a.example/gateway/files", "/files"),
        ("https://a.example", "https://a.example.com/files", "/files"),
        ("https://a.example/", "https://files.example/d/", "/d"),
    ],
)
def test_downloads_are_served_at_the_path_of_their_base_url(base: str, download: str, path: str) -> None:
    settings = Settings.read(REQUIRED | {"GATEWAY_BASE_URL": base, "GATEWAY_DOWNLOAD_BASE": download}, CONNECTORS)

    assert path == settings.download_path
