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
)
