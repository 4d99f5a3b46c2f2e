// SPDX-License-Identifier: MIT
// Lock-step comparison with another implementation (unicorn, GPL-2.0: in this test only): random instructions, register
// by register. Unicorn does not handle traps, so none occur: memory accesses stay in RAM, jumps in the program.
#include <gtest/gtest.h>
#include <unicorn/unicorn.h>

#include <random>

#include "assembler.h"
#include "machine.h"

namespace sidra::test {
namespace {

constexpr uint32_t kProgram = kRam.base, kWords = 1024, kData = kRam.base + 0x4000;

class Other {
   public:
    Other() {
        EXPECT_EQ(uc_open(UC_ARCH_RISCV, UC_MODE_RISCV32, &engine_), UC_ERR_OK);
        EXPECT_EQ(uc_mem_map(engine_, kRam.base, kRam.size, UC_PROT_ALL), UC_ERR_OK);
    }
    ~Other() { uc_close(engine_); }
    Other(const Other&) = delete;
    Other& operator=(const Other&) = delete;
    void put(uint32_t address, const std::vector<uint32_t>& words) {
        EXPECT_EQ(uc_mem_write(engine_, address, words.data(), words.size() * 4), UC_ERR_OK);
    }
    void set(uint32_t n, uint32_t value) {
        EXPECT_EQ(uc_reg_write(engine_, UC_RISCV_REG_X0 + static_cast<int>(n), &value), UC_ERR_OK);
    }
    uint32_t get(int number) {
        uint32_t value = 0;
        EXPECT_EQ(uc_reg_read(engine_, number, &value), UC_ERR_OK);
        return value;
    }
    uint32_t x(uint32_t n) { return get(UC_RISCV_REG_X0 + static_cast<int>(n)); }
    uint32_t pc() { return get(UC_RISCV_REG_PC); }
    uc_err step() { return uc_emu_start(engine_, pc(), 0, 0, 1); }
    void start(uint32_t pc) { EXPECT_EQ(uc_reg_write(engine_, UC_RISCV_REG_PC, &pc), UC_ERR_OK); }
    std::vector<uint8_t> memory() {
        std::vector<uint8_t> bytes(kRam.size);
        EXPECT_EQ(uc_mem_read(engine_, kRam.base, bytes.data(), bytes.size()), UC_ERR_OK);
        return bytes;
    }

   private:
    uc_engine* engine_ = nullptr;
};

// gp points to data and is never written; jumps go forward, and the last word back to the start.
std::vector<uint32_t> any_program(std::minstd_rand& random) {
    std::vector<uint32_t> program;
    const auto below = [&](uint32_t limit) { return static_cast<uint32_t>(random() >> 3) % limit; };
    const auto target = [&] {
        const uint32_t r = below(32);
        return r == gp ? zero : r;
    };
    while (program.size() + 1 < kWords) {
        const auto left = static_cast<uint32_t>(kWords - 1 - program.size());
        const auto ahead = static_cast<int32_t>(4 + 4 * below(std::min(left, 6u)));
        const auto imm = static_cast<int32_t>(below(4096)) - 2048;
        switch (below(8)) {
            case 0:
                program.push_back(r_type(below(2), below(8), target(), below(32), below(32)));
                break;
            case 1:
                program.push_back(r_type(0x20, below(2) * 5, target(), below(32), below(32)));
                break;
            case 2: {
                const uint32_t funct3 = below(8), shift = below(32) | (funct3 == 5 ? below(2) << 10 : 0);
                program.push_back(
                    i_type(0x13, funct3, target(), below(32), funct3 % 4 == 1 ? static_cast<int32_t>(shift) : imm));
                break;
            }
            case 3: {
                constexpr uint32_t kKinds[] = {0, 1, 2, 4, 5};
                const uint32_t kind = kKinds[below(5)];
                program.push_back(i_type(0x03, kind, target(), gp, imm & ~((1 << kind % 4) - 1)));
                break;
            }
            case 4: {
                const uint32_t kind = below(3);
                program.push_back(s_type(kind, below(32), gp, imm & ~((1 << kind) - 1)));
                break;
            }
            case 5: {
                constexpr uint32_t kKinds[] = {0, 1, 4, 5, 6, 7};
                program.push_back(b_type(kKinds[below(6)], below(32), below(32), ahead));
                break;
            }
            case 6:
                program.push_back(below(2) ? lui(target(), below(~0u)) : auipc(target(), below(~0u)));
                break;
            case 7:
                program.push_back(jal(target(), ahead));
                break;
        }
    }
    program.push_back(jal(zero, -4 * static_cast<int32_t>(kWords - 1)));
    return program;
}

TEST(Unicorn, SameRegistersAfterEachInstruction) {
    std::minstd_rand random(5);
    for (int round = 0; round < 20; round++) {
        Other other;
        Machine machine;
        const auto program = any_program(random);
        other.put(kProgram, program);
        machine.put(kProgram, program);
        for (uint32_t n = 1; n < 32; n++) {
            // Values at the edges are as likely as any.
            constexpr uint32_t kEdges[] = {0, 1, ~0u, 0x80000000, 0x7fffffff, 31, 32};
            const uint32_t value = n == gp        ? kData
                                   : random() % 2 ? static_cast<uint32_t>(random()) * 77
                                                  : kEdges[random() % 7];
            other.set(n, value);
            machine.x(n) = value;
        }
        other.start(kProgram);
        machine.core.state().pc = kProgram;
        for (int i = 0; i < 4000; i++) {
            const uint32_t pc = machine.pc();
            ASSERT_EQ(other.step(), UC_ERR_OK) << "at " << std::hex << pc;
            machine.core.step();
            ASSERT_EQ(machine.core.state().mcause, 0u) << std::hex << machine.word(pc) << " at " << pc;
            ASSERT_EQ(machine.pc(), other.pc()) << "after " << std::hex << machine.word(pc) << " at " << pc;
            for (uint32_t n = 0; n < 32; n++)
                ASSERT_EQ(machine.x(n), other.x(n))
                    << "x" << n << " after " << std::hex << machine.word(pc) << " at " << pc;
        }
        std::vector<uint8_t> memory(kRam.size);
        EXPECT_TRUE(machine.core.read(kRam.base, memory));
        EXPECT_EQ(memory, other.memory());
    }
}

}  // namespace
}  // namespace sidra::test
