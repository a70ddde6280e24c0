"""What the service finds out about feeds by itself, and its one way to ask other hosts."""
