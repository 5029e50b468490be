"""Counters and locks shared by calls: in memory, or in Valkey or Redis for several processes."""
