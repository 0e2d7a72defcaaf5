#include <initializer_list>
#include <stdexcept>
#include <string>

#include "layers.hpp"

namespace fedbench::train {

namespace {

/// Larger networks are refused: without bounds a number of a layer could ask for any amount of
/// memory, or overflow.
constexpr std::size_t kMostParameters = std::size_t{1} << 26, kMostNumbers = std::size_t{1} << 24;

void check_at_most(const Fit& fit, const char* what, double size, std::size_t most) {
    if (!(size <= static_cast<double>(most))) fit.refuse("expected at most " + std::to_string(most) + " " + what);
}

double product(std::initializer_list<std::size_t> factors) {
    double size = 1;
    for (std::size_t factor : factors) size *= static_cast<double>(factor);
    return size;
}

void check_sizes(const Fit& fit, const LayerKind& kind) {
    const Layer& layer = fit.layer;
    for (std::size_t number : {layer.inputs, layer.outputs, layer.kernel, layer.stride, layer.padding})
        check_at_most(fit, "as any of its numbers", static_cast<double>(number), kMostNumbers);
    const std::size_t border = 2 * layer.padding;
    check_at_most(fit, "parameters", kind.weights(layer), kMostParameters);
    check_at_most(fit, "numbers of an example with its border", product({fit.in.channels, fit.in.height + border, fit.in.width + border}),
                  kMostNumbers);
}

}  // namespace

Network::Network(std::span<const Layer> layers, Shape input) : input_(input) {
    for (std::size_t side : {input.channels, input.height, input.width})
        if (side > kMostNumbers) throw std::invalid_argument("input: expected at most " + std::to_string(kMostNumbers) + " numbers");
    if (input.size() == 0) throw std::invalid_argument("input: must have at least one feature, got " + Fit::text_of(input));
    Shape shape = input;
    for (std::size_t i = 0; i < layers.size(); ++i) {
        const Layer& layer = layers[i];
        const Fit fit{i, layer, shape};
        const LayerKind& kind = AllLayers::kind_named(layer.kind);
        check_sizes(fit, kind);
        const Shape out = kind.output(fit);
        check_at_most(fit, "numbers of an example", product({out.channels, out.height, out.width}), kMostNumbers);
        if (kind.traits.takes_symbols) {
            for (const Stage& before : stages_)
                if (before.layer.kind != "flatten" && before.layer.kind != "last")
                    fit.refuse("takes the symbols of examples, so only flatten and last may come before it");
            symbols_ = layer.inputs;
        }
        const auto weights = static_cast<std::size_t>(kind.weights(layer));
        stages_.push_back({layer, shape, out, kind.traits, weights, dim_, dim_ + weights});
        dim_ += weights + (kind.traits.has_bias ? layer.outputs : 0);
        shape = out;
    }
    if (dim_ == 0) throw std::invalid_argument("layers: none of them has parameters");
    if (shape.image)
        throw std::invalid_argument("layers: must end with a vector of logits, end with " + Fit::text_of(shape) + "; add flatten");
    classes_ = shape.channels;
}

}  // namespace fedbench::train
