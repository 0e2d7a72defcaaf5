// Checked views of numpy arrays, and numpy views of C++ columns. Nothing here copies but `copied`.
#pragma once

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>  // here, so that all files convert vectors and tuples alike

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace fedbench::bindings {

namespace py = pybind11;

/// Whether an object is a numpy array itself: a masked array or another subclass may mean something
/// else than its memory says.
inline bool is_exact(const py::handle& object) {
    return reinterpret_cast<PyObject*>(Py_TYPE(object.ptr())) == reinterpret_cast<PyObject*>(py::detail::npy_api::get().PyArray_Type_);
}

inline bool is_aligned(const py::array& array) { return (array.flags() & py::detail::npy_api::NPY_ARRAY_ALIGNED_) != 0; }

/// Describes an object in the words that all messages use.
inline std::string describe(const py::handle& object) {
    return py::str(py::module_::import("fedbench.kernels.checks").attr("describe")(object));
}

[[noreturn]] inline void refuse(const std::string& name, const std::string& wanted, const py::handle& got) {
    throw py::type_error(name + ": expected " + wanted + ", got " + describe(got));
}

template <typename T>
bool is_plain(const py::handle& object, py::ssize_t ndim) {
    if (!is_exact(object) || !py::isinstance<py::array_t<T>>(object)) return false;
    const auto array = py::reinterpret_borrow<py::array>(object);
    return array.ndim() == ndim && (array.flags() & py::array::c_style) && is_aligned(array);
}

template <typename T>
const char* type_name() {
    if constexpr (std::is_same_v<T, float>) return "float32";
    else if constexpr (std::is_same_v<T, double>) return "float64";
    else if constexpr (std::is_same_v<T, std::int32_t>) return "int32";
    else return "int64";
}

/// Returns a view of a one-dimensional C-contiguous array of exactly this dtype.
template <typename T>
std::span<const T> vector_of(const std::string& name, const py::handle& object) {
    if (!is_plain<T>(object, 1)) refuse(name, std::string(type_name<T>()) + " (d,) C-contiguous", object);
    const auto array = py::reinterpret_borrow<py::array_t<T>>(object);
    return {array.data(), static_cast<std::size_t>(array.size())};
}

/// Returns a copy of the values of such an array, which later changes of the array do not touch.
template <typename T>
std::vector<T> copied(const std::string& name, const py::handle& object) {
    const auto view = vector_of<T>(name, object);
    return {view.begin(), view.end()};
}

/// Keeps the memory of arrays where it is for as long as this lives: the arrays are held, and numpy
/// does not resize an array to which a weak reference points. It is made and destroyed under the
/// interpreter's lock.
class Pins {
public:
    /// Adds the array and those of which it is a view.
    void add(const py::object& array) {
        for (py::object link = array; py::isinstance<py::array>(link); link = py::reinterpret_borrow<py::array>(link).base()) {
            held_.push_back(link);
            held_.push_back(py::weakref(link));
        }
    }

private:
    std::vector<py::object> held_;
};

/// Returns a two-dimensional C-contiguous array of exactly this dtype, as its rows one after
/// another.
template <typename T>
std::span<const T> matrix_of(const std::string& name, const py::handle& object) {
    if (!is_plain<T>(object, 2)) refuse(name, std::string(type_name<T>()) + " (B, C) C-contiguous", object);
    const auto array = py::reinterpret_borrow<py::array_t<T>>(object);
    return {array.data(), static_cast<std::size_t>(array.size())};
}

/// Returns the span if the array that it views may be written; throws if not.
template <typename T>
std::span<T> writeable(const std::string& name, const py::handle& object, std::span<const T> view) {
    if (!py::reinterpret_borrow<py::array>(object).writeable())
        throw py::type_error(name + ": expected a writeable array, got a read-only one");
    return {const_cast<T*>(view.data()), view.size()};
}

/// Returns the length of an axis of a numpy array.
inline std::size_t side_of(const py::handle& array, int axis) {
    return static_cast<std::size_t>(py::reinterpret_borrow<py::array>(array).shape(axis));
}

/// Returns a matrix (rows, columns) that will be written.
template <typename T>
std::span<T> matrix_out(const std::string& name, const py::handle& object, std::size_t rows, std::size_t columns) {
    const auto view = matrix_of<T>(name, object);
    if (side_of(object, 0) != rows || side_of(object, 1) != columns)
        refuse(name, "shape (" + std::to_string(rows) + ", " + std::to_string(columns) + ")", object);
    return writeable<T>(name, object, view);
}

/// Returns a view of a vector that will be written.
template <typename T>
std::span<T> output_of(const std::string& name, const py::handle& object) {
    const auto view = vector_of<T>(name, object);
    return writeable<T>(name, object, view);
}

/// Returns a read-only numpy view of a column; `owner` keeps the memory alive.
template <typename T>
py::array column(const std::vector<T>& values, const py::object& owner) {
    py::array view(py::dtype::of<T>(), {static_cast<py::ssize_t>(values.size())}, {static_cast<py::ssize_t>(sizeof(T))}, values.data(),
                   owner);
    view.attr("setflags")(py::arg("write") = false);
    return view;
}

/// Returns a numpy array that takes over a vector.
template <typename T>
py::array take(std::vector<T>&& values) {
    auto* heap = new std::vector<T>(std::move(values));
    const py::capsule owner(heap, [](void* p) { delete static_cast<std::vector<T>*>(p); });
    return py::array(py::dtype::of<T>(), {static_cast<py::ssize_t>(heap->size())}, {static_cast<py::ssize_t>(sizeof(T))}, heap->data(),
                     owner);
}

}  // namespace fedbench::bindings
