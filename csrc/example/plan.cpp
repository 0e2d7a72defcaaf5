// A plan without Python: ten clients work at a time, and five arrivals make an update.
#include <cstdio>

#include "fedbench/scheduler.hpp"

using namespace fedbench;

int main() {
    const Durations seconds_a_job("compute", DurationKind::exponential, {2.0}, {}, false, {});
    const Durations seconds_a_model("network", DurationKind::constant, {0.1}, {}, false, {});
    const SystemModel system{.clients = 100,
                             .seed = 1,
                             .compute = seconds_a_job,
                             .download = seconds_a_model,
                             .upload = seconds_a_model,
                             .steps = Steps::constant({10})};
    Scheduler scheduler(system, StreamPolicy{.concurrency = 10, .buffer = 5},
                        Budget{.updates = 1000, .time_ns = kForever / 2, .jobs = 9999});
    const PlanChunk plan = scheduler.next(1000);
    std::printf("%zu updates of %zu jobs in %.1f virtual s\n", plan.updates.time.size(), plan.jobs.size(),
                static_cast<double>(scheduler.now()) / kNanosecondsPerSecond);
}
