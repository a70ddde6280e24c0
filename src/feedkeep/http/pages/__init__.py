"""Parts shared by all pages: templates, languages, static files, forms and one-time notes."""
