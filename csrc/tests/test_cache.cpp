// The cached update: the same bits on every instruction set, and what the contract says, element by
// element.
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "check.hpp"
#include "fedbench/cache.hpp"
#include "fedbench/philox.hpp"

namespace {

using namespace fedbench;
using testing::check;
using testing::check_throws;

template <typename Real>
struct Cache {
    std::vector<std::vector<Real>> rows, vectors;
    std::vector<double> sum;
    std::vector<double> weights{0.5, -0.25, 1.5, 0.125};
    std::vector<std::size_t> clients{1, 0, 1, 2};  // client 1 arrives twice
    std::vector<Real> out;

    explicit Cache(std::size_t d) : sum(d), out(d) {
        RandomStream stream(5, Purpose::parameters);
        const auto vector = [&] {
            std::vector<Real> values(d);
            for (Real& v : values) v = static_cast<Real>(stream.normal());
            return values;
        };
        for (int i = 0; i < 3; ++i) rows.push_back(vector());
        for (int k = 0; k < 4; ++k) vectors.push_back(vector());
        for (const auto& row : rows)
            for (std::size_t i = 0; i < d; ++i) sum[i] += static_cast<double>(row[i]);
    }

    void run(CacheOrder order, InstructionSet isa) {
        std::vector<const Real*> from;
        std::vector<Real*> to;
        for (std::size_t k = 0; k < 4; ++k) from.push_back(vectors[k].data()), to.push_back(rows[clients[k]].data());
        const auto used = order == CacheOrder::newest ? std::vector<double>{} : weights;
        update_cache<Real>({used, from, to, sum, 1.0 / 3, order}, out, isa);
    }

    /// The contract's sentence.
    void plain(CacheOrder order) {
        for (std::size_t i = 0; i < out.size(); ++i) {
            const std::vector<Real> before{rows[0][i], rows[1][i], rows[2][i]};
            Real v = static_cast<Real>(1.0 / 3 * sum[i]);
            for (std::size_t k = 0; k < 4; ++k) {
                Real& row = rows[clients[k]][i];
                const Real old = order == CacheOrder::deferred ? before[clients[k]] : row;
                v = std::fma(static_cast<Real>(weights[k]), vectors[k][i] - old, v);
                sum[i] += static_cast<double>(vectors[k][i]) - static_cast<double>(row);
                row = vectors[k][i];
            }
            out[i] = order == CacheOrder::newest ? static_cast<Real>(1.0 / 3 * sum[i]) : v;
        }
    }
};

template <typename T>
bool same(const std::vector<T>& a, const std::vector<T>& b) {
    return a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0;
}

template <typename Real>
void is_the_contract() {
    for (std::size_t d : {0, 1, 7, 16, 2047, 2048, 2049, 5000})
        for (CacheOrder order : {CacheOrder::deferred, CacheOrder::immediate, CacheOrder::newest})
            for (InstructionSet isa : {InstructionSet::portable, instruction_set()}) {
                Cache<Real> got(d), want(d);
                got.run(order, isa);
                want.plain(order);
                bool ok = same(got.out, want.out) && same(got.sum, want.sum);
                for (int i = 0; i < 3; ++i) ok = ok && same(got.rows[i], want.rows[i]);
                check(ok, std::to_string(d) + " elements, order " + std::to_string(static_cast<int>(order)) + ", " + name_of(isa));
            }
}

void errors() {
    std::vector<double> a(2), sum(2), out(2), short_sum(1), weight{1.0};
    const std::vector<const double*> vectors{a.data()};
    const std::vector<double*> rows{out.data()};
    check_throws<std::invalid_argument>(
        [&] {
            update_cache<double>({{}, vectors, rows, sum, 1, CacheOrder::deferred}, out);
        },
        "expected 1 weights and 1 rows for 1 vectors, got 0 and 1");
    check_throws<std::invalid_argument>(
        [&] {
            update_cache<double>({weight, vectors, rows, short_sum, 1, CacheOrder::deferred}, out);
        },
        "sum: expected length 2, got 1");
}

}  // namespace

int main() {
    is_the_contract<float>();
    is_the_contract<double>();
    errors();
    return testing::report("cache");
}
