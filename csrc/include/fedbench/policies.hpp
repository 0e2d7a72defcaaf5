// Dispatch policies: who starts when, and which arrivals make a server update. Plain data;
// scheduler.hpp runs them.
#pragma once

#include <cstdint>
#include <memory>
#include <variant>
#include <vector>

#include "fedbench/durations.hpp"

namespace fedbench {

enum class Select {
    all,                  ///< every client, in client order
    without_replacement,  ///< cohort distinct clients, uniform
    with_replacement,     ///< cohort draws, uniform; a client drawn r times runs once and counts r times
    weighted,             ///< cohort draws with replacement with the given probabilities
    scripted,             ///< round t uses row t of `selections`
    external,             ///< the caller is asked at every round's start: Scheduler::select (Rounds only)
};

/// Synchronous rounds: a round ends at its last arrival, the next one starts at that instant.
///
/// Cohorts are made of the clients that are there: cohorts are drawn among them, and scripted
/// clients that are away are left out. A round without anybody there starts when somebody returns.
/// Lost jobs leave the round. A round in which nothing arrived makes no update, and the next one
/// starts, so cohorts are numbered by rounds begun.
struct Rounds {
    Select select = Select::all;
    std::uint32_t cohort = 0;
    std::vector<double> probabilities;
    Table<std::int32_t> selections;
    std::int64_t deadline_ns = 0;      ///< > 0: a round is closed then with what has arrived, and the rest is called off
    std::uint32_t over_selection = 0;  ///< so many more are drawn (or, of a given cohort, not waited for); the first to arrive count
};

enum class Restart {
    resample,  ///< each arrival frees a place for a uniformly drawn idle client (the arrived one included), or the next scripted one
    self,      ///< the arrived client starts again itself
};
enum class DispatchOrder {
    after_update,   ///< all arrivals of the instant are drained with their updates, then the replacements start
    before_update,  ///< per arrival: receive, dispatch one replacement with the model as it is, update if full
};

inline constexpr std::int64_t kAnyStaleness = -1;

/// Buffered asynchronous: `concurrency` clients work at any time, `buffer` arrivals make an update.
/// A lost job frees its client's place like an arrival. Places go to drawn clients that are there,
/// and stay vacant until one is; a place for a given client (itself, scripted, or one of the first
/// who restart themselves) is kept until that client is back.
///
/// An arrival of staleness above `max_staleness` is discarded, which frees its place like any
/// other. With `stop_stale`, jobs under way that have become so stale are called off after the
/// arrivals of the instant; their places come after those of the arrivals, in the order of the
/// clients.
struct StreamPolicy {
    std::uint32_t concurrency = 1;
    std::uint32_t buffer = 1;
    Restart restart = Restart::resample;
    DispatchOrder order = DispatchOrder::after_update;
    std::vector<std::int32_t> initial;       ///< scripted clients of time 0; empty: drawn
    std::vector<std::int32_t> replacements;  ///< scripted; only read if `scripted`
    bool scripted = false;
    std::int64_t max_staleness = kAnyStaleness;
    bool stop_stale = false;
    double harmonic = 0;  ///< > 0: the buffer is full when the harmonic mean of the clients' shares of it is >= harmonic / clients
};

/// Draws clients with given probabilities r_i. Throws std::invalid_argument unless all r_i > 0 and
/// they sum to 1 within 1e-9.
class Routing {
public:
    explicit Routing(const std::vector<double>& probabilities);
    /// The first client i with u < r_0 + .. + r_i, or the last client.
    std::uint32_t client(double u) const;

private:
    std::vector<double> sums_;
    std::vector<std::uint32_t> guide_;  ///< for every k < N the client at k/N, from where a few steps are enough [Chen and Asau 1974]
};

/// Generalized AsyncSGD: `tasks` tasks circulate. Each task that is done is routed to a client
/// drawn with `routing`, busy or not, with the newest version, when the arrivals of the instant are
/// over. A client works on its tasks one after another, in the order in which they were given to
/// it. The download begins at once; the upload occupies the client. Everybody is always there, and
/// no job is lost.
struct Routed {
    std::uint32_t tasks = 1;
    std::uint32_t buffer = 1;
    std::vector<double> routing;
    std::vector<std::int32_t> initial;       ///< scripted clients of time 0, repetitions allowed; empty: drawn
    std::vector<std::int32_t> replacements;  ///< scripted; only read if `scripted`
    bool scripted = false;
};

enum class Receive {
    pop,   ///< a started job empties the receive buffer
    peek,  ///< it keeps it: the client may train again on the same version
};

/// DeFedAvg-IID: every version goes to every client; idle clients with a model start at once.
/// Downloads go on while a client is away; when it is back it starts from the newest version that
/// it has. After a lost job it is idle.
struct Broadcast {
    std::uint32_t buffer = 1;
    Receive receive = Receive::pop;
};

enum class Send {
    continuous,  ///< a client goes on after a run; the new result overwrites an untaken one, whose job is discarded
    on_demand,   ///< it stays idle until the server has taken the result
};

/// DeFedAvg-nIID: clients run as under Broadcast into a send buffer each; a round takes the results
/// of its cohort, waiting for those that are not there, and ends at the last arrival. The uplink
/// does not occupy the client.
///
/// A drawn client is skipped if it is away, if it leaves or loses its run while the server waits,
/// or if it has no result, no run and no version left to start from. A round in which all are
/// skipped makes no update, and the next cohort is drawn after the next event of any kind; cohorts
/// are numbered by draws. A client that leaves loses the result in its send buffer too, unless work
/// pauses.
struct Mailbox {
    std::uint32_t cohort = 1;  ///< draws with replacement, uniform; unless scripted
    Send send = Send::continuous;
    Receive receive = Receive::pop;
    Table<std::int32_t> selections;  ///< round t takes row t; no rows: drawn
};

/// FAVANO, QuAFL: all clients work at any time, for up to max_steps steps; a poll takes what its
/// cohort has done by then, and they start again from the version that results. Polls lie on
/// multiples of the period, counted from the first dispatch: the next one is the first multiple
/// after the last poll that is not earlier than the last update.
///
/// A polled client is skipped if it is away, or does not work because it has just come back; a poll
/// in which all are skipped makes no update. A client whose job is lost starts again from the
/// newest version: at once, or when it is back. Drop-out lies on the time that max_steps take, so a
/// job that is polled before is not lost.
struct Poll {
    std::int64_t period_ns = 0;
    std::int32_t max_steps = 1;
    std::uint32_t cohort = 1;        ///< distinct clients, uniform; unless scripted
    Table<std::int32_t> selections;  ///< poll t (those that happen, from 0) asks row t; no rows: drawn
};

enum class Resend {
    turn,    ///< the newest version goes to a client that has had its turn; the others go on with the one that they hold
    newest,  ///< it goes to every client that has arrived, unless the client holds it already
};

/// Ringleader ASGD: all clients work at any time, and updates come in rounds of as many as there
/// are clients, each of which has its turn in one of them. The first update of a round waits until
/// everybody has arrived, and consumes all that has; the client that came last has its turn. Of
/// every other client the next arrival makes an update alone, and is its turn. What clients send
/// after their turn is collected for the next round.
///
/// A job on a version that its client holds begins at once, with no download. A client whose job is
/// lost starts again from the version that it holds, at once or when it is back. A client that left
/// before it had received the version of its turn, or its first version, is sent the newest one.
struct Turns {
    Resend resend = Resend::turn;
};

using PolicyConfig = std::variant<Rounds, StreamPolicy, Broadcast, Mailbox, Poll, Routed, Turns>;

class Scheduler;
struct Event;

/// A running policy. It reacts to events by calling the Scheduler's verbs, and has all its state
/// itself.
class Policy {
public:
    virtual ~Policy() = default;
    virtual void begin(Scheduler& scheduler) = 0;
    virtual void on_event(Scheduler& scheduler, const Event& event) = 0;
    /// Called when an update has been made, unless the plan ends with it. That is within
    /// Scheduler::update or, where the server's work takes time, before all else of a later
    /// instant.
    virtual void updated(Scheduler&) {}
    /// Called when the plan has ended: completes the columns of jobs that are still open.
    virtual void end(Scheduler&) {}
    /// Returns the oldest version that a job may still start from although none has yet (receive
    /// buffers, downloads under way).
    virtual std::int32_t oldest_startable(const Scheduler& scheduler) const;
    /// Returns the versions before that one that jobs may still start from, since clients without a
    /// job hold them; ascending, none twice.
    virtual std::vector<std::int32_t> held(const Scheduler&) const { return {}; }
    /// Returns the clients that the policy waits for, which `stalled` reports: those that it
    /// awaits, ascending, unless it has an order of its own.
    virtual std::vector<std::int32_t> missing(const Scheduler& scheduler) const;
    virtual bool awaits(std::uint32_t) const { return false; }
    /// The answer to Scheduler::ask: the clients of the next round, with multiplicity.
    virtual void select(Scheduler& scheduler, const std::vector<std::uint32_t>& clients);
};

std::unique_ptr<Policy> make_policy(Rounds config, std::uint32_t clients);
std::unique_ptr<Policy> make_policy(StreamPolicy config, std::uint32_t clients);
std::unique_ptr<Policy> make_policy(Broadcast config, std::uint32_t clients);
std::unique_ptr<Policy> make_policy(Mailbox config, std::uint32_t clients);
std::unique_ptr<Policy> make_policy(Poll config, std::uint32_t clients);
std::unique_ptr<Policy> make_policy(Routed config, std::uint32_t clients);
std::unique_ptr<Policy> make_policy(Turns config, std::uint32_t clients);

}  // namespace fedbench
