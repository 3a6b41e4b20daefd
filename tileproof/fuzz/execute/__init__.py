"""Views that are really executed, on the simulator or on a GPU, and what has to come out."""
