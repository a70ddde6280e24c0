"""The documents as a site: what is written from the code, and what the generator reads."""
