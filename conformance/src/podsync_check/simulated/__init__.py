"""Apps with the habits of the real ones, and what they find out together."""
