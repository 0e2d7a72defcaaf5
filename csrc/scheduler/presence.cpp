#include <algorithm>
#include <utility>

#include "fedbench/availability.hpp"

namespace fedbench {

Presence::Presence(Availability availability, std::uint64_t seed, std::uint32_t clients)
    : availability_(std::move(availability)), seed_(seed) {
    if (availability_.is_always()) return;
    windows_.reserve(clients);
    for (std::uint32_t client = 0; client < clients; ++client) windows_.push_back(availability_.first(seed, client));
}

bool Presence::is_on(std::uint32_t client, std::int64_t now) {
    if (windows_.empty()) return true;
    availability_.advance(windows_[client], seed_, client, now);
    return windows_[client].from <= now;
}

Window Presence::at(std::uint32_t client, std::int64_t time) const {
    if (windows_.empty()) return {};
    Window window = windows_[client];
    availability_.advance(window, seed_, client, time);
    return window;
}

std::int64_t Presence::next_on(std::uint32_t client, std::int64_t time) const { return std::max(time, at(client, time).from); }

std::int64_t Presence::leaves(std::uint32_t client, std::int64_t time) const {
    const Window window = at(client, time);
    return window.from <= time ? window.until : time;
}

std::int64_t Presence::finish(std::uint32_t client, std::int64_t time, std::int64_t duration) const {
    if (time == kForever) return kForever;
    if (duration == 0 || windows_.empty()) return time + duration;
    Window window = at(client, time);
    const auto [length, on] = availability_.cycle(client);
    if (on > 0 && duration > on) {  // whole repetitions at once: each brings `on`, wherever it begins
        const std::int64_t repetitions = (duration - 1) / on;
        std::int64_t away = 0;
        if (__builtin_mul_overflow(repetitions, length, &away) || __builtin_add_overflow(time, away, &time)) return kForever;
        duration -= repetitions * on;
        availability_.advance(window, seed_, client, time);
    }
    while (window.from != kForever) {
        const std::int64_t begin = std::max(time, window.from);
        if (duration <= window.until - begin) return begin + duration;
        duration -= window.until - begin;
        time = window.until;
        availability_.advance(window, seed_, client, time);
    }
    return kForever;
}

std::int64_t Presence::online(std::uint32_t client, Window window, std::int64_t begin, std::int64_t end) const {
    std::int64_t total = 0;
    const auto [length, on] = availability_.cycle(client);
    if (on > 0 && window.until < end) {
        const std::int64_t repetitions = (end - begin) / length;
        total = repetitions * on;
        begin += repetitions * length;
    }
    for (;;) {
        availability_.advance(window, seed_, client, begin);
        if (window.from >= end) return total;
        total += std::min(window.until, end) - std::max(window.from, begin);
        if (window.until >= end) return total;
        begin = window.until;
    }
}

}  // namespace fedbench
