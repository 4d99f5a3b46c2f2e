// SPDX-License-Identifier: MIT
// A C++20 interface over sidra.h, functions.h, model.h and pipeline.h, header only: handles that destroy themselves, exceptions instead of
// status codes, and spans instead of pointers.
//
//   sidra::Device device = sidra::Device::open();
//   sidra::Context context(device);
//   sidra::Stream stream(context);
//   sidra::Weights weights = sidra::Weights::from_f32(context, k, n, values);
//   stream.program(weights);
//   sidra::Buffer in(context, k * sizeof(float)), out(context, n * sizeof(float));
//   sidra_mvm mvm{};
//   mvm.batch = 1;
//   mvm.in_type = mvm.out_type = SIDRA_F32;
//   mvm.in = in;
//   mvm.out = out;
//   mvm.in_scale = 1.0f / 255;  // for inputs in 0..1: F32 input becomes codes 0..255
//   stream.mvm(weights, mvm);
//   stream.synchronize();
//
// The conventions are those of the C headers. Objects can be moved, not copied. get() returns the C handle, release()
// gives it up. An object keeps its parent: a context lives until its last buffer, stream and so on is destroyed, and a
// device until its last context is, in whichever order the C++ objects end. What is still queued in a stream then is
// dropped, copies between contexts, too: no destructor waits for a stream of another context. A destructor ignores a
// failure; close() throws it. (A context cannot be destroyed by one of its own callbacks, so its last object must not
// end there.)
#ifndef SIDRA_SIDRA_HPP
#define SIDRA_SIDRA_HPP

#include <array>
#include <bit>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <initializer_list>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "sidra/functions.h"
#include "sidra/model.h"
#include "sidra/pipeline.h"
#include "sidra/sidra.h"

namespace sidra {

// A failed call: its status, and what sidra_last_error() said.
class Error : public std::runtime_error {
   public:
    explicit Error(sidra_status status) : Error(status, sidra_last_error()) {}
    Error(sidra_status status, const std::string& text) : std::runtime_error(text), status_(status) {}
    sidra_status status() const noexcept { return status_; }
    const char* status_name() const noexcept { return sidra_status_string(status_); }

   private:
    sidra_status status_;
};

// The time at which a wait ends.
class Deadline {
   public:
    static Deadline never() { return Deadline(SIDRA_NEVER); }
    static Deadline poll() { return Deadline(0); }
    static Deadline after(std::chrono::nanoseconds time) {
        return Deadline(sidra_deadline_after_ns(time.count() > 0 ? static_cast<uint64_t>(time.count()) : 0));
    }
    uint64_t value() const { return value_; }

   private:
    explicit Deadline(uint64_t value) : value_(value) {}
    uint64_t value_;
};

namespace detail {

inline void check(sidra_status status) {
    if (status != SIDRA_OK) throw Error(status);
}

// True for OK, false for `expected`; anything else is thrown.
inline bool check_or(sidra_status status, sidra_status expected) {
    if (status == expected) return false;
    check(status);
    return true;
}

template <typename T>
T init() {
    T value{};
    value.struct_size = sizeof(T);
    return value;
}

template <typename T>
T sized(T value) {
    value.struct_size = sizeof(T);
    return value;
}

// Keeps a parent's handle open: a child has one of its parent's.
using Parent = std::shared_ptr<const void>;

// Owner of a C handle, together with the children that were made of it.
template <typename T, sidra_status (*kDestroy)(T*)>
class Owner {
   public:
    Owner() = default;
    // Takes over a handle, and destroys it if that fails. The handle's parent is the caller's to keep.
    explicit Owner(T* handle) : Owner(handle, nullptr) {}
    Owner(Owner&&) noexcept = default;
    Owner& operator=(Owner&&) noexcept = default;
    Owner(const Owner&) = delete;
    Owner& operator=(const Owner&) = delete;
    ~Owner() = default;

    T* get() const noexcept { return held_ ? held_->handle : nullptr; }
    explicit operator bool() const noexcept { return get() != nullptr; }
    // Gives up the handle, which is the caller's to destroy, after its children and before its parent.
    T* release() noexcept {
        T* handle = held_ ? std::exchange(held_->handle, nullptr) : nullptr;
        held_.reset();
        return handle;
    }
    // Destroys the object now. Throws if that fails (BUSY: it has children), and keeps the object then.
    void close() {
        if (!held_) return;
        check(kDestroy(held_->handle));
        held_->handle = nullptr;
        held_.reset();
    }
    // For children that are made of this object.
    Parent keep() const noexcept { return held_; }

   protected:
    Owner(T* handle, Parent parent) {
        std::unique_ptr<T, Destroy> guard(handle);
        held_ = std::make_shared<Held>(handle, std::move(parent));
        static_cast<void>(guard.release());
    }

   private:
    struct Destroy {
        void operator()(T* handle) const { static_cast<void>(kDestroy(handle)); }
    };
    struct Held {
        Held(T* its_handle, Parent its_parent) : handle(its_handle), parent(std::move(its_parent)) {}
        Held(const Held&) = delete;
        Held& operator=(const Held&) = delete;
        ~Held() {
            if (handle != nullptr) static_cast<void>(kDestroy(handle));
        }
        T* handle;
        Parent parent;  // let go after the handle
    };
    std::shared_ptr<Held> held_;
};

}  // namespace detail

inline uint32_t library_version() { return sidra_version(); }

// ---- Device

class Device : public detail::Owner<sidra_device, sidra_device_close> {
   public:
    using Owner::Owner;

    static uint32_t count() {
        uint32_t count = 0;
        detail::check(sidra_device_count(&count));
        return count;
    }
    static Device open(uint32_t index = 0) {
        sidra_device* device = nullptr;
        detail::check(sidra_device_open(index, nullptr, &device));
        return Device(device);
    }
    // options.struct_size is filled in.
    static Device open(uint32_t index, const sidra_device_options& options) {
        const sidra_device_options whole = detail::sized(options);
        sidra_device* device = nullptr;
        detail::check(sidra_device_open(index, &whole, &device));
        return Device(device);
    }

    sidra_device_info info() const {
        auto info = detail::init<sidra_device_info>();
        detail::check(sidra_device_get_info(get(), &info));
        return info;
    }
    struct Clock {
        std::chrono::nanoseconds device, monotonic;
    };
    Clock clock() const {
        uint64_t device_ns = 0, monotonic_ns = 0;
        detail::check(sidra_device_clock(get(), &device_ns, &monotonic_ns));
        return {std::chrono::nanoseconds(device_ns), std::chrono::nanoseconds(monotonic_ns)};
    }
    // Telemetry: struct sidra_telemetry of uapi/sidra_hw.h, or the beginning of it.
    template <typename Telemetry>
    Telemetry telemetry() const {
        static_assert(std::is_trivially_copyable_v<Telemetry>);
        Telemetry telemetry{};
        detail::check(sidra_device_telemetry(get(), &telemetry, sizeof telemetry));
        return telemetry;
    }
    void reset() { detail::check(sidra_device_reset(get())); }
    void set_fault_knob(const std::string& name, uint64_t value) {
        detail::check(sidra_device_set_fault_knob(get(), name.c_str(), value));
    }
};

// ---- Context

class Context : public detail::Owner<sidra_context, sidra_context_destroy> {
   public:
    using Owner::Owner;
    explicit Context(const Device& device) : Owner(create(device), device.keep()) {}

    // Waits for all streams.
    void synchronize() { detail::check(sidra_context_synchronize(get(), SIDRA_NEVER)); }
    // False: the deadline passed.
    [[nodiscard]] bool synchronize(Deadline deadline) {
        return detail::check_or(sidra_context_synchronize(get(), deadline.value()), SIDRA_ERROR_TIMEOUT);
    }
    [[nodiscard]] sidra_status status() const noexcept { return sidra_context_status(get()); }
    void recover() { detail::check(sidra_context_recover(get())); }
    // The place in a buffer of this context that an address is; throws NOT_FOUND if there is none.
    sidra_ref find(const void* host) const {
        sidra_ref ref{};
        detail::check(sidra_buffer_find(get(), host, &ref));
        return ref;
    }
    // The pool of Stream::allocate().
    sidra_pool_stats pool() const {
        auto stats = detail::init<sidra_pool_stats>();
        detail::check(sidra_pool_get_stats(get(), &stats));
        return stats;
    }
    void trim_pool(size_t keep_bytes = 0) { detail::check(sidra_pool_trim(get(), keep_bytes)); }
    void reset_pool_peak() { detail::check(sidra_pool_reset_peak(get())); }
    // Raises a semaphore word from the host, and wakes the streams that wait for it.
    void signal(sidra_ref word, uint64_t value) { detail::check(sidra_semaphore_signal(get(), word, value)); }

    void unlink(const std::string& name) { detail::check(sidra_weights_unlink(get(), name.c_str())); }
    void evict(const std::string& name) { detail::check(sidra_weights_evict(get(), name.c_str())); }
    std::vector<std::string> names() const {
        std::vector<std::string> names;
        std::array<char, 64> name{};
        uint32_t cursor = 0;
        while (detail::check_or(sidra_weights_list(get(), &cursor, name.data(), name.size()), SIDRA_ERROR_NOT_FOUND))
            names.emplace_back(name.data());
        return names;
    }

   private:
    static sidra_context* create(const Device& device) {
        sidra_context* context = nullptr;
        detail::check(sidra_context_create(device.get(), &context));
        return context;
    }
};

// ---- Buffer

class Buffer : public detail::Owner<sidra_buffer, sidra_buffer_destroy> {
   public:
    using Owner::Owner;
    // Zeroed memory of `size` bytes; SIDRA_BUFFER_DEVICE for L3.
    Buffer(const Context& context, size_t size, uint32_t flags = SIDRA_BUFFER_HOST)
        : Owner(create(context, size, flags), context.keep()) {}

    // The caller's memory; it must stay mapped.
    template <typename T>
    static Buffer register_memory(const Context& context, std::span<T> memory) {
        constexpr bool kReadonly = std::is_const_v<T>;
        sidra_buffer* buffer = nullptr;
        auto* bytes = const_cast<std::remove_const_t<T>*>(memory.data());
        detail::check(sidra_buffer_register(context.get(), bytes, memory.size_bytes(), kReadonly, &buffer));
        return Buffer(buffer, context.keep());
    }

    size_t size() const {
        size_t size = 0;
        detail::check(sidra_buffer_size(get(), &size));
        return size;
    }
    // The memory as elements of T (what does not fill one is left out).
    template <typename T = std::byte>
    std::span<T> as() const {
        static_assert(std::is_trivially_copyable_v<T>);
        void* address = nullptr;
        detail::check(sidra_buffer_map(get(), &address));
        return {static_cast<T*>(address), size() / sizeof(T)};
    }
    // Reads up to `bytes` bytes of a file into the buffer; returns how many the file had.
    size_t read_file(int fd, size_t bytes, size_t offset = 0, uint64_t file_offset = 0) const {
        size_t got = 0;
        detail::check(sidra_buffer_read_file(get(), offset, fd, file_offset, bytes, &got));
        return got;
    }
    // A place in the buffer, in bytes.
    sidra_ref at(size_t offset = 0) const noexcept { return {get(), offset}; }
    operator sidra_ref() const noexcept { return at(0); }

   private:
    Buffer(sidra_buffer* buffer, detail::Parent parent) : Owner(buffer, std::move(parent)) {}
    static sidra_buffer* create(const Context& context, size_t size, uint32_t flags) {
        sidra_buffer* buffer = nullptr;
        detail::check(sidra_buffer_create(context.get(), size, flags, &buffer));
        return buffer;
    }
};

// ---- Weights

struct WeightsProgress {
    uint32_t done, total;
    bool complete() const { return done == total; }
};

class Weights : public detail::Owner<sidra_weights, sidra_weights_destroy> {
   public:
    using Owner::Owner;

    // values: k x n, row-major, dense. scale: n factors, or empty for 1.
    static Weights from_s8(const Context& context, uint32_t k, uint32_t n, std::span<const int8_t> values,
                           std::span<const float> scale = {}, const sidra_weights_options& options = {}) {
        require(values.size(), size_t{k} * n, "values");
        if (!scale.empty()) require(scale.size(), n, "scale");
        const sidra_weights_options whole = detail::sized(options);
        sidra_weights* weights = nullptr;
        detail::check(sidra_weights_create_s8(context.get(), k, n, values.data(), n,
                                              scale.empty() ? nullptr : scale.data(), &whole, &weights));
        return Weights(weights, context.keep());
    }
    static Weights from_f32(const Context& context, uint32_t k, uint32_t n, std::span<const float> values,
                            const sidra_weights_options& options = {}) {
        require(values.size(), size_t{k} * n, "values");
        const sidra_weights_options whole = detail::sized(options);
        sidra_weights* weights = nullptr;
        detail::check(sidra_weights_create_f32(context.get(), k, n, values.data(), n, &whole, &weights));
        return Weights(weights, context.keep());
    }
    static Weights open(const Context& context, const std::string& name) {
        sidra_weights* weights = nullptr;
        detail::check(sidra_weights_open(context.get(), name.c_str(), &weights));
        return Weights(weights, context.keep());
    }
    // The descriptor stays the caller's.
    static Weights import_fd(const Context& context, int fd) {
        sidra_weights* weights = nullptr;
        detail::check(sidra_weights_import(context.get(), fd, &weights));
        return Weights(weights, context.keep());
    }

    WeightsProgress progress() const {
        WeightsProgress progress{};
        detail::check(sidra_weights_progress(get(), &progress.done, &progress.total));
        return progress;
    }
    sidra_weights_info info() const {
        auto info = detail::init<sidra_weights_info>();
        detail::check(sidra_weights_get_info(get(), &info));
        return info;
    }
    sidra_tile_report report(uint32_t tile) const {
        auto report = detail::init<sidra_tile_report>();
        detail::check(sidra_weights_report(get(), tile, &report));
        return report;
    }
    std::vector<uint32_t> crossbars() const {
        uint32_t count = info().crossbars;
        std::vector<uint32_t> crossbars(count);
        detail::check(sidra_weights_crossbars(get(), crossbars.data(), &count));
        return crossbars;
    }
    // The n per-column factors; valid as long as this object.
    std::span<const float> scale() const {
        const float* scale = nullptr;
        detail::check(sidra_weights_scale(get(), &scale));
        return {scale, info().n};
    }
    void publish(const std::string& name, uint32_t mode = 0600) {
        detail::check(sidra_weights_publish(get(), name.c_str(), mode));
    }
    // A new file descriptor, for the receiver to close.
    int export_fd(bool allow_readback = false) const {
        int fd = -1;
        detail::check(sidra_weights_export(get(), allow_readback, &fd));
        return fd;
    }

   private:
    Weights(sidra_weights* weights, detail::Parent parent) : Owner(weights, std::move(parent)) {}
    static void require(size_t given, size_t needed, std::string_view what) {
        if (given != needed)
            throw Error(SIDRA_ERROR_INVALID_ARGUMENT, std::string(what) + " has " + std::to_string(given) +
                                                          " elements, but " + std::to_string(needed) + " are needed");
    }
};

// ---- Vector programs

class Program : public detail::Owner<sidra_program, sidra_program_destroy> {
   public:
    using Owner::Owner;
    // `count` instructions of uapi/sidra_vector.h, of which the first `prologue` are the prologue of a layer.
    Program(const Context& context, const sidra_vector_instruction* code, size_t count, size_t prologue = 0)
        : Owner(create(context, code, count, prologue), context.keep()) {}
    // Of text in the language of docs/vector-programs.md.
    static Program assemble(const Context& context, const std::string& text) {
        sidra_program* program = nullptr;
        detail::check(sidra_program_assemble(context.get(), text.c_str(), &program));
        return Program(program, context.keep());
    }
    std::string disassemble() const {
        size_t size = 0;
        detail::check(sidra_program_disassemble(get(), nullptr, 0, &size));
        std::string text(size, '\0');
        detail::check(sidra_program_disassemble(get(), text.data(), text.size(), nullptr));
        text.pop_back();  // the final zero
        return text;
    }

   private:
    Program(sidra_program* program, detail::Parent parent) : Owner(program, std::move(parent)) {}
    static sidra_program* create(const Context& context, const sidra_vector_instruction* code, size_t count,
                                 size_t prologue) {
        sidra_program* program = nullptr;
        detail::check(sidra_program_create(context.get(), code, count, prologue, &program));
        return program;
    }
};

// Sizes of an iteration space or an array, outermost dimension first.
using Size = std::array<uint32_t, 4>;

// An array that a program or a function computes on.
using Operand = sidra_vector_operand;
using Array = sidra_array;
// A dense one. Where its size is 1, it has the same elements for the whole dimension.
inline Operand dense(sidra_ref at, sidra_type type, const Size& size) {
    return sidra_operand_dense(at, type, size.data());
}

// A parameter of a program.
struct Param {
    constexpr Param(float value = 0) : bits(std::bit_cast<uint32_t>(value)) {}
    constexpr Param(int32_t value) : bits(static_cast<uint32_t>(value)) {}
    uint32_t bits;
};

// ---- Event, graph

// What a real chip would have spent, by the cost model.
struct Cost {
    uint64_t picoseconds, picojoules;
};

class Event : public detail::Owner<sidra_event, sidra_event_destroy> {
   public:
    using Owner::Owner;
    // SIDRA_EVENT_TIMING for elapsed() and cost().
    explicit Event(const Context& context, uint32_t flags = SIDRA_EVENT_DEFAULT)
        : Owner(create(context, flags), context.keep()) {}

    // Whether everything before the event's point is done.
    [[nodiscard]] bool done() const { return detail::check_or(sidra_event_query(get()), SIDRA_ERROR_NOT_READY); }
    void synchronize() const { detail::check(sidra_event_synchronize(get(), SIDRA_NEVER)); }
    // False: the deadline passed.
    [[nodiscard]] bool synchronize(Deadline deadline) const {
        return detail::check_or(sidra_event_synchronize(get(), deadline.value()), SIDRA_ERROR_TIMEOUT);
    }
    // When the device reached it, on the clock of Device::clock().
    std::chrono::nanoseconds time() const {
        uint64_t ns = 0;
        detail::check(sidra_event_time(get(), &ns));
        return std::chrono::nanoseconds(ns);
    }
    // From `start` to this one, on the device clock.
    std::chrono::nanoseconds elapsed(const Event& start) const {
        int64_t ns = 0;
        detail::check(sidra_event_elapsed(start.get(), get(), &ns));
        return std::chrono::nanoseconds(ns);
    }
    // Of the operations of a stream from `start` to this one.
    Cost cost(const Event& start) const {
        Cost cost{};
        detail::check(sidra_event_cost(start.get(), get(), &cost.picoseconds, &cost.picojoules));
        return cost;
    }

   private:
    static sidra_event* create(const Context& context, uint32_t flags) {
        sidra_event* event = nullptr;
        detail::check(sidra_event_create(context.get(), flags, &event));
        return event;
    }
};

class Graph : public detail::Owner<sidra_graph, sidra_graph_destroy> {
   public:
    using Owner::Owner;
    uint32_t operations() const {
        uint32_t count = 0;
        detail::check(sidra_graph_operations(get(), &count));
        return count;
    }
    // Parameter `index` of the program call that is operation `operation`, for later launches.
    void set_param(uint32_t operation, uint32_t index, Param value) {
        detail::check(sidra_graph_set_param(get(), operation, index, value.bits));
    }

   private:
    friend class Stream;
    Graph(sidra_graph* graph, detail::Parent parent) : Owner(graph, std::move(parent)) {}
};

// ---- Compiled models

struct ModelProgress {
    uint64_t done, total;  // weights
    bool complete() const { return done == total; }
};

class Model : public detail::Owner<sidra_model, sidra_model_destroy> {
   public:
    using Owner::Owner;
    // Loads a .sidra file.
    Model(const Context& context, const std::string& path) : Owner(load(context, path), context.keep()) {}

    sidra_model_info info() const {
        auto info = detail::init<sidra_model_info>();
        detail::check(sidra_model_get_info(get(), &info));
        return info;
    }
    sidra_model_variant_info variant(uint32_t variant) const {
        auto info = detail::init<sidra_model_variant_info>();
        detail::check(sidra_model_get_variant(get(), variant, &info));
        return info;
    }
    sidra_model_tensor input(uint32_t variant, uint32_t index) const {
        auto tensor = detail::init<sidra_model_tensor>();
        detail::check(sidra_model_get_input(get(), variant, index, &tensor));
        return tensor;
    }
    sidra_model_tensor output(uint32_t variant, uint32_t index) const {
        auto tensor = detail::init<sidra_model_tensor>();
        detail::check(sidra_model_get_output(get(), variant, index, &tensor));
        return tensor;
    }
    sidra_model_matrix matrix(uint32_t index) const {
        auto matrix = detail::init<sidra_model_matrix>();
        detail::check(sidra_model_get_matrix(get(), index, &matrix));
        return matrix;
    }
    // The variant whose inputs have these shapes; throws NOT_FOUND if there is none.
    uint32_t find(std::span<const std::vector<uint32_t>> shapes) const {
        std::vector<const uint32_t*> sizes;
        std::vector<uint32_t> ranks;
        for (const auto& shape : shapes) {
            sizes.push_back(shape.data());
            ranks.push_back(static_cast<uint32_t>(shape.size()));
        }
        uint32_t variant = 0;
        detail::check(sidra_model_find_variant(get(), sizes.data(), ranks.data(), static_cast<uint32_t>(shapes.size()),
                                               &variant));
        return variant;
    }
    // Before the deployment: returns how many matrices are those of another model now.
    uint32_t share_matrices(const Model& with) const {
        uint32_t shared = 0;
        detail::check(sidra_model_share_matrices(get(), with.get(), &shared));
        return shared;
    }
    ModelProgress progress() const {
        ModelProgress progress{};
        detail::check(sidra_model_progress(get(), &progress.done, &progress.total));
        return progress;
    }
    // An input or output in the memory of its variant.
    template <typename T = std::byte>
    std::span<T> data(uint32_t variant, const sidra_model_tensor& tensor) const {
        static_assert(std::is_trivially_copyable_v<T>);
        sidra_buffer* buffer = nullptr;
        void* address = nullptr;
        detail::check(sidra_model_get_buffer(get(), variant, &buffer));
        detail::check(sidra_buffer_map(buffer, &address));
        return {reinterpret_cast<T*>(static_cast<std::byte*>(address) + tensor.offset), tensor.bytes / sizeof(T)};
    }

   private:
    static sidra_model* load(const Context& context, const std::string& path) {
        sidra_model* model = nullptr;
        detail::check(sidra_model_load(context.get(), path.c_str(), &model));
        return model;
    }
};

// ---- Compiled models on several chips

class Pipeline : public detail::Owner<sidra_pipeline, sidra_pipeline_destroy> {
   public:
    using Owner::Owner;
    // Loads a .sidra file; a context for each stage.
    Pipeline(std::span<const Context* const> contexts, const std::string& path)
        : Owner(create(contexts, path), keep_all(contexts)) {}

    // Contexts that a file needs.
    static uint32_t stages(const std::string& path) {
        uint32_t stages = 0;
        detail::check(sidra_pipeline_stages(path.c_str(), &stages));
        return stages;
    }

    sidra_pipeline_info info() const {
        auto info = detail::init<sidra_pipeline_info>();
        detail::check(sidra_pipeline_get_info(get(), &info));
        return info;
    }
    // For queries of model.h.
    sidra_model* stage(uint32_t stage) const {
        sidra_model* model = nullptr;
        detail::check(sidra_pipeline_get_stage(get(), stage, &model));
        return model;
    }
    void deploy() { detail::check(sidra_pipeline_deploy_async(get())); }
    ModelProgress progress() const {
        ModelProgress progress{};
        detail::check(sidra_pipeline_progress(get(), &progress.done, &progress.total));
        return progress;
    }
    // One pointer for each input.
    void submit(uint32_t variant, std::span<const void* const> inputs) {
        detail::check(sidra_pipeline_submit(get(), variant, inputs.data()));
    }
    // One pointer for each output.
    void receive(std::span<void* const> outputs) {
        detail::check(sidra_pipeline_receive(get(), outputs.data(), SIDRA_NEVER));
    }
    void synchronize() { detail::check(sidra_pipeline_synchronize(get(), SIDRA_NEVER)); }
    // False: the deadline passed.
    [[nodiscard]] bool synchronize(Deadline deadline) {
        return detail::check_or(sidra_pipeline_synchronize(get(), deadline.value()), SIDRA_ERROR_TIMEOUT);
    }
    void reset() { detail::check(sidra_pipeline_reset(get())); }
    Cost device_time(uint32_t stage) const {
        Cost cost{};
        detail::check(sidra_pipeline_device_time(get(), stage, &cost.picoseconds, &cost.picojoules));
        return cost;
    }

   private:
    static sidra_pipeline* create(std::span<const Context* const> contexts, const std::string& path) {
        std::vector<sidra_context*> handles;
        for (const Context* context : contexts) handles.push_back(context->get());
        sidra_pipeline* pipeline = nullptr;
        detail::check(
            sidra_pipeline_create(handles.data(), static_cast<uint32_t>(handles.size()), path.c_str(), &pipeline));
        return pipeline;
    }
    static detail::Parent keep_all(std::span<const Context* const> contexts) {
        std::vector<detail::Parent> all;
        for (const Context* context : contexts) all.push_back(context->keep());
        return std::make_shared<const std::vector<detail::Parent>>(std::move(all));
    }
};

// ---- Stream

namespace detail {

// Frees the memory of a stream in its order. What ends while the stream records a graph is freed when that ends.
class StreamMemory {
   public:
    StreamMemory(sidra_stream* stream, Parent keep) : stream_(stream), keep_(std::move(keep)) {}
    StreamMemory(const StreamMemory&) = delete;
    StreamMemory& operator=(const StreamMemory&) = delete;
    ~StreamMemory() { end(); }

    void free(sidra_buffer* buffer) noexcept {
        if (sidra_free_async(stream_, buffer) != SIDRA_ERROR_NOT_RECORDABLE) return;
        const std::lock_guard lock(mutex_);
        // Again, because another thread may have ended the recording meanwhile.
        if (sidra_free_async(stream_, buffer) != SIDRA_ERROR_NOT_RECORDABLE) return;
        try {
            late_.push_back(buffer);
        } catch (const std::bad_alloc&) {  // it is never freed
        }
    }
    void recording_ended() noexcept {
        const std::lock_guard lock(mutex_);
        std::erase_if(late_, [&](sidra_buffer* buffer) {
            return sidra_free_async(stream_, buffer) != SIDRA_ERROR_NOT_RECORDABLE;
        });
    }
    // Of the stream, and so of a recording that was begun in C.
    void end() noexcept {
        if (late_.empty()) return;
        static_cast<void>(sidra_graph_end(stream_, nullptr));
        recording_ended();
    }

   private:
    sidra_stream* stream_;
    Parent keep_;  // the stream
    std::mutex mutex_;
    std::vector<sidra_buffer*> late_;
};

}  // namespace detail

class Stream : public detail::Owner<sidra_stream, sidra_stream_destroy> {
   public:
    Stream() = default;
    explicit Stream(sidra_stream* handle) : Owner(handle), memory_(make_memory()) {}
    explicit Stream(const Context& context, const sidra_stream_options& options = {})
        : Owner(create(context, options), context.keep()), context_(context.keep()), memory_(make_memory()) {}

    sidra_stream* release() noexcept {
        memory_.reset();
        return Owner::release();
    }
    // BUSY: an Allocation is there still, which is freed in the order of the stream.
    void close() {
        if (memory_.use_count() > 1)
            throw Error(SIDRA_ERROR_BUSY, "close: the stream still has memory of allocate(); end or free that first");
        if (memory_) memory_->end();
        Owner::close();
        memory_.reset();
    }

    // How long calls that queue operations wait while the ring is full; then they throw TIMEOUT.
    void set_deadline(Deadline deadline) { detail::check(sidra_stream_set_deadline(get(), deadline.value())); }
    void synchronize() { detail::check(sidra_stream_synchronize(get(), SIDRA_NEVER)); }
    // False: the deadline passed.
    [[nodiscard]] bool synchronize(Deadline deadline) {
        return detail::check_or(sidra_stream_synchronize(get(), deadline.value()), SIDRA_ERROR_TIMEOUT);
    }
    [[nodiscard]] bool done() const { return detail::check_or(sidra_stream_query(get()), SIDRA_ERROR_NOT_READY); }
    struct Timeline {
        uint64_t submitted, completed;
    };
    Timeline timeline() const {
        Timeline timeline{};
        detail::check(sidra_stream_timeline(get(), &timeline.submitted, &timeline.completed));
        return timeline;
    }
    Cost device_time() const {
        Cost cost{};
        detail::check(sidra_stream_device_time(get(), &cost.picoseconds, &cost.picojoules));
        return cost;
    }
    int fd() {
        int fd = -1;
        detail::check(sidra_stream_get_fd(get(), &fd));
        return fd;
    }
    void add_callback(sidra_callback function, void* user) {
        detail::check(sidra_stream_add_callback(get(), function, user));
    }
    // The function is called once, on a thread of the library; it must not throw.
    void add_callback(std::function<void(sidra_status)> function) {
        auto kept = std::make_unique<std::function<void(sidra_status)>>(std::move(function));
        add_callback(
            [](sidra_status status, void* user) {
                const std::unique_ptr<std::function<void(sidra_status)>> callback(
                    static_cast<std::function<void(sidra_status)>*>(user));
                (*callback)(status);
            },
            kept.get());
        static_cast<void>(kept.release());  // the callback frees it
    }
    // Why the stream stopped; nothing if it has not.
    std::optional<sidra_fault_info> fault() const {
        auto info = detail::init<sidra_fault_info>();
        detail::check(sidra_stream_fault(get(), &info));
        return info.cause != 0 ? std::optional(info) : std::nullopt;
    }
    // The call of the model at which it stopped; nothing if that was something else.
    std::optional<sidra_model_fault_info> fault(const Model& model) const {
        auto info = detail::init<sidra_model_fault_info>();
        return detail::check_or(sidra_model_fault(model.get(), get(), &info), SIDRA_ERROR_NOT_FOUND)
                   ? std::optional(info)
                   : std::nullopt;
    }
    // Drops the queued operations and clears the fault; the stream is usable again.
    void reset() { detail::check(sidra_stream_reset(get())); }
    sidra_operation_report report(uint64_t sequence) const {
        auto report = detail::init<sidra_operation_report>();
        detail::check(sidra_stream_report(get(), sequence, &report));
        return report;
    }

    // Memory for what this stream does from now on; see class Allocation.
    inline class Allocation allocate(size_t size) const;

    void record(Event& event) { detail::check(sidra_event_record(event.get(), get())); }
    void wait(const Event& event) { detail::check(sidra_stream_wait_event(get(), event.get())); }

    // "": the operation has no name from here on.
    void label(const std::string& text) { detail::check(sidra_label_async(get(), text.c_str())); }
    void nop() { detail::check(sidra_nop_async(get())); }
    void barrier() { detail::check(sidra_barrier_async(get())); }
    void copy(sidra_ref dst, sidra_ref src, size_t size) { detail::check(sidra_copy_async(get(), dst, src, size)); }
    void copy_2d(sidra_ref dst, size_t dst_stride, sidra_ref src, size_t src_stride, size_t row_bytes, uint32_t rows) {
        detail::check(sidra_copy_2d_async(get(), dst, dst_stride, src, src_stride, row_bytes, rows));
    }
    // From a stream of any context, also of another device; ordered with both streams.
    void copy_peer(sidra_ref dst, const Stream& src_stream, sidra_ref src, size_t size) {
        detail::check(sidra_copy_peer_async(get(), dst, src_stream.get(), src, size));
    }
    // `size` bytes of the integer `pattern` repeated.
    template <typename T>
    void fill(sidra_ref dst, T pattern, size_t size) {
        static_assert(std::is_integral_v<T> && sizeof(T) <= 8);
        detail::check(sidra_fill_async(get(), dst, static_cast<std::make_unsigned_t<T>>(pattern), sizeof(T), size));
    }
    void timestamp(sidra_ref dst) { detail::check(sidra_timestamp_async(get(), dst)); }
    void signal(sidra_ref word, uint64_t value) { detail::check(sidra_semaphore_signal_async(get(), word, value)); }
    void wait(sidra_ref word, uint64_t value) { detail::check(sidra_semaphore_wait_async(get(), word, value)); }

    void program(const Weights& weights) { detail::check(sidra_weights_program_async(get(), weights.get())); }
    // values: rows x cols, dense.
    void update(const Weights& weights, uint32_t row0, uint32_t rows, uint32_t col0, uint32_t cols,
                std::span<const int8_t> values) {
        if (values.size() != size_t{rows} * cols)
            throw Error(SIDRA_ERROR_INVALID_ARGUMENT, "update: the values do not fill the rectangle");
        detail::check(sidra_weights_update_async(get(), weights.get(), row0, rows, col0, cols, values.data(), cols));
    }
    // values: k x cols, dense.
    void update_f32(const Weights& weights, uint32_t col0, uint32_t cols, std::span<const float> values) {
        if (values.size() != size_t{weights.info().k} * cols)
            throw Error(SIDRA_ERROR_INVALID_ARGUMENT, "update_f32: the values do not fill the columns");
        detail::check(sidra_weights_update_f32_async(get(), weights.get(), col0, cols, values.data(), cols));
    }
    void calibrate(const Weights& weights, const sidra_mvm& mvm) {
        const sidra_mvm whole = detail::sized(mvm);
        detail::check(sidra_weights_calibrate_async(get(), weights.get(), &whole));
    }
    void refresh(const Weights& weights, float tolerance = 0) {
        detail::check(sidra_weights_refresh_async(get(), weights.get(), tolerance));
    }
    // All k x n values, dense; waits.
    std::vector<int8_t> read(const Weights& weights, Deadline deadline = Deadline::never()) {
        const sidra_weights_info info = weights.info();
        std::vector<int8_t> values(size_t{info.k} * info.n);
        detail::check(sidra_weights_read(get(), weights.get(), values.data(), info.n, deadline.value()));
        return values;
    }
    // struct_size is filled in, for both.
    void mvm(const Weights& weights, const sidra_mvm& mvm) {
        const sidra_mvm whole = detail::sized(mvm);
        detail::check(sidra_mvm_async(get(), weights.get(), &whole));
    }

    // Runs the program for size[0] * size[1] * size[2] rows of size[3] columns.
    void vector(const Program& program, const Size& size, std::span<const Operand> operands,
                const std::array<Param, 4>& params = {}, uint32_t cookie = 0) {
        auto vector = detail::init<sidra_vector>();
        vector.program = program.get();
        for (size_t i = 0; i < size.size(); ++i) vector.size[i] = size[i], vector.param[i] = params[i].bits;
        vector.operands = operands.data();
        vector.operand_count = static_cast<uint32_t>(operands.size());
        vector.cookie = cookie;
        detail::check(sidra_vector_async(get(), &vector));
    }
    void vector(const Program& program, const Size& size, std::initializer_list<Operand> operands,
                const std::array<Param, 4>& params = {}, uint32_t cookie = 0) {
        vector(program, size, std::span(operands.begin(), operands.size()), params, cookie);
    }

    // Multiplies matrices: sidra_matmul.
    void matmul(const Program& program, uint32_t m, uint32_t n, uint32_t k, std::span<const Operand> operands,
                const std::array<uint32_t, 2>& products = {1, 1}, const std::array<Param, 4>& params = {},
                uint32_t cookie = 0) {
        auto matmul = detail::init<sidra_matmul>();
        matmul.program = program.get();
        matmul.m = m, matmul.n = n, matmul.k = k;
        for (size_t i = 0; i < products.size(); ++i) matmul.batch[i] = products[i];
        for (size_t i = 0; i < params.size(); ++i) matmul.param[i] = params[i].bits;
        matmul.operands = operands.data();
        matmul.operand_count = static_cast<uint32_t>(operands.size());
        matmul.cookie = cookie;
        detail::check(sidra_matmul_async(get(), &matmul));
    }
    void matmul(const Program& program, uint32_t m, uint32_t n, uint32_t k, std::initializer_list<Operand> operands,
                const std::array<uint32_t, 2>& products = {1, 1}, const std::array<Param, 4>& params = {},
                uint32_t cookie = 0) {
        matmul(program, m, n, k, std::span(operands.begin(), operands.size()), products, params, cookie);
    }

    // Without a program: operands are the factors and what takes the product.
    void matmul(uint32_t m, uint32_t n, uint32_t k, const Operand& a, const Operand& b, const Operand& product,
                const std::array<uint32_t, 2>& products = {1, 1}, uint32_t cookie = 0) {
        matmul(Program(), m, n, k, {a, b, product}, products, {}, cookie);
    }

    // Runs a layer: sidra_layer. With `calibrate` it also fixes the range of the ADCs.
    void layer(const Weights& weights, const Program& program, const sidra_windows& windows,
               std::span<const Operand> operands, const std::array<Param, 4>& params = {}, bool calibrate = false,
               uint32_t cookie = 0) {
        auto layer = detail::init<sidra_layer>();
        layer.program = program.get();
        layer.windows = windows;
        for (size_t i = 0; i < params.size(); ++i) layer.param[i] = params[i].bits;
        layer.operands = operands.data();
        layer.operand_count = static_cast<uint32_t>(operands.size());
        layer.calibrate = calibrate;
        layer.cookie = cookie;
        detail::check(sidra_layer_async(get(), weights.get(), &layer));
    }
    void layer(const Weights& weights, const Program& program, const sidra_windows& windows,
               std::initializer_list<Operand> operands, const std::array<Param, 4>& params = {},
               bool calibrate = false, uint32_t cookie = 0) {
        layer(weights, program, windows, std::span(operands.begin(), operands.size()), params, calibrate, cookie);
    }

    // struct_size is filled in, for both.
    void pool(const sidra_pool& pool) {
        const sidra_pool whole = detail::sized(pool);
        detail::check(sidra_pool_async(get(), &whole));
    }
    void sort(const sidra_sort& sort) {
        const sidra_sort whole = detail::sized(sort);
        detail::check(sidra_sort_async(get(), &whole));
    }

    // Compiled models.
    void deploy(const Model& model) { detail::check(sidra_model_deploy_async(get(), model.get())); }
    // Queues a run with the inputs that are in the memory of the variant.
    void launch(const Model& model, uint32_t variant) {
        detail::check(sidra_model_run_async(get(), model.get(), variant));
    }
    // Copies inputs in and outputs out, and waits. A pointer that is null leaves its input or output in the memory.
    void run(const Model& model, uint32_t variant, std::span<const void* const> inputs, std::span<void* const> outputs) {
        require_pointers(model, variant, inputs.size(), outputs.size());
        detail::check(
            sidra_model_run(get(), model.get(), variant, inputs.data(), outputs.data(), SIDRA_NEVER));
    }
    // False: the deadline passed.
    [[nodiscard]] bool run(const Model& model, uint32_t variant, std::span<const void* const> inputs,
                           std::span<void* const> outputs, Deadline deadline) {
        require_pointers(model, variant, inputs.size(), outputs.size());
        return detail::check_or(
            sidra_model_run(get(), model.get(), variant, inputs.data(), outputs.data(), deadline.value()),
            SIDRA_ERROR_TIMEOUT);
    }

    // Functions on arrays: see sidra/functions.h. What may be left out there is a pointer here.
    void add(const Size& size, const Array& out, const Array& a, const Array& b) { run<sidra_add>(size, &out, &a, &b); }
    void sub(const Size& size, const Array& out, const Array& a, const Array& b) { run<sidra_sub>(size, &out, &a, &b); }
    void mul(const Size& size, const Array& out, const Array& a, const Array& b) { run<sidra_mul>(size, &out, &a, &b); }
    void div(const Size& size, const Array& out, const Array& a, const Array& b) { run<sidra_div>(size, &out, &a, &b); }
    void max(const Size& size, const Array& out, const Array& a, const Array& b) { run<sidra_max>(size, &out, &a, &b); }
    void min(const Size& size, const Array& out, const Array& a, const Array& b) { run<sidra_min>(size, &out, &a, &b); }
    void fma(const Size& size, const Array& out, const Array& a, const Array& b, const Array& c) {
        run<sidra_fma>(size, &out, &a, &b, &c);
    }
    void affine(const Size& size, const Array& out, const Array& a, float factor, float term) {
        run<sidra_affine>(size, &out, &a, factor, term);
    }
    void equal(const Size& size, const Array& out, const Array& a, const Array& b) {
        run<sidra_equal>(size, &out, &a, &b);
    }
    void not_equal(const Size& size, const Array& out, const Array& a, const Array& b) {
        run<sidra_not_equal>(size, &out, &a, &b);
    }
    void less(const Size& size, const Array& out, const Array& a, const Array& b) {
        run<sidra_less>(size, &out, &a, &b);
    }
    void less_equal(const Size& size, const Array& out, const Array& a, const Array& b) {
        run<sidra_less_equal>(size, &out, &a, &b);
    }
    void greater(const Size& size, const Array& out, const Array& a, const Array& b) {
        run<sidra_greater>(size, &out, &a, &b);
    }
    void greater_equal(const Size& size, const Array& out, const Array& a, const Array& b) {
        run<sidra_greater_equal>(size, &out, &a, &b);
    }
    void where(const Size& size, const Array& out, const Array& mask, const Array& a, const Array& b) {
        run<sidra_where>(size, &out, &mask, &a, &b);
    }
    void neg(const Size& size, const Array& out, const Array& a) { run<sidra_neg>(size, &out, &a); }
    void abs(const Size& size, const Array& out, const Array& a) { run<sidra_abs>(size, &out, &a); }
    void relu(const Size& size, const Array& out, const Array& a) { run<sidra_relu>(size, &out, &a); }
    void clamp(const Size& size, const Array& out, const Array& a, double low, double high) {
        run<sidra_clamp>(size, &out, &a, low, high);
    }
    void floor(const Size& size, const Array& out, const Array& a) { run<sidra_floor>(size, &out, &a); }
    void ceil(const Size& size, const Array& out, const Array& a) { run<sidra_ceil>(size, &out, &a); }
    void round(const Size& size, const Array& out, const Array& a) { run<sidra_round>(size, &out, &a); }
    void trunc(const Size& size, const Array& out, const Array& a) { run<sidra_trunc>(size, &out, &a); }
    void sqrt(const Size& size, const Array& out, const Array& a) { run<sidra_sqrt>(size, &out, &a); }
    void rsqrt(const Size& size, const Array& out, const Array& a) { run<sidra_rsqrt>(size, &out, &a); }
    void exp(const Size& size, const Array& out, const Array& a) { run<sidra_exp>(size, &out, &a); }
    void log(const Size& size, const Array& out, const Array& a) { run<sidra_log>(size, &out, &a); }
    void sin(const Size& size, const Array& out, const Array& a) { run<sidra_sin>(size, &out, &a); }
    void cos(const Size& size, const Array& out, const Array& a) { run<sidra_cos>(size, &out, &a); }
    void erf(const Size& size, const Array& out, const Array& a) { run<sidra_erf>(size, &out, &a); }
    void tanh(const Size& size, const Array& out, const Array& a) { run<sidra_tanh>(size, &out, &a); }
    void sigmoid(const Size& size, const Array& out, const Array& a) { run<sidra_sigmoid>(size, &out, &a); }
    void silu(const Size& size, const Array& out, const Array& a) { run<sidra_silu>(size, &out, &a); }
    void gelu(const Size& size, const Array& out, const Array& a) { run<sidra_gelu>(size, &out, &a); }
    void gelu_tanh(const Size& size, const Array& out, const Array& a) { run<sidra_gelu_tanh>(size, &out, &a); }
    void convert(const Size& size, const Array& out, const Array& a) { run<sidra_convert>(size, &out, &a); }
    void quantize(const Size& size, const Array& out, const Array& a, float scale, const Array* scales, int32_t zero) {
        run<sidra_quantize>(size, &out, &a, scale, scales, zero);
    }
    void dequantize(const Size& size, const Array& out, const Array& a, float scale, const Array* scales,
                    int32_t zero) {
        run<sidra_dequantize>(size, &out, &a, scale, scales, zero);
    }
    void quantize_rows(const Size& size, const Array& out, const Array& scales, const Array& a) {
        run<sidra_quantize_rows>(size, &out, &scales, &a);
    }
    void softmax(const Size& size, const Array& out, const Array& a) { run<sidra_softmax>(size, &out, &a); }
    void log_softmax(const Size& size, const Array& out, const Array& a) { run<sidra_log_softmax>(size, &out, &a); }
    void layer_norm(const Size& size, const Array& out, const Array& a, const Array* gamma, const Array* beta,
                    float epsilon) {
        run<sidra_layer_norm>(size, &out, &a, gamma, beta, epsilon);
    }
    void rms_norm(const Size& size, const Array& out, const Array& a, const Array* gamma, float epsilon) {
        run<sidra_rms_norm>(size, &out, &a, gamma, epsilon);
    }
    void reduce_sum(const Size& size, const Array& out, const Array& a) { run<sidra_reduce_sum>(size, &out, &a); }
    void reduce_max(const Size& size, const Array& out, const Array& a) { run<sidra_reduce_max>(size, &out, &a); }
    void reduce_min(const Size& size, const Array& out, const Array& a) { run<sidra_reduce_min>(size, &out, &a); }
    void reduce_mean(const Size& size, const Array& out, const Array& a) { run<sidra_reduce_mean>(size, &out, &a); }
    void reduce_variance(const Size& size, const Array& out, const Array& a, uint32_t correction) {
        run<sidra_reduce_variance>(size, &out, &a, correction);
    }
    void reduce_argmax(const Size& size, const Array& out, const Array& a) { run<sidra_reduce_argmax>(size, &out, &a); }
    void reduce_argmin(const Size& size, const Array& out, const Array& a) { run<sidra_reduce_argmin>(size, &out, &a); }
    void cumsum(const Size& size, const Array& out, const Array& a) { run<sidra_cumsum>(size, &out, &a); }
    void gather_rows(const Size& size, const Array& out, const Array& table, uint32_t rows, sidra_ref indices,
                     sidra_type index_type) {
        run<sidra_gather_rows>(size, &out, &table, rows, indices, index_type);
    }
    void scatter_rows(const Size& size, const Array& out, uint32_t rows, sidra_ref indices, sidra_type index_type,
                      const Array& a) {
        run<sidra_scatter_rows>(size, &out, rows, indices, index_type, &a);
    }
    void scatter_add_rows(const Size& size, const Array& out, uint32_t rows, sidra_ref indices, sidra_type index_type,
                          const Array& a) {
        run<sidra_scatter_add_rows>(size, &out, rows, indices, index_type, &a);
    }
    void gather(const Size& size, const Array& out, const Array& a, uint32_t columns, const Array& indices) {
        run<sidra_gather>(size, &out, &a, columns, &indices);
    }
    void scatter(const Size& size, const Array& out, uint32_t columns, const Array& indices, const Array& a) {
        run<sidra_scatter>(size, &out, columns, &indices, &a);
    }
    void lookup(const Size& size, const Array& out, const Array& a, sidra_ref table, sidra_type table_type) {
        run<sidra_lookup>(size, &out, &a, table, table_type);
    }
    void random_uniform(const Size& size, const Array& out, float low, float high, uint32_t seed, uint32_t sequence) {
        run<sidra_random_uniform>(size, &out, low, high, seed, sequence);
    }
    void random_normal(const Size& size, const Array& out, float mean, float deviation, uint32_t seed,
                       uint32_t sequence) {
        run<sidra_random_normal>(size, &out, mean, deviation, seed, sequence);
    }
    void random_bernoulli(const Size& size, const Array& out, float probability, uint32_t seed, uint32_t sequence) {
        run<sidra_random_bernoulli>(size, &out, probability, seed, sequence);
    }
    void dropout(const Size& size, const Array& out, const Array& a, float probability, uint32_t seed,
                 uint32_t sequence) {
        run<sidra_dropout>(size, &out, &a, probability, seed, sequence);
    }

    // Runs `operations`, which queues on this stream, as one batch: one doorbell. The batch ends also when they throw.
    template <typename Operations>
    void batch(Operations&& operations) {
        detail::check(sidra_batch_begin(get()));
        try {
            std::forward<Operations>(operations)();
        } catch (...) {
            static_cast<void>(sidra_batch_end(get()));
            throw;
        }
        detail::check(sidra_batch_end(get()));
    }
    // Records what `operations` queues on this stream. What throws drops the recording.
    template <typename Operations>
    Graph capture(Operations&& operations) {
        const EndOfRecording end{memory_};
        detail::check(sidra_graph_begin(get()));
        try {
            std::forward<Operations>(operations)();
        } catch (...) {
            static_cast<void>(sidra_graph_end(get(), nullptr));
            throw;
        }
        sidra_graph* graph = nullptr;
        detail::check(sidra_graph_end(get(), &graph));
        return Graph(graph, context_);
    }
    // Puts what `operations` queues on this stream in place of the graph's operations from number `operation` on.
    template <typename Operations>
    void update(const Graph& graph, uint32_t operation, Operations&& operations) {
        const EndOfRecording end{memory_};
        detail::check(sidra_graph_begin(get()));
        try {
            std::forward<Operations>(operations)();
        } catch (...) {
            static_cast<void>(sidra_graph_end(get(), nullptr));
            throw;
        }
        detail::check(sidra_graph_update(graph.get(), operation, get()));
    }
    void launch(const Graph& graph) { detail::check(sidra_graph_launch_async(get(), graph.get())); }

   private:
    friend class Allocation;
    struct EndOfRecording {
        std::shared_ptr<detail::StreamMemory> memory;
        ~EndOfRecording() {
            if (memory) memory->recording_ended();
        }
    };

    // Calls a function of functions.h.
    template <auto kFunction, typename... Arguments>
    void run(const Size& size, Arguments... arguments) {
        detail::check(kFunction(get(), size.data(), arguments...));
    }

    // An empty list leaves all in the memory.
    static void require_pointers(const Model& model, uint32_t variant, size_t inputs, size_t outputs) {
        const sidra_model_variant_info info = model.variant(variant);
        if ((inputs != 0 && inputs != info.inputs) || (outputs != 0 && outputs != info.outputs))
            throw Error(SIDRA_ERROR_INVALID_ARGUMENT,
                        "run: variant " + std::to_string(variant) + " has " + std::to_string(info.inputs) +
                            " inputs and " + std::to_string(info.outputs) + " outputs, but " + std::to_string(inputs) +
                            " and " + std::to_string(outputs) + " pointers were given");
    }

    detail::Parent context_;  // of the graphs that are recorded here
    std::shared_ptr<detail::StreamMemory> memory_;
    std::shared_ptr<detail::StreamMemory> make_memory() const {
        return std::make_shared<detail::StreamMemory>(get(), keep());
    }
    static sidra_stream* create(const Context& context, const sidra_stream_options& options) {
        const sidra_stream_options whole = detail::sized(options);
        sidra_stream* stream = nullptr;
        detail::check(sidra_stream_create(context.get(), &whole, &stream));
        return stream;
    }
};

// ---- Memory in the order of a stream

// Memory of the context's pool. The end of the object frees it in the order of the stream of which it was allocated;
// while that records a graph, at the end of the recording. The graph needs its memory for as long as it is launched.
class Allocation {
   public:
    Allocation() = default;
    Allocation(const Stream& stream, size_t size) : memory_(stream.memory_) {
        detail::check(sidra_malloc_async(stream.get(), size, &buffer_));
    }
    Allocation(Allocation&& other) noexcept
        : buffer_(std::exchange(other.buffer_, nullptr)), memory_(std::move(other.memory_)) {}
    Allocation& operator=(Allocation&& other) noexcept {
        Allocation former(std::move(*this));
        buffer_ = std::exchange(other.buffer_, nullptr);
        memory_ = std::move(other.memory_);
        return *this;
    }
    ~Allocation() {
        if (buffer_ != nullptr) memory_->free(buffer_);
    }

    sidra_buffer* get() const noexcept { return buffer_; }
    size_t size() const {
        size_t size = 0;
        detail::check(sidra_buffer_size(buffer_, &size));
        return size;
    }
    // The memory as elements of T; the host may touch it once the stream is synchronized.
    template <typename T = std::byte>
    std::span<T> as() const {
        static_assert(std::is_trivially_copyable_v<T>);
        void* address = nullptr;
        detail::check(sidra_buffer_map(buffer_, &address));
        return {static_cast<T*>(address), size() / sizeof(T)};
    }
    sidra_ref at(size_t offset = 0) const noexcept { return {buffer_, offset}; }
    operator sidra_ref() const noexcept { return at(0); }
    // Frees it now, in the order of any stream of the context.
    void free(const Stream& stream) {
        detail::check(sidra_free_async(stream.get(), buffer_));
        buffer_ = nullptr;
        memory_.reset();
    }

   private:
    sidra_buffer* buffer_ = nullptr;
    std::shared_ptr<detail::StreamMemory> memory_;  // of the stream, which it keeps
};

inline Allocation Stream::allocate(size_t size) const { return Allocation(*this, size); }

}  // namespace sidra

#endif  // SIDRA_SIDRA_HPP
