"""One module for each instruction family; each is imported by being here."""
