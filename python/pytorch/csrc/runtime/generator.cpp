// SPDX-License-Identifier: MIT
#include "runtime/generator.h"

#include <ATen/Utils.h>
#include <ATen/ops/empty.h>

#include <cstring>

#include "runtime/device.h"

namespace sidra::pytorch {
namespace {

constexpr c10::DispatchKeySet kKeys{c10::DispatchKey::PrivateUse1};

struct State {
    uint64_t seed, sequence;
};

// The chip's generator takes 32 bits of each: spreads those of a seed (the finaliser of MurmurHash3, Appleby 2011).
uint32_t mix(uint64_t value) {
    value ^= value >> 33;
    value *= 0xff51afd7ed558ccd;
    value ^= value >> 33;
    value *= 0xc4ceb9fe1a85ec53;
    return static_cast<uint32_t>(value ^ (value >> 33));
}

}  // namespace

Generator::Generator(c10::DeviceIndex index) : GeneratorImpl(c10::Device(device_type(), index), kKeys) {}

void Generator::set_current_seed(uint64_t seed) {
    seed_ = seed;
    sequence_ = 0;
}

uint64_t Generator::seed() {
    set_current_seed(c10::detail::getNonDeterministicRandom());
    return seed_;
}

Generator::Key Generator::next() {
    const uint64_t sequence = sequence_++;
    return {mix(seed_ + (sequence >> 32)), static_cast<uint32_t>(sequence)};
}

void Generator::set_state(const c10::TensorImpl& state) {
    at::detail::check_rng_state(state);
    TORCH_CHECK(state.numel() == sizeof(State), "the state of a sidra generator has ", sizeof(State), " bytes, not ",
                state.numel());
    State values;
    std::memcpy(&values, state.data(), sizeof values);
    seed_ = values.seed;
    sequence_ = values.sequence;
}

c10::intrusive_ptr<c10::TensorImpl> Generator::get_state() const {
    const State values = {seed_, sequence_};
    at::Tensor state = at::empty({sizeof values}, at::TensorOptions(at::kCPU).dtype(at::kByte));
    std::memcpy(state.mutable_data_ptr(), &values, sizeof values);
    return state.getIntrusivePtr();
}

Generator* Generator::clone_impl() const {
    auto* copy = new Generator(device().index());
    copy->seed_ = seed_;
    copy->sequence_ = sequence_;
    return copy;
}

const at::Generator& default_generator(c10::DeviceIndex index) {
    static const std::vector<at::Generator>* const all = [] {
        auto* made = new std::vector<at::Generator>;
        for (c10::DeviceIndex i = 0; i < device_count(); ++i) made->push_back(at::make_generator<Generator>(i));
        return made;
    }();
    const c10::DeviceIndex of = index < 0 ? current_device() : index;
    TORCH_CHECK(static_cast<size_t>(of) < all->size(), "there is no device sidra:", static_cast<int>(of));
    return (*all)[static_cast<size_t>(of)];
}

Generator::Key next_key(const std::optional<at::Generator>& generator, c10::DeviceIndex index) {
    auto* source = at::get_generator_or_default<Generator>(generator, default_generator(index));
    const std::lock_guard guard(source->mutex_);
    return source->next();
}

}  // namespace sidra::pytorch
