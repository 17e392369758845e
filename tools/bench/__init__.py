"""`make bench-<topic>`: measures the targets of a topic and writes `build/bench/<topic>.json`."""
