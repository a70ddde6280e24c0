"""Settings: sources and validation."""
