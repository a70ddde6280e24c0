"""What is found out about feeds, and the one way in which the service asks other hosts."""
