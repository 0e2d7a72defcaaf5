// The GPU's kernels, compiled for the host.
#include "../../cuda/accumulate.cu"
#include "../../cuda/distill.cu"
#include "../../cuda/optimise.cu"
#include "../../cuda/runtime.cu"
