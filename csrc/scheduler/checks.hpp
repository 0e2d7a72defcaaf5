// Checks of what users give, with messages that name the thing, the value and the client.
#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>

namespace fedbench {

/// The value without trailing zeros.
inline std::string number(double value) {
    std::string text = std::to_string(value);
    while (text.back() == '0') text.pop_back();
    if (text.back() == '.') text.pop_back();
    return text;
}

inline void require(bool ok, const std::string& name, const std::string& parameter, const std::string& range, double value,
                    std::size_t client) {
    if (!ok)
        throw std::invalid_argument(name + ": " + parameter + " must be " + range + ", got " + number(value) + " (client " +
                                    std::to_string(client) + ")");
}

/// One value for all, or one per client.
inline void check_count(const std::string& name, std::size_t count, std::uint32_t clients) {
    if (count != 1 && count != clients)
        throw std::invalid_argument(name + ": expected 1 or " + std::to_string(clients) + " values, one per client, got " +
                                    std::to_string(count));
}

}  // namespace fedbench
