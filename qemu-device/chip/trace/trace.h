// SPDX-License-Identifier: MIT
// Level `cycle` as a file in the Trace Event Format, which ui.perfetto.dev and chrome://tracing show: an event a line,
// written as it comes, so that a file that ends anywhere at the end of a line is still one. Times are device time, on
// one axis for all queues. The cost model prices each queue as if it had the chip to itself, so a queue's packets
// follow each other without a gap, except that a SEM_WAIT does not begin before what it waits for has ended. What a
// queue's events say therefore depends on nothing but the packets and their semaphores: not on threads, and not on
// engines.
#ifndef SIDRA_CHIP_TRACE_H
#define SIDRA_CHIP_TRACE_H

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "address.h"
#include "dma.h"
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
        uint32_t context, queue, epoch;
        uint64_t sequence;
        const sidra_cmd_header& hdr;
        bool in_call;
        uint32_t position;         // in the call
        const sidra_cmd_sem* sem;  // of SEM_WAIT and SEM_SIGNAL; else null
    };
    // What has retired, in the order of each queue; any thread. `job`: null if it is none.
    void packet(const Packet& packet, const Cost& cost, const Job* job);
    // The CALL itself, after its packets. `own`: on top of theirs.
    void call(const Packet& packet, const Cost& own);
    void fault(const Packet& packet, uint16_t cause);
    // What the SEM_WAIT waited for has come: it begins no earlier than that ended. Before packet(). `key`: the word.
    void wait(const Packet& packet, const Address& key);
    // Carries out the SEM_SIGNAL, so that whoever sees the new value finds its time here. `cost`: of the packet.
    Fault signal(const Packet& packet, const Address& key, const Cost& cost, Dma& memory, const Range& word);
    // What LABEL packets say. An empty text ends a name.
    void name_operation(const Packet& packet, std::string_view text);
    void name_weights(uint64_t uid, std::string_view text);

    void flush();  // to the file
    void end();    // with a summary; what comes later is not traced

   private:
    struct Retired {
        uint32_t epoch;
        uint64_t sequence;
        uint64_t end_ps;
        bool operator<(const Retired& other) const {
            return std::tie(epoch, sequence) < std::tie(other.epoch, other.sequence);
        }
    };
    // A queue's.
    struct Line {
        uint32_t epoch = 0;
        uint64_t now_ps = 0;
        uint64_t call_ps = 0;  // where the call at hand began
        Cost call_cost;        // what its packets took
        uint64_t power_uw = 0, busy_ppm = 0;
        std::set<uint32_t> tracks;
        std::deque<Retired> retired;                 // ascending: what a queue that waits for this one looks for
        uint64_t forgotten_ps = 0;                   // end of the last one that is not there any more
        std::string operation;                       // its name, as JSON; "": none
        uint64_t operation_ps = 0;                   // where that began
        std::optional<std::string> outer_operation;  // name from before the call at hand, if it has named something
    };
    struct Signal {
        uint64_t value;
        uint64_t end_ps;
    };
    struct Word {
        std::vector<Signal> signals;
        uint64_t reached = 0;  // by signals, so that it holds less only if the host has set it anew
    };
    struct Total {
        uint64_t packets = 0;
        Cost cost;
    };
    template <typename F>
    void record(F&& events);
    Line& line_of(const Packet& packet);
    void open_track(uint32_t process, Line& line, uint32_t track);
    void forget(Line& line, size_t count);
    void retired(const Packet& packet, Line& line);
    uint64_t end_of_point(const Packet& packet) const;
    uint64_t end_of_signal(const Address& key, uint64_t value) const;
    void forget_signals();
    void note_signal(const Address& key, const Signal& signal, uint64_t fallen_from);
    void end_operation(uint32_t process, Line& line);
    std::string cu_name(uint32_t cu) const;
    const std::string* weights_name(const Packet& packet, const Job& job) const;
    std::string arguments_of(const Packet& packet, const Line& line, const Cost& cost) const;
    void place(const Packet& packet, Line& line, const Cost& work, const Job& job, const std::string& name);
    std::vector<Stretch> crossbars_of(const Cost& work, const Job& job) const;
    void slice(uint32_t process, Line& line, uint32_t track, const std::string& name, uint64_t begin_ps,
               uint64_t end_ps, const std::string& arguments);
    void counters(uint32_t process, Line& line, uint64_t at_ps, const Cost& cost, uint64_t busy_ps);
    void idle(uint32_t process, Line& line);
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
    size_t retired_ = 0;               // on all lines
    std::map<uint8_t, Total> totals_;  // by opcode
    std::map<uint32_t, uint64_t> cu_busy_ps_;
    std::map<uint64_t, std::string> weights_names_;  // by uid, as JSON
    // Of a word both numbers ascend: of no use to anyone is a signal that ends no earlier than one of a value as large.
    std::map<Address, Word> words_;
    size_t signals_count_ = 0;   // of all words
    uint64_t forgotten_ps_ = 0;  // end of the last signal of a word that is not there any more
};

}  // namespace sidra::chip

#endif
