// Device twins of register_accumulate, register_optimise and register_cache: name, check, release
// the GIL.

#include <algorithm>

#include "adam_rule.hpp"
#include "cuda_arrays.hpp"
#include "register_cuda.hpp"

namespace fedbench::bindings {

namespace {

/// Vectors on the device, the memory in which they lie, and their common length.
template <typename Real>
struct Rows {
    std::vector<std::span<const Real>> views;
    std::vector<const Real*> pointers;
    std::size_t d;

    Rows(DeviceArguments& arguments, const py::object& vectors) : views(arguments.rows<Real>(vectors)) {
        if (views.empty()) throw py::value_error("vectors: expected at least one vector, got none");
        for (const auto& view : views) pointers.push_back(view.data());
        d = views[0].size();
    }
    void add_to(std::vector<Extent>& extents) const {
        for (const auto& view : views) extents.push_back(extent_of("one of the vectors", view));
    }
};

/// Returns the array that tells the type of `vectors`.
py::object first_of(const py::object& vectors) {
    if (is_device_array(vectors)) return vectors;
    if (!py::isinstance<py::sequence>(vectors) || py::isinstance<py::array>(vectors))
        DeviceArguments::refuse("vectors", "float32 or float64 (K, d) on a CUDA device, or K vectors", vectors);
    if (py::len(vectors) == 0) throw py::value_error("vectors: expected at least one vector, got none");
    return vectors[py::int_(0)];
}

/// Returns `out`, or a new vector if that is None.
template <typename Real>
py::object vector_out(const py::object& out, std::size_t d, const DeviceArguments& arguments, bool later) {
    return out.is_none() ? py::cast(DeviceArray(type_name<Real>(), {static_cast<py::ssize_t>(d)}, arguments.stream(), later)) : out;
}

/// Returns (out, squared norm), the latter None unless it is wanted.
py::tuple weighted_sum_into(const py::object& weights, const py::object& vectors, const py::object& out, const py::object& stream,
                            bool norm, bool later) {
    DeviceArguments arguments(stream);
    const auto w = vector_of<double>("weights", weights);
    return arguments.with_type("vectors", first_of(vectors), [&]<typename Real>(std::type_identity<Real>) -> py::tuple {
        const Rows<Real> rows(arguments, vectors);
        const py::object to = vector_out<Real>(out, rows.d, arguments, later);
        const auto result = arguments.output<Real>("out", to, rows.d);
        std::vector<Extent> extents{extent_of("out", result)};
        rows.add_to(extents);
        refuse_overlap(extents, 1);
        const auto work = [&](double* norm2) { cuda::later::weighted_sum<Real>(w, rows.pointers, result, norm2, arguments.stream()); };
        if (norm) return py::make_tuple(to, numbers_of<1>("weighted_sum", arguments, later, work, [](const auto& n) { return n[0]; }));
        run("weighted_sum", arguments, later, [&] { work(nullptr); });
        return py::make_tuple(to, py::none());
    });
}

py::object dot_of(const py::object& a, const py::object& b, const py::object& stream, bool later) {
    DeviceArguments arguments(stream);
    return arguments.with_type("a", a, [&]<typename Real>(std::type_identity<Real>) {
        const auto x = arguments.vector<Real>("a", a), y = arguments.vector<Real>("b", b, x.size());
        return numbers_of<1>(
            "dot", arguments, later, [&](double* product) { cuda::later::dot<Real>(x, y, product, arguments.stream()); },
            [](const auto& n) { return n[0]; });
    });
}

py::object movement_of(const py::object& x, const py::object& base, const py::object& delta, const py::object& stream, bool later) {
    DeviceArguments arguments(stream);
    return arguments.with_type("x", x, [&]<typename Real>(std::type_identity<Real>) {
        const auto at = arguments.vector<Real>("x", x), from = arguments.vector<Real>("base", base, at.size());
        const auto other = arguments.vector<Real>("delta", delta, at.size());
        return numbers_of<4>(
            "movement", arguments, later, [&](double* sums) { cuda::later::movement<Real>(at, from, other, sums, arguments.stream()); },
            [](const auto& n) { return std::tuple(n[0], n[1], n[2], n[3]); });
    });
}

/// x and its moments (m, v) or (m, v, vhat), and the memory in which they lie.
template <typename Real>
struct State {
    std::span<Real> x;
    Moments<Real> moments;
    std::vector<Extent> extents;

    State(DeviceArguments& arguments, const py::object& x_, const py::tuple& moments_) {
        if (moments_.size() != 2 && moments_.size() != 3) throw py::value_error("moments: expected (m, v) or (m, v, vhat)");
        const std::size_t d = arguments.vector<Real>("x", x_).size();
        x = arguments.output<Real>("x", x_, d);
        moments = {arguments.output<Real>("m", moments_[0], d), arguments.output<Real>("v", moments_[1], d), {}};
        if (moments_.size() == 3) moments.vhat = arguments.output<Real>("vhat", moments_[2], d);
        extents = {extent_of("x", x), extent_of("m", moments.m), extent_of("v", moments.v), extent_of("vhat", moments.vhat)};
    }
};

/// (norm, factor)
std::tuple<double, double> clip_of(const std::array<double, 2>& found) { return {found[0], found[1]}; }

py::object clip_sgd_on(const py::object& x, const py::object& g, double rate, double bound, const py::object& stream, bool later) {
    DeviceArguments arguments(stream);
    return arguments.with_type("x", x, [&]<typename Real>(std::type_identity<Real>) {
        const std::size_t d = arguments.vector<Real>("x", x).size();
        const auto to = arguments.output<Real>("x", x, d);
        const auto gradient = arguments.vector<Real>("g", g, d);
        const std::vector<Extent> extents{extent_of("x", to), extent_of("g", gradient)};
        refuse_overlap(extents, 1);
        return numbers_of<2>(
            "clip_sgd", arguments, later,
            [&](double* clip) { cuda::later::clip_sgd<Real>(to, gradient, rate, bound, clip, arguments.stream()); }, clip_of);
    });
}

py::object clip_adam_on(const py::object& x, const py::tuple& moments, const py::object& g, const RuleTuple& rule, double bound,
                        const py::object& stream, bool later) {
    DeviceArguments arguments(stream);
    return arguments.with_type("x", x, [&]<typename Real>(std::type_identity<Real>) {
        State<Real> state(arguments, x, moments);
        const auto gradient = arguments.vector<Real>("g", g, state.x.size());
        state.extents.push_back(extent_of("g", gradient));
        refuse_overlap(state.extents, 4);
        const auto work = [&](double* clip) {
            cuda::later::clip_adam<Real>(state.x, state.moments, gradient, rule_of(rule), bound, clip, arguments.stream());
        };
        return numbers_of<2>("clip_adam", arguments, later, work, clip_of);
    });
}

void adaptive_on(const py::object& x, const py::tuple& moments, const py::object& direction, const RuleTuple& rule, bool use_maximum,
                 const py::object& stream, bool later) {
    DeviceArguments arguments(stream);
    arguments.with_type("x", x, [&]<typename Real>(std::type_identity<Real>) {
        State<Real> state(arguments, x, moments);
        const auto view = arguments.vector<Real>("direction", direction, state.x.size());
        state.extents.push_back(extent_of("direction", view));
        refuse_overlap(state.extents, 4);
        run("adaptive_step", arguments, later,
            [&] { cuda::later::adaptive_step<Real>(state.x, state.moments, view, rule_of(rule), use_maximum, arguments.stream()); });
    });
}

void sum_adaptive_on(const py::object& x, const py::tuple& moments, const py::object& weights, const py::object& vectors,
                     const RuleTuple& rule, bool use_maximum, const py::object& stream, bool later) {
    DeviceArguments arguments(stream);
    const auto w = vector_of<double>("weights", weights);
    arguments.with_type("x", x, [&]<typename Real>(std::type_identity<Real>) {
        State<Real> state(arguments, x, moments);
        const Rows<Real> rows(arguments, vectors);
        if (rows.d != state.x.size())
            throw py::value_error("vectors: expected length " + std::to_string(state.x.size()) + ", got " + std::to_string(rows.d));
        rows.add_to(state.extents);
        refuse_overlap(state.extents, 4);
        run("sum_adaptive_step", arguments, later, [&] {
            cuda::later::sum_adaptive_step<Real>(state.x, state.moments, w, rows.pointers, rule_of(rule), use_maximum, arguments.stream());
        });
    });
}

/// Returns the CacheOrder of this name.
CacheOrder order_of(const std::string& order) {
    if (order == "deferred") return CacheOrder::deferred;
    if (order == "immediate") return CacheOrder::immediate;
    if (order == "newest") return CacheOrder::newest;
    throw py::value_error("order: expected deferred, immediate or newest, got " + order);
}

template <typename Real>
void refuse_cache_overlaps(std::span<Real> out, std::span<double> sum, const std::vector<Real*>& rows, const Rows<Real>& vectors) {
    std::vector<Extent> extents{extent_of("out", out), extent_of("sum", sum)};
    std::vector<Real*> distinct = rows;
    std::sort(distinct.begin(), distinct.end());
    distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
    for (Real* row : distinct) extents.push_back({"one of the rows", row, out.size_bytes()});
    const std::size_t outputs = extents.size();
    vectors.add_to(extents);
    refuse_overlap(extents, outputs);
}

py::object update_cache_in(const py::object& weights, const py::object& vectors, const py::sequence& rows, const py::object& sum,
                           double scale, const std::string& order, const py::object& out, const py::object& stream, bool later) {
    DeviceArguments arguments(stream);
    const auto w = vector_of<double>("weights", weights);
    return arguments.with_type("vectors", first_of(vectors), [&]<typename Real>(std::type_identity<Real>) {
        const Rows<Real> from(arguments, vectors);
        const py::object result = vector_out<Real>(out, from.d, arguments, later);
        const auto to = arguments.output<Real>("out", result, from.d);
        const auto total = arguments.output<double>("sum", sum, from.d);
        std::vector<Real*> cached;
        for (const py::handle& row : rows)
            cached.push_back(arguments.output<Real>("rows[" + std::to_string(cached.size()) + "]", row, from.d).data());
        refuse_cache_overlaps<Real>(to, total, cached, from);
        const CacheUpdate<Real> update{w, from.pointers, cached, total, scale, order_of(order)};
        run("update_cache", arguments, later, [&] { cuda::later::update_cache<Real>(update, to, arguments.stream()); });
        return result;
    });
}

}  // namespace

void register_cuda_vectors(py::module_& module) {
    const auto stream = py::arg("stream") = py::none();
    const auto later = py::arg("later") = false;
    const auto no_out = py::arg("out") = py::none();
    module.def("weighted_sum", &weighted_sum_into, py::arg("weights"), py::arg("vectors"), no_out, stream, py::arg("norm") = true, later);
    module.def("dot", &dot_of, py::arg("a"), py::arg("b"), stream, later);
    module.def("movement", &movement_of, py::arg("x"), py::arg("base"), py::arg("delta"), stream, later);
    module.def("clip_sgd", &clip_sgd_on, py::arg("x"), py::arg("g"), py::arg("rate"), py::arg("bound"), stream, later);
    module.def("clip_adam", &clip_adam_on, py::arg("x"), py::arg("moments"), py::arg("g"), py::arg("rule"), py::arg("bound"), stream,
               later);
    module.def("adaptive_step", &adaptive_on, py::arg("x"), py::arg("moments"), py::arg("direction"), py::arg("rule"),
               py::arg("use_maximum"), stream, later);
    module.def("sum_adaptive_step", &sum_adaptive_on, py::arg("x"), py::arg("moments"), py::arg("weights"), py::arg("vectors"),
               py::arg("rule"), py::arg("use_maximum"), stream, later);
    module.def("update_cache", &update_cache_in, py::arg("weights"), py::arg("vectors"), py::arg("rows"), py::arg("sum"), py::arg("scale"),
               py::arg("order"), no_out, stream, later);
}

}  // namespace fedbench::bindings
