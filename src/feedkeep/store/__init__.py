"""Where entries are kept. A store loads and saves; it holds no rule of the contract."""
