// SPDX-License-Identifier: MIT
#include "driver.h"

#include <algorithm>
#include <cstring>
#include <new>

#include "fault_record.h"
#include "futex.h"

namespace sidra::embedded {
namespace {

constexpr uint32_t kStatePages = 4096;    // four times the number of queues: readers may keep stale pages
constexpr uint64_t kMemoryPiece = 65536;  // bytes of one NVM command
// Unmapped addresses after each mapping, so that accesses beyond its end fault.
constexpr uint64_t kGuard = SIDRA_PAGE_SIZE;

ChipInfo read_info(const ChipHost& host) {
    const auto reg = [&](uint64_t offset) { return static_cast<uint32_t>(host.read_register(offset, 4)); };
    ChipInfo info{};
    info.hw_version = reg(SIDRA_REG_HW_VERSION);
    info.features = host.read_register(SIDRA_REG_FEATURES, 8);
    info.clusters = reg(SIDRA_REG_GEOMETRY0) & 0xffff;
    info.cus_per_cluster = reg(SIDRA_REG_GEOMETRY0) >> 16;
    info.xbars_per_cu = reg(SIDRA_REG_GEOMETRY1);
    info.rows = reg(SIDRA_REG_GEOMETRY2) & 0xffff;
    info.cols = reg(SIDRA_REG_GEOMETRY2) >> 16;
    info.contexts = std::min(reg(SIDRA_REG_LIMITS0) & 0xffff, SIDRA_CONTEXTS_MAX);
    info.queues = reg(SIDRA_REG_LIMITS0) >> 16;
    info.queues_per_context = std::min(reg(SIDRA_REG_LIMITS1) & 0xffff, SIDRA_QUEUES_PER_CONTEXT_MAX);
    info.va_bits = reg(SIDRA_REG_VA_BITS);
    info.l1_size = reg(SIDRA_REG_L1_SIZE);
    info.l2_size = reg(SIDRA_REG_L2_SIZE);
    info.l3_size = host.read_register(SIDRA_REG_L3_SIZE, 8);
    info.nvm_size = host.read_register(SIDRA_REG_NVM_SIZE, 8);
    for (unsigned i = 0; i < sizeof info.uuid; i += 4) {
        const uint32_t word = reg(SIDRA_REG_UUID + i);
        std::memcpy(info.uuid + i, &word, sizeof word);
    }
    return info;
}

}  // namespace

Driver::Driver(ChipHost& host, const ChipInfo& info, const DriverTuning& tuning)
    : host_(host),
      info_(info),
      queue_timeout_ns_(tuning.queue_timeout_ns),
      admin_(host, tuning.admin_timeout_ns),
      mailbox_(host),
      context_table_(SIDRA_CONTEXTS_MAX * sizeof(sidra_hw_context)),
      state_pages_(kStatePages),
      weights_(*this, *this, info.xbars(), info.xbars_per_cu),
      local_(0, info.l3_size) {}

std::unique_ptr<Driver> Driver::probe(ChipHost& host, bool used, const DriverTuning& tuning, int* error,
                                      Detail& detail) {
    const auto id = static_cast<uint32_t>(host.read_register(SIDRA_REG_ID, 4));
    if (id != SIDRA_ID_MAGIC) {
        *error = fail(detail, -ENODEV, "the chip does not answer (identity register reads {:#x})", id);
        return nullptr;
    }
    if (used) sidra_chip_reset(host.chip());
    const ChipInfo info = read_info(host);
    if (info.hw_version >> 16 != SIDRA_HW_VERSION_MAJOR) {
        *error = fail(detail, -EPROTO, "the chip has hardware interface {}.{}, this driver knows {}.x",
                      info.hw_version >> 16, info.hw_version & 0xffff, SIDRA_HW_VERSION_MAJOR);
        return nullptr;
    }
    std::unique_ptr<Driver> driver(new Driver(host, info, tuning));
    std::lock_guard guard(driver->lock_);
    if (used) driver->unzeroed_.push_back({0, info.l3_size});
    if ((*error = driver->bring_up(detail)) != 0) return nullptr;
    return driver;
}

int Driver::bring_up(Detail& detail) {
    const auto status = static_cast<uint32_t>(host_.read_register(SIDRA_REG_STATUS, 4));
    if (!(status & SIDRA_STATUS_READY) || (status & SIDRA_STATUS_FATAL))
        return fail(detail, -ENODEV, "the chip is not ready (status {:#x})", status);
    uint64_t l3_size = 0;
    l3_ = sidra_chip_l3(host_.chip(), &l3_size);
    publisher_ = Publisher::create(host_.chip(), description());
    host_.set_housekeeping([this] { keep_house(); });
    // Starts the boot of the firmware.
    if (!host_.executor().start())
        return fail(detail, -EAGAIN, "the system refused to create the thread that runs the chip");
    for (const Range& range : unzeroed_) local_.reserve(range.offset, range.size);
    enable();
    zero_local();
    return weights_.load(detail);
}

// The constant part of the data for monitors.
sidra_publish Driver::description() const {
    sidra_publish it{};
    std::memcpy(it.uuid, info_.uuid, sizeof it.uuid);
    it.features = info_.features;
    it.hw_version = info_.hw_version;
    it.driver_version = kDriverVersion;
    it.clusters = info_.clusters;
    it.cus_per_cluster = info_.cus_per_cluster;
    it.xbars_per_cu = info_.xbars_per_cu;
    it.l3_size = info_.l3_size;
    it.nvm_size = info_.nvm_size;
    it.level = host_.level();
    it.persistent = (info_.features & SIDRA_FEATURE_STATE_FILE) != 0;
    return it;
}

Publisher::Users Driver::users() {
    const auto contexts = std::count_if(contexts_.begin(), contexts_.end(), [](auto* each) { return each != nullptr; });
    return {mailbox_.image_version(),
            static_cast<uint32_t>(contexts),
            queue_count(),
            use_.buffers,
            info_.l3_size - local_free(),
            use_.memory};
}

// Runs on the executor's thread, for which others wait with the lock held.
void Driver::keep_house() noexcept {
    std::vector<uint8_t> dump;
    try {
        if (const std::unique_lock guard(lock_, std::try_to_lock); guard) {
            dump = mailbox_.take_crash_dump();
            watch();
            if (publisher_) users_ = users();
        }
    } catch (const std::bad_alloc&) {
    }
    if (publisher_) publisher_->update(users_, monotonic_ns());
    if (!dump.empty()) dump_files_.write(dump);
}

Driver::~Driver() {
    host_.set_housekeeping({});
    std::lock_guard guard(lock_);
    sidra_chip_reset(host_.chip());  // the tables below will be freed
}

void Driver::enable() {
    host_.write_register(SIDRA_REG_CONTEXT_TABLE, context_table_.bus(), 8);
    host_.write_register(SIDRA_REG_INT_ENABLE, SIDRA_INT_FAULT, 4);
    host_.write_register(SIDRA_REG_CONTROL, SIDRA_CONTROL_ENABLE, 4);
}

int Driver::check_link(Detail& detail) {
    if (static_cast<uint32_t>(host_.read_register(SIDRA_REG_ID, 4)) != SIDRA_ID_MAGIC) {
        if (!link_gone_) reset_device(SIDRA_FAULT_RESET);
        link_gone_ = true;
        return fail(detail, -ENODEV, "the link to the chip is down, so its contexts are lost");
    }
    if (link_gone_) {
        reset_device(SIDRA_FAULT_RESET);
        link_gone_ = false;
    }
    return 0;
}

int Driver::admin(sidra_admin_op op, uint64_t arg0, uint64_t arg1, uint64_t arg2) {
    int result = admin_.execute(op, arg0, arg1, arg2);
    if (result == -ETIMEDOUT || result == -EBUSY) {  // only a reset ends such a command
        reset_device(SIDRA_FAULT_TIMEOUT);
        result = admin_.execute(op, arg0, arg1, arg2);
    }
    if (result < 0) return result == -ENODEV ? -ENODEV : -EIO;
    return result == SIDRA_ADMIN_OK ? 0 : -EIO;
}

// ---- Contexts ------------------------------------------------------------------------------------------------------

int Driver::take_slot(Detail& detail) {
    for (uint32_t slot = 0; slot < info_.contexts; slot++) {
        if (slots_[slot]) continue;
        slots_[slot] = true;
        return static_cast<int>(slot);
    }
    return fail(detail, -EMFILE, "all {} contexts of the chip are in use; destroy one", info_.contexts);
}

void Driver::release_slot(uint32_t slot) { slots_[slot] = false; }

void Driver::install(Context& context) {
    sidra_hw_context fresh{};
    fresh.page_table = context.vm->page_tables.root();
    fresh.weights_table = context.weights_table.bus();
    fresh.queue_table = context.queue_table.bus();
    fresh.weights_count = SIDRA_WEIGHTS_MAX;
    fresh.queue_count = SIDRA_QUEUES_PER_CONTEXT_MAX;
    fresh.generation = context.generation;
    contexts_[context.slot] = &context;
    publish_entry(entry(context.slot), fresh, SIDRA_HW_CONTEXT_VALID);
}

void Driver::remove(Context& context) {
    revoke_entry(entry(context.slot));
    quiesce(context, SIDRA_ADMIN_RESET_CONTEXT);
    if (!context.lost) lose(context, SIDRA_FAULT_RESET);
    contexts_[context.slot] = nullptr;
}

void Driver::quiesce(Context& context, sidra_admin_op op, uint64_t arg1, uint64_t arg2) {
    if (context.lost) return;  // the chip no longer knows it
    const auto done = [&](sidra_admin_op command) {
        return admin_.execute(command, context.slot, arg1, arg2) == SIDRA_ADMIN_OK;
    };
    if (done(op)) return;  // a reset ends the stop: the queue runs again when its entry is valid again
    revoke_entry(entry(context.slot));
    if (op != SIDRA_ADMIN_RESET_CONTEXT && done(SIDRA_ADMIN_RESET_CONTEXT)) return lose(context, SIDRA_FAULT_TIMEOUT);
    reset_device(SIDRA_FAULT_TIMEOUT);
}

// The chip has forgotten the context: from now on the driver writes its state pages.
void Driver::lose(Context& context, sidra_fault_cause cause) {
    context.lost = true;
    for (const auto& [number, queue] : context.queues) {
        hide_queue(context.queue_entry(number));
        stop(context, *queue, SIDRA_QUEUE_LOST, cause);
    }
}

void Driver::stop(Context& context, Queue& queue, sidra_queue_run_state run_state, sidra_fault_cause cause) {
    sidra_queue_state& state = *queue.state->state();
    if (state.fault.cause == SIDRA_FAULT_NONE) {
        sidra_fault fault{};
        fault.clock_ns = host_.read_register(SIDRA_REG_CLOCK, 8);
        fault.sequence = queue.point.timeline();
        fault.context = context.slot;
        fault.queue = queue.number;
        fault.cause = cause;
        store_fault(state, fault);
    }
    std::atomic_ref<uint32_t>(state.run_state).store(run_state, std::memory_order_release);
    host_.interrupts().wake_all(queue.point);
}

void Driver::watch() {
    const uint64_t now = host_.read_register(SIDRA_REG_CLOCK, 8);
    for (Context* context : contexts_) {
        if (context == nullptr) continue;
        for (const auto& [number, queue] : context->queues) {
            if (context->lost) break;  // also by the actions below
            const sidra_queue_state& state = *queue->state->state();
            const uint32_t run_state = queue->point.run_state();
            // An idle queue has never run: the chip has not loaded it yet.
            const QueueSight sight{(run_state == SIDRA_QUEUE_RUNNING || run_state == SIDRA_QUEUE_IDLE) &&
                                       __atomic_load_n(&state.parked, __ATOMIC_RELAXED) == 0 &&
                                       queue->load_write_index() != queue->point.timeline(),
                                   __atomic_load_n(&state.progress, __ATOMIC_RELAXED)};
            switch (queue->watch.look(sight, now, queue_timeout_ns_)) {
                case QueueWatch::Verdict::kFine:
                    break;
                case QueueWatch::Verdict::kSuspicious:
                    host_.doorbell(SIDRA_DOORBELL(context->slot, number));
                    break;
                case QueueWatch::Verdict::kHung:
                    if (Detail detail; check_link(detail) != 0) return;
                    remove_queue(*context, *queue);  // if it does not stop, this resets the context or the device
                    if (!context->lost) stop(*context, *queue, SIDRA_QUEUE_FAULTED, SIDRA_FAULT_TIMEOUT);
                    break;
            }
        }
    }
}

void Driver::reset_device(sidra_fault_cause cause) {
    for (uint32_t slot = 0; slot < SIDRA_CONTEXTS_MAX; slot++) revoke_entry(entry(slot));
    sidra_chip_reset(host_.chip());  // waits for running slices
    for (Context* context : contexts_)
        if (context != nullptr && !context->lost) lose(*context, cause);
    enable();
}

// ---- Queues --------------------------------------------------------------------------------------------------------

uint32_t Driver::context_count() const {
    return static_cast<uint32_t>(std::count_if(std::begin(contexts_), std::end(contexts_),
                                               [](const Context* context) { return context != nullptr; }));
}

uint32_t Driver::queue_count() const {
    size_t count = 0;
    for (const Context* context : contexts_)
        if (context != nullptr) count += context->queues.size();
    return static_cast<uint32_t>(count);
}

void Driver::install_queue(Context& context, Queue& queue, uint64_t start) {
    const bool kernel = queue.kind == SIDRA_QUEUE_KERNEL;
    const uint64_t memory = kernel ? queue.ring->bus() : queue.ring_va;
    sidra_hw_queue fresh{};
    fresh.ring = memory;
    fresh.write_index = memory + queue.layout.write_index;
    fresh.state = reinterpret_cast<uint64_t>(queue.state->state());
    fresh.report = queue.layout.has_reports() ? memory + queue.layout.report : 0;
    fresh.start_index = start;
    fresh.generation = context.generation;
    fresh.ring_log2 = static_cast<uint8_t>(queue.ring_log2);
    fresh.priority = static_cast<uint8_t>(queue.priority);
    fresh.vector = static_cast<uint16_t>(queue.point.vector());
    fresh.epoch = queue.point.epoch();
    publish_entry(context.queue_entry(queue.number), fresh,
                  SIDRA_HW_QUEUE_VALID | (kernel ? SIDRA_HW_QUEUE_KERNEL : 0u));
}

void Driver::remove_queue(Context& context, Queue& queue) {
    sidra_hw_queue& entry = context.queue_entry(queue.number);
    revoke_entry(entry);
    // Ends the queue's epoch, and wakes its waiters.
    quiesce(context, SIDRA_ADMIN_RESET_QUEUE, queue.number, queue.point.epoch());
    hide_queue(entry);
}

// ---- Address spaces ------------------------------------------------------------------------------------------------

uint64_t Driver::bind(Vm& vm, uint64_t address, std::span<const Segment> segments, uint64_t fixed) {
    uint64_t total = 0;
    for (const Segment& segment : segments) total += segment.size;
    uint64_t va = fixed;
    if (fixed == 0) {
        const uint64_t alignment = total >= SIDRA_HUGE_SIZE ? SIDRA_HUGE_SIZE : SIDRA_PAGE_SIZE;
        const auto free = vm.addresses.allocate(total + kGuard, alignment, address % alignment, vm.next_address);
        if (!free) return 0;
        va = *free;
        vm.next_address = va + total + kGuard;
    } else if (!vm.addresses.reserve(fixed, total + kGuard)) {
        return 0;
    }
    uint64_t done = 0;
    try {
        for (const Segment& segment : segments) {
            vm.page_tables.map(va + done, address + done, segment.size, segment.flags);
            done += segment.size;
        }
    } catch (...) {
        unbind(vm, va, total);
        throw;
    }
    return va;
}

void Driver::unbind(Vm& vm, uint64_t va, uint64_t size) {
    vm.page_tables.unmap(va, size);
    for (Context* context : vm.contexts) quiesce(*context, SIDRA_ADMIN_QUIESCE_RANGE, va, size);
    vm.page_tables.free_unlinked();
    vm.addresses.free(va, size + kGuard);
}

bool Driver::fits(uint64_t va, uint64_t size) { return va >= kVaBegin && va <= kVaEnd && size + kGuard <= kVaEnd - va; }

void Driver::quiesce_weights(Context& context, uint32_t index) { quiesce(context, SIDRA_ADMIN_QUIESCE_WEIGHTS, index); }

// ---- L3 ------------------------------------------------------------------------------------------------------------

uint64_t Driver::unzeroed_bytes() const {
    uint64_t bytes = 0;
    for (const Range& range : unzeroed_) bytes += range.size;
    return bytes;
}

// Zeroes freed memory and makes it available.
void Driver::zero_local() {
    while (!unzeroed_.empty()) {
        const Range range = unzeroed_.back();
        if (admin(SIDRA_ADMIN_L3_ZERO, range.offset, range.size) != 0) return;
        local_.free(range.offset, range.size);
        unzeroed_.pop_back();
    }
}

int64_t Driver::allocate_local(uint64_t size) {
    zero_local();
    // Reserve its place on the list for freeing, which must not fail.
    const size_t places = unzeroed_.size() + local_pieces_ + 1;
    if (unzeroed_.capacity() < places) unzeroed_.reserve(2 * places);
    const auto offset = local_.allocate(size, size >= SIDRA_HUGE_SIZE ? SIDRA_HUGE_SIZE : SIDRA_PAGE_SIZE);
    if (!offset) return -1;
    local_pieces_++;
    return static_cast<int64_t>(*offset);
}

void Driver::free_local(uint64_t offset, uint64_t size) noexcept {
    local_pieces_--;
    unzeroed_.push_back({offset, size});
    zero_local();
}

// ---- Cells and NVM -------------------------------------------------------------------------------------------------

int Driver::read_headers(uint32_t first, std::span<sidra_hw_xbar> headers) {
    return admin(SIDRA_ADMIN_XBAR_READ, first, reinterpret_cast<uint64_t>(headers.data()), headers.size());
}

int Driver::read_report(uint32_t xbar, sidra_hw_xbar_report* report) {
    return admin(SIDRA_ADMIN_XBAR_REPORT, xbar, reinterpret_cast<uint64_t>(report), 1);
}

int Driver::erase(uint32_t first, uint32_t count) { return admin(SIDRA_ADMIN_XBAR_ERASE, first, count); }

int Driver::read(uint64_t offset, void* to, uint64_t size) {
    auto* bytes = static_cast<uint8_t*>(to);
    for (uint64_t done = 0; done < size; done += kMemoryPiece)
        if (int error = admin(SIDRA_ADMIN_NVM_READ, offset + done, reinterpret_cast<uint64_t>(bytes + done),
                              std::min(kMemoryPiece, size - done)))
            return error;
    return 0;
}

int Driver::write(uint64_t offset, const void* from, uint64_t size) {
    const auto* bytes = static_cast<const uint8_t*>(from);
    for (uint64_t done = 0; done < size; done += kMemoryPiece)
        if (int error = admin(SIDRA_ADMIN_NVM_WRITE, offset + done, reinterpret_cast<uint64_t>(bytes + done),
                              std::min(kMemoryPiece, size - done)))
            return error;
    return 0;
}

}  // namespace sidra::embedded
