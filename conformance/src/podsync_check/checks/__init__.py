"""The checks: one file each, in a folder for each protocol."""
