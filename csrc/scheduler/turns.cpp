// The policy Turns: rounds in which every client has one turn, while all clients always work
// [Ringleader ASGD].
#include <algorithm>
#include <stdexcept>
#include <utility>

#include "fedbench/scheduler.hpp"

namespace fedbench {

namespace {

class TurnsPolicy final : public Policy {
public:
    TurnsPolicy(Turns config, std::uint32_t clients)
        : resend_(config.resend), held_(clients, kNone), is_seen_(clients, 0), is_owed_(clients, 0) {}

    void begin(Scheduler& s) override {
        if (s.system().server_ns > 0)
            throw std::invalid_argument(
                "turns: the server's work must take no time, since nothing says what a client does until the version "
                "of its turn is there");
        for (std::uint32_t client = 0; client < held_.size(); ++client) start(s, client);
    }

    void on_event(Scheduler& s, const Event& event) override {
        switch (event.phase()) {
            case Phase::arrival:
                receive(s, event);
                arrived_.push_back(event.client());
                return soon(s);
            case Phase::lost:
                lose(s, event);
                break;
            case Phase::returned:
                std::erase(away_, event.client());
                break;
            default:
                return start_all(s);
        }
        back_.push_back(event.client());
        soon(s);
    }

    std::vector<std::int32_t> held(const Scheduler& s) const override {
        std::vector<std::int32_t> versions;
        const auto add = [&](const std::vector<std::uint32_t>& idle) {
            for (std::uint32_t client : idle)
                if (held_[client] != kNone && held_[client] != s.version()) versions.push_back(held_[client]);
        };
        if (resend_ == Resend::turn) add(arrived_);
        add(back_);
        add(away_);
        std::sort(versions.begin(), versions.end());
        versions.erase(std::unique(versions.begin(), versions.end()), versions.end());
        return versions;
    }

    bool awaits(std::uint32_t client) const override { return is_collecting() ? !is_seen_[client] : is_owed_[client]; }

private:
    static constexpr std::int32_t kNone = -1;

    bool is_collecting() const { return owed_ == 0; }

    void receive(Scheduler& s, const Event& event) {
        const std::uint32_t client = event.client();
        if (is_owed_[client]) {
            s.update({event.slot()});
            return have_turn(client);
        }
        pool_.push_back(event.slot());
        seen_ += is_seen_[client] == 0;
        is_seen_[client] = 1;
        if (!is_collecting() || seen_ < held_.size()) return;
        s.update(pool_);
        pool_.clear();
        std::fill(is_seen_.begin(), is_seen_.end(), 0);
        seen_ = 0;
        std::fill(is_owed_.begin(), is_owed_.end(), 1);
        owed_ = held_.size();
        have_turn(client);
    }

    void have_turn(std::uint32_t client) {
        is_owed_[client] = 0;
        --owed_;
        held_[client] = kNone;
    }

    void lose(Scheduler& s, const Event& event) {
        if (s.job(event.slot()).t_start == kNever) held_[event.client()] = kNone;  // the version had not come
        s.lose(event.slot());
    }

    void soon(Scheduler& s) {
        if (!is_soon_) s.at(s.now(), Phase::dispatch, 0);
        is_soon_ = true;
    }

    void start_all(Scheduler& s) {
        is_soon_ = false;
        for (std::uint32_t client : std::exchange(arrived_, {})) {
            if (resend_ == Resend::newest && held_[client] != s.version()) held_[client] = kNone;
            start(s, client);
        }
        for (std::uint32_t client : std::exchange(back_, {})) start(s, client);
    }

    void start(Scheduler& s, std::uint32_t client) {
        if (!s.is_here(client)) {
            away_.push_back(client);
            return s.await_return(client);
        }
        if (held_[client] != kNone) {
            s.resume(client, held_[client]);
            return;
        }
        held_[client] = s.version();
        s.dispatch(client);
    }

    Resend resend_;
    std::vector<std::int32_t> held_;     // by client: the version that it holds, or kNone: it is to be sent the newest
    std::vector<char> is_seen_;          // by client: has it sent something for the next first update of a round?
    std::vector<char> is_owed_;          // by client: is its turn in this round still to come?
    std::size_t seen_ = 0, owed_ = 0;    // how many
    std::vector<Scheduler::Slot> pool_;  // collected for the next first update, in arrival order
    // Clients without a job:
    std::vector<std::uint32_t> arrived_;  // in this instant
    std::vector<std::uint32_t> back_;     // their job was lost, or they have returned, in this instant
    std::vector<std::uint32_t> away_;
    bool is_soon_ = false;  // is the dispatch event of this instant under way?
};

}  // namespace

std::unique_ptr<Policy> make_policy(Turns config, std::uint32_t clients) { return std::make_unique<TurnsPolicy>(config, clients); }

}  // namespace fedbench
