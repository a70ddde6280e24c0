"""Simulated apps that behave like real ones, and random tests with several of them."""
