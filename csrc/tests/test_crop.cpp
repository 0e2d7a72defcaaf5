// Random crops: a job on images that change is the job on the changed images, written out by the
// definition.
#include <cstring>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

#include "check.hpp"
#include "fedbench/philox.hpp"
#include "fedbench/train.hpp"
#include "networks.hpp"

namespace {

using namespace fedbench;
using namespace fedbench::testing;
using namespace fedbench::testing::networks;
using namespace fedbench::train;

constexpr std::uint64_t kSeed = 5;
constexpr std::size_t kBatch = 7;  // of 21 examples, so that all steps have as many

template <typename Real>
std::vector<Real> fill_of(const Shape& shape) {
    std::vector<Real> fill(shape.channels);
    std::iota(fill.begin(), fill.end(), Real{-2});
    return fill;
}

/// The padded image at a place.
template <typename Real>
Real padded(const Real* image, const Shape& shape, const CropAndFlip<Real>& how, std::size_t c, std::size_t row, std::size_t column) {
    const bool is_inside =
        row >= how.padding && row < how.padding + shape.height && column >= how.padding && column < how.padding + shape.width;
    return is_inside ? image[(c * shape.height + row - how.padding) * shape.width + column - how.padding] : how.fill[c];
}

/// The images and labels that a job uses, one after the other.
template <typename Real>
struct Used {
    std::vector<Real> x;
    std::vector<std::int64_t> y, shard;

    Used(const Problem<Real>& problem, const Job<Real>& job, const CropAndFlip<Real>& how) {
        const Shape& shape = problem.network.input();
        const Batches order = draw_batches(RandomStream(kSeed, Purpose::data_order, job.client, job.k),
                                           static_cast<std::uint32_t>(problem.shard.size()), kBatch, job.steps);
        RandomStream words(kSeed, Purpose::augmentation, job.client, job.k);
        const std::uint64_t places = 2 * how.padding + 1;
        for (std::int64_t at : order.rows) {
            const auto row = static_cast<std::size_t>(problem.shard[static_cast<std::size_t>(at)]);
            const std::uint64_t j = words.word() * (2 * places * places) / (std::uint64_t{1} << 32);
            for (std::size_t c = 0; c < shape.channels; ++c)
                for (std::size_t h = 0; h < shape.height; ++h)
                    for (std::size_t w = 0; w < shape.width; ++w)
                        x.push_back(padded(problem.x.data() + row * shape.size(), shape, how, c, j / (2 * places) + h,
                                           j / 2 % places + (j % 2 == 1 ? shape.width - 1 - w : w)));
            y.push_back(problem.y[row]);
        }
        shard.resize(y.size());
        std::iota(shard.begin(), shard.end(), 0);
    }
};

template <typename Real>
void a_job_trains_on_the_changed_images(const Net& net, std::size_t padding, InstructionSet isa) {
    const Problem<Real> problem(net);
    const std::vector<Real> fill = fill_of<Real>(net.input);
    const CropAndFlip<Real> how{padding, fill.data()};
    const std::atomic<bool> never{false};
    std::vector<std::vector<Real>> ends, wanted, full, as_they_are;
    std::vector<Job<Real>> jobs;
    for (std::uint32_t i = 0; i < 3; ++i) {
        for (auto* several : {&ends, &wanted, &full, &as_they_are}) several->emplace_back(problem.model.size());
        Job<Real> job = plain_job<Real>();
        job.client = i % 2, job.k = i, job.steps = 2 + i, job.rule.start = problem.model.data(), job.shard = problem.shard;
        const Used<Real> used(problem, job, how);
        Job<Real> written = job;
        written.shard = used.shard, written.end = wanted[i].data();
        make_worker<Real>(problem.network, kBatch, isa)
            ->train({&written, 1}, {used.x.data(), used.y.data(), used.y.size()}, kSeed, kBatch, false, never);
        make_worker<Real>(problem.network, kBatch, isa)
            ->gradient(problem.model.data(), problem.examples(), problem.shard, as_they_are[i].data(), never);
        job.full_gradient = full[i].data(), job.end = ends[i].data();
        jobs.push_back(job);
    }
    Examples<Real> examples = problem.examples();
    examples.change = how;
    make_worker<Real>(problem.network, kBatch, isa)->train(jobs, examples, kSeed, kBatch, true, never);
    const std::string where = std::string(net.name) + ", padding " + std::to_string(padding) + " on " + name_of(isa);
    check(ends == wanted, where + ": steps");
    check(full == as_they_are, where + ": a full gradient is of the images as they are");
}

void what_is_no_image_is_refused() {
    const Problem<float> problem(nets()[0]), image(nets()[1]);
    const float fill[] = {0};
    const auto crew = [](const Problem<float>& of, const CropAndFlip<float>& how) {
        Examples<float> examples = of.examples();
        examples.change = how;
        Crew<float>(of.network, examples, kSeed, kBatch, 1, instruction_set());
    };
    check_throws<std::invalid_argument>([&] { crew(problem, {1, fill}); }, "fill: must be left out, since examples are no images");
    check_throws<std::invalid_argument>([&] { crew(image, {kMostPadding + 1, fill}); }, "padding: must be at most 23169, got 23170");
    crew(image, {kMostPadding, fill});
}

}  // namespace

int main() {
    for (const Net& net : nets()) {
        if (!net.input.image || Network(net.layers, net.input).dim() > 1000) continue;  // larger ones are cropped alike, and take minutes
        for (InstructionSet isa : {InstructionSet::portable, InstructionSet::avx2, InstructionSet::avx512})
            if (isa <= instruction_set()) a_job_trains_on_the_changed_images<float>(net, 1, isa);
        for (std::size_t padding : {0, 4, 11}) a_job_trains_on_the_changed_images<double>(net, padding, instruction_set());
    }
    what_is_no_image_is_refused();
    return report("crop");
}
