// SPDX-License-Identifier: MIT
// The guest that an input plays: a process that fills rings, and the kernel below it that fills tables. It starts with
// everything in order, and the records of the input change that: most packets are right but for a field or two.
#ifndef SIDRA_TESTS_FUZZ_PACKETS_HOSTILE_H
#define SIDRA_TESTS_FUZZ_PACKETS_HOSTILE_H

#include <array>
#include <cstdint>
#include <optional>

#include "board.h"
#include "input.h"

namespace sidra::fuzz {

inline constexpr size_t kRecordSize = 32;

class Hostile {
   public:
    static constexpr uint32_t kContext = 9, kQueues = 4;  // the last one is the kernel's
    static constexpr uint32_t kFirstCrossbar = 4, kCrossbars = 4;

    explicit Hostile(Board& board);

    void record(Input in);
    // One queue waits in the middle of a CALL, one is faulted, one is armed for what is to come.
    void be_at_work();
    // Doorbells, and some slices.
    void run(unsigned slices);
    // As it was in the beginning.
    void end();

   private:
    struct Target {
        uint64_t va, bytes;
    };
    uint64_t raw(Input& in);
    uint64_t address(Input& in);
    uint32_t count(Input& in);
    sidra_cmd packet(Input& in);
    void packet_vector(Input& in, sidra_cmd& cmd);
    void packet_matmul(Input& in, sidra_cmd& cmd);
    void packet_layer(Input& in, sidra_cmd& cmd);
    sidra_operand rows_of(Input& in, uint8_t type, const uint32_t (&size)[3], uint32_t cols);
    void packet_pool(Input& in, sidra_cmd& cmd);
    void packet_sort(Input& in, sidra_cmd& cmd);
    void push(uint32_t queue, const sidra_cmd& cmd);
    void write_table(Input& in);
    void write_queue(Input& in);
    void write_context(Input& in);
    void write_weights(Input& in);
    void write_data(Input& in);
    void write_pattern(Input& in);
    void write_program(Input& in);
    void admin(Input& in);
    void doorbells();
    void program();
    template <typename T>
    T& at(uint64_t bus);  // to be written to

    Board& board_;
    Region& memory_;
    std::array<uint64_t, kQueues> next_{};
    std::optional<std::array<sidra_hw_xbar, kCrossbars>> crossbars_;  // as programmed
    std::array<uint16_t, 14> program_sizes_{};                        // instructions
    uint64_t cells_ = 0;                                              // Board::cells_changes() then
    bool whole_l3_ = false;                                           // more of it was mapped than in the beginning
    bool commanded_ = false;                                          // by admin commands of its own
};

}  // namespace sidra::fuzz

#endif
