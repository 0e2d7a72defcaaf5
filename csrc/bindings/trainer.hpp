// The class behind `LocalTrainerFloat32` and `LocalTrainerFloat64` of the extension: it checks
// numpy arrays and Python objects and hands them to a crew.
#pragma once

#include <pybind11/functional.h>

#include <limits>

#include "fedbench/train.hpp"
#include "vectors.hpp"

namespace fedbench::bindings {
namespace {

using train::Crew, train::Examples, train::Job, train::Layer, train::Network, train::Rule, train::Shape;

Network network_of(const std::vector<py::object>& specs, const std::vector<std::size_t>& input) {
    std::vector<Layer> layers;
    for (const py::object& spec : specs) {
        const auto size = [&](const char* name) { return spec.attr(name).cast<std::size_t>(); };
        layers.push_back({spec.attr("kind").cast<std::string>(), size("inputs"), size("outputs"), size("kernel"), size("stride"),
                          size("padding"), spec.attr("p").cast<double>()});
    }
    if (input.size() == 1) return Network(layers, {input[0]});
    if (input.size() == 3) return Network(layers, {input[0], input[1], input[2], true});
    throw py::value_error("input_shape: expected (features,) or (channels, height, width), got " + std::to_string(input.size()) +
                          " numbers");
}

/// The rows of every client: client i has those from begin[i] to begin[i] + count[i] in `rows`.
struct Shards {
    std::vector<std::int64_t> rows, begin, count;

    std::span<const std::int64_t> of(std::size_t client) const {
        return {rows.data() + begin[client], static_cast<std::size_t>(count[client])};
    }
};

/// A crew with the arrays over which it works. Labels and shards are copied, since a number changed
/// later could name a row that does not exist. The memory of the other arrays is pinned.
template <typename Real>
class Trainer {
public:
    Trainer(const std::vector<py::object>& layers, const std::vector<std::size_t>& input, const py::object& x, const py::object& y,
            std::uint64_t seed, std::size_t batch, std::size_t threads, const std::string& isa, bool shuffled, std::size_t padding,
            const py::object& fill)
        : y_(copied<std::int64_t>("y", y)),
          fill_(fill.is_none() ? std::vector<Real>() : copied<Real>("fill", fill)),
          crew_(network_of(layers, input), examples(input, x, padding, fill), seed, batch, threads, instruction_set_named(isa), shuffled) {
        pins_.add(x);
    }

    std::size_t dim() const { return crew_.network().dim(); }
    const char* isa() const { return name_of(crew_.isa()); }

    /// Trains jobs, each with the attributes of fedbench.kernels.train.LocalJob.
    void train(const std::vector<py::object>& jobs, const py::object& progress) {
        Given given;
        for (const py::object& job : jobs) given.jobs.push_back(job_of(job, given));
        const py::gil_scoped_release release;
        crew_.train(given.jobs, watch(progress));
    }

    /// Sets the shards of clients for `train_columns`.
    void set_shards(const py::object& rows, const py::object& begin, const py::object& count) {
        Shards given{copied<std::int64_t>("rows", rows), copied<std::int64_t>("begin", begin), copied<std::int64_t>("count", count)};
        const auto size = static_cast<std::int64_t>(given.rows.size());
        if (given.begin.size() != given.count.size()) refuse("count", "as many as begin, " + std::to_string(given.begin.size()), count);
        for (std::size_t i = 0; i < given.begin.size(); ++i)
            if (given.begin[i] < 0 || given.count[i] < 0 || given.begin[i] > size || given.count[i] > size - given.begin[i])
                throw py::value_error("begin, count: client " + std::to_string(i) + " must have some of the " + std::to_string(size) +
                                      " rows, got " + std::to_string(given.count[i]) + " from " + std::to_string(given.begin[i]) + " on");
        shards_ = std::move(given);
    }

    /// Trains jobs given as columns, with a number per job. Each of the rules has the attributes of
    /// fedbench.kernels.train.Rule.
    void train_columns(const py::object& client, const py::object& k, const py::object& steps, const std::vector<py::object>& rules,
                       const py::object& rule, const std::vector<py::object>& out, const py::object& matrix, const py::object& row,
                       const std::string& sends) {
        Real* Job<Real>::*const sent = sent_as(sends);
        const auto clients = vector_of<std::int32_t>("client", client), ks = vector_of<std::int32_t>("k", k),
                   lengths = vector_of<std::int32_t>("steps", steps);
        const auto which = vector_of<std::int64_t>("rule", rule), matrices = vector_of<std::int64_t>("matrix", matrix),
                   places = vector_of<std::int64_t>("row", row);
        Given given;
        std::vector<Rule<Real>> known;
        for (const py::object& one : rules) known.push_back(rule_of(one, given));
        std::vector<Matrix> results;
        for (const py::object& one : out) results.push_back(deltas_out(one, given));
        const std::pair<const char*, std::size_t> sizes[] = {
            {"k", ks.size()}, {"steps", lengths.size()}, {"rule", which.size()}, {"row", places.size()}, {"matrix", matrices.size()}};
        for (const auto& [name, size] : sizes)
            if (size != clients.size())
                throw py::value_error(std::string(name) + ": expected " + std::to_string(clients.size()) + " numbers, one per job, got " +
                                      std::to_string(size));
        given.jobs.reserve(clients.size());
        for (std::size_t j = 0; j < clients.size(); ++j) {
            Job<Real> job;
            job.client = static_cast<std::uint32_t>(index_of("client", clients[j], shards_.begin.size()));
            job.k = static_cast<std::uint32_t>(up_to(std::numeric_limits<std::int32_t>::max(), "k", ks[j]));
            job.steps = static_cast<std::int64_t>(up_to(std::numeric_limits<std::int32_t>::max(), "steps", lengths[j]));
            job.shard = shards_.of(job.client);
            job.rule = known[index_of("rule", which[j], known.size())];
            Matrix& to = results[index_of("matrix", matrices[j], results.size())];
            const std::size_t place = index_of("row", places[j], to.is_taken.size());
            job.*sent = to.data + place * dim();
            if (to.is_taken[place])
                throw py::value_error("row: two jobs have the place " + std::to_string(places[j]) + " of matrix " +
                                      std::to_string(matrices[j]));
            to.is_taken[place] = true;
            given.jobs.push_back(job);
        }
        const py::gil_scoped_release release;
        crew_.train(given.jobs, watch(py::none()));
    }

    void logits(const py::object& x, const py::object& features, const py::object& out) {
        const auto models = matrix_of<Real>("x", x);
        if (side_of(x, 1) != dim()) refuse("x", "rows of " + std::to_string(dim()), x);
        const auto in = features_of(features);
        Real* const to = matrix_out<Real>("out", out, side_of(x, 0) * side_of(features, 0), crew_.network().classes()).data();
        const Pins pins = pinned({x, features, out});
        const py::gil_scoped_release release;
        crew_.logits(models, in, to, watch(py::none()));
    }

    std::uint64_t forward(const py::object& x, const py::object& features, const py::object& masks, const py::object& out) {
        const Real* const from = model("x", x);
        const auto in = features_of(features);
        Real* const to = logits_out(features, out);
        const Pins pins = pinned({x, features, out});
        typename train::Worker<Real>::Masks words{};
        if (!masks.is_none()) {
            const auto [seed, client, k, skip] = masks.cast<std::tuple<std::uint64_t, std::uint32_t, std::uint32_t, std::uint64_t>>();
            words = {seed, client, k, skip};
        }
        const bool masked = !masks.is_none();
        const py::gil_scoped_release release;
        return crew_.forward(from, in, masked ? &words : nullptr, to);
    }

    void pullback(const py::object& dlogits, const py::object& out) {
        const auto from = matrix_of<Real>("dlogits", dlogits);
        const std::size_t rows = crew_.forward_rows(), classes = crew_.network().classes();
        if (side_of(dlogits, 0) != rows || side_of(dlogits, 1) != classes)
            refuse("dlogits", "shape (" + std::to_string(rows) + ", " + std::to_string(classes) + ") of the last forward", dlogits);
        Real* const to = model_out("out", out);
        const Pins pins = pinned({dlogits, out});
        const py::gil_scoped_release release;
        crew_.pullback(from, to);
    }

private:
    /// Jobs with the memory to which they point.
    struct Given {
        std::vector<Job<Real>> jobs;
        std::vector<std::vector<std::int64_t>> shards;
        Pins pins;
    };

    struct Matrix {
        Real* data;
        std::vector<bool> is_taken;  // by a job, for every row
    };

    Rule<Real> rule_of(const py::object& rule, Given& given) const {
        const auto number = [&](const char* name) { return rule.attr(name).cast<Real>(); };
        const auto vector = [&](const char* name) { return maybe(name, held(rule, name, given)); };
        return {number("lr"),         number("weight_decay"), number("prox"), model("start", held(rule, "start", given)),
                vector("correction"), vector("anchor")};
    }

    /// Returns an array attribute of an object; its memory stays while threads compute.
    static py::object held(const py::object& owner, const char* name, Given& given) {
        py::object array = owner.attr(name);
        given.pins.add(array);
        return array;
    }

    static Real* Job<Real>::*sent_as(const std::string& name) {
        if (name == "delta") return &Job<Real>::delta;
        if (name == "first_gradient") return &Job<Real>::first_gradient;
        if (name == "mean_gradient") return &Job<Real>::mean_gradient;
        throw py::value_error("sends: expected delta, first_gradient or mean_gradient, got " + name);
    }

    Matrix deltas_out(const py::object& object, Given& given) const {
        const auto view = matrix_of<Real>("out", object);
        if (side_of(object, 1) != dim()) refuse("out", "rows of " + std::to_string(dim()), object);
        given.pins.add(object);
        return {writeable<Real>("out", object, view).data(), std::vector<bool>(side_of(object, 0))};
    }

    static Pins pinned(std::initializer_list<py::object> arrays) {
        Pins pins;
        for (const py::object& array : arrays) pins.add(array);
        return pins;
    }

    Examples<Real> examples(const std::vector<std::size_t>& input, const py::object& x, std::size_t padding, const py::object& fill) const {
        std::size_t width = 1;
        for (std::size_t side : input) width *= side;
        const auto features = matrix_of<Real>("x", x);
        if (features.size() != y_.size() * width)
            refuse("x", "shape (" + std::to_string(y_.size()) + ", " + std::to_string(width) + "), a row per label", x);
        if (fill.is_none()) return {features.data(), y_.data(), y_.size()};
        if (fill_.size() != input.front()) refuse("fill", "shape (" + std::to_string(input.front()) + ",), a number per channel", fill);
        return {features.data(), y_.data(), y_.size(), {padding, fill_.data()}};
    }

    const Real* model(const char* name, const py::handle& object) const { return vector_of<Real>(name, object, dim()).data(); }
    const Real* maybe(const char* name, const py::handle& object) const { return object.is_none() ? nullptr : model(name, object); }
    Real* model_out(const char* name, const py::handle& object) const { return output_of<Real>(name, object, dim()).data(); }
    std::span<const Real> features_of(const py::object& features) const {
        const auto view = matrix_of<Real>("features", features);
        const std::size_t width = crew_.network().input().size();
        if (side_of(features, 1) != width) refuse("features", "rows of " + std::to_string(width), features);
        return view;
    }
    Real* logits_out(const py::object& features, const py::object& out) const {
        return matrix_out<Real>("out", out, side_of(features, 0), crew_.network().classes()).data();
    }

    static std::size_t up_to(std::int64_t last, const std::string& name, std::int64_t value) {
        if (value < 0 || value > last)
            throw py::value_error(name + ": must be in 0 .. " + std::to_string(last) + ", got " + std::to_string(value));
        return static_cast<std::size_t>(value);
    }
    static std::size_t index_of(const std::string& name, std::int64_t value, std::size_t size) {
        return up_to(static_cast<std::int64_t>(size) - 1, name, value);
    }

    template <typename Integer>
    static Integer count(const std::string& name, const py::handle& object) {
        return static_cast<Integer>(up_to(std::numeric_limits<Integer>::max(), name, object.cast<std::int64_t>()));
    }

    Job<Real> job_of(const py::object& given_job, Given& given) const {
        const auto wanted = [&](const char* name) -> Real* {
            const py::object array = held(given_job, name, given);
            return array.is_none() ? nullptr : model_out(name, array);
        };
        Job<Real> job;
        job.client = count<std::uint32_t>("client", given_job.attr("client")), job.k = count<std::uint32_t>("k", given_job.attr("k"));
        job.steps = count<std::int64_t>("steps", given_job.attr("steps"));
        job.shard = given.shards.emplace_back(copied<std::int64_t>("shard", given_job.attr("shard")));
        job.rule = rule_of(given_job.attr("rule"), given);
        job.end = model_out("end", held(given_job, "end", given));
        job.first_gradient = wanted("first_gradient");
        job.mean_gradient = wanted("mean_gradient");
        job.full_gradient = wanted("full_gradient");
        return job;
    }

    /// Returns the function that answers signals such as Ctrl-C and reports progress while threads
    /// compute.
    static typename Crew<Real>::Watch watch(const py::object& progress) {
        const py::handle tell = progress;  // the caller holds it while threads compute
        return [tell](std::size_t done) {
            const py::gil_scoped_acquire acquire;
            if (PyErr_CheckSignals() != 0) throw py::error_already_set();
            if (!tell.is_none()) tell(done);
        };
    }

    Pins pins_;
    Shards shards_;
    std::vector<std::int64_t> y_;
    std::vector<Real> fill_;
    Crew<Real> crew_;
};

}  // namespace
}  // namespace fedbench::bindings
