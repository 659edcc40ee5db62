"""Any provider's request and answer as parts to show. Pure: no models, no settings."""
