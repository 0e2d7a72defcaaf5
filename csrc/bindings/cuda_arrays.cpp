#include "cuda_arrays.hpp"

#include <algorithm>

namespace fedbench::bindings {

namespace {

// The parts of DLPack's published layout that are read here: a tensor alone (version 0.x, capsule
// "dltensor"), and one with its version and flags (1.x, "dltensor_versioned").
struct DlTensor {
    void* data;
    std::int32_t device_type, device_id, ndim;
    std::uint8_t code, bits;
    std::uint16_t lanes;
    std::int64_t *shape, *strides;
    std::uint64_t byte_offset;
};
struct DlVersioned {
    std::uint32_t major, minor;
    void *context, *deleter;
    std::uint64_t flags;
    DlTensor tensor;
};
constexpr int kDlCuda = 2, kDlCudaManaged = 13;
constexpr std::uint64_t kDlReadOnly = 1;
constexpr const char* kVersioned = "dltensor_versioned";
constexpr const char* kInterface = "__cuda_array_interface__";
constexpr const char* kReadOnly = "a read-only one";
constexpr const char* kUnsaid = "one that does not say so: neither DLPack 1.0 nor __cuda_array_interface__";

std::string shape_text(const std::vector<py::ssize_t>& shape) { return py::str(py::tuple(py::cast(shape))); }

/// Whether strides, in elements or bytes, are those of a C-contiguous array; `item` is the step of
/// the last axis. Axes of one element may have any stride.
template <typename Strides>
bool is_contiguous(const std::vector<py::ssize_t>& shape, const Strides& strides, py::ssize_t item) {
    if (std::find(shape.begin(), shape.end(), 0) != shape.end()) return true;
    for (std::size_t i = shape.size(); i-- > 0; item *= shape[i])
        if (shape[i] != 1 && static_cast<py::ssize_t>(strides[i]) != item) return false;
    return true;
}

std::string type_of(int code, int bits, int lanes) {
    constexpr const char* names[] = {"int", "uint", "float", "opaque", "bfloat", "complex", "bool"};
    if (lanes != 1 || code < 0 || code > 6) return "a type that is not known here";
    return names[code] + std::to_string(bits);
}

std::string type_of(const std::string& typestr) {
    const std::string number = typestr.size() > 2 ? typestr.substr(2) : "";
    if (number == "4" || number == "8") {
        const std::string bits = number == "4" ? "32" : "64";
        if (typestr[1] == 'f' && typestr[0] == '<') return "float" + bits;
        if (typestr[1] == 'i' && typestr[0] == '<') return "int" + bits;
    }
    return typestr;
}

std::pair<int, int> dlpack_device(const py::handle& object) { return object.attr("__dlpack_device__")().cast<std::pair<int, int>>(); }

bool has_dlpack(const py::handle& object) { return py::hasattr(object, "__dlpack__") && py::hasattr(object, "__dlpack_device__"); }

constexpr std::uintptr_t kLegacy = 1;

/// Returns the stream that has the work of an array: torch's current one for a tensor of torch, its
/// own for a result that is for later, and the legacy default stream for others.
std::uintptr_t stream_of(const py::handle& object) {
    if (py::isinstance<DeviceArray>(object)) return object.cast<const DeviceArray&>().later_stream();
    const py::dict modules = py::module_::import("sys").attr("modules");
    const py::object torch = modules.attr("get")("torch");
    if (!py::hasattr(torch, "Tensor") || !py::isinstance(object, torch.attr("Tensor"))) return kLegacy;
    const py::object stream = torch.attr("cuda").attr("current_stream")(object.attr("device"));
    return std::max(kLegacy, stream.attr("cuda_stream").cast<std::uintptr_t>());
}

bool is_cuda(int type) { return type == kDlCuda || type == kDlCudaManaged; }

/// Returns the capsule of an object's DLPack 1.x, or of an older one if it does not know the newer.
py::capsule capsule_of(const py::handle& object, std::uintptr_t stream) {
    const py::object exported = object.attr("__dlpack__");
    try {
        return exported(py::arg("stream") = stream, py::arg("max_version") = py::make_tuple(1, 0));
    } catch (const py::error_already_set& error) {
        if (!error.matches(PyExc_TypeError)) throw;
    }
    return exported(py::arg("stream") = stream);
}

bool is_read_only(const py::dict& interface) { return py::tuple(interface["data"])[1].cast<bool>(); }

template <typename T>
const T& content_of(const py::capsule& capsule, const char* name) {
    const auto* content = static_cast<const T*>(PyCapsule_GetPointer(capsule.ptr(), name));
    if (content == nullptr) throw py::error_already_set();
    return *content;
}

/// Describes an object that is an array in the host's memory, or no array at all.
std::string describe_foreign(const py::handle& object) {
    if (!py::hasattr(object, "dtype") || !py::hasattr(object, "shape")) return describe(object);
    std::string type = py::str(object.attr("dtype"));
    if (type.starts_with("torch.")) type.erase(0, 6);
    std::vector<py::ssize_t> shape;
    for (const py::handle& length : object.attr("shape")) shape.push_back(length.cast<py::ssize_t>());
    return type + " " + shape_text(shape) + " on the CPU";
}

}  // namespace

std::size_t DeviceView::size() const {
    std::size_t count = 1;
    for (py::ssize_t length : shape) count *= static_cast<std::size_t>(length);
    return count;
}

std::string DeviceView::describe() const {
    return type + " " + shape_text(shape) + (contiguous ? "" : " not C-contiguous") + " on CUDA device " + std::to_string(device);
}

bool is_device_array(const py::handle& object) {
    return has_dlpack(object) ? is_cuda(dlpack_device(object).first) : py::hasattr(object, kInterface);
}

namespace {

std::size_t bytes_of(const std::string& type, const std::vector<py::ssize_t>& shape) {
    std::size_t bytes = type == "float32" ? 4 : 8;
    for (const py::ssize_t length : shape) bytes *= static_cast<std::size_t>(length);
    return bytes;
}

}  // namespace

DeviceArray::DeviceArray(std::string type, std::vector<py::ssize_t> shape, cuda::Stream stream, bool later)
    : memory_(bytes_of(type, shape), stream), later_(later) {
    view_.type = std::move(type);
    view_.shape = std::move(shape);
    view_.device = memory_.device();
    view_.data = memory_.data();
}

std::uintptr_t DeviceArray::later_stream() const { return later_ ? reinterpret_cast<std::uintptr_t>(memory_.stream()) : kLegacy; }

py::dict DeviceArray::interface() const {
    py::dict result;
    result["shape"] = py::tuple(py::cast(view_.shape));
    result["typestr"] = view_.type == "float32" ? "<f4" : view_.type == "float64" ? "<f8" : "<i8";
    result["data"] = py::make_tuple(reinterpret_cast<std::uintptr_t>(view_.data), false);
    result["strides"] = py::none();
    result["stream"] = later_ ? py::object(py::int_(later_stream())) : py::none();
    result["version"] = 3;
    return result;
}

std::vector<double> DeviceArray::numbers() const {
    if (view_.type != "float64" || view_.shape.size() != 1) throw py::type_error("tolist: expected float64 (n,), got " + view_.describe());
    std::vector<double> found(view_.size());
    const cuda::OnDevice current(view_.device);
    const py::gil_scoped_release release;
    cuda::read(found, static_cast<const double*>(view_.data), "tolist", memory_.stream());
    return found;
}

DeviceArguments::DeviceArguments(const py::object& stream) {
    if (!stream.is_none()) stream_ = std::max(kLegacy, stream.cast<std::uintptr_t>());
}

void DeviceArguments::refuse(const std::string& name, const std::string& wanted, const py::handle& got) {
    std::string found = describe_foreign(got);
    if (is_device_array(got)) {
        DeviceArguments fresh{py::none()};
        found = fresh.view_of(name, got, wanted).describe();
    }
    throw py::type_error(name + ": expected " + wanted + ", got " + found);
}

void DeviceArguments::use_device(const std::string& name, int device) {
    if (device_ >= 0 && device != device_)
        throw py::value_error(name + ": expected an array on CUDA device " + std::to_string(device_) +
                              " as the others, got one on device " + std::to_string(device));
    if (device_ < 0) current_.emplace(device_ = device);
}

DeviceView DeviceArguments::from_dlpack(const std::string& name, const py::handle& object) {
    use_device(name, dlpack_device(object).second);
    const py::capsule capsule = capsule_of(object, stream_);
    kept_.append(capsule);  // never taken over, so its own destructor gives the tensor back
    DeviceView view;
    const DlTensor* tensor = nullptr;
    if (PyCapsule_IsValid(capsule.ptr(), kVersioned) == 1) {
        const auto& content = content_of<DlVersioned>(capsule, kVersioned);
        if (content.major != 1) throw py::type_error(name + ": expected DLPack 1, got " + std::to_string(content.major));
        if ((content.flags & kDlReadOnly) != 0) view.unwriteable = kReadOnly;
        tensor = &content.tensor;
    } else {  // the older one has no flags
        tensor = &content_of<DlTensor>(capsule, "dltensor");
        if (!py::hasattr(object, kInterface)) view.unwriteable = kUnsaid;
        else if (is_read_only(py::dict(object.attr(kInterface)))) view.unwriteable = kReadOnly;
    }
    view.type = type_of(tensor->code, tensor->bits, tensor->lanes);
    view.shape.assign(tensor->shape, tensor->shape + tensor->ndim);
    view.contiguous = tensor->strides == nullptr || is_contiguous(view.shape, tensor->strides, 1);
    view.device = tensor->device_id;
    view.data = static_cast<char*>(tensor->data) + tensor->byte_offset;
    return view;
}

DeviceView DeviceArguments::from_interface(const std::string& name, const py::dict& interface) {
    DeviceView view;
    view.type = type_of(interface["typestr"].cast<std::string>());
    for (const py::handle& length : interface["shape"]) view.shape.push_back(length.cast<py::ssize_t>());
    const py::tuple data = interface["data"];
    view.data = reinterpret_cast<void*>(data[0].cast<std::uintptr_t>());
    if (is_read_only(interface)) view.unwriteable = kReadOnly;
    if (interface.contains("strides") && !interface["strides"].is_none()) {
        std::vector<py::ssize_t> strides;
        for (const py::handle& stride : interface["strides"]) strides.push_back(stride.cast<py::ssize_t>());
        const py::ssize_t item = view.type.ends_with("32") ? 4 : 8;
        view.contiguous = is_contiguous(view.shape, strides, item);
    }
    if (view.size() == 0) return view;  // no memory, no device
    view.device = cuda::device_of(view.data);
    if (view.device < 0) throw py::type_error(name + ": __cuda_array_interface__ names memory that is not on a CUDA device");
    use_device(name, view.device);
    if (interface.contains("stream") && !interface["stream"].is_none())
        cuda::wait_for(stream(), reinterpret_cast<cuda::Stream>(interface["stream"].cast<std::uintptr_t>()));
    return view;
}

const DeviceView& DeviceArguments::view_of(const std::string& name, const py::handle& object, const std::string& wanted) {
    const auto known = views_.find(object.ptr());
    if (known != views_.end()) return known->second;
    if (!is_device_array(object)) refuse(name, wanted, object);
    if (stream_ == 0) stream_ = stream_of(object);
    kept_.append(object);  // so that its place in `views_` stays its own
    return views_[object.ptr()] = has_dlpack(object) ? from_dlpack(name, object) : from_interface(name, py::dict(object.attr(kInterface)));
}

DeviceView DeviceArguments::array(const std::string& name, const py::handle& object, const std::string& type, const std::string& axes) {
    const std::string wanted = type + " " + axes + " C-contiguous on a CUDA device";
    DeviceView view = view_of(name, object, wanted);
    const std::size_t ndim = axes == "(d,)" ? 1 : 2;
    if (view.type != type || view.shape.size() != ndim || !view.contiguous)
        throw py::type_error(name + ": expected " + wanted + ", got " + view.describe());
    return view;
}

}  // namespace fedbench::bindings
