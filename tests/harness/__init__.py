"""The test harness: real servers on loopback, and readable clients."""
