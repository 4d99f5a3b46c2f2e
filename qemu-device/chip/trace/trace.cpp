// SPDX-License-Identifier: MIT
#include "trace.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>
#include <utility>

#include "sidra_cmd.h"

namespace sidra::chip {
namespace {

constexpr size_t kBufferMax = 64u << 10;
constexpr uint32_t kOperations = 1, kPackets = 2, kVec = 3, kDma = 4, kFirstCu = 5;  // tracks
// What is remembered of the past for waits to come, and of names, in all: programs must not make the chip's process
// grow without an end. For what has been forgotten there is a time that is not too early.
constexpr size_t kRetiredMax = 1u << 18, kSignalsMax = 1u << 18, kSignalsOfWordMax = 1u << 10, kNamesMax = 1u << 16;
constexpr uint64_t kMillion = 1'000'000;

const char* name_of(uint8_t opcode) {
    switch (opcode) {
        case SIDRA_CMD_NOP:
            return "NOP";
        case SIDRA_CMD_BARRIER:
            return "BARRIER";
        case SIDRA_CMD_SEM_WAIT:
            return "SEM_WAIT";
        case SIDRA_CMD_SEM_SIGNAL:
            return "SEM_SIGNAL";
        case SIDRA_CMD_TIMESTAMP:
            return "TIMESTAMP";
        case SIDRA_CMD_CALL:
            return "CALL";
        case SIDRA_CMD_LABEL:
            return "LABEL";
        case SIDRA_CMD_COPY:
            return "COPY";
        case SIDRA_CMD_FILL:
            return "FILL";
        case SIDRA_CMD_MVM:
            return "MVM";
        case SIDRA_CMD_VECTOR:
            return "VECTOR";
        case SIDRA_CMD_MATMUL:
            return "MATMUL";
        case SIDRA_CMD_LAYER:
            return "LAYER";
        case SIDRA_CMD_POOL:
            return "POOL";
        case SIDRA_CMD_SORT:
            return "SORT";
        case SIDRA_CMD_PROGRAM:
            return "PROGRAM";
        case SIDRA_CMD_READBACK:
            return "READBACK";
        default:
            return "unknown";
    }
}

std::string number(uint64_t value) { return std::to_string(value); }

// Millionths, as a decimal number: picoseconds in the format's microseconds.
std::string millionths(uint64_t value) {
    const std::string rest = number(value % kMillion);
    return number(value / kMillion) + "." + std::string(6 - rest.size(), '0') + rest;
}

std::string field(const char* name, uint64_t value) { return std::string("\"") + name + "\":" + number(value); }
std::string fields(const Cost& cost) {
    return field("device_ps", cost.device_ps) + "," + field("energy_pj", cost.energy_pj);
}

uint32_t process(uint32_t context, uint32_t queue) { return context * SIDRA_QUEUES_PER_CONTEXT_MAX + queue + 1; }
uint32_t process(const Trace::Packet& packet) { return process(packet.context, packet.queue); }

// As the inside of a JSON string. The text is a program's: bytes that are not UTF-8 become question marks.
std::string json(std::string_view text) {
    constexpr char kHex[] = "0123456789abcdef";
    const auto byte = [&](size_t at) { return static_cast<uint8_t>(at < text.size() ? text[at] : 0); };
    std::string out;
    for (size_t at = 0; at < text.size();) {
        const uint8_t first = byte(at), second = byte(at + 1);
        if (first < 0x80) {
            if (first < 0x20 || first == 0x7f) out += std::string("\\u00") + kHex[first >> 4] + kHex[first & 15];
            else if (first == '"' || first == '\\') out += {'\\', static_cast<char>(first)};
            else out += static_cast<char>(first);
            at++;
            continue;
        }
        // No overlong forms, no surrogates, nothing beyond U+10FFFF.
        const size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
        bool good = first >= 0xc2 && first <= 0xf4 && !(first == 0xe0 && second < 0xa0) &&
                    !(first == 0xed && second > 0x9f) && !(first == 0xf0 && second < 0x90) &&
                    !(first == 0xf4 && second > 0x8f);
        for (size_t i = 1; i < length; i++) good = good && (byte(at + i) & 0xc0) == 0x80;
        if (good) out += text.substr(at, length);
        else out += '?';
        at += good ? length : 1;
    }
    return out;
}

std::string text_field(const char* name, const std::string& json) {
    return std::string("\"") + name + "\":\"" + json + "\"";
}

// What the packet's own units took, without what every packet takes.
Cost work_of(const Job& job) {
    Cost work = job.cost;
    work += {job.spent_ps.load(std::memory_order_relaxed), job.spent_pj.load(std::memory_order_relaxed)};
    return work;
}

}  // namespace

Trace::Trace(const std::string& path, const Geometry& geometry, std::function<void(const char*)> say)
    : path_(path), geometry_(geometry), say_(std::move(say)) {
    int error = File::open(path, &file_);
    if (error == 0) error = file_.cut(0);
    buffer_ = "[\n{\"ph\":\"M\",\"pid\":0,\"name\":\"process_name\",\"args\":{\"name\":\"chip\"}}";
    if (error == 0) error = file_.write(buffer_.data(), buffer_.size(), 0);
    if (error != 0) {
        const char* why = error == -EBUSY    ? "another chip writes it"
                          : error == -ENODEV ? "not a regular file"
                                             : strerror(-error);
        throw TraceError(error == -ENODEV || error == -EISDIR ? EINVAL : -error,
                         "trace file '" + path + "' cannot be written: " + why +
                             ". Give the trace a file of its own that may be written, in a folder that is there");
    }
    written_ = buffer_.size();
    buffer_.clear();
}

// What goes wrong here ends the trace, and nothing else.
template <typename F>
void Trace::record(F&& events) {
    if (!on_.load(std::memory_order_relaxed)) return;
    std::string said;
    bool short_of_memory = false;
    {
        const std::lock_guard guard(lock_);
        if (!on_.load(std::memory_order_relaxed)) return;
        try {
            events();
            if (buffer_.size() >= kBufferMax) said = write();
        } catch (const std::bad_alloc&) {
            on_ = false;
            short_of_memory = true;
        }
    }
    if (short_of_memory) say_("the trace file ends here: not enough memory");
    else if (!said.empty()) say_(said.c_str());
}

std::string Trace::write() {
    const int error = file_.write(buffer_.data(), buffer_.size(), written_);
    if (error == 0) {
        written_ += buffer_.size();
        buffer_.clear();
        return {};
    }
    file_.cut(written_);  // behind a whole event
    buffer_.clear();
    on_ = false;
    return "trace file '" + path_ + "' ends here, it cannot be written: " + strerror(-error);
}

Trace::Line& Trace::line_of(const Packet& packet) {
    const auto [place, fresh] = lines_.try_emplace(process(packet));
    if (fresh)
        buffer_ += std::string(",\n{\"ph\":\"M\",\"pid\":") + number(process(packet)) +
                   ",\"name\":\"process_name\",\"args\":{\"name\":\"context " + number(packet.context) + " queue " +
                   number(packet.queue) + "\"}}";
    Line& line = place->second;
    // Epochs and packets of a queue ascend; where they do not, the number has another owner.
    const bool same_owner = line.retired.empty() || line.retired.back() < Retired{packet.epoch, packet.sequence, 0};
    if (!same_owner) {
        forget(line, line.retired.size());
        line.forgotten_ps = 0;
    }
    if (!same_owner || line.epoch != packet.epoch) {  // a name does not outlive the epoch in which it was given
        end_operation(process(packet), line);
        line.operation.clear();
        line.outer_operation.reset();
        line.epoch = packet.epoch;
    }
    return line;
}

std::string Trace::cu_name(uint32_t cu) const {
    return "cluster " + number(cu / geometry_.cus_per_cluster) + " CU " + number(cu % geometry_.cus_per_cluster);
}

void Trace::open_track(uint32_t process, Line& line, uint32_t track) {
    if (!line.tracks.insert(track).second) return;
    const std::string name = track == kOperations ? "operations"
                             : track == kPackets  ? "packets"
                             : track == kVec      ? "VEC"
                             : track == kDma      ? "DMA"
                                                  : cu_name(track - kFirstCu);
    const std::string where = std::string(",\"pid\":") + number(process) + ",\"tid\":" + number(track);
    buffer_ += ",\n{\"ph\":\"M\"" + where + ",\"name\":\"thread_name\",\"args\":{\"name\":\"" + name + "\"}}";
    buffer_ +=
        ",\n{\"ph\":\"M\"" + where + ",\"name\":\"thread_sort_index\",\"args\":{" + field("sort_index", track) + "}}";
}

void Trace::slice(uint32_t process, Line& line, uint32_t track, const std::string& name, uint64_t begin_ps,
                  uint64_t end_ps, const std::string& arguments) {
    open_track(process, line, track);
    buffer_ += std::string(",\n{\"ph\":\"X\",\"pid\":") + number(process) + ",\"tid\":" + number(track) +
               ",\"ts\":" + millionths(begin_ps) + ",\"dur\":" + millionths(end_ps - begin_ps) + ",\"name\":\"" + name +
               "\",\"args\":{" + arguments + "}}";
}

// As of `at_ps`, where something that costs this begins.
void Trace::counters(uint32_t process, Line& line, uint64_t at_ps, const Cost& cost, uint64_t busy_ps) {
    if (cost.device_ps == 0) return;
    const auto counter = [&](uint64_t* last, uint64_t value, const char* name, const std::string& argument) {
        if (std::exchange(*last, value) == value) return;
        buffer_ += std::string(",\n{\"ph\":\"C\",\"pid\":") + number(process) + ",\"ts\":" + millionths(at_ps) +
                   ",\"name\":\"" + name + "\",\"args\":{" + argument + "}}";
    };
    const auto power =
        static_cast<uint64_t>(static_cast<double>(cost.energy_pj) * 1e6 / static_cast<double>(cost.device_ps));
    counter(&line.power_uw, power, "power", field("uW", power));
    const double share = static_cast<double>(busy_ps) / static_cast<double>(cost.device_ps) / geometry_.xbars();
    const auto ppm = static_cast<uint64_t>(share * 1e6);
    counter(&line.busy_ppm, ppm, "crossbars at work", std::string("\"percent\":") + millionths(ppm * 100));
}

// The queue does nothing from now on.
void Trace::idle(uint32_t process, Line& line) { counters(process, line, line.now_ps, {1, 0}, 0); }

std::vector<Stretch> Trace::crossbars_of(const Cost& work, const Job& job) const {
    if (job.cmd.hdr.opcode == SIDRA_CMD_MVM)
        return schedule_mvm(job.mvm.product.weights->xbars, job.cmd.mvm.batch, work, geometry_.xbars_per_cu);
    if (job.cmd.hdr.opcode == SIDRA_CMD_LAYER) {
        const uint32_t(&size)[SIDRA_PATTERN_DIMS] = job.cmd.layer.size;
        return schedule_mvm(job.layer.product.weights->xbars, size[0] * size[1] * size[2], work,
                            geometry_.xbars_per_cu);
    }
    const WeightsPlan& plan = job.weights;
    const sidra_cmd_weights& c = job.cmd.weights;
    const Weights& w = *plan.weights;
    const auto overlap = [](uint32_t from, uint32_t count, uint32_t tile, uint32_t width) {
        return std::min(from + count, (tile + 1) * width) - std::max(from, tile * width);
    };
    std::vector<TileWork> tiles;
    for (uint32_t i = plan.tile_row0; i < plan.tile_row0 + plan.tile_rows; i++)
        for (uint32_t j = plan.tile_col0; j < plan.tile_col0 + plan.tile_cols; j++)
            tiles.push_back(
                {w.xbars[size_t{i} * w.tile_cols + j],
                 uint64_t{overlap(c.row0, c.rows, i, SIDRA_XBAR_ROWS)} * overlap(c.col0, c.cols, j, w.tile_width)});
    return schedule_program(tiles, work, geometry_.xbars_per_cu);
}

const std::string* Trace::weights_name(const Packet& packet, const Job& job) const {
    const Weights* weights = nullptr;
    switch (packet.hdr.opcode) {
        case SIDRA_CMD_MVM:
            weights = job.mvm.product.weights;
            break;
        case SIDRA_CMD_LAYER:
            weights = job.layer.product.weights;
            break;
        case SIDRA_CMD_PROGRAM:
        case SIDRA_CMD_READBACK:
            weights = job.weights.weights;
            break;
        default:
            return nullptr;
    }
    const auto found = weights_names_.find(weights->uid);
    return found == weights_names_.end() ? nullptr : &found->second;
}

void Trace::place(const Packet& packet, Line& line, const Cost& work, const Job& job, const std::string& name) {
    const uint32_t pid = process(packet);
    switch (packet.hdr.opcode) {
        case SIDRA_CMD_MVM:
        case SIDRA_CMD_LAYER:
        case SIDRA_CMD_PROGRAM: {
            const std::vector<Stretch> stretches = crossbars_of(work, job);
            uint64_t busy_ps = 0;
            for (const Stretch& s : stretches) busy_ps += s.busy_ps;
            counters(pid, line, line.now_ps, work, busy_ps);
            for (const Stretch& s : stretches) {
                slice(pid, line, kFirstCu + s.cu, name, line.now_ps + s.begin_ps, line.now_ps + s.end_ps,
                      field("sequence", packet.sequence) + "," + field("crossbars", s.xbars) + "," +
                          field("busy_ps", s.busy_ps) + "," + field("energy_pj", s.energy_pj));
                cu_busy_ps_[s.cu] += s.busy_ps;
            }
            break;
        }
        default: {
            const uint8_t opcode = packet.hdr.opcode;
            const bool moves = opcode == SIDRA_CMD_COPY || opcode == SIDRA_CMD_FILL || opcode == SIDRA_CMD_READBACK;
            const uint32_t track = moves ? kDma : kVec;
            counters(pid, line, line.now_ps, work, 0);
            slice(pid, line, track, name, line.now_ps, line.now_ps + work.device_ps,
                  field("sequence", packet.sequence) + "," + field("energy_pj", work.energy_pj));
        }
    }
}

std::string Trace::arguments_of(const Packet& packet, const Line& line, const Cost& cost) const {
    std::string arguments =
        field("sequence", packet.sequence) + "," + field("cookie", packet.hdr.cookie) + "," + fields(cost);
    if (packet.in_call) arguments += std::string(",") + field("in_call", packet.position);
    if (!line.operation.empty()) arguments += std::string(",") + text_field("operation", line.operation);
    if (const sidra_cmd_sem* const sem = packet.sem) {
        if (sem->hdr.flags & SIDRA_CMD_SEM_QUEUE)
            arguments += std::string(",") + field("queue", sem->queue) + "," + field("epoch", sem->epoch);
        else arguments += std::string(",") + field("word", sem->addr);
        arguments += std::string(",") + field("value", sem->value);
    }
    return arguments;
}

void Trace::packet(const Packet& packet, const Cost& cost, const Job* job) {
    record([&] {
        Line& line = line_of(packet);
        if (packet.in_call && packet.position == 0) line.call_ps = line.now_ps, line.call_cost = {};
        if (packet.hdr.opcode != SIDRA_CMD_LABEL) {
            const uint32_t pid = process(packet);
            const uint64_t begin = line.now_ps;
            const Cost work = job ? work_of(*job) : Cost{};
            // First what every packet takes, then its work.
            const Cost own{cost.device_ps - work.device_ps, cost.energy_pj - work.energy_pj};
            std::string name = name_of(packet.hdr.opcode), arguments = arguments_of(packet, line, cost);
            if (const std::string* weights = job ? weights_name(packet, *job) : nullptr) {
                name += " " + *weights;
                arguments += "," + text_field("weights", *weights);
            }
            slice(pid, line, kPackets, name, begin, begin + cost.device_ps, arguments);
            counters(pid, line, begin, own, 0);
            line.now_ps += own.device_ps;
            if (job) place(packet, line, work, *job, name);
            line.now_ps = begin + cost.device_ps;
            line.call_cost += cost;
            Total& total = totals_[packet.hdr.opcode];
            total.packets++;
            total.cost += cost;
        }
        if (!packet.in_call) retired(packet, line);
    });
}

void Trace::call(const Packet& packet, const Cost& own) {
    record([&] {
        Line& line = line_of(packet);
        counters(process(packet), line, line.now_ps, own, 0);
        line.now_ps += own.device_ps;
        if (line.outer_operation) {
            end_operation(process(packet), line);
            line.operation = std::move(*line.outer_operation);
            line.outer_operation.reset();
        }
        Cost whole = line.call_cost;
        whole += own;
        slice(process(packet), line, kPackets, "CALL", line.call_ps, line.now_ps, arguments_of(packet, line, whole));
        Total& total = totals_[SIDRA_CMD_CALL];
        total.packets++;
        total.cost += own;
        retired(packet, line);
    });
}

void Trace::fault(const Packet& packet, uint16_t cause) {
    record([&] {
        Line& line = line_of(packet);
        open_track(process(packet), line, kPackets);
        buffer_ += std::string(",\n{\"ph\":\"i\",\"s\":\"p\",\"pid\":") + number(process(packet)) +
                   ",\"tid\":" + number(kPackets) + ",\"ts\":" + millionths(line.now_ps) +
                   ",\"name\":\"fault\",\"args\":{" + field("sequence", packet.sequence) + "," +
                   field("cookie", packet.hdr.cookie) + "," + field("opcode", packet.hdr.opcode) + "," +
                   field("cause", cause) + "}}";
        idle(process(packet), line);
    });
}

// ---- Order of queues ----

void Trace::forget(Line& line, size_t count) {
    retired_ -= count;
    for (; count > 0; count--) {
        line.forgotten_ps = line.retired.front().end_ps;
        line.retired.pop_front();
    }
}

void Trace::retired(const Packet& packet, Line& line) {
    if (retired_ >= kRetiredMax)
        for (auto& [process, each] : lines_) forget(each, each.retired.size() / 2);
    line.retired.push_back({packet.epoch, packet.sequence, line.now_ps});
    retired_++;
}

// When the packet before the point that this one waits for had retired; 0: there was none, or nobody knows.
uint64_t Trace::end_of_point(const Packet& packet) const {
    const sidra_cmd_sem& sem = *packet.sem;
    const auto found = lines_.find(process(packet.context, sem.queue));
    if (found == lines_.end()) return 0;
    const Line& line = found->second;
    const Retired wanted{sem.epoch, sem.value - 1, 0};
    const auto at = std::lower_bound(line.retired.begin(), line.retired.end(), wanted);
    if (at != line.retired.end() && !(wanted < *at)) return at->end_ps;
    return at == line.retired.begin() ? line.forgotten_ps : 0;
}

// When the word had reached the value; 0: by the host, or nobody knows.
uint64_t Trace::end_of_signal(const Address& key, uint64_t value) const {
    const auto found = words_.find(key);
    if (found == words_.end()) return forgotten_ps_;
    const auto& signals = found->second.signals;
    const auto reached =
        std::find_if(signals.begin(), signals.end(), [&](const Signal& s) { return s.value >= value; });
    return reached == signals.end() ? 0 : reached->end_ps;
}

// The lower half of each word's; of many words, all. A wait for a value that is gone finds the next one.
void Trace::forget_signals() {
    if (words_.size() > kSignalsMax / 2) {
        for (const auto& [key, word] : words_) forgotten_ps_ = std::max(forgotten_ps_, word.signals.back().end_ps);
        words_.clear();
    }
    signals_count_ = 0;
    for (auto& [key, word] : words_) {
        auto& signals = word.signals;
        signals.erase(signals.begin(), signals.begin() + static_cast<ptrdiff_t>(signals.size() / 2));
        signals_count_ += signals.size();
    }
}

// `fallen_from`: what the word had reached before the host has set it anew; 0: it has not.
void Trace::note_signal(const Address& key, const Signal& signal, uint64_t fallen_from) {
    if (signals_count_ >= kSignalsMax) forget_signals();
    auto& [signals, reached] = words_[key];
    signals_count_ -= signals.size();
    // A word that fell is another story, which other signals may have begun already. Greater values are still to come.
    if (fallen_from != 0 && reached == fallen_from) {
        std::erase_if(signals, [&](const Signal& s) { return s.value <= fallen_from; });
        reached = 0;
    }
    std::erase_if(signals, [&](const Signal& s) { return s.value <= signal.value && s.end_ps >= signal.end_ps; });
    const auto next =
        std::find_if(signals.begin(), signals.end(), [&](const Signal& s) { return s.value >= signal.value; });
    if (next == signals.end() || next->end_ps > signal.end_ps) signals.insert(next, signal);
    if (signals.size() > kSignalsOfWordMax) signals.erase(signals.begin());
    signals_count_ += signals.size();
}

void Trace::wait(const Packet& packet, const Address& key) {
    record([&] {
        const bool point = packet.sem->hdr.flags & SIDRA_CMD_SEM_QUEUE;
        if (packet.sem->value == 0) return;  // nothing to wait for
        const uint64_t end_ps = point ? end_of_point(packet) : end_of_signal(key, packet.sem->value);
        Line& line = line_of(packet);
        if (end_ps <= line.now_ps) return;
        idle(process(packet), line);
        line.now_ps = end_ps;
    });
}

// Memory is accessed without the lock: the host may wait for a thread that waits for the lock. So the signal is noted
// before its value is stored.
Fault Trace::signal(const Packet& packet, const Address& key, const Cost& cost, Dma& memory, const Range& word) {
    const uint64_t value = packet.sem->value;
    uint64_t least = 0;  // of what the word holds, unless it fell
    record([&] {
        if (const auto found = words_.find(key); found != words_.end()) least = found->second.reached;
    });
    const bool fell = least != 0 && memory.peek64(word) < least;
    record([&] { note_signal(key, {value, line_of(packet).now_ps + cost.device_ps}, fell ? least : 0); });
    if (Fault fault = memory.max64(word, value)) return fault;
    record([&] {
        if (const auto found = words_.find(key); found != words_.end())
            found->second.reached = std::max(found->second.reached, value);
    });
    return {};
}

// ---- Names ----

void Trace::name_operation(const Packet& packet, std::string_view text) {
    record([&] {
        Line& line = line_of(packet);
        end_operation(process(packet), line);
        if (packet.in_call && !line.outer_operation) line.outer_operation = line.operation;
        line.operation = json(text);
    });
}

void Trace::end_operation(uint32_t process, Line& line) {
    if (!line.operation.empty() && line.now_ps > line.operation_ps)
        slice(process, line, kOperations, line.operation, line.operation_ps, line.now_ps, "");
    line.operation_ps = line.now_ps;
}

void Trace::name_weights(uint64_t uid, std::string_view text) {
    record([&] {
        if (text.empty()) weights_names_.erase(uid);
        else weights_names_[uid] = json(text);
        if (weights_names_.size() > kNamesMax) weights_names_.erase(weights_names_.begin());  // the oldest weights
    });
}

void Trace::summary() {
    Cost all;
    uint64_t last_ps = 0;
    std::string opcodes, cus;
    for (const auto& [opcode, total] : totals_) {
        all += total.cost;
        opcodes += std::string(opcodes.empty() ? "" : ",") + "\"" + name_of(opcode) + "\":{" +
                   field("packets", total.packets) + "," + fields(total.cost) + "}";
    }
    for (auto& [process, line] : lines_) {
        end_operation(process, line);
        idle(process, line);
        last_ps = std::max(last_ps, line.now_ps);
    }
    for (const auto& [cu, busy_ps] : cu_busy_ps_) {
        const double share = static_cast<double>(busy_ps) / static_cast<double>(std::max<uint64_t>(all.device_ps, 1)) /
                             geometry_.xbars_per_cu;
        cus += std::string(cus.empty() ? "" : ",") + "\"" + cu_name(cu) + "\":{" + field("busy_ps", busy_ps) +
               ",\"percent\":" + millionths(static_cast<uint64_t>(share * 1e8)) + "}";
    }
    buffer_ += std::string(",\n{\"ph\":\"i\",\"s\":\"g\",\"pid\":0,\"tid\":0,\"ts\":") + millionths(last_ps) +
               ",\"name\":\"summary\",\"args\":{" + fields(all) + ",\"opcodes\":{" + opcodes + "},\"cus\":{" + cus +
               "}}}\n]\n";
}

void Trace::flush() {
    std::string said;
    {
        const std::lock_guard guard(lock_);
        if (on_) said = write();
    }
    if (!said.empty()) say_(said.c_str());
}

void Trace::end() {
    std::string said;
    {
        const std::lock_guard guard(lock_);  // over all of it: nothing comes behind the summary
        if (!on_) return;
        try {
            summary();
            said = write();
        } catch (const std::bad_alloc&) {
            said.clear();
        }
        on_ = false;
    }
    if (!said.empty()) say_(said.c_str());
}

}  // namespace sidra::chip
