"""What is promised of an installation, and what SECURITY.md rests on."""

from requirements.requirement import promised

DEPLOYMENT = promised(
    (
        "deployment-1",
        "deployment:public-port",
        "With a port for operators, what they use is nowhere else, however it is asked for.",
    ),
    ("deployment-2", "deployment:public-token", "The operator token opens nothing at the public port."),
    ("deployment-3", "deployment:no-sandbox", "What is installed in production has no sandbox."),
    (
        "deployment-4",
        "deployment:tls-store",
        "A shared store behind TLS is used once certificate and name were checked, and is refused otherwise.",
    ),
    (
        "deployment-5",
        "deployment:tls-database",
        "With sslmode=verify-full PostgreSQL is used once certificate and name were checked, and is refused otherwise.",
    ),
    ("deployment-6", "deployment:no-core-dump", "A gateway that crashes leaves no dump of its memory."),
    ("deployment-7", "deployment:proxy-limits", "The proxy limits requests, connections and slow senders by address."),
    ("deployment-8", "deployment:proxy-log", "The proxy logs no token, code or query."),
    ("deployment-9", "deployment:proxy-operators", "The proxy has a listener of its own for operators."),
    ("deployment-10", "deployment:networks", "Policies let each pod reach, and be reached by, what it works with."),
    ("deployment-11", "deployment:few-rights", "Gateway, proxy and stores run with as few rights as they need."),
    ("deployment-12", "deployment:digests", "Images are named by their digests."),
    ("deployment-13", "deployment:locked", "Everything that can be installed is locked with hashes."),
    ("deployment-14", "deployment:sbom", "A list of what is installed can be made, in CycloneDX's format."),
    ("deployment-15", "deployment:tls-stores-shown", "The files for Kubernetes use TLS to both stores."),
)
