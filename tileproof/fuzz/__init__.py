"""Random views, and what brute force, the simulator and GPUs say of them."""
