// SPDX-License-Identifier: MIT
// A core with memory and a bus that remembers.
#ifndef SIDRA_TESTS_CORE_MACHINE_H
#define SIDRA_TESTS_CORE_MACHINE_H

#include <cstring>
#include <map>
#include <vector>

#include "rv32.h"

namespace sidra::test {

inline constexpr core::Range kRom{0, 0x4000}, kRam{0x10000000, 0x8000};
inline constexpr uint32_t kDevice = 0x40000000;  // one page of registers

struct Device final : core::Bus {
    bool load(uint32_t address, uint32_t bytes, uint32_t* value) override {
        if (address - kDevice >= 4096) return false;
        loads++;
        *value = words[address & ~3u] >> 8 * (address & 3);
        if (bytes < 4) *value &= (1u << 8 * bytes) - 1;
        return true;
    }
    bool store(uint32_t address, uint32_t bytes, uint32_t value) override {
        if (address - kDevice >= 4096) return false;
        stores.push_back({address, bytes, value});
        words[address & ~3u] = value;
        if (on_store) on_store();
        return true;
    }
    struct Store {
        uint32_t address, bytes, value;
        bool operator==(const Store&) const = default;
    };
    std::map<uint32_t, uint32_t> words;
    std::vector<Store> stores;
    int loads = 0;
    void (*on_store)() = nullptr;
};

struct Machine {
    Machine() : core(kRom, kRam, device) {}
    void put(uint32_t address, const std::vector<uint32_t>& words) {
        std::vector<uint8_t> bytes(words.size() * 4);
        if (!words.empty()) std::memcpy(bytes.data(), words.data(), bytes.size());
        core.write(address, bytes);
    }
    uint32_t word(uint32_t address) const {
        uint32_t value = 0;
        uint8_t bytes[4];
        if (core.read(address, bytes)) std::memcpy(&value, bytes, 4);
        return value;
    }
    uint32_t& x(uint32_t n) { return core.state().x[n]; }
    uint32_t pc() const { return core.state().pc; }

    Device device;
    core::Rv32 core;
};

}  // namespace sidra::test

#endif
