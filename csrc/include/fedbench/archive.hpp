// State as bytes and back: one function per class serves writing, reading and fingerprints.
//
//     template <class A> void archive(A& a) { a(first_, second_, third_); }
//
// Members are numbers, enums, structs without padding, strings, optionals and vectors of these, and classes with an archive of their own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

namespace fedbench {

template <typename T>
concept Plain = std::is_trivially_copyable_v<T> &&(std::has_unique_object_representations_v<T> || std::is_floating_point_v<T>);

/// What the archives below share. `Derived` has raw(data, size), for one plain member, and items(container), for strings and vectors.
template <typename Derived>
class Archive {
public:
    template <typename... T>
    void operator()(T&... members) {
        (visit(members), ...);
    }

protected:
    template <typename T>
    void visit(T& member) {
        if constexpr (std::is_same_v<T, bool>) self().flag(member);
        else if constexpr (Plain<T>) self().raw(&member, sizeof(T));
        else member.archive(self());
    }
    void visit(std::string& text) { self().items(text); }
    template <typename T, typename Memory>
    void visit(std::vector<T, Memory>& items) {
        self().items(items);
    }

    void flag(bool& member) { self().raw(&member, 1); }

private:
    Derived& self() { return static_cast<Derived&>(*this); }
};

/// A running 64-bit digest of words. A change of one word always changes it; it is no defence against malice.
class Fingerprint : public Archive<Fingerprint> {
public:
    std::uint64_t value() const { return state_; }

    void raw(const void* data, std::size_t size) {
        mix(size);
        const auto* byte = static_cast<const unsigned char*>(data);
        for (; size >= 8; size -= 8, byte += 8) {
            std::uint64_t word = 0;
            std::memcpy(&word, byte, 8);
            mix(word);
        }
        std::uint64_t rest = 0;
        if (size > 0) std::memcpy(&rest, byte, size);  // an empty vector has no address
        mix(rest);
    }

private:
    friend Archive<Fingerprint>;

    void mix(std::uint64_t word) {
        state_ = (state_ ^ word) * 0x9E3779B97F4A7C15;
        state_ ^= state_ >> 29;
    }
    template <typename Items>
    void items(Items& items) {
        if constexpr (Plain<typename Items::value_type>) {
            raw(items.data(), items.size() * sizeof(*items.data()));
        } else {
            mix(items.size());
            for (auto& item : items) visit(item);
        }
    }

    std::uint64_t state_ = 0x243F6A8885A308D3;
};

/// Appends members to `bytes`.
class Writer : public Archive<Writer> {
public:
    std::string bytes;

private:
    friend Archive<Writer>;

    template <typename Items>
    void items(Items& items) {
        static_assert(Plain<typename Items::value_type>);
        std::uint64_t count = items.size();
        visit(count);
        raw(items.data(), items.size() * sizeof(*items.data()));
    }
    void raw(const void* data, std::size_t size) {
        if (size > 0) bytes.append(static_cast<const char*>(data), size);
    }
};

/// Reads members in the order in which they were written. Throws std::invalid_argument where the bytes end too early.
class Reader : public Archive<Reader> {
public:
    explicit Reader(std::span<const char> bytes) : rest_(bytes) {}

    bool at_end() const { return rest_.empty(); }

private:
    friend Archive<Reader>;

    template <typename Items>
    void items(Items& items) {
        static_assert(Plain<typename Items::value_type>);
        std::uint64_t count = 0;
        visit(count);
        if (count > rest_.size() / sizeof(*items.data())) fail();
        items.resize(count);
        raw(items.data(), count * sizeof(*items.data()));
    }
    void flag(bool& member) {
        unsigned char byte = 0;
        raw(&byte, 1);
        if (byte > 1) throw std::invalid_argument("restore: forged state: expected a truth value, got " + std::to_string(byte));
        member = byte == 1;
    }
    void raw(void* data, std::size_t size) {
        if (size > rest_.size()) fail();
        if (size > 0) std::memcpy(data, rest_.data(), size);
        rest_ = rest_.subspan(size);
    }
    [[noreturn]] static void fail() { throw std::invalid_argument("restore: the saved state ends too early"); }

    std::span<const char> rest_;
};

}  // namespace fedbench
