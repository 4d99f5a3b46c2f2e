// SPDX-License-Identifier: MIT
// The driver of one chip: brings it up, owns its tables and the shared resources (crossbars, L3, context slots), and
// implements quiesce with its escalation.
#ifndef SIDRA_EMBEDDED_DRIVER_H
#define SIDRA_EMBEDDED_DRIVER_H

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "admin.h"
#include "chip_host.h"
#include "context.h"
#include "detail.h"
#include "dump_files.h"
#include "host_memory.h"
#include "mailbox.h"
#include "publisher.h"
#include "range_allocator.h"
#include "weights_store.h"

namespace sidra::embedded {

inline constexpr uint32_t kDriverVersion = 1u << 16;  // major << 16 | minor

struct DriverTuning {
    uint64_t admin_timeout_ns = 5'000'000'000;   // then a command counts as not acknowledged
    uint64_t queue_timeout_ns = 10'000'000'000;  // device time without progress after which a queue is stopped
};

// Properties of the chip from its registers.
struct ChipInfo {
    uint32_t hw_version, clusters, cus_per_cluster, xbars_per_cu, rows, cols;
    uint32_t contexts, queues, queues_per_context;
    uint32_t va_bits, l1_size, l2_size;
    uint64_t features, l3_size, nvm_size;
    uint8_t uuid[16];
    uint32_t xbars() const { return clusters * cus_per_cluster * xbars_per_cu; }
};

class Driver final : private CellPort, private NvmStore {
   public:
    // `used`: an earlier driver ran this chip, so L3 may contain its data. Returns nullptr on failure, with -errno and
    // a message. May throw bad_alloc, and system_error if file descriptors are exhausted.
    static std::unique_ptr<Driver> probe(ChipHost& host, bool used, const DriverTuning& tuning, int* error,
                                         Detail& detail);
    ~Driver();

    // Held for all functions below and for each change of a context. Callbacks of the chip never take it.
    std::mutex& lock() { return lock_; }

    ChipHost& host() { return host_; }
    const ChipInfo& info() const { return info_; }
    WeightsStore& weights() { return weights_; }
    StatePages& state_pages() { return state_pages_; }
    uint32_t firmware_version() { return mailbox_.firmware_version(); }
    // Resource usage for monitors; the lock is held.
    struct Use {
        uint32_t buffers = 0;
        uint64_t memory = 0;  // bytes of this process
    };
    Use& use() { return use_; }
    uint32_t generation() const { return static_cast<uint32_t>(host_.read_register(SIDRA_REG_GENERATION, 4)); }

    // Returns 0, or -ENODEV while the link is lost (then every context is lost).
    int check_link(Detail& detail);

    // Returns a slot on the chip for a new context; -EMFILE if all are used.
    int take_slot(Detail& detail);
    // Installs a context on the chip, or removes it: afterwards none of its work is in flight, and the slot can be
    // reused.
    void install(Context& context);
    void remove(Context& context);
    void release_slot(uint32_t slot);

    // Installs a queue on the chip, starting at ring index `start`.
    void install_queue(Context& context, Queue& queue, uint64_t start);
    // Removes it: afterwards the chip does not access its memory.
    void remove_queue(Context& context, Queue& queue);
    // Numbers of contexts, and of queues of all contexts.
    uint32_t context_count() const;
    uint32_t queue_count() const;

    // Maps contiguous memory at `address` into an address space, in segments with separate rights, at device address
    // `fixed` if that is not 0. Returns the device address; 0: no space.
    struct Segment {
        uint64_t size, flags;  // whole pages; SIDRA_PTE_*
    };
    uint64_t bind(Vm& vm, uint64_t address, std::span<const Segment> segments, uint64_t fixed = 0);
    // Whether a mapping may lie at [va, va + size).
    static bool fits(uint64_t va, uint64_t size);
    // Returns when the device no longer accesses [va, va + size).
    void unbind(Vm& vm, uint64_t va, uint64_t size);

    // Makes the chip drop an entry of a context's weights table that the caller has revoked.
    void quiesce_weights(Context& context, uint32_t index);

    // Allocates whole pages of L3, zeroed. Returns the offset, or -1.
    int64_t allocate_local(uint64_t size);
    void free_local(uint64_t offset, uint64_t size) noexcept;
    uint64_t local_free() const { return local_.free_total() + unzeroed_bytes(); }
    uint8_t* local_memory() const { return l3_; }

    // Loses every context, with this cause for its queues, and restarts the chip.
    void reset_device(sidra_fault_cause cause);

   private:
    Driver(ChipHost& host, const ChipInfo& info, const DriverTuning& tuning);
    int bring_up(Detail& detail);
    void enable();
    int admin(sidra_admin_op op, uint64_t arg0, uint64_t arg1 = 0, uint64_t arg2 = 0);
    // On return no work of the scope is in flight: it was acknowledged, or the context or the device was reset.
    void quiesce(Context& context, sidra_admin_op op, uint64_t arg1 = 0, uint64_t arg2 = 0);
    void lose(Context& context, sidra_fault_cause cause);
    // The chip has forgotten the queue: writes the reason into its state page, and wakes its waiters.
    void stop(Context& context, Queue& queue, sidra_queue_run_state state, sidra_fault_cause cause);
    // Stops queues that have work but make no progress.
    void watch();
    sidra_hw_context& entry(uint32_t slot) const {
        return reinterpret_cast<sidra_hw_context*>(context_table_.data())[slot];
    }
    void zero_local();
    void keep_house() noexcept;
    sidra_publish description() const;
    Publisher::Users users();
    uint64_t unzeroed_bytes() const;

    int read_headers(uint32_t first, std::span<sidra_hw_xbar> headers) override;
    int read_report(uint32_t xbar, sidra_hw_xbar_report* report) override;
    int erase(uint32_t first, uint32_t count) override;
    int read(uint64_t offset, void* to, uint64_t size) override;
    int write(uint64_t offset, const void* from, uint64_t size) override;
    uint64_t size() const override { return info_.nvm_size; }

    struct Range {
        uint64_t offset, size;
    };

    std::mutex lock_;
    ChipHost& host_;
    const ChipInfo info_;
    const uint64_t queue_timeout_ns_;
    Admin admin_;
    Mailbox mailbox_;
    const DumpFiles dump_files_;
    HostMemory context_table_;
    StatePages state_pages_;
    WeightsStore weights_;
    RangeAllocator local_;         // bytes of L3
    std::vector<Range> unzeroed_;  // freed parts of L3 that are not zeroed yet; has capacity for all pieces
    size_t local_pieces_ = 0;      // allocated and not freed
    uint8_t* l3_ = nullptr;
    std::array<Context*, SIDRA_CONTEXTS_MAX> contexts_{};
    std::array<bool, SIDRA_CONTEXTS_MAX> slots_{};
    bool link_gone_ = false;
    Use use_;
    Publisher::Users users_;                // usage as published last
    std::unique_ptr<Publisher> publisher_;  // null: the chip is not published
};

}  // namespace sidra::embedded

#endif
