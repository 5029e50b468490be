"""The methods of settings, with price and scopes as the vendor's discovery document and its quota table list them."""

from collections.abc import Iterator, Sequence

from workspace_sandbox.mail import schema, settings
from workspace_sandbox.mail.access import AUTH
from workspace_sandbox.mail.methods import Method, method, scopes_of
from workspace_sandbox.mail.schema import Shape

READ = scopes_of("modify", "readonly", "settings.basic")
# Not even the scope that opens everything else changes a setting.
BASIC, SHARING = (frozenset({f"{AUTH}gmail.settings.{name}"}) for name in ("basic", "sharing"))
KEPT = "is kept and shown, and changes nothing else"


def _pairs() -> Iterator[Method]:
    """What is read and written as a whole."""
    told: dict[str, tuple[Shape, frozenset[str], int]] = {
        "AutoForwarding": (schema.AUTO_FORWARDING, SHARING, 5),
        "Imap": (schema.IMAP, BASIC, 5),
        "Language": (schema.LANGUAGE, BASIC, 5),
        "Pop": (schema.POP, BASIC, 100),
        "Vacation": (schema.VACATION, BASIC, 5),
    }
    for name, (shape, scopes, units) in told.items():
        key = name[0].lower() + name[1:]
        path = f"/settings/{key}"
        get, put = f"settings.get{name}", f"settings.update{name}"
        yield method(settings.reading(key), get, f"GET {path}", f"Get{name}", 1, scopes=READ, answer=shape)
        yield method(
            settings.writing(key),
            put,
            f"PUT {path}",
            f"Update{name}",
            units,
            scopes=scopes,
            answer=shape,
            body=shape,
            lacks=KEPT,
        )


_S, _F, _A = schema.SEND_AS, schema.FILTER, schema.FORWARDING
_ADDRESS, _OWN = "/settings/forwardingAddresses", "/settings/sendAs/{sendAsEmail}"
_EITHER, _N = BASIC | SHARING, schema.NOTHING

SETTINGS: Sequence[Method] = (
    *_pairs(),
    method(
        settings.list_filters,
        "settings.filters.list",
        "GET /settings/filters",
        "ListFilters",
        1,
        scopes=READ,
        answer=schema.FILTER_LIST,
    ),
    method(
        settings.create_filter,
        "settings.filters.create",
        "POST /settings/filters",
        "CreateFilter",
        5,
        scopes=BASIC,
        answer=_F,
        body=_F,
        lacks="nothing is forwarded",
    ),
    method(
        settings.get_filter,
        "settings.filters.get",
        "GET /settings/filters/{id}",
        "GetFilter",
        1,
        scopes=READ,
        answer=_F,
    ),
    method(
        settings.delete_filter,
        "settings.filters.delete",
        "DELETE /settings/filters/{id}",
        "DeleteFilter",
        5,
        scopes=BASIC,
        answer=_N,
    ),
    method(
        settings.list_forwarding,
        "settings.forwardingAddresses.list",
        f"GET {_ADDRESS}",
        "ListForwardingAddresses",
        1,
        scopes=READ,
        answer=schema.FORWARDING_LIST,
    ),
    method(
        settings.create_forwarding,
        "settings.forwardingAddresses.create",
        f"POST {_ADDRESS}",
        "CreateForwardingAddress",
        100,
        scopes=SHARING,
        answer=_A,
        body=_A,
        lacks="nobody is asked to agree",
    ),
    method(
        settings.get_forwarding,
        "settings.forwardingAddresses.get",
        f"GET {_ADDRESS}/{{forwardingEmail}}",
        "GetForwardingAddress",
        1,
        scopes=READ,
        answer=_A,
    ),
    method(
        settings.delete_forwarding,
        "settings.forwardingAddresses.delete",
        f"DELETE {_ADDRESS}/{{forwardingEmail}}",
        "DeleteForwardingAddress",
        5,
        scopes=SHARING,
        answer=_N,
    ),
    method(
        settings.list_send_as,
        "settings.sendAs.list",
        "GET /settings/sendAs",
        "ListSendAs",
        1,
        scopes=READ,
        answer=schema.SEND_AS_LIST,
        lacks="only the own address, without aliases",
    ),
    method(settings.get_send_as, "settings.sendAs.get", f"GET {_OWN}", "GetSendAs", 1, scopes=READ, answer=_S),
    *(
        method(
            settings.update_send_as,
            name,
            f"{verb} {_OWN}",
            rpc,
            100,
            scopes=_EITHER,
            answer=_S,
            body=_S,
            lacks="a signature is kept and not put below messages",
        )
        for name, verb, rpc in (
            ("settings.sendAs.update", "PUT", "UpdateSendAs"),
            ("settings.sendAs.patch", "PATCH", "PatchSendAs"),
        )
    ),
)
