"""What is special about each family when a view of it is executed, one module for each page of contracts."""
