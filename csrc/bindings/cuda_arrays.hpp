// Checked views of device arrays, from any library: through DLPack, or else
// __cuda_array_interface__. Nothing here copies.
//
// Order of work: a producer of DLPack makes the call's stream wait for its work under way. With
// __cuda_array_interface__ the call waits for the stream that it names. If none is named (version
// 2, or None), the call does not wait.
//
// What is written must say that it may be: by the flag of DLPack 1.0, or, where an exporter knows
// only an older one, by its __cuda_array_interface__.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <unordered_map>
#include <vector>

#include "fedbench/cuda.hpp"
#include "vectors.hpp"

namespace fedbench::bindings {

/// The description of a device array.
struct DeviceView {
    std::string type;  // as numpy names it
    std::vector<py::ssize_t> shape;
    bool contiguous = true;
    const char* unwriteable = nullptr;  // what it is if it may not be written
    int device = 0;
    void* data = nullptr;

    std::size_t size() const;
    std::string describe() const;
};

/// Device memory with a shape, for results for which the caller gave no array. Other libraries read
/// it by __cuda_array_interface__, and wait for the stream that it names unless the call does.
class DeviceArray {
public:
    DeviceArray(std::string type, std::vector<py::ssize_t> shape, cuda::Stream stream, bool later);

    py::dict interface() const;
    /// Returns the numbers of a float64 array (n,), after waiting for its stream.
    std::vector<double> numbers() const;
    const DeviceView& view() const { return view_; }
    /// Returns the stream that has its work, if that is for later, and else the legacy default one.
    std::uintptr_t later_stream() const;

private:
    DeviceView view_;
    cuda::Memory memory_;
    bool later_;
};

/// The device arrays of one call, all on one device, which is the current one while this lives; and
/// the call's stream.
class DeviceArguments {
public:
    /// `stream` is a handle as an integer; 1 is the legacy default stream, 2 that of the thread.
    /// None is that of the first array: torch's current one for a tensor of torch, that of the call
    /// for a result that is for later, and else the legacy one.
    explicit DeviceArguments(const py::object& stream);

    /// Known from the first array on.
    cuda::Stream stream() const { return reinterpret_cast<cuda::Stream>(stream_); }

    /// Returns an array of `type` and as many axes as `axes` has names, such as "(B, C)".
    DeviceView array(const std::string& name, const py::handle& object, const std::string& type, const std::string& axes);

    template <typename T>
    std::span<const T> vector(const std::string& name, const py::handle& object) {
        const DeviceView view = array(name, object, type_name<T>(), "(d,)");
        return {static_cast<const T*>(view.data), view.size()};
    }
    template <typename T>
    std::span<const T> vector(const std::string& name, const py::handle& object, std::size_t length) {
        const auto view = vector<T>(name, object);
        if (view.size() != length) refuse(name, "length " + std::to_string(length), object);
        return view;
    }
    /// Returns a vector that will be written.
    template <typename T>
    std::span<T> output(const std::string& name, const py::handle& object, std::size_t length) {
        return writeable<T>(name, object, vector<T>(name, object, length));
    }
    template <typename T>
    std::span<T> writeable(const std::string& name, const py::handle& object, std::span<const T> view) {
        const char* unwriteable = view_of(name, object, "a device array").unwriteable;
        if (unwriteable != nullptr) throw py::type_error(name + ": expected a writeable array, got " + unwriteable);
        return {const_cast<T*>(view.data()), view.size()};
    }
    /// Returns the rows of a (K, d) array, or of a sequence of K vectors; all have the first one's
    /// length.
    template <typename Real>
    std::vector<std::span<const Real>> rows(const py::object& vectors);

    /// Calls body(std::type_identity<Real>) with the array's type.
    template <typename Body>
    auto with_type(const std::string& name, const py::handle& object, const Body& body) {
        const DeviceView view = view_of(name, object, "float32 or float64 on a CUDA device");
        if (view.type == "float32") return body(std::type_identity<float>{});
        if (view.type == "float64") return body(std::type_identity<double>{});
        refuse(name, "float32 or float64 on a CUDA device", object);
    }

    [[noreturn]] static void refuse(const std::string& name, const std::string& wanted, const py::handle& got);

    /// Returns the view of an array, and orders the stream after its work, both once in a call;
    /// `wanted` is for the message.
    const DeviceView& view_of(const std::string& name, const py::handle& object, const std::string& wanted);

private:
    DeviceView from_dlpack(const std::string& name, const py::handle& object);
    DeviceView from_interface(const std::string& name, const py::dict& interface);
    void use_device(const std::string& name, int device);

    std::uintptr_t stream_ = 0;  // of the first array
    int device_ = -1;
    std::optional<cuda::OnDevice> current_;
    py::list kept_;  // arrays, and capsules: while they live, so does what they tell of
    std::unordered_map<PyObject*, DeviceView> views_;
};

bool is_device_array(const py::handle& object);

/// Runs a call's work without the GIL, and waits for it unless that is for later.
template <typename Work>
void run(const char* name, const DeviceArguments& arguments, bool later, const Work& work) {
    const py::gil_scoped_release release;
    work();
    if (!later) cuda::finish(name, arguments.stream());
}

/// Runs work(numbers), which leaves n numbers in device memory. Returns them as an array if they
/// are for later, and else, after waiting, made(numbers).
template <std::size_t n, typename Work, typename Make>
py::object numbers_of(const char* name, const DeviceArguments& arguments, bool later, const Work& work, const Make& make) {
    DeviceArray array("float64", {static_cast<py::ssize_t>(n)}, arguments.stream(), later);
    auto* const at = static_cast<double*>(array.view().data);
    std::array<double, n> numbers{};
    {
        const py::gil_scoped_release release;
        work(at);
        if (!later) cuda::read(numbers, at, name, arguments.stream());
    }
    return later ? py::cast(std::move(array)) : py::cast(make(numbers));
}

template <typename Real>
std::vector<std::span<const Real>> DeviceArguments::rows(const py::object& vectors) {
    std::vector<std::span<const Real>> result;
    if (is_device_array(vectors)) {
        const DeviceView view = array("vectors", vectors, type_name<Real>(), "(K, d)");
        const auto d = static_cast<std::size_t>(view.shape[1]);
        for (py::ssize_t k = 0; k < view.shape[0]; ++k)
            result.emplace_back(static_cast<const Real*>(view.data) + static_cast<std::size_t>(k) * d, d);
        return result;
    }
    for (const py::handle& vector : vectors) {
        const std::string name = "vectors[" + std::to_string(result.size()) + "]";
        result.push_back(result.empty() ? this->vector<Real>(name, vector) : this->vector<Real>(name, vector, result[0].size()));
    }
    return result;
}

}  // namespace fedbench::bindings
