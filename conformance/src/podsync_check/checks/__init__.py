"""The checks, in a folder for each protocol: one file each, found by being there."""
