// The policy Mailbox: a send buffer per client, and a drawn cohort per round [DeFedAvg-nIID].
#include <algorithm>
#include <stdexcept>
#include <utility>

#include "cohort.hpp"
#include "fedbench/scheduler.hpp"
#include "receive_buffers.hpp"

namespace fedbench {

namespace {

class MailboxPolicy final : public Policy {
public:
    MailboxPolicy(Mailbox config, std::uint32_t clients)
        : send_(config.send),
          receive_(config.receive),
          received_(clients, config.receive),
          cohort_("mailbox", "round", scripted_or(Select::with_replacement, config.cohort, std::move(config.selections)), clients),
          running_(clients, kEmpty),
          stored_(clients, kEmpty),
          guarded_until_(clients, kNever),
          is_awaited_(clients, 0),
          copies_(clients, 0) {}

    void begin(Scheduler& s) override {
        received_.begin(s, "mailbox");
        draw(s);
    }

    void on_event(Scheduler& s, const Event& event) override {
        const bool draw_again = is_skipped_;
        react(s, event);
        if (draw_again && !s.finished()) draw(s);
    }

    void updated(Scheduler& s) override {
        received_.announce(s);
        draw(s);
    }

    std::int32_t oldest_startable(const Scheduler& s) const override { return received_.oldest_held(s); }

    std::vector<std::int32_t> missing(const Scheduler&) const override {
        std::vector<std::int32_t> clients;
        for (std::uint32_t client : distinct_)
            if (is_skipped_ || copies_[client] > 0) clients.push_back(static_cast<std::int32_t>(client));
        return clients;
    }

private:
    static constexpr Scheduler::Slot kEmpty = Event::kMaxSlot;
    static constexpr Scheduler::Slot kLeaving = Event::kMaxSlot;  // of a `lost` event: the client leaves

    void react(Scheduler& s, const Event& event) {
        switch (event.phase()) {
            case Phase::run_end:
                return store(s, event);
            case Phase::lost:
                return event.slot() == kLeaving ? leave(s, event.client()) : lose(s, event);
            case Phase::arrival:
                return receive(s, event);
            case Phase::dispatch:
                return start_the_ready(s);
            default:  // it has a model, or is back
                return make_ready(s, event.client());
        }
    }

    /// Makes the client start when all else of this instant has happened, if it has a model.
    void make_ready(Scheduler& s, std::uint32_t client) {
        ready_.push_back(client);
        if (ready_.size() == 1) s.at(s.now(), Phase::dispatch, 0);
    }

    void start_the_ready(Scheduler& s) {
        for (std::uint32_t client : std::exchange(ready_, {})) start(s, client);
    }

    void start(Scheduler& s, std::uint32_t client) {
        if (!s.is_here(client)) return s.await_return(client);
        const std::int32_t held = received_.take(s, client);
        if (held == ReceiveBuffers::kNone) return;
        const Scheduler::Slot slot = s.open(client, held, received_.sent(held));
        s.run(slot, s.now());
        running_[client] = slot;
        const bool is_lost = s.is_lost_before(slot, s.job(slot).t_finish);
        if (std::max(s.job(slot).t_finish, s.job(slot).t_lost) == s.now()) check_progress(s, slot);
        if (!is_lost) s.at(s.job(slot).t_finish, Phase::run_end, client, slot);
    }

    /// Throws if a run that takes no time could be followed by another one in this instant, and so
    /// on.
    void check_progress(const Scheduler& s, Scheduler::Slot slot) const {
        const Job& job = s.job(slot);
        const SystemModel& system = s.system();
        if (receive_ == Receive::peek && send_ == Send::continuous)
            throw std::invalid_argument("mailbox: job " + std::to_string(job.k) + " of client " + std::to_string(job.client) +
                                        " takes no time; with receive = peek and send = continuous compute must be > 0");
        const bool model_takes_time = receive_ == Receive::pop && received_.download(s, job.client) > 0;
        if (!model_takes_time && system.upload.takes(system.seed, Purpose::upload, job.client, job.k, s.now()) == 0)
            s.refuse_standstill(slot);
    }

    void store(Scheduler& s, const Event& event) {
        const std::uint32_t client = event.client();
        running_[client] = kEmpty;
        if (is_awaited_[client]) {
            is_awaited_[client] = 0;
            s.send(event.slot(), s.now());
            return make_ready(s, client);
        }
        if (stored_[client] != kEmpty) s.discard(stored_[client]);
        stored_[client] = event.slot();
        guard(s, client);
        if (send_ == Send::continuous) make_ready(s, client);
    }

    /// Adds one `lost` event for when the client leaves, whatever it has then.
    void guard(Scheduler& s, std::uint32_t client) {
        const std::int64_t leave = s.leaves(client);
        if (leave == kForever || leave == guarded_until_[client]) return;
        guarded_until_[client] = leave;
        s.at(leave, Phase::lost, client, kLeaving);
    }

    void leave(Scheduler& s, std::uint32_t client) {
        if (stored_[client] != kEmpty) {
            s.lose(stored_[client]);
            stored_[client] = kEmpty;
            if (send_ == Send::on_demand) make_ready(s, client);
        }
        skip(s, client);
    }

    /// Handles the loss of a run or an upload.
    void lose(Scheduler& s, const Event& event) {
        const std::uint32_t client = event.client();
        s.lose(event.slot());
        if (running_[client] != event.slot()) return leave_round(s, client);
        running_[client] = kEmpty;
        make_ready(s, client);
        skip(s, client);
    }

    /// Stops waiting for this client, if the server did.
    void skip(Scheduler& s, std::uint32_t client) {
        if (!is_awaited_[client]) return;
        is_awaited_[client] = 0;
        leave_round(s, client);
    }

    void draw(Scheduler& s) {
        distinct_.clear();
        for (std::uint32_t client : cohort_.draw(s.system().seed, draws_++))
            if (copies_[client]++ == 0) distinct_.push_back(client);
        awaited_ = 0;
        for (std::uint32_t client : distinct_) {
            if (can_report(s, client)) ++awaited_;
            else copies_[client] = 0;
        }
        is_skipped_ = awaited_ == 0;
        for (std::uint32_t client : distinct_)
            if (copies_[client] > 0) ask(s, client);
    }

    /// Whether the client is there, with a result, a run, or a version to come from which it can
    /// start.
    bool can_report(Scheduler& s, std::uint32_t client) const {
        return s.is_here(client) && (stored_[client] != kEmpty || running_[client] != kEmpty || received_.has_unused(s, client));
    }

    void ask(Scheduler& s, std::uint32_t client) {
        if (stored_[client] == kEmpty) {
            is_awaited_[client] = 1;
            return guard(s, client);
        }
        s.send(stored_[client], s.now());
        stored_[client] = kEmpty;
        if (send_ == Send::on_demand) make_ready(s, client);
    }

    void receive(Scheduler& s, const Event& event) {
        arrived_.insert(arrived_.end(), copies_[event.client()], event.slot());
        leave_round(s, event.client());
    }

    /// Called when the client's result has arrived, or never will.
    void leave_round(Scheduler& s, std::uint32_t client) {
        copies_[client] = 0;
        if (--awaited_ > 0) return;
        is_skipped_ = arrived_.empty();
        if (is_skipped_) return;
        std::stable_sort(arrived_.begin(), arrived_.end(), [&](Scheduler::Slot a, Scheduler::Slot b) {  // runs of no time come late
            const Job &x = s.job(a), &y = s.job(b);
            return x.t_arrive != y.t_arrive ? x.t_arrive < y.t_arrive : x.client < y.client;
        });
        s.update(arrived_);
        arrived_.clear();
    }

    Send send_;
    Receive receive_;
    ReceiveBuffers received_;
    Cohort cohort_;
    std::uint32_t draws_ = 0;
    bool is_skipped_ = false;                  // all of the last cohort were skipped
    std::vector<Scheduler::Slot> running_;     // by client
    std::vector<Scheduler::Slot> stored_;      // by client: the send buffer
    std::vector<std::int64_t> guarded_until_;  // by client: when its last `lost` event as a whole comes
    std::vector<char> is_awaited_;             // by client: drawn, and its result is not there yet
    std::vector<std::uint32_t> copies_;        // by client: how often drawn and not yet arrived
    std::vector<std::uint32_t> distinct_;
    std::vector<std::uint32_t> ready_;
    std::size_t awaited_ = 0;  // clients of the cohort whose results are to come
    std::vector<Scheduler::Slot> arrived_;
};

}  // namespace

std::unique_ptr<Policy> make_policy(Mailbox config, std::uint32_t clients) {
    return std::make_unique<MailboxPolicy>(std::move(config), clients);
}

}  // namespace fedbench
