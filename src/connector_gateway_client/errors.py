"""An exception for every code of the service. Generated from the declarations; do not edit."""

from connector_gateway_client.refusals import CallerError, GatewayError, ServiceFailure, UpstreamFailure


class MissingApiKey(CallerError):
    """The request carries no `Authorization: Bearer` header."""

    code = "missing_api_key"


class InvalidApiKey(CallerError):
    """The key is unknown, revoked or expired."""

    code = "invalid_api_key"


class InvalidSignature(CallerError):
    """A delivery to a hook is not signed, wrongly signed, or too old."""

    code = "invalid_signature"


class WriteScopeRequired(CallerError):
    """A key with read scope calls an operation that writes."""

    code = "write_scope_required"


class OperationNotAllowed(CallerError):
    """The key is limited to other operations."""

    code = "operation_not_allowed"


class OriginNotAllowed(CallerError):
    """A web page of another origin, or a name that does not belong to this service, asks at the address for agents."""

    code = "origin_not_allowed"


class OperatorTokenRequired(CallerError):
    """A management route is called without the operator's token, and with a key that has no right to it."""

    code = "operator_token_required"


class AdminRoleRequired(CallerError):
    """An operator whose role is viewer tries to change something."""

    code = "admin_role_required"


class RateLimited(CallerError):
    """The key has used up its calls of the rolling minute, or too many wrong tokens come from the address."""

    code = "rate_limited"


class InvalidJson(CallerError):
    """The body is not a JSON text."""

    code = "invalid_json"


class UnsupportedMediaType(CallerError):
    """The body is declared to be something other than JSON."""

    code = "unsupported_media_type"


class PayloadTooLarge(CallerError):
    """The body is larger than the service takes."""

    code = "payload_too_large"


class MalformedRequest(CallerError):
    """What was sent is not HTTP as this service understands it; the connection is closed."""

    code = "malformed_request"


class HeadersTooLarge(CallerError):
    """Request line, headers and trailers are larger than the service takes; the connection is closed."""

    code = "headers_too_large"


class RequestIncomplete(CallerError):
    """The request did not arrive whole in time; nothing was done."""

    code = "request_incomplete"


class InvalidParameters(CallerError):
    """One or more parameters are missing, unknown or not of the expected form; `details` lists all of them."""

    code = "invalid_parameters"


class InvalidMessage(CallerError):
    """What an agent's program sent is no message of JSON-RPC 2.0."""

    code = "invalid_message"


class ToolNotFound(CallerError):
    """No tool of that name is open to this key."""

    code = "tool_not_found"


class ResultTooLarge(CallerError):
    """What was read is more than an agent is given at once."""

    code = "result_too_large"


class InvalidCursor(CallerError):
    """The cursor is damaged, or was issued for another route, connection or filter."""

    code = "invalid_cursor"


class RouteNotFound(CallerError):
    """There is nothing at this address."""

    code = "route_not_found"


class MethodNotAllowed(CallerError):
    """The address exists, but not for this method."""

    code = "method_not_allowed"


class HookSecretKnown(CallerError):
    """The secret of an application's deliveries is known already, so none is asked for."""

    code = "hook_secret_known"


class IdempotencyInProgress(CallerError):
    """A call with the same idempotency key is still being carried out."""

    code = "idempotency_in_progress"


class IdempotencyKeyReused(CallerError):
    """The idempotency key was used for another object: another card, another page, another channel."""

    code = "idempotency_key_reused"


class ConnectionNotFound(CallerError):
    """No connection of that identifier is open to this key."""

    code = "connection_not_found"


class ConnectionMismatch(CallerError):
    """The connection belongs to another connector than the route."""

    code = "connection_mismatch"


class ConnectionPending(CallerError):
    """The connection was made without credentials, and nobody has connected an account yet."""

    code = "connection_pending"


class CredentialsRefused(CallerError):
    """The third party does not accept the credentials that were given."""

    code = "credentials_refused"


class OtherAccount(CallerError):
    """The credentials are those of another account than the one the connection belongs to."""

    code = "other_account"


class QuotaExceeded(CallerError):
    """The workspace has as many connections, keys or webhooks as it may have."""

    code = "quota_exceeded"


class ConnectNotSetUp(CallerError):
    """Accounts of this connector cannot be connected in a browser, since the installation is not registered for it."""

    code = "connect_not_set_up"


class WorkspaceNotFound(CallerError):
    """No workspace of that identifier exists."""

    code = "workspace_not_found"


class KeyNotFound(CallerError):
    """No API key of that identifier exists."""

    code = "key_not_found"


class OperatorNotFound(CallerError):
    """No operator of that identifier or name exists."""

    code = "operator_not_found"


class WebhookNotFound(CallerError):
    """No webhook of that identifier exists."""

    code = "webhook_not_found"


class HookNotFound(CallerError):
    """No secret was handed over for the hook."""

    code = "hook_not_found"


class RunNotFound(CallerError):
    """No run of that identifier is kept for this workspace."""

    code = "run_not_found"


class RunNotRecorded(CallerError):
    """The call was refused because the key's minute was used up, and came after too many such calls to have a run."""

    code = "run_not_recorded"


class DatabaseNotShared(CallerError):
    """The database does not exist, or was not selected when the connection was made."""

    code = "database_not_shared"


class PageNotFound(CallerError):
    """The page does not exist, or is not shared with the connection."""

    code = "page_not_found"


class PersonNotFound(CallerError):
    """Nobody in the workspace has the address or name that a value gives."""

    code = "person_not_found"


class PropertyNotFound(CallerError):
    """A property name does not exist where it is used."""

    code = "property_not_found"


class BoardNotAuthorised(CallerError):
    """The board does not exist, or is outside what the account can see."""

    code = "board_not_authorised"


class ListNotFound(CallerError):
    """The list does not exist on the board, or is archived."""

    code = "list_not_found"


class CardNotFound(CallerError):
    """The card does not exist, or the account cannot see it."""

    code = "card_not_found"


class MessageNotFound(CallerError):
    """The message does not exist where it was looked for."""

    code = "message_not_found"


class ThreadNotFound(CallerError):
    """The thread does not exist, or holds nothing that can be replied to."""

    code = "thread_not_found"


class LabelNotFound(CallerError):
    """The mailbox lacks a label that is to be applied."""

    code = "label_not_found"


class AttachmentNotFound(CallerError):
    """The message has no such attachment."""

    code = "attachment_not_found"


class LinkNotFound(CallerError):
    """The download link is unknown, altered or expired."""

    code = "link_not_found"


class ChannelNotFound(CallerError):
    """The channel does not exist, or is private and the app was not invited."""

    code = "channel_not_found"


class NotInChannel(CallerError):
    """The app may not post there because it is not a member."""

    code = "not_in_channel"


class ChannelArchived(CallerError):
    """The channel is archived or otherwise closed to writing."""

    code = "channel_archived"


class AmbiguousChannel(CallerError):
    """Several channels share the name."""

    code = "ambiguous_channel"


class ChannelListTooLong(CallerError):
    """The name is not among the channels that were read, and there are more than can be read in a call."""

    code = "channel_list_too_long"


class EmojiNotFound(CallerError):
    """The workspace has no emoji of that name."""

    code = "emoji_not_found"


class ContactNotFound(CallerError):
    """The contact does not exist in the portal."""

    code = "contact_not_found"


class CompanyNotFound(CallerError):
    """No company has that domain or identifier."""

    code = "company_not_found"


class DealNotFound(CallerError):
    """The deal does not exist in the portal."""

    code = "deal_not_found"


class PipelineNotFound(CallerError):
    """The portal has no pipeline of that name or identifier."""

    code = "pipeline_not_found"


class StageNotFound(CallerError):
    """The pipeline has no stage of that name or identifier."""

    code = "stage_not_found"


class BaseNotFound(CallerError):
    """The base does not exist, or the account cannot see it."""

    code = "base_not_found"


class TableNotFound(CallerError):
    """The base has no table of that name or identifier."""

    code = "table_not_found"


class ViewNotFound(CallerError):
    """The table has no view of that name."""

    code = "view_not_found"


class RecordNotFound(CallerError):
    """The record does not exist where it was looked for."""

    code = "record_not_found"


class FieldNotFound(CallerError):
    """The table has no field of that name."""

    code = "field_not_found"


class LossyCast(CallerError):
    """A value cannot become the destination's type without loss; nothing was written."""

    code = "lossy_cast"


class SelectOptionMissing(CallerError):
    """A select value is not one of the configured options; nothing was written."""

    code = "select_option_missing"


class OptionMissing(CallerError):
    """A value is not among the options of an enumeration; nothing was written."""

    code = "option_missing"


class UniqueValueTaken(CallerError):
    """Another record has the value of a property whose values are unique; nothing was written."""

    code = "unique_value_taken"


class AmbiguousPerson(CallerError):
    """Several people share the name."""

    code = "ambiguous_person"


class AmbiguousDatabase(CallerError):
    """The database holds several data sources, and none of them alone covers the request."""

    code = "ambiguous_database"


class AmbiguousPipeline(CallerError):
    """Several pipelines share the name."""

    code = "ambiguous_pipeline"


class PageModified(CallerError):
    """The page changed after `if_unmodified_since`; nothing was written."""

    code = "page_modified"


class PageInTrash(CallerError):
    """The page is in the trash, where properties cannot be written."""

    code = "page_in_trash"


class UnsupportedBlock(CallerError):
    """A body block is of a kind that is not offered."""

    code = "unsupported_block"


class LabelNotOnBoard(CallerError):
    """A label name is not defined on the board; nothing was written."""

    code = "label_not_on_board"


class InvalidRecipient(CallerError):
    """One or more recipients are not valid addresses; nothing was sent."""

    code = "invalid_recipient"


class NotMessageAuthor(CallerError):
    """Only messages that the app itself posted can be edited."""

    code = "not_message_author"


class TooManyRecords(CallerError):
    """More records at once than a call takes; none was created."""

    code = "too_many_records"


class ReadOnlyField(CallerError):
    """The field is computed and cannot be written; nothing was written."""

    code = "read_only_field"


class UrlNotAllowed(CallerError):
    """The link does not lead to a public http or https address."""

    code = "url_not_allowed"


class UrlUnreachable(CallerError):
    """The link could not be fetched."""

    code = "url_unreachable"


class FileEmpty(CallerError):
    """The file behind the link has no content, and the application stores no empty files."""

    code = "file_empty"


class FileTooLarge(CallerError):
    """The file is larger than can be taken."""

    code = "file_too_large"


class ConnectionRevoked(UpstreamFailure):
    """The third-party authorisation behind the connection was withdrawn."""

    code = "connection_revoked"


class ConnectionScopeMissing(UpstreamFailure):
    """The connection was authorised without a permission that this operation needs."""

    code = "connection_scope_missing"


class UpstreamForbidden(UpstreamFailure):
    """The third party's plan, policy or permissions forbid this."""

    code = "upstream_forbidden"


class UpstreamRefused(UpstreamFailure):
    """The third party understood the request and refused its values."""

    code = "upstream_refused"


class UpstreamConflict(UpstreamFailure):
    """A collision with another change: the application refused, or a call that goes first takes too long."""

    code = "upstream_conflict"


class UpstreamRateLimited(UpstreamFailure):
    """The third party's budget is used up for longer than a call may wait."""

    code = "upstream_rate_limited"


class UpstreamError(UpstreamFailure):
    """The third party failed, or answered something that cannot be read."""

    code = "upstream_error"


class UpstreamUnexpected(UpstreamFailure):
    """The third party answered or refused in a way that is not known here."""

    code = "upstream_unexpected"


class UpstreamTimeout(UpstreamFailure):
    """The third party did not answer in time."""

    code = "upstream_timeout"


class UpstreamUnavailable(UpstreamFailure):
    """The third party cannot be reached; nothing was sent."""

    code = "upstream_unavailable"


class OutcomeUnknown(UpstreamFailure):
    """A write was sent, its answer never came, and looking it up did not settle whether it was done."""

    code = "outcome_unknown"


class InternalError(ServiceFailure):
    """A fault of this service."""

    code = "internal_error"


class Overloaded(ServiceFailure):
    """More calls are under way than the service takes, or it is stopping."""

    code = "overloaded"


class SecretUnreadable(ServiceFailure):
    """What was stored encrypted cannot be decrypted with the secret keys that this process has."""

    code = "secret_unreadable"


class StorageUnavailable(ServiceFailure):
    """The database does not answer, or cannot be written to; what was to be recorded may be recorded all the same."""

    code = "storage_unavailable"


class SharedStoreUnavailable(ServiceFailure):
    """The store in which several processes count calls together does not answer; nothing was sent."""

    code = "shared_store_unavailable"


ERRORS: tuple[type[GatewayError], ...] = (
    MissingApiKey,
    InvalidApiKey,
    InvalidSignature,
    WriteScopeRequired,
    OperationNotAllowed,
    OriginNotAllowed,
    OperatorTokenRequired,
    AdminRoleRequired,
    RateLimited,
    InvalidJson,
    UnsupportedMediaType,
    PayloadTooLarge,
    MalformedRequest,
    HeadersTooLarge,
    RequestIncomplete,
    InvalidParameters,
    InvalidMessage,
    ToolNotFound,
    ResultTooLarge,
    InvalidCursor,
    RouteNotFound,
    MethodNotAllowed,
    HookSecretKnown,
    IdempotencyInProgress,
    IdempotencyKeyReused,
    ConnectionNotFound,
    ConnectionMismatch,
    ConnectionPending,
    CredentialsRefused,
    OtherAccount,
    QuotaExceeded,
    ConnectNotSetUp,
    WorkspaceNotFound,
    KeyNotFound,
    OperatorNotFound,
    WebhookNotFound,
    HookNotFound,
    RunNotFound,
    RunNotRecorded,
    DatabaseNotShared,
    PageNotFound,
    PersonNotFound,
    PropertyNotFound,
    BoardNotAuthorised,
    ListNotFound,
    CardNotFound,
    MessageNotFound,
    ThreadNotFound,
    LabelNotFound,
    AttachmentNotFound,
    LinkNotFound,
    ChannelNotFound,
    NotInChannel,
    ChannelArchived,
    AmbiguousChannel,
    ChannelListTooLong,
    EmojiNotFound,
    ContactNotFound,
    CompanyNotFound,
    DealNotFound,
    PipelineNotFound,
    StageNotFound,
    BaseNotFound,
    TableNotFound,
    ViewNotFound,
    RecordNotFound,
    FieldNotFound,
    LossyCast,
    SelectOptionMissing,
    OptionMissing,
    UniqueValueTaken,
    AmbiguousPerson,
    AmbiguousDatabase,
    AmbiguousPipeline,
    PageModified,
    PageInTrash,
    UnsupportedBlock,
    LabelNotOnBoard,
    InvalidRecipient,
    NotMessageAuthor,
    TooManyRecords,
    ReadOnlyField,
    UrlNotAllowed,
    UrlUnreachable,
    FileEmpty,
    FileTooLarge,
    ConnectionRevoked,
    ConnectionScopeMissing,
    UpstreamForbidden,
    UpstreamRefused,
    UpstreamConflict,
    UpstreamRateLimited,
    UpstreamError,
    UpstreamUnexpected,
    UpstreamTimeout,
    UpstreamUnavailable,
    OutcomeUnknown,
    InternalError,
    Overloaded,
    SecretUnreadable,
    StorageUnavailable,
    SharedStoreUnavailable,
)
