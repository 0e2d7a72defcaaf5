#include "arrays.hpp"
#include "fedbench/hindsight.hpp"
#include "register.hpp"

namespace fedbench::bindings {

namespace {

/// Columns of one length, whose first one names clients.
struct Rows {
    Rows(const Hindsight& hindsight, const py::object& names) : client(vector_of<std::int32_t>("client", names)) {
        for (std::int32_t i : client)
            if (i < 0 || static_cast<std::uint32_t>(i) >= hindsight.clients())
                throw py::value_error("client: there are " + std::to_string(hindsight.clients()) + " clients, got " + std::to_string(i));
    }

    template <typename T>
    std::span<const T> column(const char* name, const py::object& array) const {
        const auto view = vector_of<T>(name, array);
        if (view.size() != client.size()) refuse(name, std::to_string(client.size()) + " entries, one per client", array);
        return view;
    }

    std::span<const std::int32_t> client;
};

py::tuple done(Hindsight& hindsight, const py::object& client, const py::object& k, const py::object& steps, const py::object& begin,
               const py::object& end) {
    const Rows rows(hindsight, client);
    const auto number = rows.column<std::int32_t>("k", k), planned = rows.column<std::int32_t>("steps", steps);
    const auto from = rows.column<std::int64_t>("begin", begin), until = rows.column<std::int64_t>("end", end);
    std::vector<std::int64_t> worked, gradients;
    std::vector<std::int32_t> did;
    for (std::size_t i = 0; i < rows.client.size(); ++i) {  // under the interpreter's lock: it serves one caller at a time
        const Hindsight::Done one = hindsight.done(static_cast<std::uint32_t>(rows.client[i]), static_cast<std::uint32_t>(number[i]),
                                                   planned[i], from[i], until[i]);
        worked.push_back(one.worked);
        did.push_back(one.steps);
        gradients.push_back(one.gradients);
    }
    return py::make_tuple(take(std::move(worked)), take(std::move(did)), take(std::move(gradients)));
}

py::array is_left(Hindsight& hindsight, const py::object& client, const py::object& time) {
    const Rows rows(hindsight, client);
    const auto when = rows.column<std::int64_t>("time", time);
    py::array_t<bool> out(static_cast<py::ssize_t>(rows.client.size()));
    for (std::size_t i = 0; i < rows.client.size(); ++i)
        out.mutable_data()[i] = hindsight.is_left(static_cast<std::uint32_t>(rows.client[i]), when[i]);
    return out;
}

py::array there(Hindsight& hindsight, std::int64_t until) {
    std::vector<std::int64_t> times(hindsight.clients());
    for (std::uint32_t client = 0; client < hindsight.clients(); ++client) times[client] = hindsight.there(client, 0, until);
    return take(std::move(times));
}

std::vector<std::pair<std::int64_t, std::int64_t>> stays(const Hindsight& hindsight, std::uint32_t client, std::int64_t until) {
    if (client >= hindsight.clients())
        throw py::value_error("client: there are " + std::to_string(hindsight.clients()) + " clients, got " + std::to_string(client));
    std::vector<std::pair<std::int64_t, std::int64_t>> pairs;
    for (const Window& stay : hindsight.stays(client, until)) pairs.emplace_back(stay.from, stay.until);
    return pairs;
}

}  // namespace

void register_hindsight(py::module_& module) {
    py::class_<Hindsight>(module, "Hindsight", "Looking back on a plan; see csrc/include/fedbench/hindsight.hpp.")
        .def(py::init<const Scheduler&>(), py::arg("scheduler"))
        .def("done", &done, py::arg("client"), py::arg("k"), py::arg("steps"), py::arg("begin"), py::arg("end"),
             "Nanoseconds of work, whole steps and gradients of every job.")
        .def("is_left", &is_left, py::arg("client"), py::arg("time"), "Did the client leave at that time?")
        .def("there", &there, py::arg("until"), "Nanoseconds that every client is there before `until` (N,) int64.")
        .def("stays", &stays, py::arg("client"), py::arg("until"), "Pairs of from and until.");
}

}  // namespace fedbench::bindings
