// SPDX-License-Identifier: MIT
// The driver of one chip: brings it up, owns its tables and what all users share (crossbars, L3, contexts' numbers),
// and has the one quiesce primitive with its escalation.
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

// What the registers say about the chip.
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
    // `used`: an earlier driver ran this chip, so L3 may hold its data. nullptr on failure, with -errno and why. May
    // throw bad_alloc, and system_error for want of a file descriptor.
    static std::unique_ptr<Driver> probe(ChipHost& host, bool used, const DriverTuning& tuning, int* error,
                                         Detail& detail);
    ~Driver();

    // Held around everything below and around every change of a context. Never taken by callbacks of the chip.
    std::mutex& lock() { return lock_; }

    ChipHost& host() { return host_; }
    const ChipInfo& info() const { return info_; }
    WeightsStore& weights() { return weights_; }
    StatePages& state_pages() { return state_pages_; }
    uint32_t firmware_version() { return mailbox_.firmware_version(); }
    // What its users have, for monitors; under the lock.
    struct Use {
        uint32_t buffers = 0;
        uint64_t memory = 0;  // bytes of this process
    };
    Use& use() { return use_; }
    uint32_t generation() const { return static_cast<uint32_t>(host_.read_register(SIDRA_REG_GENERATION, 4)); }

    // 0, or -ENODEV while the link is gone (every context is lost then).
    int check_link(Detail& detail);

    // A number on the chip for a new context; -EMFILE if all are taken.
    int take_slot(Detail& detail);
    // Shows a context to the chip, or takes it away: then nothing of it is in flight, and the slot can be used again.
    void install(Context& context);
    void remove(Context& context);
    void release_slot(uint32_t slot);

    // Shows a queue to the chip, beginning at ring index `start`.
    void install_queue(Context& context, Queue& queue, uint64_t start);
    // Takes it away: the chip has forgotten it and will not touch its memory.
    void remove_queue(Context& context, Queue& queue);
    // How many queues all contexts have.
    uint32_t queue_count() const;

    // Maps memory that lies together from `address` on into a context, in parts with rights of their own. The device
    // address; 0: no room.
    struct Segment {
        uint64_t size, flags;  // whole pages; SIDRA_PTE_*
    };
    uint64_t bind(Context& context, uint64_t address, std::span<const Segment> segments);
    // Returns once the device does not touch [va, va + size) any more.
    void unbind(Context& context, uint64_t va, uint64_t size);

    // Makes the chip forget one entry of a context's weights table, which the caller has revoked.
    void quiesce_weights(Context& context, uint32_t index);

    // Whole pages of L3: the offset, or -1. Zeroed.
    int64_t allocate_local(uint64_t size);
    void free_local(uint64_t offset, uint64_t size) noexcept;
    uint64_t local_free() const { return local_.free_total() + unzeroed_bytes(); }
    uint8_t* local_memory() const { return l3_; }

    // Every context is lost, with this cause for its queues; the chip starts anew.
    void reset_device(sidra_fault_cause cause);

   private:
    Driver(ChipHost& host, const ChipInfo& info, const DriverTuning& tuning);
    int bring_up(Detail& detail);
    void enable();
    int admin(sidra_admin_op op, uint64_t arg0, uint64_t arg1 = 0, uint64_t arg2 = 0);
    // On return nothing of the scope is in flight: acknowledged, or the context or the device was reset.
    void quiesce(Context& context, sidra_admin_op op, uint64_t arg1 = 0, uint64_t arg2 = 0);
    void lose(Context& context, sidra_fault_cause cause);
    // The chip has forgotten the queue: writes why into its state page, and wakes its waiters.
    void stop(Context& context, Queue& queue, sidra_queue_run_state state, sidra_fault_cause cause);
    // Stops queues that have work and make no progress.
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
    std::vector<Range> unzeroed_;  // freed parts of L3 that the chip has not zeroed yet; has room for all pieces
    size_t local_pieces_ = 0;      // allocated and not freed
    uint8_t* l3_ = nullptr;
    std::array<Context*, SIDRA_CONTEXTS_MAX> contexts_{};
    std::array<bool, SIDRA_CONTEXTS_MAX> slots_{};
    bool link_gone_ = false;
    Use use_;
    Publisher::Users users_;                // as they were last
    std::unique_ptr<Publisher> publisher_;  // null: nobody is shown this chip
};

}  // namespace sidra::embedded

#endif
