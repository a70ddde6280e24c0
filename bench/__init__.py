"""How fast feedkeep is, always beside the fastest answer that its HTTP server can give."""
