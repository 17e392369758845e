"""A launchd that really runs the jobs of /Library/LaunchDaemons."""
