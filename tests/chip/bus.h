// SPDX-License-Identifier: MIT
// The host's memory, as the tests grant it to the chip. Bus addresses are far from any pointer, and neighbouring pages
// of the bus are apart in the process, so that a wrong address or an assumed contiguity shows. Bookkeeping uses relaxed
// atomics only: a lock would order the chip's threads and hide their races from TSan.
#ifndef SIDRA_TESTS_CHIP_BUS_H
#define SIDRA_TESTS_CHIP_BUS_H

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace sidra::chip_test {

inline constexpr uint64_t kPage = 4096;

enum class Access : uint8_t {
    kNone,  // not granted to the device: an access is a violation
    kOpen,
    kReadOnly,  // the host refuses writes
    kRefused,   // the host refuses, and the test expects the request
    kRevoked,   // was granted and is revoked: an access is a violation
};

class Bus {
   public:
    static constexpr uint64_t kBase = 0x0003'4500'0000'0000ull;

    // Half of the pages serve contiguous allocations, half single pages in random order.
    Bus(size_t pages, bool scatter, uint64_t seed);
    ~Bus();
    Bus(const Bus&) = delete;
    Bus& operator=(const Bus&) = delete;

    // Zeroed memory that the device may use; contiguous on the bus (not in the process when scattered).
    uint64_t alloc(uint64_t bytes, uint64_t align = kPage);
    uint64_t alloc_page();

    void set_access(uint64_t bus, uint64_t bytes, Access access);
    // Revokes pages: from now on every access is a violation, and so is a mapping still held. The pages become
    // unreadable for the whole process, so that a stale pointer is fatal at once.
    void revoke(uint64_t bus, uint64_t bytes);

    // Accesses by the test itself.
    void write(uint64_t bus, const void* data, uint64_t bytes);
    void read(uint64_t bus, void* data, uint64_t bytes) const;
    uint64_t load64(uint64_t bus) const;
    void store64(uint64_t bus, uint64_t value);
    uint32_t load32(uint64_t bus) const;
    uint8_t* storage(uint64_t bus) const;  // of one byte; valid to the end of its page

    // The device's view: the callbacks of struct sidra_chip_host.
    void* map(uint64_t bus, uint64_t* length, bool write);
    void unmap(void* pointer, uint64_t length, bool write);
    bool load_acquire(uint64_t bus, uint64_t* value);
    bool max_release(uint64_t bus, uint64_t value);

    // Addresses outside the bus memory are refused without being a violation (a test with wild page tables).
    void set_outside_refused(bool refused) { outside_refused_.store(refused, std::memory_order_relaxed); }
    // Maps in the page at `bus` are of at most `bytes` bytes.
    void set_short(uint64_t bus, uint64_t bytes) { short_page_.store(bus), short_bytes_.store(bytes); }
    uint64_t calls() const { return calls_.load(std::memory_order_relaxed); }
    int64_t live_maps() const { return live_maps_.load(std::memory_order_relaxed); }
    void violation(const std::string& text);
    std::vector<std::string> violations() const;
    // Gaps between scattered pages that were touched: accesses beyond the end of a mapping.
    size_t touched_gaps() const;
    size_t free_pages() const { return singles_.size(); }

   private:
    bool page_of(uint64_t bus, size_t* page) const;
    uint8_t* page_storage(size_t page) const;
    bool allowed(uint64_t bus, bool write, const char* what);
    uint64_t* word(uint64_t bus, bool write, const char* what);

    const size_t pages_;
    const bool scatter_;
    uint8_t* memory_ = nullptr;
    size_t memory_bytes_ = 0;
    std::vector<uint32_t> slot_;     // of a bus page in memory_
    std::vector<uint32_t> page_at_;  // inverse
    std::unique_ptr<std::atomic<Access>[]> access_;
    std::unique_ptr<std::atomic<int32_t>[]> maps_;
    uint64_t next_ = 0;  // contiguous allocations, page index
    std::vector<uint32_t> singles_;
    std::atomic<bool> outside_refused_{false};
    std::atomic<uint64_t> short_page_{0}, short_bytes_{0};
    std::atomic<uint64_t> calls_{0};
    std::atomic<int64_t> live_maps_{0};
    mutable std::mutex violations_mutex_;  // taken on violations only
    std::vector<std::string> violations_;
};

}  // namespace sidra::chip_test

#endif
