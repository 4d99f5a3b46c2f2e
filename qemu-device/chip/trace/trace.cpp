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
constexpr uint32_t kPackets = 1, kVec = 2, kDma = 3, kFirstCu = 4;  // tracks
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
        case SIDRA_CMD_COPY:
            return "COPY";
        case SIDRA_CMD_FILL:
            return "FILL";
        case SIDRA_CMD_MVM:
            return "MVM";
        case SIDRA_CMD_VEC:
            return "VEC";
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

uint32_t process(const Trace::Packet& packet) {
    return packet.context * SIDRA_QUEUES_PER_CONTEXT_MAX + packet.queue + 1;
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
    return place->second;
}

void Trace::open_track(const Packet& packet, Line& line, uint32_t track) {
    if (!line.tracks.insert(track).second) return;
    const uint32_t cu = track - kFirstCu;
    const std::string name = track == kPackets ? "packets"
                             : track == kVec   ? "VEC"
                             : track == kDma   ? "DMA"
                                               : std::string("CU ") + number(cu / geometry_.cus_per_cluster) + "." +
                                                   number(cu % geometry_.cus_per_cluster);
    const std::string where = std::string(",\"pid\":") + number(process(packet)) + ",\"tid\":" + number(track);
    buffer_ += ",\n{\"ph\":\"M\"" + where + ",\"name\":\"thread_name\",\"args\":{\"name\":\"" + name + "\"}}";
    buffer_ +=
        ",\n{\"ph\":\"M\"" + where + ",\"name\":\"thread_sort_index\",\"args\":{" + field("sort_index", track) + "}}";
}

void Trace::slice(const Packet& packet, Line& line, uint32_t track, const char* name, uint64_t begin_ps,
                  uint64_t end_ps, const std::string& arguments) {
    open_track(packet, line, track);
    buffer_ += std::string(",\n{\"ph\":\"X\",\"pid\":") + number(process(packet)) + ",\"tid\":" + number(track) +
               ",\"ts\":" + millionths(begin_ps) + ",\"dur\":" + millionths(end_ps - begin_ps) + ",\"name\":\"" + name +
               "\",\"args\":{" + arguments + "}}";
}

// As of `at_ps`, where something that costs this begins.
void Trace::counters(const Packet& packet, Line& line, uint64_t at_ps, const Cost& cost, uint64_t busy_ps) {
    if (cost.device_ps == 0) return;
    const auto counter = [&](uint64_t* last, uint64_t value, const char* name, const std::string& argument) {
        if (std::exchange(*last, value) == value) return;
        buffer_ += std::string(",\n{\"ph\":\"C\",\"pid\":") + number(process(packet)) + ",\"ts\":" + millionths(at_ps) +
                   ",\"name\":\"" + name + "\",\"args\":{" + argument + "}}";
    };
    const auto power =
        static_cast<uint64_t>(static_cast<double>(cost.energy_pj) * 1e3 / static_cast<double>(cost.device_ps));
    counter(&line.power_mw, power, "power", field("mW", power));
    const double share = static_cast<double>(busy_ps) / static_cast<double>(cost.device_ps) / geometry_.xbars();
    const auto ppm = static_cast<uint64_t>(share * 1e6);
    counter(&line.busy_ppm, ppm, "crossbars at work", std::string("\"percent\":") + millionths(ppm * 100));
}

std::vector<Stretch> Trace::crossbars_of(const Cost& work, const Job& job) const {
    if (job.cmd.hdr.opcode == SIDRA_CMD_MVM)
        return schedule_mvm(job.mvm.weights->xbars, job.cmd.mvm.batch, work, geometry_.xbars_per_cu);
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

void Trace::place(const Packet& packet, Line& line, const Cost& work, const Job& job) {
    const char* const name = name_of(packet.hdr.opcode);
    switch (packet.hdr.opcode) {
        case SIDRA_CMD_MVM:
        case SIDRA_CMD_PROGRAM: {
            const std::vector<Stretch> stretches = crossbars_of(work, job);
            uint64_t busy_ps = 0;
            for (const Stretch& s : stretches) busy_ps += s.busy_ps;
            counters(packet, line, line.now_ps, work, busy_ps);
            for (const Stretch& s : stretches) {
                slice(packet, line, kFirstCu + s.cu, name, line.now_ps + s.begin_ps, line.now_ps + s.end_ps,
                      field("sequence", packet.sequence) + "," + field("crossbars", s.xbars) + "," +
                          field("busy_ps", s.busy_ps) + "," + field("energy_pj", s.energy_pj));
                cu_busy_ps_[s.cu] += s.busy_ps;
            }
            break;
        }
        default: {
            const uint32_t track = packet.hdr.opcode == SIDRA_CMD_VEC ? kVec : kDma;
            counters(packet, line, line.now_ps, work, 0);
            slice(packet, line, track, name, line.now_ps, line.now_ps + work.device_ps,
                  field("sequence", packet.sequence) + "," + field("energy_pj", work.energy_pj));
        }
    }
}

void Trace::packet(const Packet& packet, const Cost& cost, const Job* job) {
    record([&] {
        Line& line = line_of(packet);
        if (packet.position == 0) line.call_ps = line.now_ps, line.call_pj = 0;
        const uint64_t begin = line.now_ps;
        const Cost work = job ? work_of(*job) : Cost{};
        // First what every packet takes, then its work.
        const Cost own{cost.device_ps - work.device_ps, cost.energy_pj - work.energy_pj};
        std::string arguments =
            field("sequence", packet.sequence) + "," + field("cookie", packet.hdr.cookie) + "," + fields(cost);
        if (packet.in_call) arguments += std::string(",") + field("in_call", packet.position);
        slice(packet, line, kPackets, name_of(packet.hdr.opcode), begin, begin + cost.device_ps, arguments);
        counters(packet, line, begin, own, 0);
        line.now_ps += own.device_ps;
        if (job) place(packet, line, work, *job);
        line.now_ps = begin + cost.device_ps;
        line.call_pj += cost.energy_pj;
        Total& total = totals_[packet.hdr.opcode];
        total.packets++;
        total.cost += cost;
    });
}

void Trace::call(const Packet& packet, const Cost& own) {
    record([&] {
        Line& line = line_of(packet);
        counters(packet, line, line.now_ps, own, 0);
        line.now_ps += own.device_ps;
        const Cost whole{line.now_ps - line.call_ps, line.call_pj + own.energy_pj};
        slice(packet, line, kPackets, "CALL", line.call_ps, line.now_ps,
              field("sequence", packet.sequence) + "," + field("cookie", packet.hdr.cookie) + "," + fields(whole));
        Total& total = totals_[SIDRA_CMD_CALL];
        total.packets++;
        total.cost += own;
    });
}

void Trace::fault(const Packet& packet, uint16_t cause) {
    record([&] {
        Line& line = line_of(packet);
        open_track(packet, line, kPackets);
        buffer_ += std::string(",\n{\"ph\":\"i\",\"s\":\"p\",\"pid\":") + number(process(packet)) +
                   ",\"tid\":" + number(kPackets) + ",\"ts\":" + millionths(line.now_ps) +
                   ",\"name\":\"fault\",\"args\":{" + field("sequence", packet.sequence) + "," +
                   field("cookie", packet.hdr.cookie) + "," + field("opcode", packet.hdr.opcode) + "," +
                   field("cause", cause) + "}}";
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
    for (const auto& [process, line] : lines_) last_ps = std::max(last_ps, line.now_ps);
    for (const auto& [cu, busy_ps] : cu_busy_ps_) {
        const double share = static_cast<double>(busy_ps) / static_cast<double>(std::max<uint64_t>(all.device_ps, 1)) /
                             geometry_.xbars_per_cu;
        cus += std::string(cus.empty() ? "" : ",") + "\"" + number(cu / geometry_.cus_per_cluster) + "." +
               number(cu % geometry_.cus_per_cluster) + "\":{" + field("busy_ps", busy_ps) +
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
