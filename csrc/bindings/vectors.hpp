// Shared by the bindings of the numerical kernels: one function for both dtypes, rows, and the
// check for overlap.
#pragma once

#include <tuple>

#include "arrays.hpp"
#include "fedbench/accumulate.hpp"

namespace fedbench::bindings {

inline bool is_double_array(const py::handle& given) {
    return py::isinstance<py::array>(given) && py::reinterpret_borrow<py::array>(given).dtype().num() == py::dtype::num_of<double>();
}

/// Returns whether an array is float64, or the first item of a sequence is such an array. The item
/// of a text is a text again, and a list may hold itself, so no item of an item is looked at.
inline bool is_double(const py::object& given) {
    if (py::isinstance<py::array>(given) || !py::isinstance<py::sequence>(given) || py::len(given) == 0) return is_double_array(given);
    return is_double_array(py::object(given[py::int_(0)]));
}

/// Makes one function of two for float32 and float64. The argument whose place is `Deciding` says
/// by its dtype which of them is called, and that one refuses what is neither.
template <std::size_t Deciding, typename Result, typename... Arguments>
auto by_dtype(Result (*for_float)(Arguments...), Result (*for_double)(Arguments...)) {
    return [=](Arguments... arguments) {
        return (is_double(std::get<Deciding>(std::tie(arguments...))) ? for_double : for_float)(arguments...);
    };
}

/// Returns a view of a vector of d elements.
template <typename T>
std::span<const T> vector_of(const std::string& name, const py::handle& object, std::size_t d) {
    const auto view = vector_of<T>(name, object);
    if (view.size() != d) refuse(name, "length " + std::to_string(d), object);
    return view;
}

/// Returns a view of a vector of d elements that will be written.
template <typename T>
std::span<T> output_of(const std::string& name, const py::handle& object, std::size_t d) {
    const auto view = output_of<T>(name, object);
    if (view.size() != d) refuse(name, "length " + std::to_string(d), object);
    return view;
}

/// Returns the rows of a (K, d) array, or of a sequence of K vectors of length d. `kept` holds what
/// a lazy sequence hands out.
template <typename Real>
std::vector<const Real*> rows_of(const py::object& vectors, std::size_t d, py::list& kept) {
    std::vector<const Real*> rows;
    if (py::isinstance<py::array>(vectors)) {
        if (!is_plain<Real>(vectors, 2)) refuse("vectors", std::string(type_name<Real>()) + " (K, d) C-contiguous", vectors);
        const auto matrix = py::reinterpret_borrow<py::array_t<Real>>(vectors);
        if (static_cast<std::size_t>(matrix.shape(1)) != d) refuse("vectors", "rows of length " + std::to_string(d), vectors);
        for (py::ssize_t k = 0; k < matrix.shape(0); ++k) rows.push_back(matrix.data() + k * matrix.shape(1));
        return rows;
    }
    for (const py::handle& vector : vectors) {
        kept.append(vector);
        rows.push_back(vector_of<Real>("vectors[" + std::to_string(rows.size()) + "]", vector, d).data());
    }
    return rows;
}

/// The memory of one array of a call.
struct Extent {
    const char* name;
    const void* begin;
    std::size_t bytes;
};

template <typename T>
Extent extent_of(const char* name, std::span<T> view) {
    return {name, view.data(), view.size_bytes()};
}

/// Throws if one of the first `outputs` arrays overlaps another of them or one of the rest.
inline void refuse_overlap(std::span<const Extent> arrays, std::size_t outputs) {
    const auto start = [](const Extent& e) { return reinterpret_cast<std::uintptr_t>(e.begin); };
    for (std::size_t i = 0; i < outputs; ++i)
        for (std::size_t j = i + 1; j < arrays.size(); ++j)
            if (start(arrays[i]) < start(arrays[j]) + arrays[j].bytes && start(arrays[j]) < start(arrays[i]) + arrays[i].bytes)
                throw py::value_error(std::string(arrays[i].name) + ": must not overlap " + arrays[j].name);
}

}  // namespace fedbench::bindings
