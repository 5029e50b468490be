"""The catalogue of everything that can be refused or go wrong, each with its remedy.

GatewayError
├── CallerError              the caller can put it right
│   ├── who is calling       MissingApiKey, InvalidApiKey, WriteScopeRequired, OperationNotAllowed, OriginNotAllowed,
│   │                        OperatorTokenRequired, AdminRoleRequired, RateLimited
│   ├── how it was asked     InvalidJson, UnsupportedMediaType, PayloadTooLarge, MalformedRequest, HeadersTooLarge,
│   │                        RequestIncomplete, InvalidParameters, InvalidCursor, RouteNotFound, MethodNotAllowed,
│   │                        IdempotencyInProgress, IdempotencyKeyReused, InvalidMessage, ToolNotFound, ResultTooLarge
│   ├── what was named       ConnectionNotFound, ConnectionMismatch, ConnectionPending, WorkspaceNotFound, KeyNotFound,
│   │                        WebhookNotFound, OperatorNotFound, RunNotFound, RunNotRecorded, and what the rooms
│   │                        look for: PageNotFound, CardNotFound …
│   └── what cannot be done  CredentialsRefused, OtherAccount, QuotaExceeded, ConnectNotSetUp, LossyCast,
│                            SelectOptionMissing, LabelNotOnBoard, InvalidRecipient, ReadOnlyField …
├── UpstreamFailure          the third party refused, failed or fell silent
│   ├── refused              ConnectionRevoked, ConnectionScopeMissing, UpstreamForbidden, UpstreamRefused,
│   │                        UpstreamConflict, UpstreamRateLimited
│   └── failed               UpstreamError, UpstreamUnexpected, UpstreamTimeout, UpstreamUnavailable, OutcomeUnknown
└── ServiceFailure           we are at fault, or not able just now
        InternalError, Overloaded, SecretUnreadable, StorageUnavailable, SharedStoreUnavailable
"""

import math
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, Literal

Detail = Mapping[str, Any]
"""Machine-readable facts of one fault: ``parameter``, ``property``, ``value``, ``allowed``, ``index`` …"""

ABOUT = frozenset({"parameter", "property", "field", "scopes", "vendor_code"})
"""What details have that tell what an error is about."""

KEY = ("header", "Authorization")
CONNECTION = ("parameter", "connection_id")
BODY = ("parameter", "body")
"""Places of errors: the API key, the connection and the body."""

VALUE = {"value"}
"""What a detail has that tells a value and not whose."""

Doubt = Literal["failed", "edge", "garbled", "cut", "silent", "interrupted"]
"""Why the outcome of a write is not known: the third party said that it failed, or an edge in front of it said so while
the request may go on; it answered something unreadable, the connection broke, no answer came in time, or this service
stopped in the middle."""


class GatewayError(Exception):
    """Anything that ends a call without its result.

    ``message`` is safe to show to the caller; ``private`` is for the log, and may hold the third party's words.
    ``doubt`` is set when a write may have been carried out all the same, and says why that is not known.
    """

    status: ClassVar[int]
    code: ClassVar[str]
    remedy: str
    """The next step, with references in braces (``core.remedies``). An instance can have a more specific one."""

    prescribed: ClassVar[Mapping[str, str]] = {}
    """The sentence of the interface that precedes the remedy over HTTP, by the connectors that it is prescribed for."""

    names: ClassVar[tuple[str, ...]] = ()
    """The parameters that name what the error is about, where an operation takes one of them."""

    place: ClassVar[tuple[str, str] | None] = None
    """Kind and name of the part of a request that the error is about, if not the first of ``names`` or all of it."""

    def __init__(
        self,
        message: str,
        *details: Detail,
        private: str = "",
        retry_after: float | None = None,
        doubt: Doubt | None = None,
        remedy: str | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.details = list(details)
        self.private = private
        self.retry_after = None if retry_after is None else max(1, math.ceil(retry_after))
        self.doubt = doubt
        if remedy is not None:
            self.remedy = remedy

    @classmethod
    def default_place(cls) -> Mapping[str, str]:
        """Return the place of details that name none."""
        kind, name = cls.place or (("parameter", cls.names[0]) if cls.names else ("place", "request"))
        return {kind: name}

    def point_at(self, given: Mapping[str, Any]) -> None:
        """Name the parameter that the error is about, unless its details tell already what it is about."""
        name = next((name for name in self.names if given.get(name) is not None), None)
        if name is None or any(not ABOUT.isdisjoint(detail) for detail in self.details):
            return
        others = [detail for detail in self.details if detail.keys() != VALUE]
        self.details = [{"parameter": name, "value": given[name]}, *others]


class CallerError(GatewayError):
    """The caller can put it right."""


class UpstreamFailure(GatewayError):
    """The third party refused, failed or fell silent."""


class ServiceFailure(GatewayError):
    """We are at fault, or not able just now."""


# Who is calling


class MissingApiKey(CallerError):
    """The request carries no ``Authorization: Bearer`` header."""

    status = 401
    code = "missing_api_key"
    place = KEY
    remedy = "Call with {authorization}."


class InvalidApiKey(CallerError):
    """The key is unknown, revoked or expired."""

    status = 401
    code = "invalid_api_key"
    place = KEY
    remedy = "Use a key that is neither revoked nor expired; an operator creates a new one with {create_key}."


class InvalidSignature(CallerError):
    """A delivery to a hook is not signed, wrongly signed, or too old."""

    status = 401
    code = "invalid_signature"
    remedy = "Sign the raw body with the secret that is set as {HOOK_SECRET}, and send it immediately."


class WriteScopeRequired(CallerError):
    """A key with read scope calls an operation that writes."""

    status = 403
    code = "write_scope_required"
    place = KEY
    remedy = "Use a key whose scope is read_write; an operator creates one with {create_key}."


class OperationNotAllowed(CallerError):
    """The key is limited to other operations."""

    status = 403
    code = "operation_not_allowed"
    place = KEY
    remedy = (
        "Use another {operation}, or a key that allows this one; an operator sees what a key allows with {list_keys}."
    )


class OriginNotAllowed(CallerError):
    """A web page of another origin, or a name that does not belong to this service, asks at the address for agents."""

    status = 403
    code = "origin_not_allowed"
    place = ("header", "Origin")
    remedy = "Connect from a program instead of a web page, or use the address that is set as GATEWAY_BASE_URL."


class OperatorTokenRequired(CallerError):
    """A management route is called without the operator's token, and with a key that has no right to it."""

    status = 403
    code = "operator_token_required"
    place = KEY
    remedy = "Use the token of an operator. For connections, a key with manages_connections will do."


class AdminRoleRequired(CallerError):
    """An operator whose role is viewer tries to change something."""

    status = 403
    code = "admin_role_required"
    place = KEY
    remedy = "Use the token of an operator whose role is admin; {list_operators} shows the roles."


class RateLimited(CallerError):
    """The key has used up its calls of the rolling minute, or too many wrong tokens come from the address."""

    status = 429
    code = "rate_limited"
    place = KEY
    remedy = "Wait {wait}, then call again."


# How it was asked


class InvalidJson(CallerError):
    """The body is not a JSON text."""

    status = 400
    code = "invalid_json"
    place = BODY
    remedy = "Send one JSON object, encoded in UTF-8, with each key once."


class UnsupportedMediaType(CallerError):
    """The body is declared to be something other than JSON."""

    status = 415
    code = "unsupported_media_type"
    place = ("header", "Content-Type")
    remedy = "Send the header 'Content-Type: application/json'."


class PayloadTooLarge(CallerError):
    """The body is larger than the service takes."""

    status = 413
    code = "payload_too_large"
    place = BODY
    remedy = "Send less, for example fewer items per call."


class MalformedRequest(CallerError):
    """What was sent is not HTTP as this service understands it; the connection is closed."""

    status = 400
    code = "malformed_request"
    remedy = "Send HTTP/1.1, and wait for responses before sending many more requests on one connection."


class HeadersTooLarge(CallerError):
    """Request line, headers and trailers are larger than the service takes; the connection is closed."""

    status = 431
    code = "headers_too_large"
    remedy = "Send fewer or shorter headers, and long values in the body."


class RequestIncomplete(CallerError):
    """The request did not arrive whole in time; nothing was done."""

    status = 408
    code = "request_incomplete"
    place = BODY
    remedy = "Send the complete request: its headers within 10 seconds, its body within 30."


class InvalidParameters(CallerError):
    """One or more parameters are missing, unknown or not of the expected form; ``details`` lists all of them."""

    status = 422
    code = "invalid_parameters"
    remedy = "Correct the {parameters} listed in details."


class InvalidMessage(CallerError):
    """What an agent's program sent is no message of JSON-RPC 2.0."""

    status = 400
    code = "invalid_message"
    place = BODY
    remedy = "Send one request or notification at a time, as libraries for the protocol do."


class ToolNotFound(CallerError):
    """No tool of that name is open to this key."""

    status = 404
    code = "tool_not_found"
    place = KEY
    remedy = "List the tools and call one of them; the list depends on the key and on the workspace's connections."


class ResultTooLarge(CallerError):
    """What was read is more than an agent is given at once."""

    status = 422
    code = "result_too_large"
    remedy = "Ask for less: a smaller limit, fewer fields, or a link instead of the content."


class InvalidCursor(CallerError):
    """The cursor is damaged, or was issued for another route, connection or filter."""

    status = 422
    code = "invalid_cursor"
    place = ("parameter", "cursor")
    remedy = (
        "Pass next_cursor of the previous response unchanged as {cursor}, with the same filters, or leave {cursor} out."
    )


class RouteNotFound(CallerError):
    """There is nothing at this address."""

    status = 404
    code = "route_not_found"
    remedy = "See {routes} for what there is."


class MethodNotAllowed(CallerError):
    """The address exists, but not for this method."""

    status = 405
    code = "method_not_allowed"
    remedy = "Use a method named in the Allow header."


class HookSecretKnown(CallerError):
    """The secret of an application's deliveries is known already, so none is asked for."""

    status = 409
    code = "hook_secret_known"
    remedy = (
        "To have another secret handed over, delete this one with {forget_hook}, or remove {HOOK_SECRET} from "
        "the settings."
    )


class IdempotencyInProgress(CallerError):
    """A call with the same idempotency key is still being carried out."""

    status = 409
    code = "idempotency_in_progress"
    place = ("parameter", "idempotency_key")
    remedy = "Wait {wait}, then repeat with the same {idempotency_key} to get the result of the first call."


class IdempotencyKeyReused(CallerError):
    """The idempotency key was used for another object: another card, another page, another channel."""

    status = 422
    code = "idempotency_key_reused"
    place = ("parameter", "idempotency_key")
    remedy = (
        "Use a new {idempotency_key} for another object, or name the object of the first call to get its result; "
        "first_run_id in details is that call."
    )


# What was named


class ConnectionNotFound(CallerError):
    """No connection of that identifier is open to this key."""

    status = 404
    code = "connection_not_found"
    place = CONNECTION
    remedy = "Use an identifier that {list_connections} lists."


class ConnectionMismatch(CallerError):
    """The connection belongs to another connector than the route."""

    status = 422
    code = "connection_mismatch"
    place = CONNECTION
    remedy = "Use a connection of the {operation}'s own connector; {list_connections} lists them."


class ConnectionPending(CallerError):
    """The connection was made without credentials, and nobody has connected an account yet."""

    status = 409
    code = "connection_pending"
    place = CONNECTION
    remedy = (
        "Have the account's user open the connect link and allow the access, or create a new link with "
        "{reconnect_connection}."
    )


class CredentialsRefused(CallerError):
    """The third party does not accept the credentials that were given."""

    status = 422
    code = "credentials_refused"
    place = ("parameter", "credentials")
    remedy = "Copy the credentials from the application again, check that they have not expired, and use those."


class OtherAccount(CallerError):
    """The credentials are those of another account than the one the connection belongs to."""

    status = 409
    code = "other_account"
    place = ("parameter", "credentials")
    remedy = "Connect the account that was connected before, or set {allow_other_account}."


class QuotaExceeded(CallerError):
    """The workspace has as many connections, keys or webhooks as it may have."""

    status = 409
    code = "quota_exceeded"
    remedy = "Remove what is no longer needed, or have the operator raise the setting that details name."


class ConnectNotSetUp(CallerError):
    """Accounts of this connector cannot be connected in a browser, since the installation is not registered for it."""

    status = 409
    code = "connect_not_set_up"
    place = CONNECTION
    remedy = (
        "Set {CLIENT_ID} and {CLIENT_SECRET} and start the service again, or create the connection with credentials."
    )


class WorkspaceNotFound(CallerError):
    """No workspace of that identifier exists."""

    status = 404
    code = "workspace_not_found"
    place = ("parameter", "workspace_id")
    remedy = "Use an identifier that {list_workspaces} lists."


class KeyNotFound(CallerError):
    """No API key of that identifier exists."""

    status = 404
    code = "key_not_found"
    place = ("parameter", "key_id")
    remedy = "Use an identifier that {list_keys} lists."


class OperatorNotFound(CallerError):
    """No operator of that identifier or name exists."""

    status = 404
    code = "operator_not_found"
    place = ("parameter", "operator_id")
    remedy = (
        "Use an operator that {list_operators} lists; the built-in one, whose token is GATEWAY_OPERATOR_TOKEN, "
        "is not among them."
    )


class WebhookNotFound(CallerError):
    """No webhook of that identifier exists."""

    status = 404
    code = "webhook_not_found"
    place = ("parameter", "webhook_id")
    remedy = "Use an identifier that {list_webhooks} lists."


class HookNotFound(CallerError):
    """No secret was handed over for the hook."""

    status = 404
    code = "hook_not_found"
    remedy = "Open an address with {open_hook}, and have the application send its verification request there."


class RunNotFound(CallerError):
    """No run of that identifier is kept for this workspace."""

    status = 404
    code = "run_not_found"
    place = ("parameter", "run_id")
    remedy = "Check the run_id. Runs are listed by {list_runs}, and deleted after the retention time."


class RunNotRecorded(CallerError):
    """The call was refused because the key's minute was used up, and came after too many such calls to have a run."""

    status = 404
    code = "run_not_recorded"
    place = ("parameter", "run_id")
    remedy = (
        "The key's last run with the code rate_limited counts the calls that have no run in and_more; find it with "
        "{list_runs}. Call less often."
    )


class DatabaseNotShared(CallerError):
    """The database does not exist, or was not selected when the connection was made."""

    status = 403
    code = "database_not_shared"
    names = ("database_id",)
    remedy = (
        "Share the database with the connection in {vendor}, then call again; {list_databases} lists those that "
        "are shared."
    )
    prescribed = dict.fromkeys(("notes",), "Add the database to the shared selection, then retry.")


class PageNotFound(CallerError):
    """The page does not exist, or is not shared with the connection."""

    status = 404
    code = "page_not_found"
    names = ("page_id",)
    remedy = (
        "Check the page identifier, which {search_pages} returns, and share the page with the connection in {vendor}."
    )


class PersonNotFound(CallerError):
    """Nobody in the workspace has the address or name that a value gives."""

    status = 404
    code = "person_not_found"
    place = ("parameter", "properties")
    remedy = (
        "Use the e-mail address, the exact name or the identifier of a person in the workspace; name guests by "
        "identifier."
    )


class PropertyNotFound(CallerError):
    """A property name does not exist where it is used."""

    status = 404
    code = "property_not_found"
    place = ("parameter", "properties")
    remedy = "Use a property name that {list_databases|list_properties} returns, spelled the same."
    prescribed = dict.fromkeys(("notes",), "Read the current property list, then correct the name.")


class BoardNotAuthorised(CallerError):
    """The board does not exist, or is outside what the account can see."""

    status = 403
    code = "board_not_authorised"
    names = ("board_id", "list_id", "card_id")
    remedy = "Obtain access or point to another board."


class ListNotFound(CallerError):
    """The list does not exist on the board, or is archived."""

    status = 404
    code = "list_not_found"
    names = ("list_id",)
    remedy = "Use a list_id that {describe_board} returns, instead of a name."
    prescribed = dict.fromkeys(
        ("boards",), "Read current identifiers from the lists route. List names are not stable identifiers."
    )


class CardNotFound(CallerError):
    """The card does not exist, or the account cannot see it."""

    status = 404
    code = "card_not_found"
    names = ("card_id",)
    remedy = (
        "Check the card_id, which {create_card} returns and the card's link in {vendor} contains, and the "
        "account's access to its board."
    )


class MessageNotFound(CallerError):
    """The message does not exist where it was looked for."""

    status = 404
    code = "message_not_found"
    names = ("message_ts", "message_id")
    remedy = "Use an identifier that {search_messages|post_message} returns; in chat, with the channel of the message."


class ThreadNotFound(CallerError):
    """The thread does not exist, or holds nothing that can be replied to."""

    status = 404
    code = "thread_not_found"
    names = ("thread_ts", "thread_id")
    remedy = (
        "Use the thread identifier of a message that exists, or leave {thread_ts|thread_id} out to start a "
        "conversation."
    )


class LabelNotFound(CallerError):
    """The mailbox lacks a label that is to be applied."""

    status = 404
    code = "label_not_found"
    place = ("parameter", "add")
    remedy = "Correct the name, or set {create_missing} to true."


class AttachmentNotFound(CallerError):
    """The message has no such attachment."""

    status = 404
    code = "attachment_not_found"
    names = ("attachment_id",)
    remedy = "Use an attachment_id that {search_messages} returns with {include_body} true."


class LinkNotFound(CallerError):
    """The download link is unknown, altered or expired."""

    status = 404
    code = "link_not_found"
    remedy = "Fetch the attachment again to get a new link."


class ChannelNotFound(CallerError):
    """The channel does not exist, or is private and the app was not invited."""

    status = 404
    code = "channel_not_found"
    names = ("channel",)
    remedy = (
        "Use a channel that {list_channels} returns; a private one is listed after the app was invited to it in "
        "{vendor}."
    )


class NotInChannel(CallerError):
    """The app may not post there because it is not a member."""

    status = 403
    code = "not_in_channel"
    names = ("channel",)
    remedy = "Invite the app to the channel in {vendor}, then call again."


class ChannelArchived(CallerError):
    """The channel is archived or otherwise closed to writing."""

    status = 409
    code = "channel_archived"
    names = ("channel",)
    remedy = "Unarchive the channel in {vendor}, or use another one that {list_channels} returns."


class AmbiguousChannel(CallerError):
    """Several channels share the name."""

    status = 409
    code = "ambiguous_channel"
    place = ("parameter", "channel")
    remedy = "Name the channel by one of the identifiers in details."


class ChannelListTooLong(CallerError):
    """The name is not among the channels that were read, and there are more than can be read in a call."""

    status = 422
    code = "channel_list_too_long"
    place = ("parameter", "channel")
    remedy = "Name the channel by its identifier, which {list_channels} returns."


class EmojiNotFound(CallerError):
    """The workspace has no emoji of that name."""

    status = 404
    code = "emoji_not_found"
    names = ("emoji",)
    remedy = "Use the short name of an emoji that the workspace has, such as eyes."


class ContactNotFound(CallerError):
    """The contact does not exist in the portal."""

    status = 404
    code = "contact_not_found"
    names = ("contact_id",)
    remedy = (
        "Use a contact_id that {look_up_contacts} returns, or create the contact first with {create_or_update_contact}."
    )


class CompanyNotFound(CallerError):
    """No company has that domain or identifier."""

    status = 404
    code = "company_not_found"
    names = ("associate_company",)
    remedy = "Correct the domain or identifier, or set {create_company} to true with a domain."


class DealNotFound(CallerError):
    """The deal does not exist in the portal."""

    status = 404
    code = "deal_not_found"
    names = ("deal_id",)
    remedy = "Check the deal_id, which {create_deal} returns and the deal's link in {vendor} contains."


class PipelineNotFound(CallerError):
    """The portal has no pipeline of that name or identifier."""

    status = 404
    code = "pipeline_not_found"
    place = ("parameter", "pipeline")
    remedy = "Use one of the pipelines in details."


class StageNotFound(CallerError):
    """The pipeline has no stage of that name or identifier."""

    status = 404
    code = "stage_not_found"
    place = ("parameter", "dealstage")
    remedy = "Use one of the pipeline's stages in details."


class BaseNotFound(CallerError):
    """The base does not exist, or the account cannot see it."""

    status = 404
    code = "base_not_found"
    names = ("base_id",)
    remedy = "Check the base_id, and give the connection access to the base in {vendor}."


class TableNotFound(CallerError):
    """The base has no table of that name or identifier."""

    status = 404
    code = "table_not_found"
    names = ("table",)
    remedy = "Use a table that {list_tables} returns."


class ViewNotFound(CallerError):
    """The table has no view of that name."""

    status = 404
    code = "view_not_found"
    names = ("view",)
    remedy = "Use one of the views that {list_tables} returns for the table."


class RecordNotFound(CallerError):
    """The record does not exist where it was looked for."""

    status = 404
    code = "record_not_found"
    names = ("record_id",)
    remedy = "Use a record_id that {read_records} returns for the table."


class FieldNotFound(CallerError):
    """The table has no field of that name."""

    status = 404
    code = "field_not_found"
    place = ("parameter", "fields")
    remedy = "Use a field name that {list_tables} returns, spelled the same."


# What cannot be done


class LossyCast(CallerError):
    """A value cannot become the destination's type without loss; nothing was written."""

    status = 422
    code = "lossy_cast"
    place = ("parameter", "properties")
    remedy = "Send a value that the type in details can hold exactly."


class SelectOptionMissing(CallerError):
    """A select value is not one of the configured options; nothing was written."""

    status = 409
    code = "select_option_missing"
    place = ("parameter", "properties")
    remedy = "Use one of the options in details, or add the option in {vendor}."
    prescribed = dict.fromkeys(("notes",), "Add the option, allow new options on the mapping, or translate the value.")


class OptionMissing(CallerError):
    """A value is not among the options of an enumeration; nothing was written."""

    status = 409
    code = "option_missing"
    place = ("parameter", "properties")
    remedy = "Use one of the allowed values in details."


class UniqueValueTaken(CallerError):
    """Another record has the value of a property whose values are unique; nothing was written."""

    status = 409
    code = "unique_value_taken"
    place = ("parameter", "properties")
    remedy = "Use another value, or change the record that has it; details name the property, the value and the record."


class AmbiguousPerson(CallerError):
    """Several people share the name."""

    status = 409
    code = "ambiguous_person"
    place = ("parameter", "properties")
    remedy = "Name the person by e-mail address, or by one of the identifiers in details."


class AmbiguousDatabase(CallerError):
    """The database holds several data sources, and none of them alone covers the request."""

    status = 409
    code = "ambiguous_database"
    place = ("parameter", "database_id")
    remedy = "Name properties of one data source only; details lists the sources."


class AmbiguousPipeline(CallerError):
    """Several pipelines share the name."""

    status = 409
    code = "ambiguous_pipeline"
    place = ("parameter", "pipeline")
    remedy = "Name the pipeline by one of the identifiers in details."


class PageModified(CallerError):
    """The page changed after ``if_unmodified_since``; nothing was written."""

    status = 409
    code = "page_modified"
    place = ("parameter", "if_unmodified_since")
    remedy = (
        "Read the page again, and if the change still applies, send last_edited_at of details as {if_unmodified_since}."
    )


class PageInTrash(CallerError):
    """The page is in the trash, where properties cannot be written."""

    status = 409
    code = "page_in_trash"
    place = ("parameter", "properties")
    remedy = "Restore the page by sending {archived} false, alone or with the properties."


class UnsupportedBlock(CallerError):
    """A body block is of a kind that is not offered."""

    status = 422
    code = "unsupported_block"
    place = ("parameter", "children")
    remedy = "Use paragraph, bulleted_list_item or callout."


class LabelNotOnBoard(CallerError):
    """A label name is not defined on the board; nothing was written."""

    status = 409
    code = "label_not_on_board"
    place = ("parameter", "labels")
    remedy = "Create the label with the same name or drop it; {describe_board} returns the board's labels."


class InvalidRecipient(CallerError):
    """One or more recipients are not valid addresses; nothing was sent."""

    status = 422
    code = "invalid_recipient"
    place = ("parameter", "to")
    remedy = "Correct the addresses listed in details."


class NotMessageAuthor(CallerError):
    """Only messages that the app itself posted can be edited."""

    status = 403
    code = "not_message_author"
    names = ("message_ts",)
    remedy = "Edit a message that this connection posted with {post_message}."


class TooManyRecords(CallerError):
    """More records at once than a call takes; none was created."""

    status = 422
    code = "too_many_records"
    place = ("parameter", "records")
    remedy = "Send at most ten records per call."


class ReadOnlyField(CallerError):
    """The field is computed and cannot be written; nothing was written."""

    status = 422
    code = "read_only_field"
    place = ("parameter", "fields")
    remedy = "Leave out the fields in details, which {vendor} computes."


class UrlNotAllowed(CallerError):
    """The link does not lead to a public http or https address."""

    status = 422
    code = "url_not_allowed"
    place = ("parameter", "url")
    remedy = "Use an http or https link that anyone on the internet can open; details have the reason."


class UrlUnreachable(CallerError):
    """The link could not be fetched."""

    status = 422
    code = "url_unreachable"
    place = ("parameter", "url")
    remedy = "Open the link without signing in, and correct what the reason in details says; then call again."


class FileEmpty(CallerError):
    """The file behind the link has no content, and the application stores no empty files."""

    status = 422
    code = "file_empty"
    place = ("parameter", "url")
    remedy = "Use a link to a file with content."


class FileTooLarge(CallerError):
    """The file is larger than can be taken."""

    status = 413
    code = "file_too_large"
    place = ("parameter", "url")
    remedy = "Use a smaller file."


# The third party refused


class ConnectionRevoked(UpstreamFailure):
    """The third-party authorisation behind the connection was withdrawn."""

    status = 401
    code = "connection_revoked"
    place = CONNECTION
    remedy = (
        "Have an operator, or a program whose key has manages_connections, reconnect the account with "
        "{reconnect_connection}, whose link the account's user opens."
    )
    prescribed = dict.fromkeys(("notes", "boards"), "Reconnect the account; flows resume on their next scheduled run.")


class ConnectionScopeMissing(UpstreamFailure):
    """The connection was authorised without a permission that this operation needs."""

    status = 403
    code = "connection_scope_missing"
    place = CONNECTION
    remedy = "Reconnect the account with {reconnect_connection}, and grant every permission that is asked for."


class UpstreamForbidden(UpstreamFailure):
    """The third party's plan, policy or permissions forbid this."""

    status = 403
    code = "upstream_forbidden"
    place = CONNECTION
    remedy = "Ask an administrator of the account in {vendor} to allow it."


class UpstreamRefused(UpstreamFailure):
    """The third party understood the request and refused its values."""

    status = 422
    code = "upstream_refused"
    remedy = (
        "Check the values against what {vendor} accepts; its own reason, if it gave one, is vendor_message in details."
    )


class UpstreamConflict(UpstreamFailure):
    """A collision with another change: the application refused, or a call that goes first takes too long."""

    status = 409
    code = "upstream_conflict"
    remedy = "Call again once. If the conflict persists, change the value that vendor_message in details names."


class UpstreamRateLimited(UpstreamFailure):
    """The third party's budget is used up for longer than a call may wait."""

    status = 429
    code = "upstream_rate_limited"
    place = CONNECTION
    remedy = "Wait {wait}, then retry."


# The third party failed


class UpstreamError(UpstreamFailure):
    """The third party failed, or answered something that cannot be read."""

    status = 502
    code = "upstream_error"
    remedy = "Call again later; if it persists, report the run_id to the operator."


class AnswerTooLarge(UpstreamError):
    """The third party answered more than is read at once; told as ``UpstreamError`` where less cannot be asked for."""

    remedy = "Ask for less at once: a smaller limit, or a narrower search."


class UpstreamUnexpected(UpstreamFailure):
    """The third party answered or refused in a way that is not known here."""

    status = 502
    code = "upstream_unexpected"
    remedy = "Report the run_id to the operator; {show_run} explains the call."


class UpstreamTimeout(UpstreamFailure):
    """The third party did not answer in time."""

    status = 504
    code = "upstream_timeout"
    remedy = "Call again later."


class UpstreamUnavailable(UpstreamFailure):
    """The third party cannot be reached; nothing was sent."""

    status = 503
    code = "upstream_unavailable"
    remedy = "Call again later."


class OutcomeUnknown(UpstreamFailure):
    """A write was sent, its answer never came, and looking it up did not settle whether it was done."""

    status = 502
    code = "outcome_unknown"
    remedy = "Look in {vendor} whether it was done; repeating with the same {idempotency_key} is safe."


# We are at fault, or not able just now


class InternalError(ServiceFailure):
    """A fault of this service."""

    status = 500
    code = "internal_error"
    remedy = "Report the run_id to the operator; {show_run} explains the call."


class Overloaded(ServiceFailure):
    """More calls are under way than the service takes, or it is stopping."""

    status = 503
    code = "overloaded"
    remedy = "Wait {wait}, then call again."


class SecretUnreadable(ServiceFailure):
    """What was stored encrypted cannot be decrypted with the secret keys that this process has."""

    status = 503
    code = "secret_unreadable"
    remedy = (
        "Ask the operator to add the missing secret key to GATEWAY_DECRYPT_ONLY_KEYS and to start the service again; "
        "until then other connections work."
    )


class StorageUnavailable(ServiceFailure):
    """The database does not answer, or cannot be written to; what was to be recorded may be recorded all the same."""

    status = 503
    code = "storage_unavailable"
    remedy = (
        "Wait {wait}, then repeat: a read unchanged, a write with the same {idempotency_key}. Before a write "
        "without a key is repeated, look in {vendor} whether it was done."
    )


class SharedStoreUnavailable(ServiceFailure):
    """The store in which several processes count calls together does not answer; nothing was sent."""

    status = 503
    code = "shared_store_unavailable"
    remedy = "Wait {wait}, then call again."


def catalogue() -> Iterator[type[GatewayError]]:
    """Every row of the catalogue, in the order of this page."""
    for family in GatewayError.__subclasses__():
        yield from family.__subclasses__()
