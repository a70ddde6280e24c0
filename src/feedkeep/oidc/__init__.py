"""OpenID Connect relying party: people sign in to the pages with an external provider."""
