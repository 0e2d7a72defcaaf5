// A scheduler as bytes: header (what this is, for which configuration, and a checksum), then every member.
#include <cstring>
#include <stdexcept>
#include <variant>

#include "fedbench/archive.hpp"
#include "fedbench/scheduler.hpp"

namespace fedbench {

namespace {

/// 40 bytes in front of the state. Integers are in the machine's order, which the magic number tells too.
struct Header {
    std::uint64_t magic = 0x4E414C5042444546;  // "FEDBPLAN" on a little-endian machine
    std::uint64_t format = 1;                  // changes whenever a member of any archive does
    std::uint64_t configuration = 0;
    std::uint64_t size = 0;
    std::uint64_t checksum = 0;
};

std::uint64_t checksum(std::span<const char> bytes) {
    Fingerprint sum;
    sum.raw(bytes.data(), bytes.size());
    return sum.value();
}

[[noreturn]] void refuse(const std::string& reason) { throw std::invalid_argument("restore: " + reason); }

/// The header, if what follows is a state for this configuration.
void check(std::span<const char> bytes, std::uint64_t configuration) {
    Header header;
    const Header expected;
    if (bytes.size() < sizeof(Header)) refuse("expected a saved scheduler, got " + std::to_string(bytes.size()) + " bytes");
    std::memcpy(&header, bytes.data(), sizeof(Header));
    if (header.magic != expected.magic) refuse("these bytes are no saved scheduler of this kind of machine");
    if (header.format != expected.format)
        refuse("the state has format " + std::to_string(header.format) + ", expected " + std::to_string(expected.format));
    if (header.size != bytes.size() - sizeof(Header))
        refuse("expected " + std::to_string(header.size) + " bytes of state, got " + std::to_string(bytes.size() - sizeof(Header)));
    if (header.checksum != checksum(bytes.subspan(sizeof(Header)))) refuse("the state was changed since it was saved (checksum)");
    if (header.configuration != configuration) refuse("the state is of a scheduler with other arguments");
}

}  // namespace

std::uint64_t fingerprint(PolicyConfig& policy) {
    Fingerprint sum;
    std::uint64_t kind = policy.index();
    sum(kind);
    std::visit([&](auto& config) { sum(config); }, policy);
    return sum.value();
}

std::uint64_t Scheduler::configuration() {
    Fingerprint sum;
    sum(policy_configuration_, system_, budget_);
    presence_.archive_configuration(sum);
    return sum.value();
}

std::string Scheduler::save() {
    Writer writer;
    writer(*this);
    policy_->save(writer);
    Header header;
    header.configuration = configuration();
    header.size = writer.bytes.size();
    header.checksum = checksum(writer.bytes);
    return std::string(reinterpret_cast<const char*>(&header), sizeof(Header)) + writer.bytes;
}

void Scheduler::restore(std::span<const char> bytes) {
    check(bytes, configuration());
    Reader reader(bytes.subspan(sizeof(Header)));
    reader(*this);
    policy_->restore(reader);
    if (!reader.at_end()) throw std::logic_error("restore: bytes are left over");
}

}  // namespace fedbench
