"""Parts shared by all edges: requests, responses, routes, limits, errors and access control."""
