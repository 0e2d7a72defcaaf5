// The interface of a layer: to the network before anything is computed, and to the passes of a
// batch. To add a layer, write such a class and add it to the list in layers.hpp.
#pragma once

#include <string>

#include "activations.hpp"
#include "words.hpp"

namespace fedbench::train {
namespace {

/// A layer and the shape that it gets, while a network is put together.
struct Fit {
    std::size_t index;
    const Layer& layer;
    const Shape& in;

    [[noreturn]] void refuse(const std::string& reason) const {
        throw std::invalid_argument("layer " + std::to_string(index) + " (" + layer.kind + "): " + reason);
    }
    [[noreturn]] void refuse_shape(const std::string& takes) const { refuse("takes " + takes + ", gets " + text_of(in)); }
    void needs_image() const {
        if (!in.image) refuse_shape("images");
    }
    /// Returns how many windows of the layer's kernel a side has.
    std::size_t windows(std::size_t side, std::size_t step) const {
        if (layer.kernel < 1 || step < 1)
            refuse("kernel and stride must be >= 1, got " + std::to_string(layer.kernel) + " and " + std::to_string(step));
        if (side < layer.kernel)
            refuse("has a kernel of " + std::to_string(layer.kernel) + ", gets a side of only " + std::to_string(side));
        return (side - layer.kernel) / step + 1;
    }

    static std::string text_of(const Shape& shape) {
        if (!shape.image) return "(" + std::to_string(shape.channels) + ",)";
        return "(" + std::to_string(shape.channels) + ", " + std::to_string(shape.height) + ", " + std::to_string(shape.width) + ")";
    }
};

inline double no_weights(const Layer&) { return 0; }

/// A kind of layer.
struct LayerKind {
    const char* name;
    Shape (*output)(const Fit& fit);                     // throws std::invalid_argument for what the layer does not take
    double (*weights)(const Layer& layer) = no_weights;  // how many numbers its weight has
    Traits traits = {};
};

/// The memory between which a layer of a network works. A layer that changes values in place has
/// one activation.
template <typename Real>
struct Place {
    Stage stage;
    const Stage* pool;  // the max-pool that a convolution computes too, or null
    Activation<Real>&in, &out;
    bool is_first;             // the gradient of its input is not needed
    std::size_t weight, bias;  // where they start in the arena
    std::size_t largest;       // batch that comes
    std::size_t threads;       // that may work on it, helpers included
    Helpers& helpers;
};

/// A layer at its place, with the memory that it needs.
template <typename Real>
class PlacedLayer {
public:
    explicit PlacedLayer(const Place<Real>& place) : at(place) {}
    virtual ~PlacedLayer() = default;

    /// Sets how many examples the next batches have.
    virtual void bind(std::size_t examples) { batch = examples; }
    /// Computes the result of a batch, with dropout if there is a stream for its masks.
    virtual void forward(const Real* weights, Words* masks) = 0;
    /// Computes, from the gradient of the result, that of the input, unless the layer is the first,
    /// and that of the layer's parameters. The parameters change by scale * gradient; if scale is
    /// 0, they stay and their gradient is written.
    virtual void backward(Real* weights, Real* gradient, Real scale) = 0;
    /// Returns how many dropout words one example takes.
    virtual std::size_t words() const { return 0; }

protected:
    const Layer& layer() const { return at.stage.layer; }
    std::size_t numbers() const { return at.stage.in.size() * batch; }  // of the input
    Real* input_gradient() const { return at.is_first ? nullptr : at.in.grad; }

    template <typename Body>
    void split(std::size_t work, const Body& body) const {
        at.helpers.split(parts_worth(at.helpers, work), body);
    }

    Place<Real> at;
    std::size_t batch = 0;
};

template <typename Real>
void add_scaled(Real scale, const Real* x, std::size_t n, Real* y) {
    for (std::size_t i = 0; i < n; ++i) y[i] = fma(scale, x[i], y[i]);
}

}  // namespace
}  // namespace fedbench::train
