// Checks of numbers that users give; messages name the thing, the value and the client.
#pragma once

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

namespace fedbench {

/// Returns the shortest text that reads back as the value.
inline std::string number(double value) {
    char text[32];
    return {text, std::to_chars(text, text + sizeof text, value).ptr};
}

inline void require(bool ok, const std::string& name, const std::string& parameter, const std::string& range, double value,
                    std::size_t client) {
    if (!ok)
        throw std::invalid_argument(name + ": " + parameter + " must be " + range + ", got " + number(value) + " (client " +
                                    std::to_string(client) + ")");
}

/// Throws std::invalid_argument unless there is a row for every client.
inline void check_rows(const std::string& name, std::size_t rows, std::uint32_t clients) {
    if (rows != clients)
        throw std::invalid_argument(name + ": expected " + std::to_string(clients) + " rows, one per client, got " + std::to_string(rows));
}

/// Throws std::invalid_argument unless there is one value for all clients or one per client.
inline void check_count(const std::string& name, std::size_t count, std::uint32_t clients) {
    if (count != 1 && count != clients)
        throw std::invalid_argument(name + ": expected 1 or " + std::to_string(clients) + " values, one per client, got " +
                                    std::to_string(count));
}

/// Returns the client's value of values that check_count passes.
template <typename T>
T value_of(const std::vector<T>& values, std::uint32_t client) {
    return values[values.size() == 1 ? 0 : client];
}

}  // namespace fedbench
