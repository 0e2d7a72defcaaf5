// The values and gradients of a batch between two layers, and their layout in memory.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <new>
#include <span>
#include <vector>

#include "fedbench/detail/helpers.hpp"
#include "fedbench/train.hpp"
#include "tiles.hpp"

namespace fedbench::train {
namespace {

/// Memory that starts at a cache line, with zeros at first.
template <typename Real>
class Buffer {
public:
    Buffer() = default;
    explicit Buffer(std::size_t size) : size_(size), data_(allocate(size)) { clear(); }

    Real* data() { return data_.get(); }
    const Real* data() const { return data_.get(); }
    std::size_t size() const { return size_; }
    void clear() {
        if (size_ > 0) std::memset(data_.get(), 0, size_ * sizeof(Real));
    }

private:
    struct Free {
        void operator()(Real* p) const { std::free(p); }
    };
    static Real* allocate(std::size_t size) {
        if (size == 0) return nullptr;
        void* const p = std::aligned_alloc(64, (size * sizeof(Real) + 63) / 64 * 64);
        if (p == nullptr) throw std::bad_alloc();
        return static_cast<Real*>(p);
    }

    std::size_t size_ = 0;
    std::unique_ptr<Real, Free> data_;
};

/// Returns how many parts so many multiply-adds are worth: kWorth of them take several times as
/// long as the cost of a section with helpers.
inline std::size_t parts_worth(const Helpers& helpers, std::size_t work) {
    constexpr std::size_t kWorth = 1 << 18;
    return std::min(helpers.parts(), 1 + work / kWorth);
}

/// A batch between two layers. Vectors are rows, example after example. Images are (channels,
/// height, width, example): so a shift of a window moves along contiguous numbers, whatever the
/// batch size.
template <typename Real>
struct Activation {
    Shape shape;
    Buffer<Real> own_value, own_grad;
    Real* value = nullptr;
    Real* grad = nullptr;                // may be `value`, if that is not needed any more
    std::vector<const Real*> rows;       // of vectors: where every example starts; in the first activation, in the data
    std::vector<Step> offset;            // of vectors: the distance of every example from rows[0]
    std::span<const Real* const> ahead;  // in the first activation: where the examples of the next batch start

    void set_rows(std::size_t batch) {
        for (std::size_t b = 0; b < batch; ++b) rows[b] = value + b * shape.size();
        find_offsets(batch);
    }
    void find_offsets(std::size_t batch) {
        for (std::size_t b = 0; b < batch; ++b) offset[b] = rows[b] - rows[0];
    }
};

/// The parameters of a model and what steps need of the same size: every tensor starts at a cache
/// line.
template <typename Real>
class Arena {
public:
    explicit Arena(const Network& network) {
        for (const Stage& stage : network.stages()) {
            if (stage.weights > 0) add(stage.weight, stage.weights);
            if (stage.traits.has_bias) add(stage.bias, stage.layer.outputs);
        }
    }

    struct Tensor {
        std::size_t flat, at, size;
    };
    const std::vector<Tensor>& tensors() const { return tensors_; }
    std::size_t size() const { return size_; }

    void load(const Real* flat, Real* to) const {
        for (const Tensor& t : tensors_) std::memcpy(to + t.at, flat + t.flat, t.size * sizeof(Real));
    }
    void save(const Real* from, Real* flat) const {
        for (const Tensor& t : tensors_) std::memcpy(flat + t.flat, from + t.at, t.size * sizeof(Real));
    }
    /// Calls body(at, i) for every parameter: its place here, and in the flat vector.
    template <typename Body>
    void each(const Body& body) const {
        for (const Tensor& t : tensors_)
            for (std::size_t i = 0; i < t.size; ++i) body(t.at + i, t.flat + i);
    }
    /// Where the tensor that starts at `flat` of the flat vector is.
    std::size_t find(std::size_t flat) const {
        for (const Tensor& t : tensors_)
            if (t.flat == flat) return t.at;
        return 0;
    }

private:
    void add(std::size_t flat, std::size_t size) {
        tensors_.push_back({flat, size_, size});
        size_ += (size + 15) / 16 * 16;
    }

    std::vector<Tensor> tensors_;
    std::size_t size_ = 0;
};

}  // namespace
}  // namespace fedbench::train
