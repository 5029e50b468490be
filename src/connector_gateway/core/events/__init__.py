"""Observed events: who is watched, what was seen, and what third parties send of their own accord."""
