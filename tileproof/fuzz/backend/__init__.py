"""What may be asked about views: one module for each backend of a campaign."""
