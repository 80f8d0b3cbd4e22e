"""Projects that are edited at random: what a run finds with a cache is what it finds without one."""
