"""What every simulated command shares: paths, state, options, the call log."""
