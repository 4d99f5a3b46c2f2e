// SPDX-License-Identifier: MIT
// The figures that the project promises, their targets, and what they are.
#ifndef SIDRA_BENCH_BARS_H
#define SIDRA_BENCH_BARS_H

#include <array>
#include <string_view>

namespace sidra::bench {

// The file of figures in which a bar stands; that of the groups which measure it.
enum class Figures { kSpine, kTwin, kEngine };

struct Bar {
    std::string_view key;
    std::string_view text;
    double target;
    bool at_least;  // else at most
    Figures file = Figures::kSpine;
};

inline constexpr std::array kBars = {
    Bar{"noop_rate_b64", "no-op packets per second, 64 per doorbell", 30e6, true},
    Bar{"noop_rate_b1", "no-op packets per second, 1 per doorbell", 8e6, true},
    Bar{"noop_rtt_vs_spin", "submit and wait of one no-op / spin round trip, median", 1.75, false},
    Bar{"tile_b64_vs_onednn", "256x256, batch 64, one core: speed / oneDNN", 0.9, true},
    Bar{"tile_b1024_vs_onednn", "256x256, batch 1024, one core: speed / oneDNN", 0.9, true},
    Bar{"mvm_1024_b256_vs_onednn", "1024x1024, batch 256, two cores: speed / oneDNN", 0.9, true},
    Bar{"mvm_4096_b1_vs_read", "4096x4096, batch 1, two cores: speed / plain read", 0.9, true},
    Bar{"copy_64m_1w_vs_memcpy", "copy of 64 MiB, one worker: speed / memcpy", 0.95, true},
    Bar{"copy_64m_2w_vs_memcpy", "copy of 64 MiB, two workers: speed / memcpy", 1.5, true},
    Bar{"open_ms", "opening the full chip, a context and a stream, ms", 5, false},
    Bar{"open_rss_mib", "resident memory that opening takes, MiB", 32, false},
    Bar{"idle_cpu_percent", "CPU of a process with a parked and an idle stream, %", 1, false},
    Bar{"submit_mmio_writes", "register writes per submit, by the chip's counter", 1, false},
    Bar{"submit_mmio_reads", "register reads per submit, by the chip's counter", 0, false},
    Bar{"noop_b64_vs_nvme", "user queue, batches of 64: speed / NVMe flush", 10, true},
    Bar{"noop_b1_vs_nvme", "user queue, single packets, polled: speed / NVMe flush", 3, true},
    Bar{"submit_syscalls", "system calls per submit and polled wait", 0, false},
    Bar{"ioctl_b64_vs_nvme", "kernel queue by ioctl, batches of 64: speed / NVMe flush", 1.5, true},
    Bar{"uring_b64_vs_nvme", "kernel queue by io_uring, batches of 64: speed / NVMe flush", 1.5, true},
    Bar{"copy_64m_vs_host_memcpy", "copy of 64 MiB in the guest: speed / memcpy on the host", 0.6, true},
    Bar{"recover_queue_ms", "reset of a queue that faulted, ms", 50, false},
    Bar{"recover_context_ms", "recovery of a lost context, ms", 200, false},
    Bar{"recover_device_ms", "reset of the device and recovery of a context, ms", 2000, false},
    Bar{"victim_share", "throughput beside an endless context / throughput alone", 0.4, true},
    Bar{"mvm_vs_embedded", "1024x1024, batch 256, in the guest: speed / embedded chip on the host", 0.7, true},
    Bar{"fw_boot_wall_ms", "from opening a chip to the first answer of its firmware, ms", 30, false, Figures::kTwin},
    Bar{"fw_mips", "management core while firmware runs: million instructions per second", 300, true, Figures::kTwin},
    Bar{"ispp_cells_s", "level accurate: cells programmed per second, two cores", 40e6, true, Figures::kTwin},
    Bar{"ispp_published_cells_s", "level accurate: cells programmed per second by the published loop, two cores", 15e6,
        true, Figures::kTwin},
    Bar{"geff_s", "effective conductances of a crossbar, one core, s", 0.04, false, Figures::kTwin},
    Bar{"accurate_tile_mvm_rate", "level accurate: products of 256 outputs per second, batch 64, one core", 800e3, true,
        Figures::kTwin},
    Bar{"fast_program_cells_s", "level fast: cells programmed per second", 2e9, true, Figures::kTwin},
    Bar{"vec_gelu_res_vs_unfused", "bias, GELU, residual, 64 MiB, one core: speed / one pass an operation", 1.3, true,
        Figures::kEngine},
    Bar{"vec_softmax_vs_unfused", "softmax 128, 64 MiB, one core: speed / one pass an operation", 1.3, true,
        Figures::kEngine},
    Bar{"vec_layernorm_vs_unfused", "layer norm 768, 64 MiB, one core: speed / one pass an operation", 1.3, true,
        Figures::kEngine},
    Bar{"vec_gelu_res_vs_fused", "bias, GELU, residual in the cache, one core: speed / one loop by hand", 0.85, true,
        Figures::kEngine},
    Bar{"vec_softmax_vs_fused", "softmax 128 in the cache, one core: speed / one loop by hand", 0.85, true,
        Figures::kEngine},
    Bar{"vec_layernorm_vs_fused", "layer norm 768 in the cache, one core: speed / one loop by hand", 0.85, true,
        Figures::kEngine},
    Bar{"vec_tiny_ns", "4 instructions on 16 elements, 64 packets per doorbell, ring to retired, ns", 150, false,
        Figures::kEngine},
    Bar{"matmul_f32_vs_onednn", "12 products 128x64x128, f32, ring to retired: speed / oneDNN", 0.8, true,
        Figures::kEngine},
    Bar{"matmul_s8_vs_onednn", "12 products 128x64x128, s8, ring to retired: speed / oneDNN", 0.8, true,
        Figures::kEngine},
    Bar{"conv_vs_onednn", "layer: 3x3 convolution 56x56x64 to 64 in s8, one core: speed / oneDNN", 0.8, true,
        Figures::kEngine},
};

constexpr bool met(const Bar& bar, double value) { return bar.at_least ? value >= bar.target : value <= bar.target; }

}  // namespace sidra::bench

#endif
