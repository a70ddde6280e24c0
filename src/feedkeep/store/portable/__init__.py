"""Topics that are written once for both databases (`store.driver`)."""
