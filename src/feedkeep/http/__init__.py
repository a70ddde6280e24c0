"""What all edges share: requests, responses, routes, limits, errors and access control."""
