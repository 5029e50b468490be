"""Several gateways on one PostgreSQL and one store under load, while all of these fail; then what was made is counted.

The simulation tries schedules that nobody would meet, in virtual time, with SQLite. Here are real processes
and servers.
"""
