// A send buffer per client, a drawn cohort per round [DeFedAvg-nIID].
#include <algorithm>
#include <limits>
#include <stdexcept>

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
          stored_(clients, kEmpty),
          is_awaited_(clients, 0),
          copies_(clients, 0) {}

    void begin(Scheduler& s) override {
        received_.begin(s, "mailbox");
        draw(s);
    }

    void on_event(Scheduler& s, const Event& event) override {
        switch (event.phase()) {
            case Phase::downloaded:
                make_ready(s, event.client());
                break;
            case Phase::run_end:
                store(s, event);
                break;
            case Phase::arrival:
                receive(s, event);
                break;
            case Phase::dispatch:
                start_the_ready(s);
                break;
        }
    }

    std::int32_t oldest_startable(const Scheduler& s) const override { return received_.oldest_held(s); }

    std::vector<std::int32_t> missing() const override {
        std::vector<std::int32_t> clients;
        for (std::uint32_t client : distinct_)
            if (copies_[client] > 0) clients.push_back(static_cast<std::int32_t>(client));
        return clients;
    }

private:
    static constexpr Scheduler::Slot kEmpty = std::numeric_limits<Scheduler::Slot>::max();

    /// The client starts when all else of this instant has happened, if it has a model.
    void make_ready(Scheduler& s, std::uint32_t client) {
        ready_.push_back(client);
        if (ready_.size() == 1) s.at(s.now(), Phase::dispatch, 0);
    }

    void start_the_ready(Scheduler& s) {
        for (std::uint32_t client : ready_) start(s, client);
        ready_.clear();
    }

    void start(Scheduler& s, std::uint32_t client) {
        const std::int32_t held = received_.take(s, client);
        if (held == ReceiveBuffers::kNone) return;
        const Scheduler::Slot slot = s.open(client, held, received_.sent(held));
        s.run(slot, s.now());
        if (s.job(slot).t_finish == s.now()) check_progress(s, slot);
        s.at(s.job(slot).t_finish, Phase::run_end, client, slot);
    }

    /// A run that takes no time: could the client make another one in this instant, and so on?
    void check_progress(const Scheduler& s, Scheduler::Slot slot) const {
        const Job& job = s.job(slot);
        const SystemModel& system = s.system();
        if (receive_ == Receive::peek && send_ == Send::continuous)
            throw std::invalid_argument("mailbox: job " + std::to_string(job.k) + " of client " + std::to_string(job.client) +
                                        " takes no time; with receive = peek and send = continuous compute must be > 0");
        const bool model_takes_time = receive_ == Receive::pop && received_.download(s, job.client) > 0;
        if (!model_takes_time && system.upload.unit(system.seed, Purpose::upload, job.client, job.k) == 0) s.refuse_standstill(slot);
    }

    void store(Scheduler& s, const Event& event) {
        const std::uint32_t client = event.client();
        if (is_awaited_[client]) {
            is_awaited_[client] = 0;
            s.send(event.slot(), s.now());
            return make_ready(s, client);
        }
        if (stored_[client] != kEmpty) s.discard(stored_[client]);
        stored_[client] = event.slot();
        if (send_ == Send::continuous) make_ready(s, client);
    }

    void draw(Scheduler& s) {
        distinct_.clear();
        const std::vector<std::uint32_t>& selected = cohort_.draw(s.system().seed, static_cast<std::uint32_t>(s.version()));
        expected_ = selected.size();
        for (std::uint32_t client : selected)
            if (copies_[client]++ == 0) distinct_.push_back(client);
        for (std::uint32_t client : distinct_) {
            if (stored_[client] == kEmpty) {
                is_awaited_[client] = 1;
                continue;
            }
            s.send(stored_[client], s.now());
            stored_[client] = kEmpty;
            if (send_ == Send::on_demand) make_ready(s, client);
        }
    }

    void receive(Scheduler& s, const Event& event) {
        const std::uint32_t client = event.client();
        arrived_.insert(arrived_.end(), copies_[client], event.slot());
        copies_[client] = 0;
        if (arrived_.size() < expected_) return;
        std::stable_sort(arrived_.begin(), arrived_.end(), [&](Scheduler::Slot a, Scheduler::Slot b) {  // runs of no time come late
            const Job &x = s.job(a), &y = s.job(b);
            return x.t_arrive != y.t_arrive ? x.t_arrive < y.t_arrive : x.client < y.client;
        });
        s.update(arrived_);
        arrived_.clear();
        if (s.finished()) return;
        received_.announce(s);
        draw(s);
    }

    Send send_;
    Receive receive_;
    ReceiveBuffers received_;
    Cohort cohort_;
    std::vector<Scheduler::Slot> stored_;  // by client: the send buffer
    std::vector<char> is_awaited_;         // by client: drawn, and its result is not there yet
    std::vector<std::uint32_t> copies_;    // by client: how often drawn and not yet arrived
    std::vector<std::uint32_t> distinct_;
    std::vector<std::uint32_t> ready_;
    std::size_t expected_ = 0;
    std::vector<Scheduler::Slot> arrived_;
};

}  // namespace

std::unique_ptr<Policy> make_policy(Mailbox config, std::uint32_t clients) {
    return std::make_unique<MailboxPolicy>(std::move(config), clients);
}

}  // namespace fedbench
