"""A relying party of OpenID Connect: people sign in to the pages with another provider."""
