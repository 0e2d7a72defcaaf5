// The kernels of csrc/cuda, on the host (emulated/cuda_runtime.h): every result has the CPU's bits.
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "../cuda/accumulate.cu"
#include "../cuda/distill.cu"
#include "../cuda/optimise.cu"
#include "../cuda/runtime.cu"
#include "check.hpp"
#include "fedbench/philox.hpp"

namespace {

using namespace fedbench;
using testing::check;
using testing::check_throws;

constexpr std::size_t kLengths[] = {0, 1, 9, 1023, 4096, 4099, 9001};
using Numbers = std::vector<double>;
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

template <typename Real>
std::vector<Real> random_vector(RandomStream& stream, std::size_t d, double scale = 1) {
    std::vector<Real> values(d);
    for (Real& value : values) value = static_cast<Real>(scale * stream.normal());
    return values;
}

/// Equal bits; of NaNs any.
template <typename T>
bool same(const std::vector<T>& a, const std::vector<T>& b) {
    for (std::size_t i = 0; i < a.size(); ++i)
        if (std::memcmp(&a[i], &b[i], sizeof(T)) != 0 && !(a[i] != a[i] && b[i] != b[i])) return false;
    return a.size() == b.size();
}
bool same(double a, double b) { return same(std::vector{a}, std::vector{b}); }

template <typename Real>
void sums() {
    RandomStream stream(1, Purpose::parameters);
    for (std::size_t d : kLengths) {
        const auto a = random_vector<Real>(stream, d), b = random_vector<Real>(stream, d), c = random_vector<Real>(stream, d);
        const std::vector<const Real*> rows{a.data(), b.data(), c.data()};
        const std::vector<double> weights{0.1, -0.7, 0.3};
        std::vector<Real> one(d), two(d);
        const double norm2 = weighted_sum<Real>(weights, rows, one);
        const std::string where = "d = " + std::to_string(d);
        check(same(cuda::weighted_sum<Real>(weights, rows, two, nullptr), norm2) && same(one, two), "weighted sum, " + where);
        check(same(cuda::dot<Real>(a, b, nullptr), dot<Real>(a, b)), "dot, " + where);
        const Movement m = movement<Real>(a, b, c), n = cuda::movement<Real>(a, b, c, nullptr);
        check(same(Numbers{m.x2, m.moved2, m.delta2, m.product}, Numbers{n.x2, n.moved2, n.delta2, n.product}), "movement, " + where);
    }
}

/// More vectors than are parameters of a kernel, and vectors that do not begin at a multiple of 16
/// bytes.
template <typename Real>
void many_and_unaligned() {
    RandomStream stream(5, Purpose::parameters);
    constexpr std::size_t d = 4099;
    const auto a = random_vector<Real>(stream, d + 1), b = random_vector<Real>(stream, d + 1);
    for (const std::size_t shift : {0, 1})
        for (const std::size_t count : {cuda::kPairs, cuda::kPairs + 1, 2 * cuda::kPairs + 3}) {
            std::vector<const Real*> rows;
            Numbers weights;
            for (std::size_t k = 0; k < count; ++k) {
                rows.push_back((k % 3 == 0 ? a.data() : b.data()) + shift);
                weights.push_back(stream.normal());
            }
            std::vector<Real> one(d + 1), two(d + 1);
            const std::span<Real> cpu(one.data() + shift, d), gpu(two.data() + shift, d);
            const double norm2 = weighted_sum<Real>(weights, rows, cpu);
            check(norm2 == cuda::weighted_sum<Real>(weights, rows, gpu, nullptr) && same(one, two), "weighted sum of many");
            const auto clip = clip_sgd<Real>(cpu, std::span(a).subspan(shift, d), 0.1, 2);
            const auto other = cuda::clip_sgd<Real>(gpu, std::span(a).subspan(shift, d), 0.1, 2, nullptr);
            check(clip.norm == other.norm && same(one, two), "step of what is not aligned");
        }
}

template <typename Real>
struct State {
    std::vector<Real> x, m, v, vhat;

    explicit State(std::size_t d) : x(d, Real{1}), m(d, Real(0.5)), v(d, Real(0.25)), vhat(d, Real(0.3)) {}
    Moments<Real> moments(bool maximum = true) { return {m, v, maximum ? std::span<Real>(vhat) : std::span<Real>()}; }
    bool operator==(const State& other) const { return same(x, other.x) && same(m, other.m) && same(v, other.v) && same(vhat, other.vhat); }
};

template <typename Real>
void steps() {
    RandomStream stream(2, Purpose::parameters);
    for (std::size_t d : {0, 7, 4101}) {
        const auto a = random_vector<Real>(stream, d), b = random_vector<Real>(stream, d);
        const std::vector<const Real*> rows{a.data(), b.data()};
        const std::vector<double> weights{0.5, -0.25};
        State<Real> cpu(d), gpu(d), fused(d), fused_gpu(d);
        for (int kind = 0; kind < 12; ++kind) {
            const Second second = kind < 6 ? Second::adam : kind < 9 ? Second::yogi : Second::adagrad;
            const AdamRule rule{0.1, 0.9, 0.99, 1e-8, kind < 3, 1 + kind, kind >= 3, second};
            const bool use = kind % 3 == 0, keep = kind % 3 < 2;
            adaptive_step<Real>(cpu.x, cpu.moments(keep), a, rule, use);
            cuda::adaptive_step<Real>(gpu.x, gpu.moments(keep), a, rule, use, nullptr);
            sum_adaptive_step<Real>(fused.x, fused.moments(keep), weights, rows, rule, use);
            cuda::sum_adaptive_step<Real>(fused_gpu.x, fused_gpu.moments(keep), weights, rows, rule, use, nullptr);
            check(cpu == gpu && fused == fused_gpu, "adaptive step " + std::to_string(kind) + ", d = " + std::to_string(d));
        }
        for (double bound : {0.5, std::numeric_limits<double>::infinity()}) {
            const Clip one = clip_adam<Real>(cpu.x, cpu.moments(false), b, {0.1, 0.9, 0.999, 1e-8}, bound);
            const Clip two = cuda::clip_adam<Real>(gpu.x, gpu.moments(false), b, {0.1, 0.9, 0.999, 1e-8}, bound, nullptr);
            const Clip three = clip_sgd<Real>(cpu.x, a, 0.1, bound), four = cuda::clip_sgd<Real>(gpu.x, a, 0.1, bound, nullptr);
            check(cpu == gpu &&
                      same(Numbers{one.norm, one.factor, three.norm, three.factor}, Numbers{two.norm, two.factor, four.norm, four.factor}),
                  "clipped steps, d = " + std::to_string(d));
        }
    }
}

template <typename Real>
struct Cache {
    std::vector<std::vector<Real>> rows;
    std::vector<double> sum;
    std::vector<Real> out;

    Cache(RandomStream& stream, std::size_t d)
        : rows{random_vector<Real>(stream, d), random_vector<Real>(stream, d)}, sum(d, 0.7), out(d) {}
    std::vector<Real*> pointers() { return {rows[0].data(), rows[1].data(), rows[0].data()}; }
};

template <typename Real>
void caches() {
    RandomStream stream(3, Purpose::parameters);
    for (std::size_t d : {0, 300})
        for (CacheOrder order : {CacheOrder::deferred, CacheOrder::immediate, CacheOrder::newest}) {
            Cache<Real> cpu(stream, d), gpu = cpu;
            std::vector<std::vector<Real>> arrivals;
            std::vector<const Real*> vectors;
            for (int k = 0; k < 3; ++k) arrivals.push_back(random_vector<Real>(stream, d));
            for (const auto& arrival : arrivals) vectors.push_back(arrival.data());
            const std::vector<double> weights(order == CacheOrder::newest ? 0 : 3, 0.3);
            const auto one = cpu.pointers(), two = gpu.pointers();
            update_cache<Real>({weights, vectors, one, cpu.sum, 0.37, order}, cpu.out);
            cuda::update_cache<Real>({weights, vectors, two, gpu.sum, 0.37, order}, gpu.out, nullptr);
            for (std::size_t k = vectors.size(); k <= cuda::kTriples; ++k) vectors.push_back(vectors[k % 3]);
            std::vector<Real*> first, second;
            for (std::size_t k = 0; k < vectors.size(); ++k) first.push_back(one[k % 2]), second.push_back(two[k % 2]);
            const std::vector<double> many(weights.empty() ? 0 : vectors.size(), 0.01);
            update_cache<Real>({many, vectors, first, cpu.sum, 0.37, order}, cpu.out);
            cuda::update_cache<Real>({many, vectors, second, gpu.sum, 0.37, order}, gpu.out, nullptr);
            check(same(cpu.out, gpu.out) && same(cpu.sum, gpu.sum) && same(cpu.rows[0], gpu.rows[0]) && same(cpu.rows[1], gpu.rows[1]),
                  "cache, d = " + std::to_string(d));
        }
}

template <typename Real>
struct Result {
    std::vector<Real> grad, p;
    std::vector<std::int64_t> label;
    std::vector<double> entropy, kl, ce, total;

    Result(std::size_t rows, std::size_t classes)
        : grad(rows * classes), p(rows * classes), label(rows), entropy(rows), kl(rows), ce(rows) {}
    DistillRows<Real> all() { return {grad, p, label, entropy, kl, ce}; }
    bool operator==(const Result& other) const {
        return same(grad, other.grad) && same(p, other.p) && label == other.label && same(entropy, other.entropy) && same(kl, other.kl) &&
               same(ce, other.ce) && same(total, other.total);
    }
};

template <typename Real>
void compare_distilled(const std::vector<Real>& s, const std::vector<Real>& t, const DistillRule& rule, const std::string& what) {
    const std::size_t rows = s.size() / rule.classes;
    std::vector<TeacherRow> work(rows);
    std::vector<Real> logits(distill_workspace(rows, rule.classes));
    Result<Real> cpu(rows, rule.classes), gpu = cpu, alone = cpu;
    const Distilled one = distill<Real>(s, t, rule, cpu.all(), {work, logits});
    const Distilled two = cuda::distill<Real>(s, t, rule, gpu.all(), nullptr);
    cpu.total = {one.loss, one.relative_entropy, one.alpha}, gpu.total = {two.loss, two.relative_entropy, two.alpha};
    check(cpu == gpu, what);
    cuda::distill<Real>(s, t, rule, {alone.grad, {}, {}, {}, {}, {}}, nullptr);
    check(same(alone.grad, cpu.grad), what + ", the gradient alone");
}

template <typename Real>
void distillation_of(std::size_t rows, std::size_t classes, double scale) {
    RandomStream stream(4, Purpose::parameters, static_cast<std::uint32_t>(classes));
    const auto s = random_vector<Real>(stream, rows * classes, scale), t = random_vector<Real>(stream, rows * classes, scale);
    const std::string what = std::to_string(rows) + " x " + std::to_string(classes);
    compare_distilled<Real>(s, t, {classes, {0.2, 0.8}, Teacher::logits}, what);
    Result<Real> p(rows, classes);
    cuda::distill<Real>(s, t, {classes, {0.2, 0.8}, Teacher::logits}, p.all(), nullptr);
    compare_distilled<Real>(s, p.p, {classes, {0.2, 0.8}, Teacher::probabilities}, what + ", P given");
    if (rows != 3) return;
    for (const double bad : {kNan, std::numeric_limits<double>::infinity()})
        for (const bool in_teacher : {false, true}) {
            auto wrong_s = s, wrong_t = t;
            (in_teacher ? wrong_t : wrong_s)[(rows / 2) * classes] = static_cast<Real>(bad);
            compare_distilled<Real>(wrong_s, wrong_t, {classes, {0.2, 0.8}, Teacher::logits}, what + ", not finite");
        }
}

template <typename Real>
void distillations() {
    for (const auto& [rows, classes] : std::vector<std::pair<std::size_t, std::size_t>>{{1, 2}, {3, 10}, {300, 3}, {3, 32}})
        distillation_of<Real>(rows, classes, 3);
    for (const auto& [rows, classes] :
         std::vector<std::pair<std::size_t, std::size_t>>{{3, 33}, {2, 64}, {40, 47}, {3, 1023}, {3, 1024}, {3, 1025}, {1, 20000}})
        distillation_of<Real>(rows, classes, 20);
}

void errors() {
    std::vector<double> x(3), g(2);
    check_throws<std::invalid_argument>([&] { cuda::clip_sgd<double>(x, g, 1, 1, nullptr); }, "g: expected length 3, got 2");
    check_throws<std::invalid_argument>([&] { cuda::movement<double>(x, x, g, nullptr); }, "delta: expected length 3, got 2");
    check_throws<std::invalid_argument>(
        [&] {
            cuda::distill<double>({}, {}, {2, {0, 1}, Teacher::logits}, {}, nullptr);
        },
        "at least one row");
    const auto start = [&](std::size_t blocks, unsigned threads) {
        const cuda::Descend<double> op{x.data(), g.data(), nullptr, 1};
        cuda::launch("clip_sgd", cuda::each<cuda::Descend<double>>, blocks, threads, nullptr, op, std::size_t{0}, true);
    };
    check_throws<cuda::CudaError>([&] { start(1, 2048); }, "clip_sgd: invalid configuration argument");
    check(cudaGetLastError() == cudaSuccess, "no error is left by a launch");
    check_throws<cuda::CudaError>([&] { start(std::size_t{1} << 31, 256); }, "clip_sgd: 2147483648 blocks");
}

/// A call without memory changes nothing and leaves no error behind, so its retry is one step.
void retries() {
    const std::vector<double> a{1, 2, 3}, b{-3, 0.5, 7};
    const AdamRule rule{0.1, 0.9, 0.99, 1e-8};
    const State<double> before(3);
    State<double> once = before;
    clip_adam<double>(once.x, once.moments(false), b, rule, 0.5);
    for (const int allocations : {0, 1}) {  // of two
        State<double> state = before;
        const auto call = [&] { cuda::clip_adam<double>(state.x, state.moments(false), b, rule, 0.5, nullptr); };
        emulated::allocations = allocations;
        check_throws<cuda::CudaError>(call, "temporary memory: out of memory");
        emulated::allocations = -1;
        check(state == before, "nothing is changed without memory");
        try {
            call();
        } catch (const cuda::CudaError& error) {
            check(false, std::string("the retry fails: ") + error.what());
        }
        check(state == once, "the retry is one step");
    }
    emulated::allocations = 0;
    check_throws<cuda::CudaError>([&] { cuda::dot<double>(a, b, nullptr); }, "out of memory");
    emulated::allocations = -1;
    check(cudaGetLastError() == cudaSuccess, "no error is left to other users of the runtime");
    check(emulated::pools == 1 && cuda::pool()->kept == cuda::kKept, "one pool serves all calls, and keeps its memory");
}

/// What is for later copies nothing to the host and nothing to the device.
void counts() {
    const std::vector<double> a{1, 2, 3}, weights{0.5, -0.25};
    const std::vector<const double*> rows{a.data(), a.data()};
    State<double> state(3);
    double numbers[4];
    const auto counted = [&](const char* what, std::size_t launches, const auto& call) {
        emulated::launches = emulated::to_host = emulated::to_device = 0;
        call();
        check(emulated::launches == launches && emulated::to_host == 0 && emulated::to_device == 0, what);
    };
    namespace later = cuda::later;
    const AdamRule rule{0.1, 0.9, 0.99, 1e-8};
    counted("a server step is one launch", 1,
            [&] { later::sum_adaptive_step<double>(state.x, state.moments(), weights, rows, rule, true, nullptr); });
    std::vector<double> sum(3);
    counted("a sum with its norm three", 3, [&] { later::weighted_sum<double>(weights, rows, sum, numbers, nullptr); });
    counted("a clipped step three", 3, [&] { later::clip_sgd<double>(state.x, a, 0.1, 1, numbers, nullptr); });
    counted("distillation three", 3, [&] {
        later::distill<double>(state.m, state.v, {3, {0.2, 0.8}, Teacher::logits}, {state.vhat, {}, {}, {}, {}, {}}, numbers, nullptr);
    });
}

}  // namespace

int main() {
    sums<float>(), sums<double>();
    many_and_unaligned<float>(), many_and_unaligned<double>();
    counts();
    steps<float>(), steps<double>();
    caches<float>(), caches<double>();
    distillations<float>(), distillations<double>();
    errors();
    retries();
    return testing::report("cuda");
}
