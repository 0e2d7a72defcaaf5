// Distillation: all instruction sets agree bit for bit, and with the formulas written down plainly.
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "check.hpp"
#include "fedbench/distill.hpp"
#include "fedbench/philox.hpp"

namespace {

using namespace fedbench;
using testing::check;
using testing::check_throws;

template <typename Real>
struct Result {
    std::vector<Real> grad, p;
    std::vector<std::int64_t> label;
    std::vector<double> entropy, kl, ce;
    Distilled total{};

    Result(const std::vector<Real>& s, const std::vector<Real>& t, std::size_t classes, Teacher kind, InstructionSet isa)
        : grad(s.size()), p(s.size()), label(s.size() / classes), entropy(label.size()), kl(label.size()), ce(label.size()) {
        std::vector<TeacherRow> rows(label.size());
        std::vector<Real> logits(distill_workspace(label.size(), classes));
        const DistillRule rule{classes, {0.2, 0.8}, kind};
        total = distill<Real>(s, t, rule, {grad, p, label, entropy, kl, ce}, {rows, logits}, isa);
        std::vector<Real> alone(s.size());
        const Distilled again = distill<Real>(s, t, rule, {alone, {}, {}, {}, {}, {}}, {rows, logits}, isa);
        check(std::memcmp(alone.data(), grad.data(), grad.size() * sizeof(Real)) == 0 && again.loss == total.loss, "the gradient alone");
    }
};

template <typename T>
bool same(const std::vector<T>& a, const std::vector<T>& b) {
    return std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0;
}

template <typename Real>
std::vector<Real> random_logits(RandomStream& stream, std::size_t count) {
    std::vector<Real> values(count);
    for (Real& v : values) v = static_cast<Real>(4 * stream.normal());
    return values;
}

/// Gradient, probabilities, alpha and loss, long double, from the formulas.
template <typename Real>
void against_formulas(const Result<Real>& got, const std::vector<Real>& s, const std::vector<Real>& t, std::size_t classes) {
    const std::size_t rows = got.label.size();
    const double tolerance = sizeof(Real) == 4 ? 1e-6 : 1e-12;
    long double entropy = 0, kl = 0, ce = 0;
    for (std::size_t u = 0; u < rows; ++u) {
        long double e = 0, f = 0;
        for (std::size_t c = 0; c < classes; ++c)
            e += std::exp((long double)t[u * classes + c]), f += std::exp((long double)s[u * classes + c]);
        bool ok = true;
        for (std::size_t c = 0; c < classes; ++c) {
            const std::size_t i = u * classes + c;
            const long double p = std::exp((long double)t[i]) / e, q = std::exp((long double)s[i]) / f;
            const long double hard = static_cast<std::int64_t>(c) == got.label[u] ? 1 : 0;
            entropy -= p * std::log(p);
            kl += p * std::log(p / q);
            ce -= hard * std::log(q);
            const long double g = (q - got.total.alpha * p - (1 - got.total.alpha) * hard) / rows;
            ok = ok && std::abs(got.grad[i] - g) * rows < tolerance && std::abs(got.p[i] - p) < tolerance;
        }
        check(ok, "gradient and probabilities, " + std::to_string(classes) + " classes");
    }
    const long double relative = entropy / rows / std::log((long double)classes), alpha = relative * 0.8L + (1 - relative) * 0.2L;
    const long double loss = (alpha * kl + (1 - alpha) * ce) / rows;
    check(std::abs(got.total.relative_entropy - relative) < tolerance && std::abs(got.total.alpha - alpha) < tolerance,
          "alpha, " + std::to_string(classes) + " classes");
    check(std::abs(got.total.loss - loss) < 5 * tolerance * (1 + loss), "loss, " + std::to_string(classes) + " classes");
}

template <typename Real>
void same_bits_everywhere() {
    RandomStream stream(3, Purpose::parameters);
    for (std::size_t classes : {2, 7, 8, 9, 31, 32, 33, 40, 255, 256, 257, 1000})
        for (std::size_t rows : {1, 3, 4, 8, 11}) {
            const auto s = random_logits<Real>(stream, rows * classes), t = random_logits<Real>(stream, rows * classes);
            const Result<Real> a(s, t, classes, Teacher::logits, InstructionSet::portable);
            const Result<Real> c(s, a.p, classes, Teacher::probabilities, InstructionSet::portable);
            const std::string shape = std::to_string(rows) + " x " + std::to_string(classes);
            for (InstructionSet isa : {InstructionSet::avx2, InstructionSet::avx512}) {
                if (isa > instruction_set()) continue;
                const Result<Real> b(s, t, classes, Teacher::logits, isa), d(s, a.p, classes, Teacher::probabilities, isa);
                const std::string where = shape + " " + name_of(isa);
                check(same(a.grad, b.grad) && same(a.p, b.p) && same(a.kl, b.kl) && same(a.ce, b.ce) && a.total.loss == b.total.loss,
                      where);
                check(same(c.grad, d.grad) && same(c.kl, d.kl) && same(c.entropy, d.entropy) && c.total.loss == d.total.loss,
                      where + " given P");
            }
            check(std::abs(c.total.loss - a.total.loss) < 1e-5 * (1 + std::abs(a.total.loss)), "given P, the same loss, " + shape);
            against_formulas(a, s, t, classes);
        }
}

void errors() {
    const std::vector<double> s(6), t(5);
    check_throws<std::invalid_argument>([&] { Result<double>(s, t, 3, Teacher::logits, instruction_set()); },
                                        "6 elements in teacher, got 5");
    check_throws<std::invalid_argument>([&] { Result<double>(s, s, 1, Teacher::logits, instruction_set()); }, "at least 2 classes");
}

}  // namespace

int main() {
    same_bits_everywhere<float>();
    same_bits_everywhere<double>();
    errors();
    return testing::report("distill");
}
