"""Published algorithms, one file each: hyper-parameters and the equations, nothing else."""
