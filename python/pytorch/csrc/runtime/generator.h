// SPDX-License-Identifier: MIT
// Random numbers of a device: a seed, and the number of the next sequence. Each operation that draws numbers takes one
// sequence.
#ifndef SIDRA_PYTORCH_GENERATOR_H
#define SIDRA_PYTORCH_GENERATOR_H

#include <ATen/core/Generator.h>
#include <c10/core/GeneratorImpl.h>

#include <optional>

namespace sidra::pytorch {

class Generator final : public c10::GeneratorImpl {
   public:
    explicit Generator(c10::DeviceIndex index);

    void set_current_seed(uint64_t seed) override;
    void set_offset(uint64_t offset) override { sequence_ = offset; }
    uint64_t get_offset() const override { return sequence_; }
    uint64_t current_seed() const override { return seed_; }
    uint64_t seed() override;  // from the system's entropy
    void set_state(const c10::TensorImpl& state) override;
    c10::intrusive_ptr<c10::TensorImpl> get_state() const override;
    static c10::DeviceType device_type() { return c10::DeviceType::PrivateUse1; }

    // What the next operation draws from: the key of the counter-based generator.
    struct Key {
        uint32_t seed, sequence;
    };
    Key next();

   private:
    Generator* clone_impl() const override;

    uint64_t seed_ = c10::default_rng_seed_val, sequence_ = 0;
};

const at::Generator& default_generator(c10::DeviceIndex index);
// The key for one operation, from `generator` or the device's own.
Generator::Key next_key(const std::optional<at::Generator>& generator, c10::DeviceIndex index);

}  // namespace sidra::pytorch

#endif
