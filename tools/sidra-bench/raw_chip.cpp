// SPDX-License-Identifier: MIT
#include "raw_chip.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <ctime>
#include <variant>
#include <vector>

#include "program/program_text.h"

namespace sidra::bench {
namespace {

// Addresses of the bus are offsets in the memory, and so are those of the context.
std::byte* memory(void* self) { return static_cast<std::byte*>(self); }

const sidra_chip_host kHost = {
    .self = nullptr,
    .dma_map = [](void* self, uint64_t bus, uint64_t* length, bool) -> void* {
        if (bus >= RawChip::kMemory) return nullptr;
        *length = std::min<uint64_t>(*length, RawChip::kMemory - bus);
        return memory(self) + bus;
    },
    .dma_unmap = [](void*, void*, uint64_t, bool) {},
    .load64_acquire =
        [](void* self, uint64_t bus, uint64_t* value) {
            if (bus > RawChip::kMemory - 8) return false;
            *value = __atomic_load_n(reinterpret_cast<uint64_t*>(memory(self) + bus), __ATOMIC_ACQUIRE);
            return true;
        },
    .max64_release = [](void*, uint64_t, uint64_t) { return false; },  // no packet here signals
    .msix = [](void*, unsigned) {},
    .clock_ns =
        [](void*) {
            timespec now;
            clock_gettime(CLOCK_MONOTONIC, &now);
            return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
        },
    .kick = [](void*) {},  // run() runs the chip itself
    .report = [](void*, const char*) {},
};

}  // namespace

RawChip::RawChip(sidra_engine engine, uint32_t workers) {
    std::memset(memory_.data(), 0, kMemory);
    take_bytes(SIDRA_PAGE_SIZE);  // 0 is no address
    auto* const contexts = take<sidra_hw_context>(SIDRA_CONTEXTS_MAX);
    auto* const queue = take<sidra_hw_queue>(1);
    uint64_t* tables[SIDRA_PT_LEVELS - 1];  // the root first
    for (uint64_t*& table : tables) table = take<uint64_t>(SIDRA_PT_ENTRIES);
    for (size_t i = 0; i + 1 < std::size(tables); i++) tables[i][0] = address(tables[i + 1]) | SIDRA_PTE_VALID;
    for (uint64_t at = 0; at < kMemory; at += SIDRA_HUGE_SIZE)
        tables[SIDRA_PT_LEVELS - 2][at / SIDRA_HUGE_SIZE] =
            at | SIDRA_PTE_VALID | SIDRA_PTE_LEAF | SIDRA_PTE_READ | SIDRA_PTE_WRITE;
    ring_ = take<sidra_cmd>(kRing);
    write_index_ = take<uint64_t>(1);
    state_ = take<sidra_queue_state>(1);
    queue->ring = address(ring_);
    queue->write_index = address(write_index_);
    queue->state = address(state_);
    queue->ring_log2 = SIDRA_QUEUE_LOG2_MIN;
    queue->vector = 1;
    queue->epoch = 1;
    queue->flags = SIDRA_HW_QUEUE_VALID;
    contexts[0].page_table = address(tables[0]);
    contexts[0].queue_table = address(queue);
    contexts[0].queue_count = 1;
    contexts[0].flags = SIDRA_HW_CONTEXT_VALID;

    sidra_chip_config config{};
    config.profile = SIDRA_CHIP_SMALL;
    config.engine = engine;
    config.workers = workers;
    sidra_chip_host host = kHost;
    host.self = memory_.data();
    sidra_chip* chip = nullptr;
    char error[256] = "";
    if (sidra_chip_create(&config, &host, &chip, error, sizeof error) != 0)
        throw Error(fmt::format("cannot create a chip: {}", error));
    chip_.reset(chip);
    sidra_chip_mmio_write(chip, SIDRA_REG_CONTEXT_TABLE, address(contexts), 8);
    sidra_chip_mmio_write(chip, SIDRA_REG_CONTROL, SIDRA_CONTROL_ENABLE, 4);
    sidra_cmd nop{};
    nop.hdr.opcode = SIDRA_CMD_NOP;
    run(nop);
}

std::byte* RawChip::take_bytes(size_t bytes) {
    std::byte* const taken = memory_.as<std::byte>() + used_;
    used_ += (bytes + SIDRA_PAGE_SIZE - 1) / SIDRA_PAGE_SIZE * SIDRA_PAGE_SIZE;
    if (used_ > kMemory) throw Error("the memory of a chip under measurement is too small");
    return taken;
}

uint64_t RawChip::assemble(std::string_view text, uint16_t* instructions) {
    const auto code = std::get<program::Code>(program::assemble(text)).instructions;
    auto* const to = take<sidra_vector_instruction>(code.size());
    std::copy(code.begin(), code.end(), to);
    *instructions = static_cast<uint16_t>(code.size());
    return address(to);
}

void RawChip::run(std::span<const sidra_cmd> packets) {
    for (const sidra_cmd& packet : packets) ring_[next_++ % kRing] = packet;
    __atomic_store_n(write_index_, next_, __ATOMIC_RELEASE);
    sidra_chip_mmio_write(chip_.get(), SIDRA_DOORBELL(0, 0), 1, 4);
    while (__atomic_load_n(&state_->timeline, __ATOMIC_ACQUIRE) < next_) {
        if (__atomic_load_n(&state_->run_state, __ATOMIC_ACQUIRE) == SIDRA_QUEUE_FAULTED)
            throw Error(fmt::format("a packet under measurement faulted: opcode {}, cause {}, address {:#x}",
                                    unsigned{packets.front().hdr.opcode}, unsigned{state_->fault.cause},
                                    state_->fault.address));
        sidra_chip_run(chip_.get());
    }
}

}  // namespace sidra::bench
