"""Where draws run, away from this thread: any executor of the standard library, a cluster of Dask, Ray.

All engines do one thing: they take a chunk of draws, and give a future of its answer (`base.Engine`). What a draw needs
goes with it: the arm, the number of samples, and the keys of its random numbers. So the answer does not depend on where
a draw runs, nor on how many workers there are.
"""
