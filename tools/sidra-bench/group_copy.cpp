// SPDX-License-Identifier: MIT
// Copies against memcpy (one thread) between the very same bytes, so that both have the same pages.
#include <fmt/format.h>

#include <cstring>

#include "chip.h"
#include "groups.h"
#include "memory.h"

namespace sidra::bench {
namespace {

constexpr size_t kMiB = size_t{1} << 20;
constexpr size_t kLargest = 64 * kMiB;

std::string size_text(size_t size) {
    return size >= kMiB ? fmt::format("{} MiB", size / kMiB) : fmt::format("{} KiB", size >> 10);
}

// One chip with buffers of the library and of the application.
struct Side {
    Side(sidra_engine engine, uint32_t worker_count, const Memory& dst_memory, const Memory& src_memory)
        : workers(worker_count),
          chip(engine, worker_count),
          dst(chip.context(), kLargest),
          src(chip.context(), kLargest),
          own_dst(chip.context(), dst_memory.data(), kLargest),
          own_src(chip.context(), src_memory.data(), kLargest) {}

    Contender contender(bool own, size_t size) {
        const sidra_ref to = own ? own_dst.ref() : dst.ref();
        const sidra_ref from = own ? own_src.ref() : src.ref();
        return {fmt::format("{} workers", workers), [stream = chip.stream(), to, from, size](uint64_t calls) {
                    const uint64_t deadline = long_deadline();
                    for (uint64_t i = 0; i < calls; ++i) {
                        SIDRA_CHECK(sidra_copy_async(stream, to, from, size));
                        SIDRA_CHECK(sidra_stream_synchronize(stream, deadline));
                    }
                }};
    }

    uint32_t workers;
    Chip chip;
    Buffer dst, src;          // sidra_buffer_create()
    Buffer own_dst, own_src;  // sidra_buffer_register()
};

// memcpy, hidden from the compiler, which would otherwise see that nobody reads the result.
void* (*volatile const kMemcpy)(void*, const void*, size_t) = std::memcpy;

Contender memcpy_contender(void* dst, const void* src, size_t size) {
    return {"memcpy", [=](uint64_t calls) {
                for (uint64_t i = 0; i < calls; ++i) kMemcpy(dst, src, size);
            }};
}

void set_copy_bar(Report& report, uint32_t workers, const Ratio& ratio) {
    if (workers == 1) report.set_bar("copy_64m_1w_vs_memcpy", ratio.best, ratio.settled);
    if (workers == 2) report.set_bar("copy_64m_2w_vs_memcpy", ratio.best, ratio.settled);
}

}  // namespace

void run_copy(const Settings& settings, Report& report) {
    const Memory own_dst(kLargest);
    const Memory own_src(kLargest);
    std::vector<uint32_t> worker_counts = {1};
    if (settings.cpus >= 2) worker_counts.push_back(2);
    if (settings.workers > 2) worker_counts.push_back(settings.workers);
    std::vector<std::unique_ptr<Side>> sides;
    sides.reserve(worker_counts.size());
    for (const uint32_t workers : worker_counts) {
        sides.push_back(std::make_unique<Side>(settings.engine, workers, own_dst, own_src));
    }

    for (const bool own : {false, true}) {
        std::vector<std::string> heads = {"size", "memcpy GB/s"};
        for (const uint32_t workers : worker_counts) {
            heads.push_back(fmt::format("{} workers GB/s", workers));
            heads.emplace_back("vs memcpy");
        }
        Table table(heads);
        const std::string memory = own ? "registered, huge pages" : "library";
        for (size_t size = 4096; size <= kLargest; size *= 4) {
            report.progress().show(fmt::format("copy: {} ({} memory)", size_text(size), memory));
            Side& first = *sides.front();
            // The two chips have buffers of their own; memcpy runs between those of the first.
            std::vector<Contender> contenders = {own ? memcpy_contender(own_dst.data(), own_src.data(), size)
                                                     : memcpy_contender(first.dst.data(), first.src.data(), size)};
            for (auto& side : sides) contenders.push_back(side->contender(own, size));
            const bool is_bar = size == kLargest && !own;
            const auto timings = measure(contenders, is_bar ? settings.bar_method() : settings.table_method());
            const Timing& peer = timings[0];
            std::vector<std::string> row = {size_text(size), rate_text(static_cast<double>(size) / 1e9, peer)};
            report.add({"copy",
                        "memcpy",
                        {{"bytes", size}, {"memory", memory}},
                        peer,
                        static_cast<double>(size),
                        "bytes/s",
                        true});
            for (size_t i = 0; i < sides.size(); ++i) {
                const Timing& t = timings[i + 1];
                const Ratio ratio = speed_ratio(t, peer);
                row.push_back(rate_text(static_cast<double>(size) / 1e9, t));
                row.push_back(ratio_text(ratio));
                report.add({"copy",
                            "copy",
                            {{"bytes", size}, {"memory", memory}, {"workers", worker_counts[i]}},
                            t,
                            static_cast<double>(size),
                            "bytes/s",
                            false,
                            {{"memcpy", ratio}}});
                if (is_bar) set_copy_bar(report, worker_counts[i], ratio);
            }
            table.add(row);
        }
        report.print(fmt::format("Copy, {} memory (best; in parentheses the median over rounds; ?: unsettled)", memory),
                     table);
    }
}

}  // namespace sidra::bench
