// SPDX-License-Identifier: MIT
// Vector programs of the backend, assembled at their first use on a device and kept.
#ifndef SIDRA_PYTORCH_PROGRAMS_H
#define SIDRA_PYTORCH_PROGRAMS_H

#include <c10/core/Device.h>
#include <sidra/sidra.h>

#include <array>
#include <atomic>
#include <string>

namespace sidra::pytorch {

// The program of a text; one for each text and device. Takes a lock.
sidra_program* program_of(c10::DeviceIndex index, const std::string& text);

// The same without a lock after the first time: a place for the handles of one text.
class VectorProgram {
   public:
    explicit VectorProgram(std::string text) : text_(std::move(text)) {}
    sidra_program* on(c10::DeviceIndex index) {
        std::atomic<sidra_program*>& slot = handles_[static_cast<size_t>(index)];
        sidra_program* handle = slot.load(std::memory_order_acquire);
        if (handle == nullptr) [[unlikely]]
            slot.store(handle = program_of(index, text_), std::memory_order_release);
        return handle;
    }

   private:
    const std::string text_;
    std::array<std::atomic<sidra_program*>, 64> handles_{};
};

}  // namespace sidra::pytorch

#endif
