// SPDX-License-Identifier: MIT
// A fake driver in plain memory: it records the library's requests, answers as instructed, and retires or faults
// packets on demand. For tests of the library alone: the packets that it writes and the messages of its errors.
#ifndef SIDRA_TESTS_FAKE_TRANSPORT_H
#define SIDRA_TESTS_FAKE_TRANSPORT_H

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "sidra_accel.h"
#include "transport.h"

namespace sidra::test {

class FakeTransport final : public Transport {
   public:
    struct FakeQueue {
        uint32_t context = 0, number = 0;
        uint64_t capacity = 0;
        std::byte* ring = nullptr;
        uint64_t* write_word = nullptr;
        sidra_queue_state* state = nullptr;
        bool alive = true;
    };

    // Makes `times` requests of this number, after the next `later` ones, fail with -`error` and the detail text.
    void fail(unsigned long request, int error, std::string detail = {}, int times = 1, int later = 0);
    // Whether doorbells retire everything at once (default), or packets stay until retire() or fault().
    void set_automatic(bool automatic) { automatic_ = automatic; }
    void retire(uint32_t queue, uint64_t timeline);
    void fault(uint32_t queue, sidra_fault fault);
    void lose_all();  // as a device reset: queues lost, contexts to be recovered

    size_t requests(unsigned long request) const;
    size_t all_requests() const { return history_.size(); }
    size_t doorbells() const { return doorbells_; }
    sidra_cmd packet(uint32_t queue, uint64_t index);
    FakeQueue& queue(uint32_t number) { return *queues_.at(number); }
    size_t live_buffers() const { return buffers_; }
    size_t live_maps() const { return maps_; }
    sidra_query_device device{};
    sidra_query_status status{};
    uint32_t programmed_rows = 0;  // of the one row that all weights have

    FakeTransport();
    int ioctl(unsigned long request, void* argument, std::string* detail) override;
    void* map(uint64_t offset, size_t size, bool writable) override;
    void unmap(void* address, size_t size) override;
    uintptr_t doorbell(uint64_t doorbell_offset, uint32_t queue) override;
    void ring(uintptr_t doorbell) override;
    bool help() override { return false; }
    const char* kind() const override { return "fake"; }
    std::string engine() const override { return "none"; }
    int telemetry(sidra_telemetry* out) override;
    int set_fault_knob(const std::string& name, uint64_t value) override;

   private:
    int answer(const sidra_ioctl_device_query& query) const;
    struct Failure {
        int error;
        std::string detail;
        int times, later;
    };
    struct Free {
        void operator()(void* memory) const { ::operator delete (memory, std::align_val_t{4096}); }
    };
    uint64_t add_memory(uint64_t size);

    mutable std::mutex mutex_;
    std::map<unsigned long, Failure> failures_;
    std::vector<unsigned long> history_;
    std::map<uint64_t, std::unique_ptr<void, Free>> memory_;
    std::map<uint32_t, std::unique_ptr<FakeQueue>> queues_;
    std::map<uint32_t, uint64_t> addresses_;  // of registered memory
    uint64_t next_offset_ = 4096;
    uint64_t next_address_ = 0x10000;
    uint32_t next_handle_ = 1;
    uint32_t epochs_ = 0;
    size_t buffers_ = 0, maps_ = 0, doorbells_ = 0;
    bool automatic_ = true;
    bool lost_ = false;
};

}  // namespace sidra::test

#endif
