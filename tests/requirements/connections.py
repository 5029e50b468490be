"""What is promised of connecting accounts and keeping them connected."""

from requirements.requirement import promised

CONNECTIONS = promised(
    ("connections-1", "connect:link", "A link invites a user to connect an account."),
    ("connections-2", "connect:pending", "A pending connection cannot be called through."),
    ("connections-3", "connect:page", "The page behind the link says what is asked for, and lets nothing in."),
    ("connections-4", "connect:consent", "A consent makes the connection active."),
    ("connections-5", "connect:return", "Users are only sent back to where the workspace allows it."),
    ("connections-6", "connect:refused", "A refused consent is told, and may be tried again."),
    ("connections-7", "connect:state", "What comes back counts once and in the same browser."),
    ("connections-8", "connect:csrf", "The button works on its own page only, and until an account was connected."),
    ("connections-9", "connect:broken", "A failing token endpoint connects nothing."),
    ("connections-10", "connect:set-up", "Without a registered client nobody is invited."),
    ("connections-11", "connect:again", "Connecting again keeps the connection."),
    ("connections-12", "connect:other-account", "Another account is refused unless it is allowed."),
    ("connections-13", "connect:revoked", "A refused call tells where to connect again."),
    ("connections-14", "accounts:refused", "Wrong credentials are refused before they are stored."),
    ("connections-15", "accounts:told", "A connection tells whose it is."),
    ("connections-16", "accounts:tested", "A connection can be tested."),
    ("connections-17", "accounts:other", "Credentials of another account are refused unless it is allowed."),
    ("connections-18", "renewal:in-time", "Tokens are renewed before they end, or when they are refused."),
    ("connections-19", "renewal:once", "One request renews a token for all calls."),
    ("connections-20", "renewal:stored", "Renewed tokens are stored before they are used."),
    ("connections-21", "renewal:patient", "A failure that passes revokes nothing."),
    ("connections-22", "renewal:revoked", "A definite refusal revokes the connection and says why."),
    ("connections-23", "accounts:times", "A connection tells when it was used and renewed, and when its tokens end."),
    ("connections-24", "connect:discreet", "No secret of connecting is told anywhere."),
    ("connections-25", "connect:removed", "Removing a connection gives its tokens back."),
    ("connections-26", "connections:paged", "Connections are listed newest first, page by page."),
    (
        "connections-27",
        "management:keys-that-manage",
        "Keys with the right to it manage their workspace's connections.",
    ),
    ("connections-28", "connect:token-page", "A token that is handed to the browser connects an account."),
    ("connections-29", "renewal:idle", "Tokens that nobody uses are renewed before they end of that."),
)
