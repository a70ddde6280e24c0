"""What every edge shares: requests and replies, routes, bounds, problems, and who may call."""
