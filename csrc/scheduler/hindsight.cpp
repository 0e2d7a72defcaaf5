#include "fedbench/hindsight.hpp"

#include <algorithm>

namespace fedbench {

Hindsight::Hindsight(const Scheduler& scheduler)
    : system_(scheduler.system()),
      presence_(scheduler.presence().availability(), system_.seed, system_.clients),
      pauses_(scheduler.pauses()) {
    if (scheduler.is_everybody_here()) return;
    windows_.reserve(system_.clients);
    for (std::uint32_t client = 0; client < system_.clients; ++client) windows_.push_back(presence_.at(client, 0));
}

Hindsight::Done Hindsight::done(std::uint32_t client, std::uint32_t k, std::int32_t steps, std::int64_t begin, std::int64_t end) {
    const std::int64_t all = system_.work.of(client, steps);
    const std::int64_t whole = system_.compute.job(system_.seed, Purpose::compute, client, k, steps, all);
    const std::int64_t worked = std::clamp<std::int64_t>(pauses_ ? there(client, begin, end) : end - begin, 0, whole);
    if (whole == 0) return {0, steps, all};
    const auto gradients = static_cast<std::int64_t>(static_cast<Wide>(worked) * all / whole);
    const std::int64_t in_steps = std::max<std::int64_t>(gradients - system_.work.beside_of(client), 0);
    return {worked, static_cast<std::int32_t>(in_steps / system_.work.per_step), gradients};
}

bool Hindsight::is_left(std::uint32_t client, std::int64_t time) {
    if (windows_.empty() || time < 1) return false;
    if (pauses_) return presence_.availability().last_leave(client) == time;
    const Window& stay = at(client, time - 1);
    return stay.from < time && stay.until == time;
}

std::int64_t Hindsight::there(std::uint32_t client, std::int64_t begin, std::int64_t end) {
    if (begin >= end) return 0;
    return windows_.empty() ? end - begin : presence_.online(client, at(client, begin), begin, end);
}

std::vector<Window> Hindsight::stays(std::uint32_t client, std::int64_t until) const {
    std::vector<Window> stays;
    Window stay = presence_.at(client, 0);
    while (stay.from < until) {
        stays.push_back({std::max<std::int64_t>(stay.from, 0), std::min(stay.until, until), stay.k});
        if (stay.until >= until) break;
        presence_.availability().advance(stay, system_.seed, client, stay.until);
    }
    return stays;
}

/// Returns the stay at `time` or the next one. Cursors only advance, so a question about an earlier
/// time starts anew.
const Window& Hindsight::at(std::uint32_t client, std::int64_t time) {
    Window& window = windows_[client];
    if (time < window.from) window = presence_.at(client, 0);
    presence_.availability().advance(window, system_.seed, client, time);
    return window;
}

}  // namespace fedbench
