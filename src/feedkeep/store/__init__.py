"""Stores: what loads and saves everything. They hold no rule of the contract."""
