#include <pybind11/native_enum.h>

#include "arrays.hpp"
#include "fedbench/detail/power.hpp"
#include "fedbench/philox.hpp"
#include "register.hpp"

namespace fedbench::bindings {

namespace {

/// Returns `count` if one call may draw so many values; throws if not.
template <typename Integer>
py::ssize_t bounded(const char* name, Integer count) {
    if (static_cast<std::int64_t>(count) > kMostDraws)
        throw py::value_error(std::string(name) + ": at most " + std::to_string(kMostDraws) + " values are drawn in one call, got " +
                              std::to_string(count));
    return static_cast<py::ssize_t>(count);
}

template <typename T, typename Draw>
py::array fill(RandomStream& stream, py::ssize_t count, Draw draw) {
    if (count < 0) throw py::value_error("count: must be >= 0, got " + std::to_string(count));
    py::array_t<T> out(bounded("count", count));
    T* values = out.mutable_data();
    for (py::ssize_t i = 0; i < count; ++i) values[i] = draw(stream);
    return out;
}

py::array permutation(RandomStream& stream, std::uint32_t n) {
    py::array_t<std::int64_t> out(bounded("n", n));
    std::span<std::int64_t> order(out.mutable_data(), n);
    std::iota(order.begin(), order.end(), 0);
    stream.shuffle(order);
    return out;
}

py::array power(const py::object& base, const py::object& exponent) {
    const auto x = vector_of<double>("base", base), y = vector_of<double>("exponent", exponent);
    if (x.size() != y.size() && x.size() != 1 && y.size() != 1) refuse("exponent", "a number, or one for each base", exponent);
    std::vector<double> out(x.size() == 1 ? y.size() : x.size());
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = portable_pow(x[x.size() == 1 ? 0 : i], y[y.size() == 1 ? 0 : i]);
    return take(std::move(out));
}

}  // namespace

void register_random(py::module_& module) {
    py::native_enum<Purpose>(module, "Purpose", "enum.IntEnum", "What a random stream is for: the fourth counter word.")
        .value("partition", Purpose::partition)
        .value("speed", Purpose::speed)
        .value("compute", Purpose::compute)
        .value("download", Purpose::download)
        .value("upload", Purpose::upload)
        .value("steps", Purpose::steps)
        .value("selection", Purpose::selection)
        .value("initial", Purpose::initial)
        .value("replacement", Purpose::replacement)
        .value("parameters", Purpose::parameters)
        .value("data_order", Purpose::data_order)
        .value("dropout", Purpose::dropout)
        .value("module_seed", Purpose::module_seed)
        .value("evaluation", Purpose::evaluation)
        .value("holdout", Purpose::holdout)
        .value("availability", Purpose::availability)
        .value("loss", Purpose::loss)
        .value("rarity", Purpose::rarity)
        .value("augmentation", Purpose::augmentation)
        .finalize();

    module.def(
        "philox4x32", [](std::array<std::uint32_t, 4> counter, std::array<std::uint32_t, 2> key) { return philox4x32(counter, key); },
        py::arg("counter"), py::arg("key"), "One Philox4x32-10 block: four 32-bit words.");

    py::class_<RandomStream>(module, "RandomStream", "Words of one (seed, purpose, client, k), in order.")
        .def(py::init<std::uint64_t, Purpose, std::uint32_t, std::uint32_t>(), py::arg("seed"), py::arg("purpose"), py::arg("client") = 0,
             py::arg("k") = 0)
        .def(
            "words", [](RandomStream& s, py::ssize_t n) { return fill<std::uint32_t>(s, n, [](auto& r) { return r.word(); }); },
            py::arg("count"))
        .def(
            "uniform", [](RandomStream& s, py::ssize_t n) { return fill<double>(s, n, [](auto& r) { return r.uniform(); }); },
            py::arg("count"))
        .def(
            "normal", [](RandomStream& s, py::ssize_t n) { return fill<double>(s, n, [](auto& r) { return r.normal(); }); },
            py::arg("count"))
        .def(
            "exponential", [](RandomStream& s, py::ssize_t n) { return fill<double>(s, n, [](auto& r) { return r.exponential(); }); },
            py::arg("count"))
        .def(
            "below",
            [](RandomStream& s, std::uint32_t n) {
                if (n == 0) throw py::value_error("n: must be >= 1, got 0");
                return s.below(n);
            },
            py::arg("n"))
        .def("permutation", &permutation, py::arg("n"));

    module.def(
        "draw_batches",
        [](std::uint64_t seed, std::uint32_t client, std::uint32_t k, std::uint32_t examples, std::uint32_t batch_size, std::int64_t steps,
           bool shuffled) {
            Batches batches = draw_batches(RandomStream(seed, Purpose::data_order, client, k), examples, batch_size, steps, shuffled);
            return py::make_tuple(take(std::move(batches.rows)), take(std::move(batches.offsets)));
        },
        py::arg("seed"), py::arg("client"), py::arg("k"), py::arg("examples"), py::arg("batch_size"), py::arg("steps"),
        py::arg("shuffled") = true, "Rows (int64) of all mini-batches of a job behind one another, and steps + 1 offsets into them.");

    module.def(
        "draw_per_client",
        [](std::uint64_t seed, Purpose purpose, std::uint32_t clients, std::uint32_t k) {
            py::array_t<double> out(bounded("clients", clients));
            double* values = out.mutable_data();
            for (std::uint32_t i = 0; i < clients; ++i) values[i] = RandomStream(seed, purpose, i, k).uniform();
            return out;
        },
        py::arg("seed"), py::arg("purpose"), py::arg("clients"), py::arg("k") = 0,
        "The first uniform draw of every client's stream (N,) float64.");

    module.def(
        "draw_below_per_client",
        [](std::uint64_t seed, Purpose purpose, std::uint32_t clients, std::uint32_t k, std::uint32_t n) {
            if (n == 0) throw py::value_error("n: must be >= 1, got 0");
            py::array_t<std::int64_t> whole(bounded("clients", clients));
            py::array_t<double> after(whole.size());
            for (std::uint32_t i = 0; i < clients; ++i) {
                RandomStream stream(seed, purpose, i, k);
                whole.mutable_data()[i] = stream.below(n);
                after.mutable_data()[i] = stream.uniform();
            }
            return py::make_tuple(whole, after);
        },
        py::arg("seed"), py::arg("purpose"), py::arg("clients"), py::arg("k"), py::arg("n"),
        "The first draw of every client's stream, below(n) (N,) int64, and the uniform one that follows (N,) float64.");

    module.def("portable_log", &portable_log, py::arg("x"));
    module.def("portable_exp", &portable_exp, py::arg("x"));
    module.def("portable_pow", &power, py::arg("base"), py::arg("exponent"), "base^exponent (n,), of which either may be one number (1,).");
}

}  // namespace fedbench::bindings
