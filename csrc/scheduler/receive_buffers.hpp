// The receive buffers of Broadcast and Mailbox: every version goes to every client, which holds the
// newest one that has reached it.
//
// A receive buffer is a function of time: client i holds the newest version that has reached it,
// which with a constant download is the newest one sent at or before now - download_i. So nothing
// is stored per client and version; only a client that waits for a model is woken, once. An update
// costs O(waiting), not O(N); over measured links it costs O(N).
#pragma once

#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "fedbench/scheduler.hpp"

namespace fedbench {

class ReceiveBuffers {
public:
    static constexpr std::int32_t kNone = -1;

    ReceiveBuffers(std::uint32_t clients, Receive receive)
        : clients_(clients), receive_(receive), used_(clients, kNone), reached_(clients, kNone) {}

    /// Sends version 0. Every client gets a `downloaded` event when it has arrived. `policy` is the
    /// name in messages.
    void begin(Scheduler& s, const std::string& policy) {
        const Transfer& way = s.system().download;
        if (!way.is_in_order())
            throw std::invalid_argument(policy +
                                        (way.is_traced() ? ": the latency of a link must be the same in all parts of its trace"
                                                         : ": download times must be constant per client") +
                                        ", so that versions arrive in the order in which they are sent");
        for (std::uint32_t i = 0; i < clients_ && is_constant(s); ++i) longest_download_ = std::max(longest_download_, download(s, i));
        for (std::uint32_t i = 0; i < clients_; ++i) waiting_.push_back(i);
        announce(s);
    }

    /// Sends the newest version, and wakes the clients that wait for it.
    void announce(Scheduler& s) {
        sent_.push_back(s.now());
        s.count_downloads(clients_);
        for (std::uint32_t i : waiting_) wake(s, i, s.version());
        waiting_.clear();
    }

    /// Returns the version that an idle client starts from now; pop empties its buffer. It is kNone
    /// if the client has no model that it may use; then a `downloaded` event comes when it does.
    std::int32_t take(Scheduler& s, std::uint32_t client) {
        const std::int32_t held = newest_reached(s, client);
        if (held == kNone || (receive_ == Receive::pop && held <= used_[client])) {
            wait(s, client);
            return kNone;
        }
        return used_[client] = held;
    }

    /// Whether there is a version, at the client or under way, that an idle client may start from.
    bool has_unused(const Scheduler& s, std::uint32_t client) const { return receive_ == Receive::peek || used_[client] < s.version(); }

    std::int64_t sent(std::int32_t version) const { return sent_[static_cast<std::size_t>(version)]; }

    /// Returns the duration of the download of a version that is sent now.
    std::int64_t download(const Scheduler& s, std::uint32_t client) const { return download(s, client, s.now()); }

    /// Returns the oldest version that some client may still start from.
    std::int32_t oldest_held(const Scheduler& s) const {
        if (is_constant(s)) return std::max(0, newest_sent_by(s.now() - longest_download_));
        std::int32_t oldest = s.version();
        for (std::uint32_t i = 0; i < clients_; ++i) oldest = std::min(oldest, newest_reached(s, i));
        return std::max(0, oldest);
    }

private:
    static bool is_constant(const Scheduler& s) { return s.system().download.is_constant(); }

    std::int64_t download(const Scheduler& s, std::uint32_t client, std::int64_t from) const {
        return s.system().download.takes(s.system().seed, Purpose::download, client, 0, from);
    }

    std::int64_t arrives(const Scheduler& s, std::uint32_t client, std::int32_t version) const {
        return sent(version) + download(s, client, sent(version));
    }

    /// Returns the newest version that the client holds now, or kNone if it has none yet.
    std::int32_t newest_reached(const Scheduler& s, std::uint32_t client) const {
        if (is_constant(s)) return newest_sent_by(s.now() - download(s, client));
        const auto has_come = [&](std::int32_t version) { return arrives(s, client, version) <= s.now(); };
        std::int32_t& newest = reached_[client];
        // Versions come in order: halve newest + 1 .. end until the first that has not come.
        auto end = static_cast<std::int32_t>(sent_.size());
        for (std::int32_t step = newest + 1; newest + 1 < end; step = newest + (end - newest) / 2) {
            if (has_come(step)) newest = step;
            else end = step;
        }
        return newest;
    }

    std::int32_t newest_sent_by(std::int64_t time) const {
        return static_cast<std::int32_t>(std::upper_bound(sent_.begin(), sent_.end(), time) - sent_.begin()) - 1;
    }

    /// Adds the event that tells the client when `version` has reached it.
    void wake(Scheduler& s, std::uint32_t client, std::int32_t version) { s.at(arrives(s, client, version), Phase::downloaded, client); }

    /// Makes a client without an unused model wait: the next one is under way, or comes with a
    /// later update.
    void wait(Scheduler& s, std::uint32_t client) {
        const std::int32_t next = used_[client] + 1;
        if (next <= s.version()) wake(s, client, next);
        else waiting_.push_back(client);
    }

    std::uint32_t clients_;
    Receive receive_;
    std::vector<std::int32_t> used_;             // by client: the version it started from last
    std::vector<std::int64_t> sent_;             // by version
    std::vector<std::uint32_t> waiting_;         // clients that are idle and have used the newest version
    std::int64_t longest_download_ = 0;          // where downloads are constant
    mutable std::vector<std::int32_t> reached_;  // by client, over measured links: the last answer, where the next search begins
};

}  // namespace fedbench
