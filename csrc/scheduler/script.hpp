// Scripted clients: those that begin, and those that come next.
#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

namespace fedbench {

/// Returns the client as an index. Throws std::invalid_argument, naming the list, if it does not
/// exist.
inline std::uint32_t named_client(std::int32_t client, const char* list, std::uint32_t clients) {
    if (client < 0 || static_cast<std::uint32_t>(client) >= clients)
        throw std::invalid_argument(std::string("stream: ") + list + " names client " + std::to_string(client) + ", there are " +
                                    std::to_string(clients) + " clients");
    return static_cast<std::uint32_t>(client);
}

/// Throws std::invalid_argument unless the list of who begins is empty or fills all places.
inline void check_initial(const std::vector<std::int32_t>& initial, std::uint32_t places) {
    if (!initial.empty() && initial.size() != places)
        throw std::invalid_argument("stream: initial lists " + std::to_string(initial.size()) + " clients, concurrency is " +
                                    std::to_string(places));
}

/// Returns the client at `next`, and moves `next` on. Throws std::invalid_argument at the end of
/// the list.
inline std::uint32_t next_replacement(const std::vector<std::int32_t>& replacements, std::size_t& next, std::uint32_t clients) {
    if (next == replacements.size())
        throw std::invalid_argument("stream: replacements has " + std::to_string(replacements.size()) + " entries, entry " +
                                    std::to_string(next) + " was needed");
    return named_client(replacements[next++], "replacements", clients);
}

}  // namespace fedbench
