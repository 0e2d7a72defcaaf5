// The list of all layers.
#pragma once

#include "conv2d.hpp"
#include "dropout.hpp"
#include "linear.hpp"
#include "pointwise.hpp"
#include "pool.hpp"
#include "symbols.hpp"

namespace fedbench::train {
namespace {

template <template <typename> class... Layers>
struct LayerList {
    /// Throws std::invalid_argument for a name that no layer has.
    static const LayerKind& kind_named(const std::string& name) {
        const LayerKind* found = nullptr;
        ((name == Layers<float>::kind.name ? void(found = &Layers<float>::kind) : void()), ...);
        if (found == nullptr) throw std::invalid_argument("layers: unknown kind " + name);
        return *found;
    }

    template <typename Real>
    static std::unique_ptr<PlacedLayer<Real>> placed(const Place<Real>& place) {
        std::unique_ptr<PlacedLayer<Real>> made;
        ((place.stage.layer.kind == Layers<Real>::kind.name ? void(made = std::make_unique<Layers<Real>>(place)) : void()), ...);
        return made;
    }
};

using AllLayers = LayerList<Linear, Conv2d, MaxPool2d, ReLU, Flatten, Dropout, Dropout2d, Last, Embedding>;

}  // namespace
}  // namespace fedbench::train
