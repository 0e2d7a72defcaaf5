#include <array>

#include "adam_rule.hpp"
#include "arrays.hpp"
#include "fedbench/optimise.hpp"
#include "register.hpp"
#include "vectors.hpp"

namespace fedbench::bindings {

namespace {

/// moments = (m, v) or (m, v, vhat).
template <typename Real>
Moments<Real> moments_of(const py::tuple& moments, std::size_t d) {
    if (moments.size() != 2 && moments.size() != 3) throw py::value_error("moments: expected (m, v) or (m, v, vhat)");
    Moments<Real> views{output_of<Real>("m", moments[0], d), output_of<Real>("v", moments[1], d), {}};
    if (moments.size() == 3) views.vhat = output_of<Real>("vhat", moments[2], d);
    return views;
}

template <typename Real>
std::vector<Extent> extents_of(std::span<Real> x, const Moments<Real>& moments) {
    return {extent_of("x", x), extent_of("m", moments.m), extent_of("v", moments.v), extent_of("vhat", moments.vhat)};
}

template <typename Real>
std::pair<double, double> clip_sgd_on(const py::object& x, const py::object& g, double rate, double bound, const std::string& isa) {
    const auto to = output_of<Real>("x", x);
    const auto gradient = vector_of<Real>("g", g, to.size());
    const std::array<Extent, 2> extents{extent_of("x", to), extent_of("g", gradient)};
    refuse_overlap(extents, 1);
    const InstructionSet chosen = instruction_set_named(isa);
    const py::gil_scoped_release release;
    const Clip clip = clip_sgd<Real>(to, gradient, rate, bound, chosen);
    return {clip.norm, clip.factor};
}

/// x, its moments and what moves them, checked.
template <typename Real>
struct Moved {
    std::span<Real> x;
    Moments<Real> moments;
    std::span<const Real> by;

    Moved(const py::object& to, const py::tuple& state, const char* name, const py::object& mover)
        : x(output_of<Real>("x", to)), moments(moments_of<Real>(state, x.size())), by(vector_of<Real>(name, mover, x.size())) {
        auto extents = extents_of(x, moments);
        extents.push_back(extent_of(name, by));
        refuse_overlap(extents, 4);
    }
};

template <typename Real>
std::pair<double, double> clip_adam_on(const py::object& x, const py::tuple& moments, const py::object& g, const RuleTuple& rule,
                                       double bound, const std::string& isa) {
    const Moved<Real> to(x, moments, "g", g);
    const InstructionSet chosen = instruction_set_named(isa);
    const py::gil_scoped_release release;
    const Clip clip = clip_adam<Real>(to.x, to.moments, to.by, rule_of(rule), bound, chosen);
    return {clip.norm, clip.factor};
}

template <typename Real>
void adaptive_on(const py::object& x, const py::tuple& moments, const py::object& direction, const RuleTuple& rule, bool use_maximum,
                 const std::string& isa) {
    const Moved<Real> to(x, moments, "direction", direction);
    const InstructionSet chosen = instruction_set_named(isa);
    const py::gil_scoped_release release;
    adaptive_step<Real>(to.x, to.moments, to.by, rule_of(rule), use_maximum, chosen);
}

template <typename Real>
void sum_adaptive_on(const py::object& x, const py::tuple& moments, const py::object& weights, const py::object& vectors,
                     const RuleTuple& rule, bool use_maximum, const std::string& isa) {
    const auto to = output_of<Real>("x", x);
    const auto state = moments_of<Real>(moments, to.size());
    const auto w = vector_of<double>("weights", weights);
    py::list kept;
    const auto rows = rows_of<Real>(vectors, to.size(), kept);
    if (rows.size() != w.size())
        throw py::value_error("weights: expected one weight per vector, got " + std::to_string(w.size()) + " weights for " +
                              std::to_string(rows.size()) + " vectors");
    auto extents = extents_of(to, state);
    extents.push_back(extent_of("the weights", w));
    for (const Real* row : rows) extents.push_back({"one of the vectors", row, to.size_bytes()});
    refuse_overlap(extents, 4);
    const InstructionSet chosen = instruction_set_named(isa);
    const py::gil_scoped_release release;
    sum_adaptive_step<Real>(to, state, w, rows, rule_of(rule), use_maximum, chosen);
}

}  // namespace

void register_optimise(py::module_& module) {
    const py::arg_v isa = py::arg("isa") = "";
    module.def("clip_sgd", by_dtype<0>(&clip_sgd_on<float>, &clip_sgd_on<double>), py::arg("x"), py::arg("g"), py::arg("rate"),
               py::arg("bound"), isa);
    module.def("clip_adam", by_dtype<0>(&clip_adam_on<float>, &clip_adam_on<double>), py::arg("x"), py::arg("moments"), py::arg("g"),
               py::arg("rule"), py::arg("bound"), isa);
    module.def("adaptive_step", by_dtype<0>(&adaptive_on<float>, &adaptive_on<double>), py::arg("x"), py::arg("moments"),
               py::arg("direction"), py::arg("rule"), py::arg("use_maximum"), isa);
    module.def("sum_adaptive_step", by_dtype<0>(&sum_adaptive_on<float>, &sum_adaptive_on<double>), py::arg("x"), py::arg("moments"),
               py::arg("weights"), py::arg("vectors"), py::arg("rule"), py::arg("use_maximum"), isa);
}

}  // namespace fedbench::bindings
