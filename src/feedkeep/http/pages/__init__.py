"""What all pages share: templates, languages, static files, forms and one-time notes."""
