// Calls every kernel of fedbench/cuda.hpp at several sizes, for CUDA's sanitizers: without Python,
// torch and the CPU's kernels. Outputs begin as NaN. Around all memory lie guards, which must stay
// as they are.
#include <cuda_runtime.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "fedbench/cuda.hpp"

namespace {

using namespace fedbench;

int calls = 0, faults = 0;

void fault(const std::string& what) {
    ++faults;
    std::printf("FAULT: %s\n", what.c_str());
}

void must(cudaError_t status) {
    if (status == cudaSuccess) return;
    std::printf("CUDA: %s\n", cudaGetErrorString(status));
    std::exit(2);
}

/// Returns numbers between -1 and 1 that differ from call to call.
template <typename Real>
std::vector<Real> numbers(std::size_t count) {
    static std::uint32_t state = 1;
    std::vector<Real> values(count);
    for (Real& value : values) {
        state = 1664525 * state + 1013904223;
        value = static_cast<Real>(static_cast<std::int32_t>(state)) / static_cast<Real>(2147483648.0);
    }
    return values;
}

std::size_t guard = 64;                 // elements before and after; 65 of them leave nothing aligned
constexpr unsigned char kPoison = 255;  // of these bytes a float and a double are NaN

/// Device memory between guards. It holds `values`, or poison.
template <typename T>
class Memory {
public:
    explicit Memory(std::size_t count) : count_(count), host_(count + 2 * guard) {
        std::memset(static_cast<void*>(host_.data()), kPoison, bytes());
        must(cudaMalloc(reinterpret_cast<void**>(&base_), bytes()));
        put();
    }
    explicit Memory(const std::vector<T>& values) : Memory(values.size()) {
        std::copy(values.begin(), values.end(), host_.begin() + guard);
        put();
    }
    ~Memory() { cudaFree(base_); }
    Memory(const Memory&) = delete;
    Memory& operator=(const Memory&) = delete;

    T* data() { return base_ + guard; }
    std::span<T> span() { return {data(), count_}; }
    operator std::span<T>() { return span(); }
    operator std::span<const T>() { return span(); }

    /// Says where a guard was written, or where poison was left.
    void examine(const std::string& what) {
        must(cudaMemcpyAsync(host_.data(), base_, bytes(), cudaMemcpyDeviceToHost, nullptr));
        must(cudaStreamSynchronize(nullptr));
        const auto* byte = reinterpret_cast<const unsigned char*>(host_.data());
        for (std::size_t i = 0; i < guard * sizeof(T); ++i)
            if (byte[i] != kPoison || byte[bytes() - 1 - i] != kPoison) return fault(what + ": written beyond an end");
        for (std::size_t i = 0; i < count_; ++i)
            if (is_poison(host_[guard + i])) return fault(what + ": not written at " + std::to_string(i));
    }

private:
    std::size_t bytes() const { return host_.size() * sizeof(T); }
    static bool is_poison(T value) { return std::is_integral_v<T> ? value == static_cast<T>(-1) : value != value; }
    void put() {
        must(cudaMemcpyAsync(base_, host_.data(), bytes(), cudaMemcpyHostToDevice, nullptr));
        must(cudaStreamSynchronize(nullptr));
    }

    std::size_t count_;
    std::vector<T> host_;
    T* base_ = nullptr;
};

template <typename Real>
using Memories = std::vector<std::unique_ptr<Memory<Real>>>;

template <typename Real>
Memories<Real> memories(std::size_t count, std::size_t d) {
    Memories<Real> made;
    for (std::size_t k = 0; k < count; ++k) made.push_back(std::make_unique<Memory<Real>>(numbers<Real>(d)));
    return made;
}

void called(double result, const std::string& what) {
    ++calls;
    if (!std::isfinite(result)) fault(what + ": " + std::to_string(result));
}

template <typename Real>
void steps(std::size_t d, std::span<const double> weights, std::span<const Real* const> vectors, Memory<Real>& g, const std::string& at) {
    Memory<Real> x(numbers<Real>(d)), m(numbers<Real>(d)), v(std::vector<Real>(d, Real(0.5))), vhat(std::vector<Real>(d, Real(0.25)));
    for (const Second second : {Second::adam, Second::yogi, Second::adagrad}) {
        const AdamRule rule{0.01, 0.9, 0.99, 1e-8, second == Second::adam, 2, second != Second::adam, second};
        for (const bool maximum : {true, false}) {
            const Moments<Real> moments{m, v, maximum ? vhat.span() : std::span<Real>()};
            cuda::sum_adaptive_step<Real>(x, moments, weights, vectors, rule, maximum, nullptr);
            called(0, "sum_adaptive_step" + at);
            cuda::adaptive_step<Real>(x, moments, g, rule, false, nullptr);
            called(0, "adaptive_step" + at);
        }
        called(cuda::clip_adam<Real>(x, {m, v, {}}, g, rule, 0.5, nullptr).norm, "clip_adam" + at);
    }
    called(cuda::clip_sgd<Real>(x, g, 0.1, 0.5, nullptr).factor, "clip_sgd" + at);
    x.examine("x" + at), m.examine("m" + at), v.examine("v" + at), vhat.examine("vhat" + at);
}

template <typename Real>
void caches(std::size_t d, std::span<const double> weights, std::span<const Real* const> vectors, const std::string& at) {
    const auto rows = memories<Real>(2, d);
    Memory<double> sum(numbers<double>(d));
    std::vector<Real*> pointers;
    for (std::size_t k = 0; k < vectors.size(); ++k) pointers.push_back(rows[k % 2]->data());
    for (const CacheOrder order : {CacheOrder::deferred, CacheOrder::immediate, CacheOrder::newest}) {
        Memory<Real> out(d);
        const auto used = order == CacheOrder::newest ? std::span<const double>() : weights;
        cuda::update_cache<Real>({used, vectors, pointers, sum, 0.37, order}, out, nullptr);
        called(0, "update_cache" + at);
        out.examine("mean" + at);
    }
    sum.examine("sum" + at), rows[0]->examine("row" + at);
}

template <typename Real>
void vectors_of(std::size_t d, std::size_t count) {
    const std::string at = ", d = " + std::to_string(d) + ", K = " + std::to_string(count);
    const auto made = memories<Real>(count, d);
    std::vector<const Real*> vectors;
    for (const auto& one : made) vectors.push_back(one->data());
    const auto weights = numbers<double>(count);
    Memory<Real>&a = *made[0], &b = *made[count / 2], &c = *made[count - 1];
    Memory<Real> out(d);
    called(cuda::weighted_sum<Real>(weights, vectors, out, nullptr), "weighted_sum" + at);
    out.examine("weighted_sum" + at);
    called(cuda::dot<Real>(a.span(), b.span(), nullptr), "dot" + at);
    called(cuda::movement<Real>(a.span(), b.span(), c.span(), nullptr).product, "movement" + at);
    steps<Real>(d, weights, vectors, a, at);
    caches<Real>(d, weights, vectors, at);
}

template <typename Real>
void rows_of(std::size_t rows, std::size_t classes) {
    const std::string at = ", " + std::to_string(rows) + " x " + std::to_string(classes);
    Memory<Real> student(numbers<Real>(rows * classes)), teacher(numbers<Real>(rows * classes));
    Memory<Real> grad(rows * classes), p(rows * classes), alone(rows * classes), given(rows * classes);
    Memory<std::int64_t> label(rows);
    Memory<double> entropy(rows), kl(rows), ce(rows);
    const DistillRule logits{classes, {0.2, 0.8}, Teacher::logits}, probabilities{classes, {0.2, 0.8}, Teacher::probabilities};
    const std::span<const Real> s = student.span(), t = teacher.span();
    called(cuda::distill<Real>(s, t, logits, {grad, p, label, entropy, kl, ce}, nullptr).loss, "distill" + at);
    called(cuda::distill<Real>(s, t, logits, {alone, {}, {}, {}, {}, {}}, nullptr).loss, "distill, the gradient alone" + at);
    called(cuda::distill<Real>(s, p.span(), probabilities, {given, {}, {}, {}, {}, {}}, nullptr).loss, "distill, P given" + at);
    grad.examine("grad" + at), p.examine("P" + at), label.examine("label" + at), alone.examine("grad alone" + at);
    entropy.examine("H" + at), kl.examine("KL" + at), ce.examine("CE" + at), given.examine("grad, P given" + at);
}

}  // namespace

int main() {
    for (const std::size_t d : {1, 9, 1023, 4099, 9001})
        for (const std::size_t count : {1, 5}) vectors_of<float>(d, count), vectors_of<double>(d, count);
    vectors_of<float>(300, 300);
    guard = 65;
    vectors_of<float>(4099, 5), vectors_of<double>(4099, 5);
    guard = 64;
    for (const auto& [rows, classes] :
         std::vector<std::pair<std::size_t, std::size_t>>{{1, 2}, {3, 10}, {130, 3}, {5, 32}, {5, 33}, {20, 47}, {3, 1025}})
        rows_of<float>(rows, classes), rows_of<double>(rows, classes);
    std::printf("every kernel: %d calls, %d faults\n", calls, faults);
    return faults == 0 ? 0 : 1;
}
