"""A simulated Mac: the commands of macOS, acting on the Linux system underneath."""
