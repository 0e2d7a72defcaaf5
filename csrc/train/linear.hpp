// A layer on vectors: z = W x + b for every example.
#pragma once

#include <algorithm>

#include "activations.hpp"

namespace fedbench::train {
namespace {

/// z = W x + b. Rows of W stay in the first-level cache while all examples pass.
template <typename Real>
void linear_forward(const Layer& layer, const Real* w, const Real* bias, const Activation<Real>& in, Activation<Real>& out,
                    std::size_t batch) {
    in_parts(layer.outputs, kTileRows, [&](std::size_t o, std::size_t m) {
        const Real* p[kTileRows];
        for (std::size_t i = 0; i < m; ++i) p[i] = w + (o + i) * layer.inputs;
        in_parts(batch, kTileColumns, [&](std::size_t b, std::size_t n) {
            Dots<Real> d{p, in.rows.data() + b, layer.inputs};
            d.result = out.value + b * layer.outputs + o;
            d.result_m = 1, d.result_n = static_cast<Step>(layer.outputs);
            d.value = bias + o;
            dots<Real>(m, n, d);
        });
    });
}

/// dx = W^T dz; `offset` has layer.outputs entries. Rows of W are used in blocks that stay in the second-level cache.
template <typename Real>
void linear_input_gradient(const Layer& layer, const Real* w, const Step* offset, const Real* dz, Real* dx, std::size_t batch) {
    using Start = typename Outer<Real>::Start;
    const std::size_t block = std::max<std::size_t>(16, (std::size_t{256} << 10) / (layer.inputs * sizeof(Real)));
    for (std::size_t first = 0; first < layer.outputs; first += block)
        in_parts(batch, kTileRows, [&](std::size_t b, std::size_t m) {
            Outer<Real> o{dz + b * layer.outputs + first,
                          static_cast<Step>(layer.outputs),
                          1,
                          w,
                          offset + first,
                          std::min(block, layer.outputs - first),
                          dx + b * layer.inputs,
                          static_cast<Step>(layer.inputs)};
            o.start = first == 0 ? Start::zero : Start::there;
            outer<Real>(m, layer.inputs, o);
        });
}

/// Adds scale * dz^T x to `weight`, or puts dz^T x there if scale is 0; likewise the sums of dz to `bias`.
template <typename Real>
void linear_weight_gradient(const Layer& layer, const Activation<Real>& in, const Real* dz, Real scale, Real* weight, Real* bias,
                            std::size_t batch) {
    in_parts(layer.outputs, kTileRows, [&](std::size_t first, std::size_t m) {
        Outer<Real> o{dz + first,       1,     static_cast<Step>(layer.outputs), in.rows[0],
                      in.offset.data(), batch, weight + first * layer.inputs,    static_cast<Step>(layer.inputs)};
        if (scale != 0) o.end = Outer<Real>::End::add_scaled, o.scale = scale;
        outer<Real>(m, layer.inputs, o);
    });
    for (std::size_t first = 0; first < layer.outputs; first += 64) {
        const std::size_t count = std::min<std::size_t>(64, layer.outputs - first);
        Real sum[64] = {};
        for (std::size_t b = 0; b < batch; ++b)
            for (std::size_t i = 0; i < count; ++i) sum[i] += dz[b * layer.outputs + first + i];
        for (std::size_t i = 0; i < count; ++i) bias[first + i] = scale != 0 ? madd(scale, sum[i], bias[first + i]) : sum[i];
    }
}

}  // namespace
}  // namespace fedbench::train
