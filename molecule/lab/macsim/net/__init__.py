"""The network of a simulated Mac: services, the bridge, and what is done to real interfaces."""
