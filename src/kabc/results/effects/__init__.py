"""How groups and arms differ, in the units of the data. Estimates from the samples kept; no part of the guarantee."""
