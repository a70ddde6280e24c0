"""What the service finds out about feeds by itself, and the one way in which it asks other hosts."""
