// SPDX-License-Identifier: MIT
#include "chip.h"

#include <fmt/format.h>

#include <cstring>
#include <random>

#include "driver_node.h"
#include "error.h"
#include "memory.h"

namespace sidra::bench {
namespace {

sidra_device_options device_options(sidra_engine engine, uint32_t workers) {
    sidra_device_options options = SIDRA_INIT(sidra_device_options);
    options.profile = SIDRA_PROFILE_Y1;
    options.engine = engine;
    options.workers = workers;
    options.private_chip = without_card();
    return options;
}

}  // namespace

void fail(sidra_status status, const char* call) {
    throw Error(fmt::format("{}: {} ({})", sidra_status_string(status), sidra_last_error(), call));
}

uint64_t long_deadline() { return sidra_deadline_after_ns(120'000'000'000); }

Buffer::Buffer(sidra_context* context, size_t size) {
    sidra_buffer* handle = nullptr;
    SIDRA_CHECK(sidra_buffer_create(context, size, SIDRA_BUFFER_HOST, &handle));
    handle_.reset(handle);
    SIDRA_CHECK(sidra_buffer_map(handle, &data_));
    std::memset(data_, 1, size);
}

Buffer::Buffer(sidra_context* context, void* memory, size_t size) : data_(memory) {
    sidra_buffer* handle = nullptr;
    SIDRA_CHECK(sidra_buffer_register(context, memory, size, false, &handle));
    handle_.reset(handle);
}

Chip::Chip(Device device) : device_(std::move(device)) {
    SIDRA_CHECK(sidra_device_get_info(device_.get(), &info_));
    sidra_context* context = nullptr;
    SIDRA_CHECK(sidra_context_create(device_.get(), &context));
    context_.reset(context);
    stream_ = make_stream(false);
}

Chip::Chip(sidra_engine engine, uint32_t workers)
    : Chip([&] {
          const sidra_device_options options = device_options(engine, workers);
          sidra_device* device = nullptr;
          SIDRA_CHECK(sidra_device_open(0, &options, &device));
          return Device(device);
      }()) {}

std::optional<Chip> Chip::open_if_supported(sidra_engine engine, uint32_t workers) {
    const sidra_device_options options = device_options(engine, workers);
    sidra_device* device = nullptr;
    const sidra_status status = sidra_device_open(0, &options, &device);
    if (status == SIDRA_ERROR_NOT_SUPPORTED) return std::nullopt;
    check(status, "sidra_device_open");
    return Chip(Device(device));
}

Stream Chip::make_stream(bool reports) const {
    sidra_stream_options options = SIDRA_INIT(sidra_stream_options);
    options.reports = reports;
    sidra_stream* stream = nullptr;
    SIDRA_CHECK(sidra_stream_create(context(), &options, &stream));
    return Stream(stream);
}

void Chip::wait() const { SIDRA_CHECK(sidra_stream_synchronize(stream(), long_deadline())); }

MvmWork::MvmWork(const Chip& chip, uint32_t k, uint32_t n, uint32_t batch)
    : chip_(chip),
      k_(k),
      n_(n),
      batch_(batch),
      in_(chip.context(), size_t{batch} * k),
      out_(chip.context(), sizeof(int32_t) * batch * n) {
    std::vector<int8_t> values(size_t{k} * n);
    fill_random<int8_t>(values, -127, 127, 1);
    fill_random<uint8_t>({in_.as<uint8_t>(), size_t{batch} * k}, 0, 255, 2);

    sidra_weights* weights = nullptr;
    SIDRA_CHECK(sidra_weights_create_s8(chip.context(), k, n, values.data(), n, nullptr, nullptr, &weights));
    weights_.reset(weights);
    SIDRA_CHECK(sidra_weights_program_async(chip.stream(), weights));
    chip.wait();

    mvm_.batch = batch;
    mvm_.in_type = SIDRA_U8;
    mvm_.out_type = SIDRA_S32;
    mvm_.in = in_.ref();
    mvm_.out = out_.ref();
    run(1);
    check_result(values);
}

void MvmWork::run(uint64_t calls) {
    const uint64_t deadline = long_deadline();
    for (uint64_t i = 0; i < calls; ++i) {
        SIDRA_CHECK(sidra_mvm_async(chip_.stream(), weights_.get(), &mvm_));
        SIDRA_CHECK(sidra_stream_synchronize(chip_.stream(), deadline));
    }
}

// A fast wrong answer is no figure. Some outputs, among them the last one.
void MvmWork::check_result(std::span<const int8_t> values) const {
    std::minstd_rand generator(3);
    for (int i = 0; i < 64; ++i) {
        const uint32_t b = i == 0 ? batch_ - 1 : static_cast<uint32_t>(generator() % batch_);
        const uint32_t column = i == 0 ? n_ - 1 : static_cast<uint32_t>(generator() % n_);
        int32_t want = 0;
        for (uint32_t row = 0; row < k_; ++row) {
            want += in_.as<uint8_t>()[size_t{b} * k_ + row] * values[size_t{row} * n_ + column];
        }
        const int32_t got = out_.as<int32_t>()[size_t{b} * n_ + column];
        if (got != want) {
            throw Error(fmt::format("wrong result: {}x{} batch {} on engine {}: output [{}][{}] is {}, not {}", k_, n_,
                                    batch_, chip_.engine(), b, column, got, want));
        }
    }
}

}  // namespace sidra::bench
