// The whole test framework: count checks, say what failed and where, return an exit code.
#pragma once

#include <cstdio>
#include <exception>
#include <source_location>
#include <string_view>

namespace fedbench::testing {

struct Tally {
    int checks = 0;
    int failures = 0;
};
inline Tally tally;

/// Counts a check; prints `what` and the caller's place if it does not hold. Not thread-safe.
inline void check(bool ok, std::string_view what, std::source_location at = std::source_location::current()) {
    ++tally.checks;
    if (ok) return;
    ++tally.failures;
    std::printf("%s:%u: FAILED: %.*s\n", at.file_name(), static_cast<unsigned>(at.line()), static_cast<int>(what.size()), what.data());
}

/// `action()` must throw an Error whose message contains `part`.
template <typename Error, typename Action>
void check_throws(Action action, std::string_view part, std::source_location at = std::source_location::current()) {
    try {
        action();
    } catch (const Error& error) {
        const bool found = std::string_view(error.what()).find(part) != std::string_view::npos;
        if (!found) std::printf("  message: %s\n", error.what());
        return check(found, part, at);
    } catch (const std::exception& error) {
        std::printf("  another exception: %s\n", error.what());
        return check(false, part, at);
    }
    check(false, part, at);
}

/// Prints the totals. 0 if there were checks and all of them held.
inline int report(std::string_view name) {
    std::printf("%.*s: %d checks, %d failed\n", static_cast<int>(name.size()), name.data(), tally.checks, tally.failures);
    return tally.checks > 0 && tally.failures == 0 ? 0 : 1;
}

}  // namespace fedbench::testing
