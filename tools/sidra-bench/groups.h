// SPDX-License-Identifier: MIT
// The groups of measurements. Each prints its tables and adds what it found to the report.
#ifndef SIDRA_BENCH_GROUPS_H
#define SIDRA_BENCH_GROUPS_H

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "contest.h"
#include "report.h"
#include "sidra/sidra.h"

namespace sidra::bench {

struct Settings {
    sidra_engine engine = SIDRA_ENGINE_AUTO;  // of the bars, and of all but the MVM table
    std::vector<sidra_engine> mvm_engines;    // of the MVM table
    uint32_t workers = 1;  // threads of the chip and of its peers, where a bar does not say otherwise
    uint32_t cpus = 1;     // that this process may use
    bool quick = false;
    std::string nvme;        // node of the NVMe peer; "": none
    double host_memcpy = 0;  // seconds that memcpy of 64 MiB took on the host of this guest; 0: unknown
    double host_mvm = 0;     // the same of an MVM 1024x1024, batch 256, on an embedded chip

    // For the bars: many short samples, so that a busy machine leaves some undisturbed.
    Method bar_method() const {
        return {.samples = 7, .rounds = quick ? 4 : 9, .max_rounds = quick ? 8 : 45, .budget_s = 10};
    }
    // For the tables.
    Method table_method() const {
        return {.samples = 3, .rounds = quick ? 2 : 4, .max_rounds = quick ? 3 : 8, .budget_s = quick ? 0.5 : 2};
    }
};

void run_noop(const Settings& settings, Report& report);
void run_copy(const Settings& settings, Report& report);
void run_mvm(const Settings& settings, Report& report);
void run_vec(const Settings& settings, Report& report);
void run_open(const Settings& settings, Report& report);
void run_driver(const Settings& settings, Report& report);
void run_recover(const Settings& settings, Report& report);
void run_twin(const Settings& settings, Report& report);
void run_vector(const Settings& settings, Report& report);
void run_matmul(const Settings& settings, Report& report);
void run_conv(const Settings& settings, Report& report);
void run_network(const Settings& settings, Report& report);
void run_firmware(const Settings& settings, Report& report);  // part of twin

struct Group {
    std::string_view name;
    std::string_view text;
    void (*run)(const Settings&, Report&);
    bool needs_driver = false;       // means nothing on an embedded chip
    Figures file = Figures::kSpine;  // of its bars; groups of another one are not part of `all`
};

inline constexpr std::array kGroups = {
    Group{"noop", "no-op packets: rate by batch size; submit and wait of one packet", run_noop},
    Group{"copy", "copies by size, against memcpy", run_copy},
    Group{"mvm", "matrix-vector products by size, batch and engine, against oneDNN, OpenBLAS and a plain read",
          run_mvm},
    Group{"vec", "functions of the compute engine", run_vec},
    Group{"open", "opening the chip: time and memory, in fresh processes; CPU use while idle", run_open},
    Group{"driver", "no-ops through user and kernel queues of the kernel driver, against NVMe", run_driver, true},
    Group{"recover", "recovery after faults and resets on the kernel driver; a context beside an endless one",
          run_recover, true},
    Group{"twin", "level accurate: programming, wires, products; level fast: programming; firmware", run_twin, false,
          Figures::kTwin},
    Group{"vector", "vector programs, against loops by hand", run_vector, false, Figures::kEngine},
    Group{"matmul", "products of matrices in memory, against oneDNN", run_matmul, false, Figures::kEngine},
    Group{"conv", "a convolution as one layer, against oneDNN", run_conv, false, Figures::kEngine},
    Group{"network", "a convolutional network as a whole, against oneDNN", run_network, false, Figures::kEngine},
};

// The hidden runs in fresh processes that run_open() starts; they print their figures for it.
void open_probe(sidra_engine engine);
void idle_probe(sidra_engine engine);
void matmul_probe(const Settings& settings);  // of run_matmul()
void conv_probe(uint32_t threads);            // of run_conv(): seconds of the peer alone

std::string_view engine_name(sidra_engine engine);  // "avx512"

}  // namespace sidra::bench

#endif
