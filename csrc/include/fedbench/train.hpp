// Local training of small classifiers: SGD on the softmax cross-entropy of a list of layers, over
// one flat parameter vector.
//
// A result depends on its job only: not on threads, on other jobs, on what a worker did before or
// on the instruction set. A product of two vectors, and the sum of a convolution's slopes, is split
// into chains of multiply-adds (one rounding each), as many as 32 bytes have numbers. Number i goes
// to chain i modulo their count; eight chains are added as ((0+1)+(2+3)) + ((4+5)+(6+7)), four as
// (0+2) + (1+3). All other sums are one chain, whose order train/*.hpp state; a slope of 0 behind a
// convolution adds nothing. Nothing is allocated while a job steps.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "fedbench/detail/helpers.hpp"
#include "fedbench/detail/one_caller.hpp"
#include "fedbench/instruction_set.hpp"

namespace fedbench::train {

/// One layer. Members that its kind does not need keep these values.
struct Layer {
    std::string kind;                     // linear, conv2d, max_pool2d, relu, flatten, dropout, dropout2d, last or embedding
    std::size_t inputs = 0, outputs = 0;  // of linear (features), conv2d (channels), embedding (symbols, width) and last (0, length)
    std::size_t kernel = 0;               // of conv2d and max_pool2d: the side of a square window
    std::size_t stride = 1, padding = 0;  // of conv2d; padding is with zeros
    double p = 0;                         // of dropout (elements) and dropout2d (channels): the probability of a zero
};

/// A vector of `channels` features, or an image.
struct Shape {
    std::size_t channels, height = 1, width = 1;
    bool image = false;

    std::size_t size() const { return channels * height * width; }
};

/// What a network needs to know of a kind of layer.
struct Traits {
    bool has_bias = false;       // with a number per output
    bool in_place = false;       // it overwrites its input
    bool reads_rows = false;     // it reads the vectors of examples where they lie
    bool keeps_input = false;    // its gradient needs its input
    bool takes_symbols = false;  // its input is whole numbers, which have no slopes
};

/// A layer with its place: shapes of one example, the numbers of its weight, and offsets of weight
/// and bias in the flat vector.
struct Stage {
    Layer layer;
    Shape in, out;
    Traits traits;
    std::size_t weights = 0, weight = 0, bias = 0;
};

/// Layers that fit together. Parameters: layer by layer, weight then bias, in C order; linear
/// (outputs, inputs), conv2d (outputs, inputs, kernel, kernel), embedding (inputs, outputs) without
/// a bias. The last layer must give a vector: the logits.
///
/// `last` gives the last `outputs` numbers of a vector. `embedding` takes symbols, whole numbers 0
/// .. inputs - 1, and gives for each, one after the other, its row of the weight; only flatten and
/// last may come before it.
class Network {
public:
    /// Throws std::invalid_argument, naming the layer, if a layer does not take what it gets or is
    /// of an unknown kind.
    Network(std::span<const Layer> layers, Shape input);

    const std::vector<Stage>& stages() const { return stages_; }
    const Shape& input() const { return input_; }
    std::size_t classes() const { return classes_; }
    std::size_t dim() const { return dim_; }

    /// The number of symbols of an example; 0 if examples are not made of symbols.
    std::size_t symbols() const { return symbols_; }

private:
    std::vector<Stage> stages_;
    Shape input_;
    std::size_t classes_ = 0, dim_ = 0, symbols_ = 0;
};

/// How the images of steps change. An image gets `padding` numbers on every side, fill[channel].
/// Then it is cropped to its size at a place drawn uniformly, and mirrored left to right with
/// probability 1/2: with P = 2 padding + 1, a word of the job's stream of Purpose::augmentation for
/// each example, in the order of use, gives j = floor(word * 2 P^2 / 2^32). The crop begins in row
/// j / 2P and column j / 2 mod P of the padded image, and is mirrored if j is odd.
template <typename Real>
struct CropAndFlip {
    std::size_t padding = 0;
    const Real* fill = nullptr;  // (channels); without it images stay as they are
};

/// Examples: n rows of features, in C order, with labels 0 .. classes - 1.
template <typename Real>
struct Examples {
    const Real* x;
    const std::int64_t* y;
    std::size_t n;
    CropAndFlip<Real> change = {};
};

/// h = gradient(y) - gradient(anchor) + weight_decay * y;  y <- y - lr * (h + prox * (y - start) + correction)
template <typename Real>
struct Rule {
    Real lr = 0, weight_decay = 0, prox = 0;
    const Real* start = nullptr;       // (dim)
    const Real* correction = nullptr;  // (dim), or nothing
    const Real* anchor = nullptr;      // (dim), or nothing; on the same mini-batch, with dropout words of its own
};

/// One local training. Outputs are (dim) and may be absent. With no steps, end is start and the
/// others are 0.
template <typename Real>
struct Job {
    std::uint32_t client = 0, k = 0;
    std::int64_t steps = 0;
    std::span<const std::int64_t> shard;  // the client's rows of the examples
    Rule<Real> rule;
    Real* end = nullptr;
    Real* delta = nullptr;           // end - start
    Real* first_gradient = nullptr;  // h of the first step
    Real* mean_gradient = nullptr;   // mean of h
    Real* full_gradient = nullptr;   // h over the whole shard at the start, without anchor and dropout
};

/// Computes jobs of one network, one after the other, on one thread.
template <typename Real>
class Worker {
public:
    virtual ~Worker() = default;

    Helpers helpers;  // other threads may take parts of large layers

    /// Trains jobs, with the bits of each alone, on batches of `draw_batches`. Once `cancelled`, it
    /// stops early, and outputs are not set.
    virtual void train(std::span<const Job<Real>> jobs, const Examples<Real>& data, std::uint64_t seed, std::size_t batch, bool shuffled,
                       const std::atomic<bool>& cancelled) = 0;

    /// Computes the gradient (dim) of the mean loss over the rows, without dropout, summed in
    /// float64 over parts of fixed size. Once `cancelled`, it stops early, and `out` is not set.
    virtual void gradient(const Real* x, const Examples<Real>& data, std::span<const std::int64_t> rows, Real* out,
                          const std::atomic<bool>& cancelled) = 0;

    /// Computes the logits of n rows of features under several models, without dropout; out[m] gets
    /// those (n, classes) of models[m].
    virtual void logits(std::span<const Real* const> models, std::span<const Real* const> rows, std::span<Real* const> out) = 0;

    /// The dropout masks of a `forward`: the stream (seed, client, k) of Purpose::dropout from word
    /// `skip` on.
    struct Masks {
        std::uint64_t seed;
        std::uint32_t client, k;
        std::uint64_t skip;
    };
    /// Computes logits (n, classes) like `logits`, and keeps what one `pullback` needs; with
    /// dropout if masks are given. Returns how many words of their stream were used. The rows must
    /// stay until the pullback.
    virtual std::uint64_t forward(const Real* x, std::span<const Real* const> rows, const Masks* masks, Real* out) = 0;

    /// Computes the gradient (dim) of sum(dlogits * logits) of the last `forward`.
    virtual void pullback(const Real* dlogits, Real* out) = 0;
};

/// Returns a worker for batches of at most `largest` examples, on which at most `threads` threads
/// work, its helpers included.
template <typename Real>
std::unique_ptr<Worker<Real>> make_worker(const Network& network, std::size_t largest, InstructionSet isa = instruction_set(),
                                          std::size_t threads = 1);

/// Threads that work together, each with a number 0 .. size - 1.
class Team {
public:
    explicit Team(std::size_t threads);
    ~Team();
    Team(const Team&) = delete;
    Team& operator=(const Team&) = delete;

    std::size_t size() const { return threads_.size(); }

    /// Calls task(i, thread) for i = 0 .. count - 1, in this order as threads get free. If there is
    /// a `watch`, the calling thread waits, and calls it with the number of tasks done ten times a
    /// second; else it works too, as thread 0. An exception of `watch`, or the first one of a task,
    /// stops the rest, sets `cancelled` and is rethrown.
    void run(std::size_t count, const std::function<void(std::size_t, std::size_t)>& task,
             const std::function<void(std::size_t)>& watch = {});

    /// For tasks that can stop half-way.
    const std::atomic<bool>& cancelled() const { return cancelled_; }

private:
    using Lock = std::unique_lock<std::mutex>;

    void work(std::size_t thread);
    bool is_due(std::size_t thread) const { return next_ < count_ && !cancelled_ && (thread > 0 || is_watched_); }
    bool is_over() const { return running_ == 0 && (next_ == count_ || cancelled_); }
    void do_next(Lock& lock, std::size_t thread);
    template <typename Ready>
    void stay_awake(Lock& lock, const Ready& ready);

    std::vector<std::thread> threads_;
    std::mutex mutex_;
    std::condition_variable start_, first_start_, done_;  // thread 0 waits for `first_start_`
    std::atomic<std::size_t> changes_{0};                 // of what is waited for
    const std::function<void(std::size_t, std::size_t)>* task_ = nullptr;
    std::size_t count_ = 0, next_ = 0, running_ = 0, finished_ = 0;
    bool is_watched_ = false, closing_ = false;
    std::exception_ptr error_;
    std::atomic<bool> cancelled_{false};
};

inline constexpr std::size_t kMostPadding = 23'169;  // so that a word of 32 bits has all ways to crop

/// Workers of one network over one set of examples, which a team of threads shares. All results are
/// those of one worker alone.
///
/// The team serves one caller at a time, and the student (forward, pullback) another one. A second
/// call of the same kind throws std::logic_error.
template <typename Real>
class Crew {
public:
    using Watch = std::function<void(std::size_t)>;

    /// `data` must outlive the crew. Throws std::invalid_argument if batch is 0, a label is not a
    /// class, the network takes symbols and a feature is none, or examples change that are no
    /// images or have a padding of more than kMostPadding.
    Crew(Network network, Examples<Real> data, std::uint64_t seed, std::size_t batch, std::size_t threads, InstructionSet isa,
         bool shuffled = true);

    const Network& network() const { return network_; }
    InstructionSet isa() const { return isa_; }
    std::size_t threads() const { return team_.size(); }

    /// Trains the jobs, the longest first; where there are fewer jobs than threads, several threads
    /// work on one. Throws std::out_of_range, before any job starts, if a shard names no example or
    /// is empty.
    void train(std::span<const Job<Real>> jobs, const Watch& watch = {});

    /// Computes the logits (models, n, classes) of n rows of features under the models x (models,
    /// dim), for which the features are read once. Like `forward`, it throws std::invalid_argument
    /// for a feature that should be a symbol.
    void logits(std::span<const Real> x, std::span<const Real> features, Real* out, const Watch& watch = {});

    /// See Worker; forward and pullback may run while jobs are trained. No rows are allowed, and
    /// their pullback is 0. Throws std::logic_error for a pullback without a forward before it, or
    /// after another thread's, and std::invalid_argument for slopes of another number of rows.
    std::uint64_t forward(const Real* x, std::span<const Real> features, const typename Worker<Real>::Masks* masks, Real* out);
    void pullback(std::span<const Real> dlogits, Real* out);
    /// The rows of the last forward; 0 before the first one.
    std::size_t forward_rows() const { return forward_rows_; }

private:
    void check_rows(std::span<const std::int64_t> rows) const;
    void check_symbols(const char* name, std::span<const Real> features) const;

    double work(const Job<Real>& job) const;
    std::vector<std::span<const Job<Real>>> runs_of(std::span<const Job<Real>> jobs) const;

    /// Calls work(i, worker) for i = 0 .. count - 1. Threads that find nothing more to begin help
    /// the others.
    void share(std::size_t count, const std::function<void(std::size_t, Worker<Real>&)>& work, const Watch& watch);
    void help(const std::atomic<std::size_t>& working);

    Network network_;
    Examples<Real> data_;
    std::uint64_t seed_;
    std::size_t batch_;
    bool shuffled_;
    double multiply_adds_ = 0;  // of an example forward
    InstructionSet isa_;
    std::vector<std::unique_ptr<Worker<Real>>> workers_;
    std::unique_ptr<Worker<Real>> student_;
    std::size_t student_rows_ = 0;  // the largest batch that it takes
    std::atomic<std::size_t> forward_rows_ = 0;
    std::thread::id forward_of_;  // the thread of the last forward
    std::vector<Real> student_features_;
    OneCaller team_caller_, student_caller_;
    Team team_;
};

/// Computes for every row of logits, in float64, the cross-entropy, and whether the first of the
/// largest logits is the label's. Throws std::invalid_argument without classes.
template <typename Real>
void score(std::span<const Real> logits, std::span<const std::int64_t> labels, std::size_t classes, double* loss, double* right,
           InstructionSet isa = instruction_set());

}  // namespace fedbench::train
