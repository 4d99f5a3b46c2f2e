// SPDX-License-Identifier: MIT
// The chip under measurement, through the C API as any application uses it. A failing call throws Error with the
// library's own text.
#ifndef SIDRA_BENCH_CHIP_H
#define SIDRA_BENCH_CHIP_H

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sidra/sidra.h"

namespace sidra::bench {

[[noreturn]] void fail(sidra_status status, const char* call);
inline void check(sidra_status status, const char* call) {
    if (status != SIDRA_OK) [[unlikely]]
        fail(status, call);
}
#define SIDRA_CHECK(call) ::sidra::bench::check((call), #call)

template <auto destroy>
struct Destroy {
    template <typename T>
    void operator()(T* handle) const {
        destroy(handle);
    }
};
using Device = std::unique_ptr<sidra_device, Destroy<sidra_device_close>>;
using Context = std::unique_ptr<sidra_context, Destroy<sidra_context_destroy>>;
using Stream = std::unique_ptr<sidra_stream, Destroy<sidra_stream_destroy>>;
using Weights = std::unique_ptr<sidra_weights, Destroy<sidra_weights_destroy>>;
using BufferHandle = std::unique_ptr<sidra_buffer, Destroy<sidra_buffer_destroy>>;

// Memory that the chip and this process share.
class Buffer {
   public:
    Buffer(sidra_context* context, size_t size);                // the library's, touched
    Buffer(sidra_context* context, void* memory, size_t size);  // the caller's

    void* data() const { return data_; }
    template <typename T>
    T* as() const {
        return static_cast<T*>(data_);
    }
    sidra_ref ref(size_t offset = 0) const { return {handle_.get(), offset}; }

   private:
    BufferHandle handle_;
    void* data_ = nullptr;
};

// A chip of its own (a model; of a real device, its index 0), a context and a stream as an application gets them.
class Chip {
   public:
    Chip(sidra_engine engine, uint32_t workers);

    // nullopt: this machine does not have the engine.
    static std::optional<Chip> open_if_supported(sidra_engine engine, uint32_t workers);

    sidra_device* device() const { return device_.get(); }
    sidra_context* context() const { return context_.get(); }
    sidra_stream* stream() const { return stream_.get(); }
    const sidra_device_info& info() const { return info_; }
    std::string engine() const { return info_.engine; }

    Stream make_stream(bool reports) const;
    void wait() const;

   private:
    explicit Chip(Device device);

    Device device_;
    Context context_;
    Stream stream_;
    sidra_device_info info_ = SIDRA_INIT(sidra_device_info);
};

// One MVM, u8 in and s32 out, with programmed random weights and random inputs. Checked against plain arithmetic when
// made.
class MvmWork {
   public:
    MvmWork(const Chip& chip, uint32_t k, uint32_t n, uint32_t batch);
    void run(uint64_t calls);  // submit and wait, one by one

   private:
    void check_result(std::span<const int8_t> values) const;

    const Chip& chip_;
    uint32_t k_, n_, batch_;
    Buffer in_, out_;
    Weights weights_;
    sidra_mvm mvm_ = SIDRA_INIT(sidra_mvm);
};

// A deadline that only a broken device can miss; taken once for many calls, so that a hang ends and the clock costs
// nothing.
uint64_t long_deadline();

}  // namespace sidra::bench

#endif
