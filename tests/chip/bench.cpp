// SPDX-License-Identifier: MIT
#include "bench.h"
#include "later_engine.h"
#include "packets.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <string>

namespace sidra::chip_test {

namespace {

constexpr uint32_t kWeightsEntries = 128;  // two pages, so that entries of one table lie in different ones

void pause() { std::this_thread::sleep_for(std::chrono::microseconds(30)); }

}  // namespace

// ---- AddressSpace ---------------------------------------------------------------------------------------------------

AddressSpace::AddressSpace(Bus& bus) : bus_(bus), root_(bus.alloc_page()) {}

uint64_t AddressSpace::entry(uint64_t va, unsigned level) {
    uint64_t table = root_;
    for (unsigned at = 2; at > level; --at) {
        const uint64_t slot = table + ((va >> (12 + 9 * at)) & 511) * 8;
        uint64_t pte = bus_.load64(slot);
        if ((pte & SIDRA_PTE_VALID) == 0) {
            pte = bus_.alloc_page() | SIDRA_PTE_VALID;
            bus_.store64(slot, pte);
        }
        table = pte & SIDRA_PTE_ADDR;
    }
    return table + ((va >> (12 + 9 * level)) & 511) * 8;
}

Translation AddressSpace::raw(uint64_t va) const {
    if (va >> SIDRA_VA_BITS != 0) {
        return {SIDRA_FAULT_TRANSLATION};
    }
    uint64_t table = root_;
    for (unsigned level = 2;; --level) {
        const uint64_t pte = bus_.load64(table + ((va >> (12 + 9 * level)) & 511) * 8);
        if ((pte & SIDRA_PTE_VALID) == 0 || (pte & SIDRA_PTE_RESERVED) != 0) {
            return {SIDRA_FAULT_TRANSLATION};
        }
        const bool leaf = (pte & SIDRA_PTE_LEAF) != 0;
        if ((leaf && level == 2) || (!leaf && level == 0)) {
            return {SIDRA_FAULT_TRANSLATION};
        }
        if (leaf) {
            const uint64_t mask = (uint64_t{1} << (12 + 9 * level)) - 1;
            return {SIDRA_FAULT_NONE, (pte & SIDRA_PTE_LOCAL) != 0, (pte & SIDRA_PTE_ADDR) + (va & mask),
                    pte & kReadWrite};
        }
        if ((pte & (kReadWrite | SIDRA_PTE_LOCAL)) != 0) {
            return {SIDRA_FAULT_TRANSLATION};
        }
        table = pte & SIDRA_PTE_ADDR;
    }
}

Translation AddressSpace::walk(uint64_t va, bool write) const {
    Translation found = raw(va);
    if (found.cause == SIDRA_FAULT_NONE && (found.rights & (write ? kWrite : kRead)) == 0) {
        found.cause = SIDRA_FAULT_PERMISSION;
    }
    return found;
}

// ---- Queue ----------------------------------------------------------------------------------------------------------

Queue::Queue(Context& context, uint32_t index, const QueueOptions& options)
    : context_(context), index_(index), next_(options.start) {
    const uint64_t slots = uint64_t{1} << options.log2;
    Bus& bus = context.bus();
    entry_.ring_log2 = options.log2;
    entry_.priority = options.priority;
    entry_.vector = options.vector;
    entry_.start_index = options.start;
    entry_.generation = 0x600d0000u + index;
    entry_.epoch = ++context.epochs_;
    entry_.state = bus.alloc_page();
    if (options.kernel) {
        entry_.ring = bus.alloc(slots * SIDRA_CMD_SIZE);
        entry_.write_index = bus.alloc_page() + 8;
        entry_.report = options.reports ? bus.alloc(slots * sizeof(sidra_report)) : 0;
    } else {
        // No more rights than the chip needs.
        entry_.ring = context.alloc(slots * SIDRA_CMD_SIZE, kRead);
        entry_.write_index = context.alloc(kPage, kRead) + 8;
        entry_.report = options.reports ? context.alloc(slots * sizeof(sidra_report), kWrite) : 0;
    }
    entry_.flags = (options.valid ? SIDRA_HW_QUEUE_VALID : 0u) | (options.kernel ? SIDRA_HW_QUEUE_KERNEL : 0u);
    store_write_index(next_);
    store_entry();
}

void Queue::store_entry() {
    Bus& bus = context_.bus();
    const uint64_t at = context_.queue_entry_address(index_);
    constexpr size_t kFlagsWord = offsetof(sidra_hw_queue, generation);
    const auto* bytes = reinterpret_cast<const uint8_t*>(&entry_);
    bus.write(at, bytes, kFlagsWord);
    bus.write(at + kFlagsWord + 8, bytes + kFlagsWord + 8, sizeof entry_ - kFlagsWord - 8);
    bus.store64(at + kFlagsWord, entry_.generation | uint64_t{entry_.flags} << 32);
}

void Queue::write_ring(uint64_t index, const sidra_cmd& cmd) {
    if ((entry_.flags & SIDRA_HW_QUEUE_KERNEL) != 0) {
        context_.bus().write(ring_address(index), &cmd, sizeof cmd);
    } else {
        context_.write(ring_address(index), &cmd, sizeof cmd);
    }
}

uint64_t Queue::push(const sidra_cmd& cmd) {
    write_ring(next_, cmd);
    return next_++;
}

void Queue::store_write_index(uint64_t value) {
    if ((entry_.flags & SIDRA_HW_QUEUE_KERNEL) != 0) {
        context_.bus().store64(entry_.write_index, value);
    } else {
        context_.store64(entry_.write_index, value);
    }
}

void Queue::publish() { store_write_index(next_); }

void Queue::doorbell() { context_.bench().write32(SIDRA_DOORBELL(context_.index(), index_), 1); }

uint64_t Queue::submit(const sidra_cmd& cmd) {
    const uint64_t index = push(cmd);
    publish();
    doorbell();
    return index;
}

uint64_t Queue::submit(std::span<const sidra_cmd> cmds) {
    const uint64_t index = next_;
    for (const sidra_cmd& cmd : cmds) {
        push(cmd);
    }
    publish();
    doorbell();
    return index;
}

void Queue::arm(uint64_t value) { context_.bench().write64(SIDRA_ARM(context_.index(), index_), value); }

sidra_queue_state Queue::state() const {
    sidra_queue_state state{};
    timeline();  // acquire
    run_state();
    context_.bus().read(entry_.state, &state, sizeof state);
    return state;
}

uint64_t Queue::timeline() const { return context_.bus().load64(entry_.state); }

uint32_t Queue::run_state() const {
    return context_.bus().load32(entry_.state + offsetof(sidra_queue_state, run_state));
}

sidra_report Queue::report(uint64_t index) const {
    sidra_report report{};
    const uint64_t at = entry_.report + index % slots() * sizeof report;
    if ((entry_.flags & SIDRA_HW_QUEUE_KERNEL) != 0) {
        context_.bus().read(at, &report, sizeof report);
    } else {
        context_.read(at, &report, sizeof report);
    }
    return report;
}

sidra_cmd Queue::waited_for(uint64_t value) const { return sem_wait_queue(index_, entry_.epoch, value); }

void Queue::reset() {
    EXPECT_EQ(context_.bench().admin(SIDRA_ADMIN_RESET_QUEUE, context_.index(), index_, entry_.epoch),
              uint32_t{SIDRA_ADMIN_OK});
    entry_.epoch = ++context_.epochs_;
    store_entry();
    next_ = entry_.start_index;
    store_write_index(next_);
}

void Queue::reset_at(uint64_t start) {
    const uint32_t flags = entry_.flags;
    entry_.flags &= ~SIDRA_HW_QUEUE_VALID;
    store_entry();
    EXPECT_EQ(context_.bench().admin(SIDRA_ADMIN_RESET_QUEUE, context_.index(), index_, entry_.epoch),
              uint32_t{SIDRA_ADMIN_OK});
    entry_.start_index = start;
    entry_.epoch = ++context_.epochs_;
    next_ = start;
    store_write_index(next_);
    entry_.flags = flags;
    store_entry();
}

// ---- Context --------------------------------------------------------------------------------------------------------

Context::Context(Bench& bench, uint32_t index, uint32_t queues) : bench_(bench), index_(index), space_(bench.bus()) {
    entry_.page_table = space_.root();
    entry_.weights_table = bench.bus().alloc(kWeightsEntries * sizeof(sidra_hw_weights));
    entry_.weights_count = kWeightsEntries;
    entry_.queue_table = bench.bus().alloc(queues * sizeof(sidra_hw_queue));
    entry_.queue_count = queues;
    entry_.generation = 0x00c0'0000u + index;
    entry_.flags = SIDRA_HW_CONTEXT_VALID;
    store_entry();
}

Bus& Context::bus() const { return bench_.bus(); }

void Context::store_entry() {
    const uint64_t at = bench_.table_ + index_ * sizeof entry_;
    constexpr size_t kFlagsWord = offsetof(sidra_hw_context, generation);
    const auto* bytes = reinterpret_cast<const uint8_t*>(&entry_);
    bus().write(at, bytes, kFlagsWord);
    bus().write(at + kFlagsWord + 8, bytes + kFlagsWord + 8, sizeof entry_ - kFlagsWord - 8);
    bus().store64(at + kFlagsWord, entry_.generation | uint64_t{entry_.flags} << 32);
}

uint64_t Context::reserve(uint64_t bytes, uint64_t align) {
    const uint64_t va = (next_va_ + align - 1) / align * align;
    next_va_ = (va + bytes + kPage - 1) / kPage * kPage + kPage;
    return va;
}

void Context::map(uint64_t va, uint64_t bus_address, uint64_t rights, uint64_t flags) {
    space_.set(va, 0, bus_address | rights | flags | SIDRA_PTE_VALID | SIDRA_PTE_LEAF);
}

uint64_t Context::alloc(uint64_t bytes, uint64_t rights) {
    const uint64_t va = reserve(bytes);
    for (uint64_t at = 0; at < bytes; at += kPage) {
        map(va + at, bus().alloc_page(), rights);
    }
    return va;
}

void Context::copy(uint64_t va, void* data, uint64_t bytes, bool write) const {
    auto* at = static_cast<uint8_t*>(data);
    while (bytes > 0) {
        const Translation found = space_.raw(va);
        if (found.cause != SIDRA_FAULT_NONE) {
            ADD_FAILURE() << "the test touches unmapped device address 0x" << std::hex << va;
            return;
        }
        const uint64_t n = std::min(bytes, kPage - va % kPage);
        uint8_t* memory = found.local ? bench_.l3() + found.address : bench_.bus_.storage(found.address);
        if (write) {
            std::memcpy(memory, at, n);
        } else {
            std::memcpy(at, memory, n);
        }
        va += n;
        at += n;
        bytes -= n;
    }
}

void Context::move_page(uint64_t va) {
    Bus& bus = this->bus();
    const uint64_t entry = space_.entry(va, 0), old = bus.load64(entry), page = bus.alloc_page();
    std::memcpy(bus.storage(page), bus.storage(old & SIDRA_PTE_ADDR), kPage);
    bus.store64(entry, (old & ~SIDRA_PTE_ADDR) | page);
    const uint32_t result = bench_.admin(SIDRA_ADMIN_QUIESCE_RANGE, index_, va / kPage * kPage, kPage);
    EXPECT_EQ(result, uint32_t{SIDRA_ADMIN_OK});
    bus.revoke(old & SIDRA_PTE_ADDR, kPage);
}

void Context::write(uint64_t va, const void* data, uint64_t bytes) { copy(va, const_cast<void*>(data), bytes, true); }

void Context::read(uint64_t va, void* data, uint64_t bytes) const { copy(va, data, bytes, false); }

uint64_t Context::load64(uint64_t va) const { return bus().load64(space_.raw(va).address); }

void Context::store64(uint64_t va, uint64_t value) { bus().store64(space_.raw(va).address, value); }

Queue& Context::queue(const QueueOptions& options) {
    if (next_queue_ >= entry_.queue_count) {
        ADD_FAILURE() << "the test makes more queues than its table has";
    }
    queues_.push_back(std::make_unique<Queue>(*this, next_queue_++, options));
    return *queues_.back();
}

uint32_t Context::weights(const WeightsOptions& options) {
    const uint32_t width = options.encoding == SIDRA_ENCODING_OFFSET ? 256 : 128;
    const uint32_t tiles = (options.rows + 255) / 256 * ((options.cols + width - 1) / width);
    std::vector<uint32_t> crossbars = options.crossbars;
    if (crossbars.empty()) {
        const uint32_t first = bench_.fresh_crossbars(tiles);
        for (uint32_t i = 0; i < tiles; ++i) {
            crossbars.push_back(first + tiles - 1 - i);  // neither ascending nor starting at 0
        }
    }
    // Starts near the end of a page: the list crosses a border.
    const uint64_t pages = bus().alloc(2 * kPage);
    const uint64_t list = pages + kPage - std::min<uint64_t>(tiles / 2 + 1, 1024) * 4;
    bus().write(list, crossbars.data(), crossbars.size() * 4);

    sidra_hw_weights entry{};
    entry.uid = options.uid != 0 ? options.uid : bench_.fresh_uid();
    entry.tiles = list;
    entry.rows = options.rows;
    entry.cols = options.cols;
    entry.tile_count = tiles;
    entry.flags = options.rights | SIDRA_HW_WEIGHTS_VALID;
    entry.encoding = options.encoding;
    store_weights_entry(next_weights_, entry);
    return next_weights_++;
}

sidra_hw_weights Context::weights_entry(uint32_t index) const {
    sidra_hw_weights entry{};
    bus().read(entry_.weights_table + index * sizeof entry, &entry, sizeof entry);
    return entry;
}

void Context::store_weights_entry(uint32_t index, const sidra_hw_weights& entry) {
    const uint64_t at = entry_.weights_table + index * sizeof entry;
    constexpr size_t kFlagsWord = offsetof(sidra_hw_weights, tile_count);
    const auto* bytes = reinterpret_cast<const uint8_t*>(&entry);
    bus().write(at, bytes, kFlagsWord);
    bus().write(at + kFlagsWord + 8, bytes + kFlagsWord + 8, sizeof entry - kFlagsWord - 8);
    bus().store64(at + kFlagsWord, entry.tile_count | uint64_t{entry.flags} << 32);
}

// ---- Bench ----------------------------------------------------------------------------------------------------------

struct Bench::Callbacks {
    static Bench& of(void* self) { return *static_cast<Bench*>(self); }
    static void* map(void* self, uint64_t bus, uint64_t* length, bool write) {
        if (of(self).dma_hook_) {
            of(self).dma_hook_(bus);
        }
        return of(self).bus_.map(bus, length, write);
    }
    static void unmap(void* self, void* pointer, uint64_t length, bool write) {
        of(self).bus_.unmap(pointer, length, write);
    }
    static bool load(void* self, uint64_t bus, uint64_t* value) {
        if (of(self).dma_hook_) {
            of(self).dma_hook_(bus);
        }
        return of(self).bus_.load_acquire(bus, value);
    }
    static bool max(void* self, uint64_t bus, uint64_t value) {
        if (of(self).dma_hook_) {
            of(self).dma_hook_(bus);
        }
        return of(self).bus_.max_release(bus, value);
    }
    static void msix(void* self, unsigned vector) {
        if (of(self).msix_hook_) {
            of(self).msix_hook_(vector);
        }
        if (vector >= SIDRA_MSIX_VECTORS) {
            of(self).bus_.violation("MSI-X vector out of range");
            return;
        }
        of(self).msix_[vector].fetch_add(1, std::memory_order_release);
    }
    static uint64_t clock(void* self) {
        return of(self).clock_.fetch_add(of(self).clock_step_.load(std::memory_order_relaxed),
                                         std::memory_order_relaxed);
    }
    static void report(void* self, const char* line) {
        std::lock_guard guard(of(self).reports_lock_);
        of(self).reports_.emplace_back(line);
    }
    static void kick(void* self) {
        if (of(self).kick_hook_) {
            of(self).kick_hook_();
        }
        of(self).kicks_.fetch_add(1, std::memory_order_release);
    }
};

void Bench::replace_chip() {
    sidra_chip_destroy(chip_);
    const sidra_chip_host host = {this,
                                  Callbacks::map,
                                  Callbacks::unmap,
                                  Callbacks::load,
                                  Callbacks::max,
                                  Callbacks::msix,
                                  Callbacks::clock,
                                  Callbacks::kick,
                                  Callbacks::report};
    sidra_chip_config config{};
    config.profile = options_.profile;
    config.engine = options_.engine;
    config.workers = options_.workers;
    config.seed = options_.seed;
    std::copy(options_.uuid.begin(), options_.uuid.end(), config.uuid);
    config.state_file = options_.state_file.empty() ? nullptr : options_.state_file.c_str();
    config.trace_file = options_.trace_file.empty() ? nullptr : options_.trace_file.c_str();
    config.level = options_.level;
    config.stuck_ppm = options_.stuck_ppm;
    char error[1024] = "";
    chip::MakeEngine make = engine::make;
    if (options_.make_engine != nullptr) {
        make = options_.make_engine;
    } else if (options_.later) {
        make = LaterEngine::make;
    }
    if (chip::create(&config, &host, make, &chip_, error, sizeof error) != 0) {
        ADD_FAILURE() << "sidra_chip_create: " << error;
        std::abort();
    }
    l3_ = sidra_chip_l3(chip_, &l3_size_);
}

Bench::Bench(const BenchOptions& options) : options_(options), bus_(options.pages, options.scatter, options.seed) {
    replace_chip();
    const uint32_t geometry = read32(SIDRA_REG_GEOMETRY0);
    crossbars_ = (geometry & 0xffffu) * (geometry >> 16) * read32(SIDRA_REG_GEOMETRY1);
    table_ = bus_.alloc(SIDRA_CONTEXTS_MAX * sizeof(sidra_hw_context));
    run();
    if (options.enable) {
        enable();
    }
}

Bench::~Bench() {
    stop_threads();
    sidra_chip_destroy(chip_);
    EXPECT_EQ(bus_.live_maps(), 0) << "maps without unmap";
    EXPECT_EQ(bus_.touched_gaps(), 0u) << "memory behind the end of a mapping was touched";
    if (check_violations_) {
        for (const std::string& text : bus_.violations()) {
            ADD_FAILURE() << "DMA violation: " << text;
        }
    }
}

void Bench::enable() {
    write64(SIDRA_REG_CONTEXT_TABLE, table_);
    write32(SIDRA_REG_CONTROL, SIDRA_CONTROL_ENABLE);
    if (threads_.empty()) {
        run();
    }
}

Context& Bench::context(uint32_t queues) {
    // Not in order, and the last one too.
    const uint32_t index = SIDRA_CONTEXTS_MAX - 1 - static_cast<uint32_t>(contexts_.size()) * 3;
    return context_at(index, queues);
}

Context& Bench::context_at(uint32_t index, uint32_t queues) {
    contexts_.push_back(std::make_unique<Context>(*this, index, queues));
    return *contexts_.back();
}

std::vector<std::string> Bench::reports() {
    std::lock_guard guard(reports_lock_);
    return std::exchange(reports_, {});
}

// MMIO handlers never touch memory: checked wherever nothing else could.
uint64_t Bench::read64(uint64_t offset) {
    const uint64_t before = bus_.calls();
    const uint64_t value = sidra_chip_mmio_read(chip_, offset, 8);
    if (threads_.empty() && bus_.calls() != before) {
        bus_.violation("DMA inside an MMIO read");
    }
    return value;
}

uint32_t Bench::read32(uint64_t offset) {
    const uint64_t before = bus_.calls();
    const uint64_t value = sidra_chip_mmio_read(chip_, offset, 4);
    if (threads_.empty() && bus_.calls() != before) {
        bus_.violation("DMA inside an MMIO read");
    }
    if (value >> 32 != 0) {
        bus_.violation("a 4-byte read gave more than 4 bytes");
    }
    return static_cast<uint32_t>(value);
}

void Bench::write32(uint64_t offset, uint64_t value) {
    const uint64_t before = bus_.calls();
    sidra_chip_mmio_write(chip_, offset, value, 4);
    if (threads_.empty() && bus_.calls() != before) {
        bus_.violation("DMA inside an MMIO write");
    }
}

void Bench::write64(uint64_t offset, uint64_t value) {
    const uint64_t before = bus_.calls();
    sidra_chip_mmio_write(chip_, offset, value, 8);
    if (threads_.empty() && bus_.calls() != before) {
        bus_.violation("DMA inside an MMIO write");
    }
}

sidra_telemetry Bench::telemetry() {
    std::array<uint64_t, sizeof(sidra_telemetry) / 8> words{};
    for (size_t i = 0; i < words.size(); ++i) {
        words[i] = read64(SIDRA_BAR_TELEMETRY + i * 8);
    }
    sidra_telemetry telemetry{};
    std::memcpy(&telemetry, words.data(), sizeof telemetry);
    return telemetry;
}

bool Bench::run_once() {
    const bool worked = sidra_chip_run(chip_);
    sidra_chip_settle(chip_);
    if (bus_.live_maps() != 0) {
        bus_.violation("a map outlived its slice");
    }
    return worked;
}

uint64_t Bench::run(uint64_t limit) {
    uint64_t slices = 0;
    while (run_once()) {
        if (++slices >= limit) {
            ADD_FAILURE() << "the chip does not become idle";
            break;
        }
    }
    return slices;
}

uint32_t Bench::start_admin(uint32_t op, uint64_t arg0, uint64_t arg1, uint64_t arg2) {
    tag_ = (tag_ + 0x1357) & 0xffff;
    write64(SIDRA_REG_ADMIN_ARG0, arg0);
    write64(SIDRA_REG_ADMIN_ARG1, arg1);
    write64(SIDRA_REG_ADMIN_ARG2, arg2);
    write32(SIDRA_REG_ADMIN_CMD, op | tag_ << 16);
    return tag_;
}

Bench::AdminResult Bench::try_admin(uint32_t op, uint64_t arg0, uint64_t arg1, uint64_t arg2) {
    const uint32_t tag = start_admin(op, arg0, arg1, arg2);
    const auto deadline = std::chrono::steady_clock::now() + kPatience;
    unsigned idle = 0;
    for (;;) {
        const uint32_t status = read32(SIDRA_REG_ADMIN_STATUS);
        if (status >> 16 == tag && (status & SIDRA_ADMIN_BUSY) == 0) {
            return {status & SIDRA_ADMIN_RESULT_MASK, true};
        }
        if (!threads_.empty()) {
            pause();
        } else if (!run_once() && ++idle > 100) {
            return {status, false};
        }
        if (std::chrono::steady_clock::now() > deadline) {
            return {status, false};
        }
    }
}

uint32_t Bench::admin(uint32_t op, uint64_t arg0, uint64_t arg1, uint64_t arg2) {
    const AdminResult result = try_admin(op, arg0, arg1, arg2);
    EXPECT_TRUE(result.done) << "admin command " << op << " does not end; status 0x" << std::hex << result.result;
    return result.result;
}

std::vector<sidra_hw_xbar> Bench::xbars(uint32_t first, uint32_t count) {
    const uint64_t buffer = bus_.alloc(count * sizeof(sidra_hw_xbar));
    EXPECT_EQ(admin(SIDRA_ADMIN_XBAR_READ, first, buffer, count), uint32_t{SIDRA_ADMIN_OK});
    std::vector<sidra_hw_xbar> headers(count);
    bus_.read(buffer, headers.data(), count * sizeof(sidra_hw_xbar));
    return headers;
}

std::vector<sidra_hw_xbar_report> Bench::reports(uint32_t first, uint32_t count) {
    const uint64_t buffer = bus_.alloc(count * sizeof(sidra_hw_xbar_report));
    EXPECT_EQ(admin(SIDRA_ADMIN_XBAR_REPORT, first, buffer, count), uint32_t{SIDRA_ADMIN_OK});
    std::vector<sidra_hw_xbar_report> reports(count);
    bus_.read(buffer, reports.data(), count * sizeof(sidra_hw_xbar_report));
    return reports;
}

void Bench::start_threads(unsigned count) {
    stop_.store(false);
    for (unsigned i = 0; i < count; ++i) {
        threads_.emplace_back([this] {
            while (!stop_.load(std::memory_order_relaxed)) {
                const uint64_t seen = kicks_.load(std::memory_order_acquire);
                while (sidra_chip_run(chip_) && !stop_.load(std::memory_order_relaxed)) {
                }
                while (kicks_.load(std::memory_order_acquire) == seen && !stop_.load(std::memory_order_relaxed)) {
                    pause();
                }
            }
        });
    }
}

void Bench::stop_threads() {
    stop_.store(true);
    for (std::thread& thread : threads_) {
        thread.join();
    }
    threads_.clear();
    sidra_chip_settle(chip_);
}

bool Bench::wait(const Queue& queue, uint64_t value) {
    if (threads_.empty()) {
        run();
        return queue.timeline() >= value;
    }
    const auto deadline = std::chrono::steady_clock::now() + kPatience;
    while (queue.timeline() < value) {
        if (queue.run_state() == SIDRA_QUEUE_FAULTED || std::chrono::steady_clock::now() > deadline) {
            return queue.timeline() >= value;
        }
        pause();
    }
    return true;
}

uint64_t Bench::interrupts_total() const {
    uint64_t total = 0;
    for (const auto& count : msix_) {
        total += count.load(std::memory_order_acquire);
    }
    return total;
}

uint32_t Bench::fresh_crossbars(uint32_t count) {
    if (next_crossbar_ + count > crossbars_) {
        ADD_FAILURE() << "the test uses more crossbars than the chip has";
        next_crossbar_ = 0;
    }
    next_crossbar_ += count;
    return next_crossbar_ - count;
}

// ---- Assertions -----------------------------------------------------------------------------------------------------

const char* cause_name(uint32_t cause) {
    static constexpr const char* kNames[] = {
        "NONE", "OPCODE",  "FIELD",          "ALIGNMENT",    "LIMIT", "TRANSLATION", "PERMISSION",
        "BUS",  "WEIGHTS", "WEIGHTS_RIGHTS", "UNPROGRAMMED", "VALUE", "CALL",        "NOT_ALLOWED",
        "PEER", "RING",    "FETCH",          "TIMEOUT",      "RESET", "PRODUCER",    "PROGRAM"};
    static_assert(std::size(kNames) == SIDRA_FAULT_COUNT);
    return cause < SIDRA_FAULT_COUNT ? kNames[cause] : "?";
}

std::string try_create(const sidra_chip_config& config) {
    const sidra_chip_host host = {
        nullptr,
        [](void*, uint64_t, uint64_t*, bool) -> void* { return nullptr; },
        [](void*, void*, uint64_t, bool) {},
        [](void*, uint64_t, uint64_t*) { return false; },
        [](void*, uint64_t, uint64_t) { return false; },
        [](void*, unsigned) {},
        [](void*) { return uint64_t{0}; },
        [](void*) {},
        [](void*, const char*) {},
    };
    sidra_chip* chip = nullptr;
    char error[1024] = "";
    if (sidra_chip_create(&config, &host, &chip, error, sizeof error) == 0) {
        sidra_chip_destroy(chip);
        return "";
    }
    // The error text is optional and never exceeds its buffer.
    char tiny[4] = {'x', 'x', 'x', 'x'};
    EXPECT_EQ(sidra_chip_create(&config, &host, &chip, tiny, 3), -1);
    EXPECT_EQ(tiny[2], '\0');
    EXPECT_EQ(tiny[3], 'x');
    EXPECT_EQ(sidra_chip_create(&config, &host, &chip, nullptr, 0), -1);
    EXPECT_NE(error[0], '\0') << "an error has a text";
    return error[0] != '\0' ? error : "(no text)";
}

bool engine_available(uint32_t engine) { return try_create({SIDRA_CHIP_SMALL, engine, 1, 1, nullptr}).empty(); }

std::vector<uint32_t> available_engines() {
    std::vector<uint32_t> engines;
    for (uint32_t engine = SIDRA_CHIP_ENGINE_SCALAR; engine <= SIDRA_CHIP_ENGINE_AVX_VNNI; ++engine) {
        if (engine_available(engine)) {
            engines.push_back(engine);
        }
    }
    return engines;
}

::testing::AssertionResult faulted(Queue& queue, uint64_t index, const sidra_cmd& cmd, Cause cause,
                                   std::optional<uint64_t> address) {
    const sidra_queue_state state = queue.state();
    const sidra_fault& fault = state.fault;
    auto failure = ::testing::AssertionFailure();
    std::string wanted;
    for (const sidra_fault_cause any : cause.any) {
        wanted += std::string(wanted.empty() ? "" : " or ") + cause_name(any);
    }
    failure << "queue " << queue.index() << ", wanted " << wanted << " at " << index << ": ";
    if (state.run_state != SIDRA_QUEUE_FAULTED) {
        return failure << "run state is " << state.run_state << ", timeline " << state.timeline;
    }
    if (std::find(cause.any.begin(), cause.any.end(), static_cast<sidra_fault_cause>(fault.cause)) == cause.any.end()) {
        return failure << "cause is " << cause_name(fault.cause) << std::hex << ", address 0x" << fault.address
                       << ", sequence " << fault.sequence;
    }
    if (state.timeline != index) {
        return failure << "timeline is " << state.timeline;
    }
    if (fault.sequence != index) {
        return failure << "sequence is " << fault.sequence;
    }
    if (fault.cookie != cmd.hdr.cookie || fault.opcode != cmd.hdr.opcode) {
        return failure << "cookie 0x" << std::hex << fault.cookie << ", opcode " << std::dec << unsigned{fault.opcode};
    }
    if (fault.context != queue.context().index() || fault.queue != queue.index()) {
        return failure << "record names context " << fault.context << ", queue " << fault.queue;
    }
    if (fault.in_call != 0 || fault.call_index != 0) {
        return failure << "record says inside a CALL, at " << fault.call_index;
    }
    if (address && *address / kPage != fault.address / kPage) {
        return failure << "address is 0x" << std::hex << fault.address << ", not 0x" << *address;
    }
    const bool named =
        fault.root_cause != 0 || fault.root_epoch != 0 || fault.root_queue != 0 || fault.root_sequence != 0;
    if (named != (fault.cause == SIDRA_FAULT_PRODUCER)) {
        return failure << "names a root (or none): queue " << fault.root_queue << ", packet " << fault.root_sequence;
    }
    if (fault.reserved != 0) {
        return failure << "reserved fields are not zero";
    }
    return ::testing::AssertionSuccess();
}

::testing::AssertionResult retired(Queue& queue) {
    const sidra_queue_state state = queue.state();
    if (state.run_state == SIDRA_QUEUE_RUNNING && state.timeline == queue.next()) {
        return ::testing::AssertionSuccess();
    }
    auto failure = ::testing::AssertionFailure();
    failure << "queue " << queue.index() << ": timeline " << state.timeline << " of " << queue.next() << ", run state "
            << state.run_state;
    if (state.run_state == SIDRA_QUEUE_FAULTED) {
        failure << ", cause " << cause_name(state.fault.cause) << " at " << state.fault.sequence << "/"
                << state.fault.call_index << " opcode " << unsigned{state.fault.opcode} << std::hex << " address 0x"
                << state.fault.address;
    }
    return failure;
}

}  // namespace sidra::chip_test
