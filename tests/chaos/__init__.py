"""Several gateways on one PostgreSQL and one store under load, with failures of all of them; then results are counted.

The simulation covers improbable schedules, in virtual time and with SQLite. Here are real processes
and servers.
"""
