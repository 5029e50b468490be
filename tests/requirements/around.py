"""What is promised around the calls."""

from requirements.requirement import NOT_BUILT, promised

AROUND = promised(
    # Events
    ("common-102", "events:polling", "Events are read at a route of the notes and one of the chat connector."),
    ("common-102", "events:nowhere-else", "No other connector has a route for events."),
    ("common-103", "events:once", "A change is one event, however often and by whichever way it is seen."),
    ("common-104", "events:gaps", "What may be missing is told in the history and in a header, with the reason."),
    (
        "common-105",
        "events:revoked",
        "A withdrawn authorisation is noticed by readers; what was missed is then looked for.",
    ),
    ("common-106", "events:beginning", "Replaced credentials and settings lose nothing of what happens meanwhile."),
    ("common-187", "events:watching-since", "A connection tells since when all its changes become events."),
    (
        "common-107",
        "events:leases",
        "No two processes look at a connection at once, and a dead one's looks are taken over.",
    ),
    ("common-108", "events:calls-first", "Requests of looks let calls go first, and get their turn at last."),
    ("common-109", "plans:free-or-paid", "A workspace is on the free or a paid plan."),
    ("common-110", "events:purge", "Events past their time are deleted in bounded steps."),
    # History
    ("common-111", "service:run-in-history", "The run identifier of every answer is found in the history."),
    (
        "common-111",
        "runs:row",
        "A run tells connection, operation, status, code, duration, upstream requests, key and times.",
    ),
    ("common-112", "runs:before-answer", "A run is committed before its answer leaves, and survives a killed process."),
    ("common-113", "runs:interrupted", "A call cut short by a crash is found as interrupted."),
    ("common-114", "runs:show", "A run is read by its identifier."),
    ("common-115", "runs:list", "Runs are listed by connection, operation, status and instant, page by page."),
    ("common-116", "runs:own-workspace", "A key sees the runs of its own workspace only."),
    ("common-117", "runs:cli", "The command line tells the history."),
    ("common-118", "runs:console", "The console tells the history.", NOT_BUILT),
    ("common-119", "runs:retention", "Runs are kept for 30 days unless set otherwise."),
    ("common-120", "runs:discreet", "The history holds no property values, texts or tokens."),
    (
        "common-121",
        "runs:refused-bounded",
        "Runs of calls beyond the key's minute are kept in bounded number, and the rest counted.",
    ),
    # Management
    ("common-122", "management:workspaces", "Workspaces are created, listed and changed by the operator."),
    ("common-123", "management:keys", "Keys are created, listed and revoked by the operator."),
    (
        "common-124",
        "management:connections",
        "Connections are created, listed, shown, changed and deleted by the operator.",
    ),
    ("common-125", "management:secrets", "The secrets of a connection are stored encrypted and never shown."),
    (
        "common-126",
        "management:operator-only",
        "A workspace's key reads its connections and runs, and manages nothing.",
    ),
    ("common-127", "management:cli", "The command line does the same."),
    ("common-128", "management:shapes", "Management answers and refusals have one shape each."),
    # Around the calls
    ("common-129", "health:alive", "/healthz answers while the process lives."),
    ("common-130", "health:ready", "/readyz answers when the database and the shared store do."),
    ("common-131", "health:metrics", "/metrics counts calls for Prometheus."),
    ("common-178", "health:metrics-token", "Where a token is set, /metrics is shown for it alone."),
    ("common-132", "health:openapi", "/openapi.json describes every operation with its errors."),
    ("common-133", "health:docs", "/docs shows the reference."),
    ("common-179", "docs:confined", "Pages load nothing from elsewhere and stand in no frame."),
    ("common-134", "conventions:request-id", "X-Request-Id comes back."),
    ("common-135", "conventions:traceparent", "A traceparent is accepted."),
    ("common-136", "conventions:server-timing", "Server-Timing tells queue, upstream and gateway apart."),
    # Secrets and doors
    ("common-160", "secrets:vendor-echo", "What an application repeats of the credentials is told to nobody."),
    ("common-161", "doors:credentials", "Credentials that no header can carry are refused when they are set."),
    ("common-162", "doors:paths", "No text leads elsewhere in an application's addresses."),
    ("common-163", "doors:weak-secrets", "A secret that could be guessed ends the start."),
    ("common-164", "doors:operator-guesses", "Wrong tokens on management routes are slowed down."),
    ("common-165", "secrets:rotation", "Everything is sealed with the newest secret key while calls go on."),
    ("common-166", "doors:slow-texts", "No text of 64 KB is slow to read, whatever it is made of."),
    # When storage is away
    (
        "common-137",
        "storage:unavailable",
        "A call whose record cannot be committed is told 503 storage_unavailable with its run.",
    ),
    (
        "common-138",
        "storage:owed",
        "What was told while storage was away is on record once storage is back, without a restart.",
    ),
    ("common-139", "storage:unconfirmed", "What may have been committed is not tried again."),
    (
        "common-140",
        "storage:lost-runs",
        "A run of a living process whose end was never committed is interrupted at a heartbeat.",
    ),
    ("common-141", "storage:alone", "A second gateway on the same database is refused before it has changed anything."),
    ("common-142", "storage:port", "A gateway whose port is taken has touched nothing."),
    # Settings and start
    ("common-146", "settings:sentence", "A setting that cannot be used is told in one sentence, without a secret."),
    ("common-147", "settings:names", "An unknown name is refused, and a similar one proposed."),
    ("common-148", "settings:place", "What stands in the way of opening the database is told in one sentence."),
    ("common-149", "settings:sealed", "A start without the secret that sealed a connection is refused."),
    ("common-150", "settings:hangup", "SIGHUP does not end serve."),
    ("common-151", "settings:access-log", "The access log is an option, and holds no tokens or queries."),
    # When the service stops
    (
        "common-143",
        "stopping:waiting",
        "Calls that wait for their turn when the process is told to stop are refused at once.",
    ),
    ("common-144", "stopping:cut-off", "Calls that do not end in time are answered in the one shape, with their run."),
    # What storage costs, and what a clock does
    ("common-152", "runs:counted", "A list of runs counts as a call of its key."),
    ("common-195", "runs:filters-known", "Lists by names that there are not are refused."),
    ("common-153", "runs:short-pages", "A page of runs may hold fewer than asked for and still have a next one."),
    ("common-154", "bounds:history-readers", "Reading the history delays no call."),
    ("common-155", "bounds:purge", "What is past its time is deleted as fast as calls come, in short steps."),
    ("common-156", "bounds:clock-set-back", "Setting the machine's clock back prolongs no trust and no pause."),
    ("common-157", "bounds:idle-ledgers", "A key or account that is idle for a minute takes less than 1 KB."),
    ("common-158", "storage:full-disk", "On a full disk calls are 503 storage_unavailable, and the service not ready."),
    ("common-159", "storage:private-files", "The files of an embedded database are their owner's only."),
)
