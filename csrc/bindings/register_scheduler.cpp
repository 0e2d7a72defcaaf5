#include <pybind11/native_enum.h>

#include "arrays.hpp"
#include "fedbench/scheduler.hpp"
#include "register.hpp"

namespace fedbench::bindings {

namespace {

template <typename T>
Table<T> table_of(const std::vector<std::vector<T>>& rows) {
    Table<T> table;
    table.offsets.push_back(0);
    for (const auto& row : rows) {
        table.values.insert(table.values.end(), row.begin(), row.end());
        table.offsets.push_back(static_cast<std::int64_t>(table.values.size()));
    }
    return table;
}

template <auto Columns, auto Column>
py::array chunk_column(const py::object& chunk) {
    return column((chunk.cast<const PlanChunk&>().*Columns).*Column, chunk);
}

constexpr const char* kOutcomes[] = {"running", "finished", "stalled"};  // by Outcome

/// Defines a property that refuses to be read while a call of the same scheduler is under way in
/// another thread.
template <typename Read>
auto property(const char* name, Read read) {
    return [name, read](const Scheduler& scheduler) {
        const auto call = scheduler.enter(name);
        return read(scheduler);
    };
}

Transfer transfer_of(const py::object& way) {
    if (py::isinstance<Traces>(way)) return way.cast<const Traces&>();
    return way.cast<const Durations&>();
}

void register_inputs(py::module_& module) {
    py::native_enum<DurationKind>(module, "DurationKind", "enum.Enum", "Distribution of a duration; a and b are its parameters.")
        .value("constant", DurationKind::constant)
        .value("uniform", DurationKind::uniform)
        .value("exponential", DurationKind::exponential)
        .value("lognormal", DurationKind::lognormal)
        .value("pareto", DurationKind::pareto)
        .value("table", DurationKind::table)
        .finalize();
    py::class_<Durations>(module, "Durations", "Seconds for every (client, job), drawn or scripted.")
        .def(py::init([](std::string name, DurationKind kind, const py::object& a, const py::object& b, bool per_step) {
                 return Durations(std::move(name), kind, copied<double>("a", a), copied<double>("b", b), per_step, {});
             }),
             py::kw_only(), py::arg("name"), py::arg("kind"), py::arg("a"), py::arg("b"), py::arg("per_step"))
        .def_static(
            "table",
            [](std::string name, const std::vector<std::vector<double>>& rows, bool per_step) {
                return Durations(std::move(name), DurationKind::table, {}, {}, per_step, table_of(rows));
            },
            py::kw_only(), py::arg("name"), py::arg("rows"), py::arg("per_step"));
    py::class_<Traces>(module, "Traces", "A message over measured links, one trace per client; see csrc/include/fedbench/traces.hpp.")
        .def(py::init([](std::string name, const py::object& offsets, const py::object& duration_ns, const py::object& bits_per_second,
                         const py::object& latency_ns, const py::object& trace_of, const py::object& shift_ns, std::int64_t bits,
                         std::int64_t exchanges, std::int64_t more_ns) {
                 using Numbers = std::int64_t;
                 const TraceParts parts{copied<Numbers>("offsets", offsets), copied<Numbers>("duration_ns", duration_ns),
                                        copied<Numbers>("bits_per_second", bits_per_second), copied<Numbers>("latency_ns", latency_ns)};
                 return Traces(std::move(name), parts, copied<std::int32_t>("trace_of", trace_of), copied<Numbers>("shift_ns", shift_ns),
                               Message{bits, exchanges, more_ns});
             }),
             py::kw_only(), py::arg("name"), py::arg("offsets"), py::arg("duration_ns"), py::arg("bits_per_second"), py::arg("latency_ns"),
             py::arg("trace_of"), py::arg("shift_ns"), py::arg("bits"), py::arg("exchanges"), py::arg("more_ns"))
        .def(
            "takes",
            [](const Traces& traces, std::uint32_t clients, std::int64_t from_ns) {
                traces.check_clients(clients);
                if (from_ns < 0) throw std::invalid_argument("from_ns: must be >= 0, got " + std::to_string(from_ns));
                std::vector<std::int64_t> ns;
                for (std::uint32_t client = 0; client < clients; ++client) ns.push_back(traces.takes(client, from_ns));
                return take(std::move(ns));
            },
            py::arg("clients"), py::arg("from_ns"));
    py::class_<Steps>(module, "Steps", "Local steps for every (client, job).")
        .def_static(
            "constant", [](const py::object& values) { return Steps::constant(copied<std::int32_t>("steps", values)); }, py::arg("values"))
        .def_static(
            "table", [](const std::vector<std::vector<std::int32_t>>& rows) { return Steps::table(table_of(rows)); }, py::arg("rows"))
        .def_static("normal", &Steps::normal, py::arg("mean"), py::arg("variance"));
    py::native_enum<WhenOffline>(module, "WhenOffline", "enum.Enum", "What becomes of a job whose client leaves.")
        .value("lost", WhenOffline::lost)
        .value("paused", WhenOffline::paused)
        .finalize();
    py::class_<Availability>(module, "Availability", "When clients are there.")
        .def(py::init<>())
        .def_static(
            "periodic",
            [](const py::object& period, const py::object& on_fraction, const py::object& phase) {
                return Availability::periodic(copied<double>("period_seconds", period), copied<double>("on_fraction", on_fraction),
                                              copied<double>("phase", phase));
            },
            py::arg("period_seconds"), py::arg("on_fraction"), py::arg("phase"))
        .def_static(
            "alternating",
            [](const py::object& mean_on, const py::object& mean_off) {
                return Availability::alternating(copied<double>("mean_on_seconds", mean_on), copied<double>("mean_off_seconds", mean_off));
            },
            py::arg("mean_on_seconds"), py::arg("mean_off_seconds"))
        .def_static(
            "table",
            [](const std::vector<std::vector<double>>& rows, double period) { return Availability::table(table_of(rows), period); },
            py::arg("rows"), py::arg("period_seconds"));
}

void register_policies(py::module_& module) {
    py::native_enum<Select>(module, "Select", "enum.Enum", "How a round's cohort is chosen.")
        .value("all", Select::all)
        .value("without_replacement", Select::without_replacement)
        .value("with_replacement", Select::with_replacement)
        .value("weighted", Select::weighted)
        .value("scripted", Select::scripted)
        .value("external", Select::external)
        .finalize();
    py::native_enum<Restart>(module, "Restart", "enum.Enum", "Who follows an arrived client.")
        .value("resample", Restart::resample)
        .value("self", Restart::self)
        .finalize();
    py::native_enum<DispatchOrder>(module, "DispatchOrder", "enum.Enum", "Replacement before or after the update of the same instant.")
        .value("after_update", DispatchOrder::after_update)
        .value("before_update", DispatchOrder::before_update)
        .finalize();
    py::native_enum<Receive>(module, "Receive", "enum.Enum", "Does a started job empty the receive buffer?")
        .value("pop", Receive::pop)
        .value("peek", Receive::peek)
        .finalize();
    py::native_enum<Send>(module, "Send", "enum.Enum", "Does a client go on before its result is taken?")
        .value("continuous", Send::continuous)
        .value("on_demand", Send::on_demand)
        .finalize();
    py::native_enum<Resend>(module, "Resend", "enum.Enum", "To whom does the newest version go?")
        .value("turn", Resend::turn)
        .value("newest", Resend::newest)
        .finalize();
    py::class_<Rounds>(module, "Rounds")
        .def(py::init([](Select select, std::uint32_t cohort, std::vector<double> probabilities,
                         const std::vector<std::vector<std::int32_t>>& selections, double deadline_seconds, std::uint32_t over_selection) {
                 const std::int64_t deadline_ns = to_nanoseconds(deadline_seconds, "rounds: deadline_seconds");
                 return Rounds{select, cohort, std::move(probabilities), table_of(selections), deadline_ns, over_selection};
             }),
             py::kw_only(), py::arg("select"), py::arg("cohort"), py::arg("probabilities"), py::arg("selections"),
             py::arg("deadline_seconds"), py::arg("over_selection"));
    py::class_<StreamPolicy>(module, "StreamPolicy")
        .def(py::init([](std::uint32_t concurrency, std::uint32_t buffer, Restart restart, DispatchOrder order,
                         std::vector<std::int32_t> initial, std::vector<std::int32_t> replacements, bool scripted,
                         std::int64_t max_staleness, bool stop_stale, double harmonic) {
                 return StreamPolicy{concurrency, buffer,        restart,    order,   std::move(initial), std::move(replacements),
                                     scripted,    max_staleness, stop_stale, harmonic};
             }),
             py::kw_only(), py::arg("concurrency"), py::arg("buffer"), py::arg("restart"), py::arg("order"), py::arg("initial"),
             py::arg("replacements"), py::arg("scripted"), py::arg("max_staleness"), py::arg("stop_stale"), py::arg("harmonic"));
    py::class_<Routed>(module, "Routed")
        .def(py::init([](std::uint32_t tasks, std::uint32_t buffer, const py::object& routing, std::vector<std::int32_t> initial,
                         std::vector<std::int32_t> replacements, bool scripted) {
                 return Routed{tasks, buffer, copied<double>("routing", routing), std::move(initial), std::move(replacements), scripted};
             }),
             py::kw_only(), py::arg("tasks"), py::arg("buffer"), py::arg("routing"), py::arg("initial"), py::arg("replacements"),
             py::arg("scripted"));
    module.def(
        "route",
        [](const py::object& p, const py::object& u) {
            const Routing routing(copied<double>("p", p));
            std::vector<std::int32_t> clients;
            for (double each : copied<double>("u", u)) clients.push_back(static_cast<std::int32_t>(routing.client(each)));
            return take(std::move(clients));
        },
        py::arg("p"), py::arg("u"));
    py::class_<Broadcast>(module, "Broadcast")
        .def(py::init([](std::uint32_t buffer, Receive receive) {
                 return Broadcast{buffer, receive};
             }),
             py::kw_only(), py::arg("buffer"), py::arg("receive"));
    py::class_<Mailbox>(module, "Mailbox")
        .def(py::init([](std::uint32_t cohort, Send send, Receive receive, const std::vector<std::vector<std::int32_t>>& selections) {
                 return Mailbox{cohort, send, receive, table_of(selections)};
             }),
             py::kw_only(), py::arg("cohort"), py::arg("send"), py::arg("receive"), py::arg("selections"));
    py::class_<Poll>(module, "Poll")
        .def(py::init([](double period_seconds, std::int32_t max_steps, std::uint32_t cohort,
                         const std::vector<std::vector<std::int32_t>>& selections) {
                 return Poll{to_nanoseconds(period_seconds, "poll: period_seconds"), max_steps, cohort, table_of(selections)};
             }),
             py::kw_only(), py::arg("period_seconds"), py::arg("max_steps"), py::arg("cohort"), py::arg("selections"));
    py::class_<Turns>(module, "Turns").def(py::init([](Resend resend) { return Turns{resend}; }), py::kw_only(), py::arg("resend"));
}

void register_chunk(py::module_& module) {
    py::class_<PlanChunk>(module, "PlanChunk", "A piece of a plan as columns: read-only views, no copies. Times in nanoseconds.")
        .def_readonly("first_version", &PlanChunk::first_version)
        .def_readonly("done", &PlanChunk::done)
        .def_property_readonly("client", &chunk_column<&PlanChunk::jobs, &JobColumns::client>)
        .def_property_readonly("k", &chunk_column<&PlanChunk::jobs, &JobColumns::k>)
        .def_property_readonly("base", &chunk_column<&PlanChunk::jobs, &JobColumns::base>)
        .def_property_readonly("steps", &chunk_column<&PlanChunk::jobs, &JobColumns::steps>)
        .def_property_readonly("consumed_by", &chunk_column<&PlanChunk::jobs, &JobColumns::consumed_by>)
        .def_property_readonly("t_dispatch", &chunk_column<&PlanChunk::jobs, &JobColumns::t_dispatch>)
        .def_property_readonly("t_start", &chunk_column<&PlanChunk::jobs, &JobColumns::t_start>)
        .def_property_readonly("t_finish", &chunk_column<&PlanChunk::jobs, &JobColumns::t_finish>)
        .def_property_readonly("t_arrive", &chunk_column<&PlanChunk::jobs, &JobColumns::t_arrive>)
        .def_property_readonly("t_lost", &chunk_column<&PlanChunk::jobs, &JobColumns::t_lost>)
        .def_property_readonly("t_stop", &chunk_column<&PlanChunk::jobs, &JobColumns::t_stop>)
        .def_property_readonly("time", &chunk_column<&PlanChunk::updates, &UpdateColumns::time>)
        .def_property_readonly("offsets", &chunk_column<&PlanChunk::updates, &UpdateColumns::offsets>)
        .def_property_readonly("entries", &chunk_column<&PlanChunk::updates, &UpdateColumns::entries>)
        .def_property_readonly("resumed", [](const py::object& chunk) { return column(chunk.cast<const PlanChunk&>().resumed, chunk); })
        .def_property_readonly("live_bases",
                               [](const py::object& chunk) { return column(chunk.cast<const PlanChunk&>().live_bases, chunk); });
}

}  // namespace

void register_scheduler(py::module_& module) {
    register_inputs(module);
    register_policies(module);
    register_chunk(module);
    py::class_<Scheduler> scheduler(module, "Scheduler", "Plays the virtual clock; see csrc/include/fedbench/scheduler.hpp.");
    scheduler
        .def(py::init([](std::uint32_t clients, std::uint64_t seed, const Durations& compute, const py::object& download,
                         const py::object& upload, const Steps& steps, const Availability& availability, WhenOffline when_offline,
                         const py::object& dropout, std::int32_t gradients_per_step, const py::object& gradients_beside,
                         std::int64_t start_ns, std::int64_t server_ns, PolicyConfig policy, std::int32_t max_updates, double max_seconds,
                         std::int64_t max_jobs) {
                 return Scheduler(
                     SystemModel{clients, seed, compute, transfer_of(download), transfer_of(upload), steps, start_ns, availability,
                                 when_offline, Dropout(copied<double>("dropout", dropout)),
                                 GradientWork{gradients_per_step, copied<std::int32_t>("gradients_beside", gradients_beside)}, server_ns},
                     std::move(policy), Budget{max_updates, to_nanoseconds(max_seconds, "budget.seconds"), max_jobs});
             }),
             py::kw_only(), py::arg("clients"), py::arg("seed"), py::arg("compute"), py::arg("download"), py::arg("upload"),
             py::arg("steps"), py::arg("availability"), py::arg("when_offline"), py::arg("dropout"), py::arg("gradients_per_step"),
             py::arg("gradients_beside"), py::arg("start_ns"), py::arg("server_ns"), py::arg("policy"), py::arg("max_updates"),
             py::arg("max_seconds"), py::arg("max_jobs"))
        .def("next", &Scheduler::next, py::arg("max_updates"), py::call_guard<py::gil_scoped_release>())
        .def(
            "select", [](Scheduler& s, const py::object& clients) { s.select(copied<std::int32_t>("select: clients", clients)); },
            py::arg("clients"));
    const auto read = [&](const char* name, auto reader) { scheduler.def_property_readonly(name, property(name, reader)); };
    read("awaiting_selection", [](const Scheduler& s) { return s.is_asking(); });
    read("available", [](const Scheduler& s) { return take(s.available()); });
    read("outcome", [](const Scheduler& s) { return kOutcomes[static_cast<std::size_t>(s.outcome())]; });
    read("ended_by", [](const Scheduler& s) { return s.ended_by(); });
    read("missing", [](const Scheduler& s) { return s.missing(); });
    read("now", [](const Scheduler& s) { return s.now(); });
    read("end", [](const Scheduler& s) { return s.end(); });
    read("version", [](const Scheduler& s) { return s.version(); });
    read("totals", [](const Scheduler& s) {
        const PlanTotals& totals = s.totals();
        return py::dict(py::arg("jobs") = totals.jobs_created, py::arg("downloads") = totals.downloads,
                        py::arg("messages_peak") = totals.messages_peak, py::arg("open_jobs_peak") = totals.open_jobs_peak);
    });
}

}  // namespace fedbench::bindings
