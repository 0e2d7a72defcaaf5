// The policy Stream: buffered asynchronous dispatch [FedBuff, FedAsync and their kin].
#include <algorithm>
#include <numeric>
#include <stdexcept>

#include "arrivals.hpp"
#include "fedbench/scheduler.hpp"
#include "script.hpp"
#include "under_way.hpp"

namespace fedbench {

namespace {

class BufferedStream final : public Policy {
public:
    BufferedStream(StreamPolicy config, std::uint32_t clients)
        : config_(std::move(config)), clients_(clients), arrivals_(config_.buffer, config_.harmonic, clients) {
        check();
        if (draws()) {
            idle_.resize(clients);
            std::iota(idle_.begin(), idle_.end(), 0);
        } else {
            busy_.assign(clients, 0);
        }
        if (config_.stop_stale) under_way_ = UnderWay(clients);
    }

    void begin(Scheduler& s) override {
        if (config_.initial.empty()) {
            draw_initial(s);
        } else {
            start_scripted(s);
        }
        random_ = fedbench::RandomStream(s.system().seed, Purpose::replacement);
    }

    void on_event(Scheduler& s, const Event& event) override {
        switch (event.phase()) {
            case Phase::arrival:
                return receive(s, event);
            case Phase::lost:
                s.lose(event.slot());
                return set_free(s, event.client());
            case Phase::returned:
                if (draws()) idle_.push_back(event.client());
                else back_.push_back(event.client());
                return soon(s);
            default:
                return start_all(s);
        }
    }

    /// If nobody works, whether the client would have to come back.
    bool awaits(std::uint32_t client) const override { return draws() || busy_[client]; }

private:
    bool draws() const { return config_.restart == Restart::resample && !config_.scripted; }

    void check() const {
        const StreamPolicy& c = config_;
        if (c.concurrency < 1) throw std::invalid_argument("stream: concurrency must be >= 1, got 0");
        if (c.concurrency > clients_)
            throw std::invalid_argument("stream: concurrency " + std::to_string(c.concurrency) + " is more than the " +
                                        std::to_string(clients_) + " clients");
        check_initial(c.initial, c.concurrency);
        check_staleness();
        if (c.harmonic != 0 && (c.restart != Restart::self || c.scripted || c.concurrency != clients_))
            throw std::invalid_argument("stream: close harmonic needs restart self and all " + std::to_string(clients_) +
                                        " clients at work, got concurrency " + std::to_string(c.concurrency) +
                                        (c.restart == Restart::self ? "" : " and restart resample"));
    }

    void check_staleness() const {
        const StreamPolicy& c = config_;
        if (c.max_staleness < kAnyStaleness)
            throw std::invalid_argument("stream: max_staleness must be >= 0, got " + std::to_string(c.max_staleness));
        if (c.max_staleness == kAnyStaleness && c.stop_stale)
            throw std::invalid_argument("stream: stop_stale needs max_staleness, which says what is stale");
        if (c.max_staleness != kAnyStaleness && c.order == DispatchOrder::before_update)
            throw std::invalid_argument("stream: max_staleness needs order after_update, got before_update");
    }

    void receive(Scheduler& s, const Event& event) {
        if (is_stale(s, event.slot())) {
            s.discard(event.slot());
            return set_free(s, event.client());
        }
        arrivals_.add(event.client(), event.slot());
        set_free(s, event.client());
        if (!arrivals_.is_full()) return;
        s.update(arrivals_.slots());
        arrivals_.clear();
    }

    /// Compares with the version that would consume it at this moment: an earlier arrival of the
    /// instant may have raised it.
    bool is_stale(const Scheduler& s, Scheduler::Slot slot) const {
        return config_.max_staleness != kAnyStaleness && s.consuming_version() - s.job(slot).base > config_.max_staleness;
    }

    /// Called when the client's job is over, so a place is vacant. It is filled at once, or when
    /// all else of this instant has happened.
    void set_free(Scheduler& s, std::uint32_t client) {
        rest(client);
        if (config_.order == DispatchOrder::before_update) return replace(s, client);
        freed_.push_back(client);
        soon(s);
    }

    void rest(std::uint32_t client) {
        under_way_.remove(client);
        if (draws()) idle_.push_back(client);
        else busy_[client] = 0;
    }

    void soon(Scheduler& s) {
        if (!is_soon_) s.at(s.now(), Phase::dispatch, 0);
        is_soon_ = true;
    }

    void start_all(Scheduler& s) {
        is_soon_ = false;
        if (config_.stop_stale) stop_stale(s);
        for (std::uint32_t client : back_) work(s, client);
        back_.clear();
        for (std::uint32_t client : freed_) replace(s, client);
        freed_.clear();
        if (vacant_ > 0) fill(s);
    }

    /// Calls off the jobs that have become too stale. The client that has worked for longest, and
    /// so on the oldest version, is first in the list, so no other client is looked at.
    void stop_stale(Scheduler& s) {
        const auto arrived = static_cast<std::ptrdiff_t>(freed_.size());
        while (!under_way_.empty() && is_stale(s, under_way_.slot(under_way_.first()))) {
            const std::uint32_t client = under_way_.first();
            s.stop(under_way_.slot(client));
            under_way_.remove(client);
            freed_.push_back(client);
        }
        std::sort(freed_.begin() + arrived, freed_.end());
        std::for_each(freed_.begin() + arrived, freed_.end(), [this](std::uint32_t client) { rest(client); });
    }

    /// Starts the client now or, if it is away, when it is back: its place is kept.
    void start(Scheduler& s, std::uint32_t client) {
        if (!draws()) {  // a drawn client is idle by construction
            if (busy_[client])
                throw std::invalid_argument("stream: client " + std::to_string(client) + " is dispatched while it still works");
            busy_[client] = 1;
            if (!s.is_here(client)) return s.await_return(client);
        }
        work(s, client);
    }

    void work(Scheduler& s, std::uint32_t client) {
        const Scheduler::Slot slot = s.dispatch(client);
        if (config_.stop_stale) under_way_.add(client, slot);
    }

    void start_scripted(Scheduler& s) {
        std::vector<char> started(clients_, 0);
        for (std::int32_t name : config_.initial) {
            const std::uint32_t client = named_client(name, "initial", clients_);
            if (started[client]) throw std::invalid_argument("stream: initial lists client " + std::to_string(client) + " twice");
            started[client] = 1;
            start(s, client);
        }
        std::erase_if(idle_, [&](std::uint32_t client) { return started[client] != 0; });
    }

    /// Draws concurrency distinct clients: the first places of a Fisher-Yates shuffle of 0 .. N -
    /// 1; the rest stay idle. Drawn clients that are away are passed over, and wait for their
    /// return.
    void draw_initial(Scheduler& s) {
        fedbench::RandomStream random(s.system().seed, Purpose::initial);
        std::vector<std::uint32_t> order(clients_);
        std::iota(order.begin(), order.end(), 0);
        std::uint32_t drawn = 0;
        for (vacant_ = config_.concurrency; vacant_ > 0 && drawn < clients_; ++drawn) {
            std::swap(order[drawn], order[drawn + random.below(clients_ - drawn)]);
            if (draws() && !s.is_here(order[drawn])) {
                s.await_return(order[drawn]);
                continue;
            }
            start(s, order[drawn]);
            --vacant_;
        }
        if (draws()) idle_.assign(order.begin() + drawn, order.end());
    }

    /// Gives the place of `client`, whose job is over, to somebody.
    void replace(Scheduler& s, std::uint32_t client) {
        if (config_.restart == Restart::self) return start(s, client);
        if (config_.scripted) return start(s, next_replacement(config_.replacements, next_replacement_, clients_));
        ++vacant_;
        fill(s);
    }

    /// Gives the vacant places to uniformly drawn idle clients, as long as any are there. A client
    /// found away leaves the list until it is back, so that it is found away once per absence, and
    /// every client that is idle and there is on the list.
    void fill(Scheduler& s) {
        while (vacant_ > 0 && !idle_.empty()) {
            const std::uint32_t place = random_.below(static_cast<std::uint32_t>(idle_.size()));
            const std::uint32_t client = idle_[place];
            idle_[place] = idle_.back();
            idle_.pop_back();
            if (!s.is_here(client)) {
                s.await_return(client);
                continue;
            }
            start(s, client);
            fetch_ahead(s);
            --vacant_;
        }
    }

    /// Prefetches what the next draws will read. With many clients every draw reads memory at
    /// random, and waiting for it is most of a plan's time. The next draws are known already, since
    /// as many clients will be idle then: this asks for the place of the draw after the next, and
    /// for the client of the next.
    void fetch_ahead(const Scheduler& s) const {
        fedbench::RandomStream ahead = random_;
        const auto idle = static_cast<std::uint32_t>(idle_.size());
        const std::uint32_t next = ahead.below(idle + 1);
        if (next < idle) s.prefetch(idle_[next]);
        __builtin_prefetch(idle_.data() + ahead.below(idle + 1));
    }

    StreamPolicy config_;
    std::uint32_t clients_;
    std::vector<std::uint32_t> idle_;  // if drawn; without those who are known to be away
    std::vector<char> busy_;           // by client, if scripted
    Arrivals arrivals_;
    UnderWay under_way_;                // if stale jobs are stopped
    std::vector<std::uint32_t> freed_;  // clients whose places are vacant, in this instant
    std::vector<std::uint32_t> back_;   // clients for whom a place was kept
    std::uint32_t vacant_ = 0;          // places, if drawn
    bool is_soon_ = false;              // whether the dispatch event of this instant is under way
    std::size_t next_replacement_ = 0;
    fedbench::RandomStream random_{0, Purpose::replacement};
};

}  // namespace

std::unique_ptr<Policy> make_policy(StreamPolicy config, std::uint32_t clients) {
    return std::make_unique<BufferedStream>(std::move(config), clients);
}

}  // namespace fedbench
