"""The promise about writes, tried under seeded faults: the whole gateway and the stand-ins on one loop of virtual time.

``make simulate SEEDS=1000`` runs a thousand histories. Each is made from its seed alone, so it can be run again.
``docs/reliability.md`` tells what is checked.
"""
