// The loops of this folder as a table of functions. A file per instruction set includes them and
// returns its table. The namespace is unnamed on purpose: code for different instruction sets must
// not be merged.
#pragma once

#include <type_traits>

#include "cache_loops.hpp"
#include "lanes.hpp"
#include "moments.hpp"

namespace fedbench {

/// The loops for one instruction set. Sizes are not checked.
template <typename Real>
struct Loops {
    double (*weighted_sum)(std::span<const double> weights, std::span<const Real* const> vectors, std::span<Real> out, std::size_t from);
    double (*dot)(std::span<const Real> a, std::span<const Real> b);
    Movement (*movement)(std::span<const Real> x, std::span<const Real> base, std::span<const Real> delta);
    void (*update_cache)(const CacheUpdate<Real>& update, std::span<Real> out);
    void (*sgd)(Real* x, const Real* g, std::size_t d, Real scale, Real rate);
    void (*adaptive)(const optimising::Step<Real>& step, const optimising::Factors<Real>& factors);
};

namespace {

template <typename Real>
constexpr Loops<Real> kLoops{lanes::weighted_sum<Real>, lanes::dot<Real>,      lanes::movement<Real>,
                             caching::update<Real>,     optimising::sgd<Real>, optimising::adaptive<Real>};

}  // namespace

/// Returns the loops that this machine runs for `isa`.
template <typename Real>
const Loops<Real>& loops(InstructionSet isa);

const Loops<float>& loops_avx2(std::type_identity<float>);
const Loops<double>& loops_avx2(std::type_identity<double>);

}  // namespace fedbench
