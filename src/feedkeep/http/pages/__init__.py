"""What every page shares: templates, languages, style, forms, and things that are shown once."""
