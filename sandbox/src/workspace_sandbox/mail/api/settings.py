"""The methods of settings, with scopes of the discovery document and prices of the quota table."""

from collections.abc import Iterator, Sequence

from workspace_sandbox.mail import body_schemas
from workspace_sandbox.mail.access import AUTH
from workspace_sandbox.mail.body_schemas import Shape
from workspace_sandbox.mail.data import settings
from workspace_sandbox.mail.request import ApiRoute, define_method, gmail_scopes

READ = gmail_scopes("modify", "readonly", "settings.basic")
# The scope that covers everything else does not allow changing settings.
BASIC, SHARING = (frozenset({f"{AUTH}gmail.settings.{name}"}) for name in ("basic", "sharing"))
KEPT = "stored and returned, without any other effect"


def _settings_methods() -> Iterator[ApiRoute]:
    """Return the methods that read and write a settings object."""
    settings_objects: dict[str, tuple[Shape, frozenset[str], int]] = {
        "AutoForwarding": (body_schemas.AUTO_FORWARDING, SHARING, 5),
        "Imap": (body_schemas.IMAP, BASIC, 5),
        "Language": (body_schemas.LANGUAGE, BASIC, 5),
        "Pop": (body_schemas.POP, BASIC, 100),
        "Vacation": (body_schemas.VACATION, BASIC, 5),
    }
    for name, (shape, scopes, units) in settings_objects.items():
        key = name[0].lower() + name[1:]
        path = f"/settings/{key}"
        read, update = f"settings.get{name}", f"settings.update{name}"
        yield define_method(f"{read} GET {path} Get{name} 1", settings.create_reader(key), READ, shape)
        yield define_method(
            f"{update} PUT {path} Update{name} {units}",
            settings.create_writer(key),
            scopes,
            shape,
            body=shape,
            unsupported=KEPT,
        )


_S, _F, _A = body_schemas.SEND_AS, body_schemas.FILTER, body_schemas.FORWARDING
_ADDRESS, _OWN = "/settings/forwardingAddresses", "/settings/sendAs/{sendAsEmail}"
_EITHER, _N = BASIC | SHARING, body_schemas.NOTHING

SETTINGS: Sequence[ApiRoute] = (
    *_settings_methods(),
    define_method(
        "settings.filters.list GET /settings/filters ListFilters 1",
        settings.list_filters,
        READ,
        body_schemas.FILTER_LIST,
    ),
    define_method(
        "settings.filters.create POST /settings/filters CreateFilter 5",
        settings.create_filter,
        BASIC,
        _F,
        body=_F,
        unsupported="nothing is forwarded",
    ),
    define_method("settings.filters.get GET /settings/filters/{id} GetFilter 1", settings.get_filter, READ, _F),
    define_method(
        "settings.filters.delete DELETE /settings/filters/{id} DeleteFilter 5", settings.delete_filter, BASIC, _N
    ),
    define_method(
        f"settings.forwardingAddresses.list GET {_ADDRESS} ListForwardingAddresses 1",
        settings.list_forwarding,
        READ,
        body_schemas.FORWARDING_LIST,
    ),
    define_method(
        f"settings.forwardingAddresses.create POST {_ADDRESS} CreateForwardingAddress 100",
        settings.create_forwarding,
        SHARING,
        _A,
        body=_A,
        unsupported="no confirmation is requested",
    ),
    define_method(
        f"settings.forwardingAddresses.get GET {_ADDRESS}/{{forwardingEmail}} GetForwardingAddress 1",
        settings.get_forwarding,
        READ,
        _A,
    ),
    define_method(
        f"settings.forwardingAddresses.delete DELETE {_ADDRESS}/{{forwardingEmail}} DeleteForwardingAddress 5",
        settings.delete_forwarding,
        SHARING,
        _N,
    ),
    define_method(
        "settings.sendAs.list GET /settings/sendAs ListSendAs 1",
        settings.list_send_as,
        READ,
        body_schemas.SEND_AS_LIST,
        unsupported="only the mailbox's own address, without aliases",
    ),
    define_method(f"settings.sendAs.get GET {_OWN} GetSendAs 1", settings.get_send_as, READ, _S),
    *(
        define_method(
            f"{name} {verb} {_OWN} {rpc} 100",
            settings.update_send_as,
            _EITHER,
            _S,
            body=_S,
            unsupported="signatures are stored but not added to messages",
        )
        for name, verb, rpc in (
            ("settings.sendAs.update", "PUT", "UpdateSendAs"),
            ("settings.sendAs.patch", "PATCH", "PatchSendAs"),
        )
    ),
)
