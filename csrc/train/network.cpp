#include <algorithm>
#include <initializer_list>
#include <stdexcept>
#include <string>
#include <utility>

#include "fedbench/train.hpp"

namespace fedbench::train {

namespace {

constexpr std::pair<LayerKind, const char*> kNames[] = {
    {LayerKind::linear, "linear"},       {LayerKind::conv2d, "conv2d"},   {LayerKind::max_pool2d, "max_pool2d"},
    {LayerKind::relu, "relu"},           {LayerKind::flatten, "flatten"}, {LayerKind::dropout, "dropout"},
    {LayerKind::dropout2d, "dropout2d"}, {LayerKind::last, "last"},       {LayerKind::embedding, "embedding"},
};

const char* name_of(LayerKind kind) {
    for (const auto& [known, name] : kNames)
        if (known == kind) return name;
    return "unknown";
}

std::string text_of(const Shape& shape) {
    if (!shape.image) return "(" + std::to_string(shape.channels) + ",)";
    return "(" + std::to_string(shape.channels) + ", " + std::to_string(shape.height) + ", " + std::to_string(shape.width) + ")";
}

[[noreturn]] void refuse(std::size_t index, const Layer& layer, const std::string& reason) {
    throw std::invalid_argument("layer " + std::to_string(index) + " (" + name_of(layer.kind) + "): " + reason);
}

std::size_t windows(std::size_t index, const Layer& layer, std::size_t side, std::size_t step) {
    if (layer.kernel < 1 || step < 1)
        refuse(index, layer, "kernel and stride must be >= 1, got " + std::to_string(layer.kernel) + " and " + std::to_string(step));
    if (side < layer.kernel)
        refuse(index, layer, "has a kernel of " + std::to_string(layer.kernel) + ", gets a side of only " + std::to_string(side));
    return (side - layer.kernel) / step + 1;
}

/// Larger networks are not for this trainer; without bounds a number of a layer could ask for any amount of memory, or overflow.
constexpr std::size_t kMostParameters = std::size_t{1} << 26, kMostNumbers = std::size_t{1} << 24;

void check_at_most(std::size_t index, const Layer& layer, const char* what, std::initializer_list<std::size_t> factors, std::size_t most) {
    double size = 1;
    for (std::size_t factor : factors) size *= static_cast<double>(factor);
    if (!(size <= static_cast<double>(most))) refuse(index, layer, "expected at most " + std::to_string(most) + " " + what);
}

void check_sizes(std::size_t index, const Layer& layer, const Shape& in) {
    for (std::size_t number : {layer.inputs, layer.outputs, layer.kernel, layer.stride, layer.padding})
        check_at_most(index, layer, "as any of its numbers", {number}, kMostNumbers);
    const std::size_t window = layer.kind == LayerKind::conv2d ? layer.kernel : 1, border = 2 * layer.padding;
    if (layer.kind == LayerKind::linear || layer.kind == LayerKind::conv2d || layer.kind == LayerKind::embedding)
        check_at_most(index, layer, "parameters", {layer.inputs, layer.outputs, window, window}, kMostParameters);
    check_at_most(index, layer, "numbers of an example with its border", {in.channels, in.height + border, in.width + border},
                  kMostNumbers);
}

Shape output_of(std::size_t index, const Layer& layer, const Shape& in) {
    check_sizes(index, layer, in);
    const auto needs_image = [&] {
        if (!in.image) refuse(index, layer, "takes images, gets " + text_of(in));
    };
    switch (layer.kind) {
        case LayerKind::linear:
            if (in.image || in.channels != layer.inputs || layer.outputs < 1)
                refuse(index, layer, "takes (" + std::to_string(layer.inputs) + ",), gets " + text_of(in));
            return {layer.outputs};
        case LayerKind::conv2d:
            needs_image();
            if (in.channels != layer.inputs || layer.outputs < 1)
                refuse(index, layer, "takes " + std::to_string(layer.inputs) + " channels, gets " + text_of(in));
            return {layer.outputs, windows(index, layer, in.height + 2 * layer.padding, layer.stride),
                    windows(index, layer, in.width + 2 * layer.padding, layer.stride), true};
        case LayerKind::max_pool2d:
            needs_image();
            return {in.channels, windows(index, layer, in.height, layer.kernel), windows(index, layer, in.width, layer.kernel), true};
        case LayerKind::flatten:
            return {in.size()};
        case LayerKind::dropout2d:
            needs_image();
            [[fallthrough]];
        case LayerKind::dropout:
            if (!(layer.p >= 0 && layer.p < 1)) refuse(index, layer, "p must be in [0, 1), got " + std::to_string(layer.p));
            return in;
        case LayerKind::relu:
            return in;
        case LayerKind::last:
            if (in.image || layer.outputs < 1 || layer.outputs > in.channels)
                refuse(index, layer,
                       "takes a vector of at least " + std::to_string(std::max<std::size_t>(1, layer.outputs)) + ", gets " + text_of(in));
            return {layer.outputs};
        case LayerKind::embedding:
            if (in.image || layer.inputs < 1 || layer.outputs < 1)
                refuse(index, layer,
                       "takes a vector of symbols, and has at least one symbol and one number of each, gets " + text_of(in) + " for " +
                           std::to_string(layer.inputs) + " symbols of " + std::to_string(layer.outputs));
            return {in.channels * layer.outputs};
    }
    refuse(index, layer, "unknown kind");
}

}  // namespace

LayerKind layer_kind_named(const std::string& name) {
    for (const auto& [kind, known] : kNames)
        if (name == known) return kind;
    throw std::invalid_argument("layers: unknown kind " + name);
}

std::size_t Stage::weight_size() const {
    if (layer.kind == LayerKind::linear || layer.kind == LayerKind::embedding) return layer.outputs * layer.inputs;
    if (layer.kind == LayerKind::conv2d) return layer.outputs * layer.inputs * layer.kernel * layer.kernel;
    return 0;
}

Network::Network(std::span<const Layer> layers, Shape input) : input_(input) {
    for (std::size_t side : {input.channels, input.height, input.width})
        if (side > kMostNumbers) throw std::invalid_argument("input: expected at most " + std::to_string(kMostNumbers) + " numbers");
    if (input.size() == 0) throw std::invalid_argument("input: must have at least one feature, got " + text_of(input));
    Shape shape = input;
    for (std::size_t i = 0; i < layers.size(); ++i) {
        Stage stage{layers[i], shape, output_of(i, layers[i], shape), dim_, 0};
        check_at_most(i, layers[i], "numbers of an example", {stage.out.channels, stage.out.height, stage.out.width}, kMostNumbers);
        if (layers[i].kind == LayerKind::embedding) {
            for (const Stage& before : stages_)
                if (before.layer.kind != LayerKind::flatten && before.layer.kind != LayerKind::last)
                    refuse(i, layers[i], "takes the symbols of examples, so only flatten and last may come before it");
            symbols_ = layers[i].inputs;
        }
        stage.bias = dim_ + stage.weight_size();
        dim_ = stage.bias + (stage.has_bias() ? layers[i].outputs : 0);
        shape = stage.out;
        stages_.push_back(stage);
    }
    if (dim_ == 0) throw std::invalid_argument("layers: none of them has parameters");
    if (shape.image) throw std::invalid_argument("layers: must end with a vector of logits, end with " + text_of(shape) + "; add flatten");
    classes_ = shape.channels;
}

}  // namespace fedbench::train
