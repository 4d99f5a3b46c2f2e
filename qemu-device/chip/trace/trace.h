// SPDX-License-Identifier: MIT
// Level `cycle` as a file in the Trace Event Format, which ui.perfetto.dev and chrome://tracing show: an event a line,
// written as it comes, so that a file that ends anywhere at the end of a line is still one. Times are device time. Each
// queue is a process of its own, whose time is that of its packets: the cost model prices each queue as if it had the
// chip to itself, so what a queue's events say does not depend on threads, engines or other queues.
#ifndef SIDRA_CHIP_TRACE_H
#define SIDRA_CHIP_TRACE_H

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include "file.h"
#include "geometry.h"
#include "job.h"
#include "schedule.h"
#include "sidra_cmd.h"

namespace sidra::chip {

struct TraceError : std::runtime_error {
    TraceError(int error, const std::string& text) : std::runtime_error(text), code(error) {}
    int code;  // errno
};

class Trace {
   public:
    // Begins the file anew. `say` gets a line for a person: what ended the trace before its time. Throws TraceError.
    Trace(const std::string& path, const Geometry& geometry, std::function<void(const char*)> say);
    ~Trace() { end(); }
    Trace(const Trace&) = delete;
    Trace& operator=(const Trace&) = delete;

    struct Packet {
        uint32_t context, queue;
        uint64_t sequence;
        const sidra_cmd_header& hdr;
        bool in_call;
        uint32_t position;  // in the call
    };
    // What has retired, in the order of each queue; any thread. `job`: null if it is none.
    void packet(const Packet& packet, const Cost& cost, const Job* job);
    // The CALL itself, after its packets. `own`: on top of theirs.
    void call(const Packet& packet, const Cost& own);
    void fault(const Packet& packet, uint16_t cause);

    void flush();  // to the file
    void end();    // with a summary; what comes later is not traced

   private:
    // A queue's.
    struct Line {
        uint64_t now_ps = 0;
        uint64_t call_ps = 0, call_pj = 0;  // where the call at hand began; what its packets took
        uint64_t power_mw = ~uint64_t{0}, busy_ppm = ~uint64_t{0};
        std::set<uint32_t> tracks;
    };
    struct Total {
        uint64_t packets = 0;
        Cost cost;
    };
    template <typename F>
    void record(F&& events);
    Line& line_of(const Packet& packet);
    void open_track(const Packet& packet, Line& line, uint32_t track);
    void place(const Packet& packet, Line& line, const Cost& work, const Job& job);
    std::vector<Stretch> crossbars_of(const Cost& work, const Job& job) const;
    void slice(const Packet& packet, Line& line, uint32_t track, const char* name, uint64_t begin_ps, uint64_t end_ps,
               const std::string& arguments);
    void counters(const Packet& packet, Line& line, uint64_t at_ps, const Cost& cost, uint64_t busy_ps);
    void summary();
    std::string write();  // "", or what to say

    const std::string path_;
    const Geometry geometry_;
    const std::function<void(const char*)> say_;
    std::atomic<bool> on_{true};
    std::mutex lock_;  // of the rest
    File file_;
    uint64_t written_ = 0;
    std::string buffer_;
    std::map<uint32_t, Line> lines_;
    std::map<uint8_t, Total> totals_;  // by opcode
    std::map<uint32_t, uint64_t> cu_busy_ps_;
};

}  // namespace sidra::chip

#endif
