// SPDX-License-Identifier: MIT
// Creation of the chip, and the C interface of sidra_chip.h.
#include "chip.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <new>
#include <thread>

#include "create.h"
#include "float_environment.h"

namespace sidra::chip {

Chip::Chip(const Geometry& geometry, std::unique_ptr<engine::Engine> engine, uint64_t seed, bool persistent,
           std::unique_ptr<Analog> analog, const sidra_chip_host& host)
    : SliceHost({bus_, objects_, array_, adcs_, *engine, knobs_, counters_, busy_, parked_, management_, trace_}),
      host_(host),
      identity_{geometry, uuid_of(seed), SIDRA_FEATURE_FIRMWARE | (persistent ? SIDRA_FEATURE_STATE_FILE : 0)},
      l3_(geometry.l3_size),
      bus_(host_),
      array_(geometry, engine->kernels(), std::move(analog)),
      adcs_(geometry.xbars()),
      management_(
          bus_, stops_.device, counters_.energy_pj, [this](uint32_t cause) { interrupts_.raise_for(cause); },
          [this](uint32_t lie) { return knobs_.lies(lie); }),
      engine_(std::move(engine)) {
    bus_.l3 = l3_.data();
    bus_.l3_size = l3_.size();
    management_.unit().sequencer().connect(
        array_.xbars(), [this](const management::Sequencer::Order& order) { return maintenance_.run(order); },
        [this](const management::Policy& policy) { return maintenance_.follow(policy); });
}

bool Chip::xbar_headers(uint32_t first, uint32_t count, sidra_hw_xbar* headers) const {
    if (count > array_.xbars() || first > array_.xbars() - count) return false;
    for (uint32_t i = 0; i < count; i++) headers[i] = array_.header(first + i);
    return true;
}

void Chip::finish_reset() {
    quiesce_.forget_all();
    registers_.reset();
    scheduler_.clear();
    arms_.clear();
    stops_.clear();
    interrupts_.status.store(0);
    interrupts_.enable.store(0);
    management_.reset();
    adcs_.clear();  // no calibration runs between this and the core's next step
    registers_.begin_generation();
    knobs_.never_ready.store(knobs_.lies(SIDRA_LIE_NEVER_READY));
    stops_.device.store(false);
}

void Chip::close_state_file() {
    settle();
    if (keeper_.has_file()) {
        try {
            sync();
        } catch (const std::bad_alloc&) {  // the file keeps the last saved counts
        }
    }
    keeper_.close();
}

bool Chip::sync() {
    if (trace_) trace_->flush();
    return keeper_.sync(stream_.loading());
}

void Chip::open_trace(const char* path) {
    trace_ =
        std::make_unique<Trace>(path, identity_.geometry, [this](const char* line) { host_.report(host_.self, line); });
    identity_.features |= SIDRA_FEATURE_TRACE;
}

void Chip::gdb_listen(const std::string& address) {
    gdb_listener_.reset();
    gdb_listener_ = std::make_unique<GdbListener>(address, management_.debugger(), [this] {
        management_.wake();
        host_.kick(host_.self);
    });
    host_.report(host_.self,
                 ("gdb: 'target remote " + gdb_listener_->place() + "' debugs the management core").c_str());
}

}  // namespace sidra::chip

namespace {

int fail(char* error, size_t size, const char* text, int code = ENODEV) {
    if (error && size) std::snprintf(error, size, "%s", text);
    errno = code;
    return -1;
}

constexpr const char* kKnobNames[SIDRA_KNOB_COUNT] = {
    "dma-error-at", "lose-msix",      "spurious-msix",  "link-lost",      "corrupt-fetch",
    "slow-tile-ns", "no-quiesce-ack", "stuck-cell",     "adc-offset",     "stall",
    "lie",          "firmware-hang",  "firmware-panic", "temperature-mc", "age-s"};

constexpr const char* kLieNames[SIDRA_LIE_COUNT] = {
    "none",         "timeline-ahead", "timeline-back", "run-state",    "fault-record", "admin-status",
    "admin-result", "int-status",     "never-ready",   "xbar-headers", "short-read",   "nvm",
    "l3-size",      "no-l3",          "geometry",      "clock",        "reply",        "reply-index"};

}  // namespace

int sidra::chip::create(const sidra_chip_config* config, const sidra_chip_host* host, MakeEngine make,
                        sidra_chip** chip, char* error, size_t error_size) {
    const engine::FloatEnvironment floats;
    if (!config || !host || !chip) return fail(error, error_size, "config, host and chip are required");
    if (!host->dma_map || !host->dma_unmap || !host->load64_acquire || !host->max64_release || !host->msix ||
        !host->clock_ns || !host->kick || !host->report)
        return fail(error, error_size, "all callbacks of the host are required");
    if (config->profile > SIDRA_CHIP_SMALL) return fail(error, error_size, "unknown profile: 0 is y1, 1 is small");
    if (config->engine > SIDRA_CHIP_ENGINE_AVX_VNNI)
        return fail(error, error_size, "unknown engine: see enum sidra_chip_engine");
    const uint32_t cpus = std::clamp(std::thread::hardware_concurrency(), 1u, uint32_t{SIDRA_CHIP_WORKERS_MAX});
    const uint32_t workers = config->workers ? config->workers : cpus;
    static_assert(SIDRA_CHIP_WORKERS_MAX == 256);
    if (config->workers > SIDRA_CHIP_WORKERS_MAX) return fail(error, error_size, "at most 256 workers");
    if (config->level > SIDRA_CHIP_ACCURATE) return fail(error, error_size, "unknown level: 0 is fast, 1 is accurate");
    constexpr int kMillion = 1'000'000;
    if (config->stuck_ppm > uint32_t{kMillion} && config->stuck_ppm != SIDRA_CHIP_STUCK_NONE)
        return fail(error, error_size, "stuck_ppm is at most 1,000,000, or SIDRA_CHIP_STUCK_NONE");
    try {
        auto engine = make(static_cast<sidra_chip_engine>(config->engine), workers);
        if (!engine)
            return fail(error, error_size, "this CPU or build does not support the requested engine; use auto");
        static_assert(engine::Capabilities::kPiecesMax == 4);
        if (engine->can().threads < 1 || engine->can().pieces - 1 >= engine::Capabilities::kPiecesMax)
            return fail(error, error_size, "the engine has no threads, or does not take a job in 1 to 4 pieces");
        const auto& geometry =
            config->profile == SIDRA_CHIP_Y1 ? sidra::chip::kGeometryY1 : sidra::chip::kGeometrySmall;
        std::unique_ptr<sidra::chip::Analog> analog;
        if (config->level == SIDRA_CHIP_ACCURATE) {
            const uint32_t ppm = config->stuck_ppm == SIDRA_CHIP_STUCK_NONE ? 0
                                 : config->stuck_ppm == 0                   ? SIDRA_CHIP_STUCK_PPM
                                                                            : config->stuck_ppm;
            analog = std::make_unique<sidra::chip::Analog>(geometry.xbars(), ppm / double{kMillion}, config->seed);
        }
        auto made = std::make_unique<sidra_chip>(geometry, std::move(engine), config->seed,
                                                 config->state_file != nullptr, std::move(analog), *host);
        constexpr uint8_t kNone[16] = {};
        if (std::memcmp(config->uuid, kNone, sizeof kNone) != 0) made->set_uuid(config->uuid);
        if (config->state_file) made->open_state_file(config->state_file);
        if (config->trace_file) made->open_trace(config->trace_file);
        *chip = made.release();
    } catch (const sidra::chip::StateFileError& e) {
        return fail(error, error_size, e.what(), e.code);
    } catch (const sidra::chip::TraceError& e) {
        return fail(error, error_size, e.what(), e.code);
    } catch (const std::exception&) {
        return fail(error, error_size, "not enough memory or address space for the crossbars", ENOMEM);
    }
    return 0;
}

int sidra_chip_create(const sidra_chip_config* config, const sidra_chip_host* host, sidra_chip** chip, char* error,
                      size_t error_size) {
    return sidra::chip::create(config, host, sidra::engine::make, chip, error, error_size);
}

void sidra_chip_destroy(sidra_chip* chip) {
    if (chip) chip->settle();  // work in flight calls virtual functions of the chip
    delete chip;
}

uint64_t sidra_chip_mmio_read(sidra_chip* chip, uint64_t offset, unsigned size) {
    return chip->mmio_read(offset, size);
}

void sidra_chip_mmio_write(sidra_chip* chip, uint64_t offset, uint64_t value, unsigned size) {
    chip->mmio_write(offset, value, size);
}

uint8_t* sidra_chip_l3(sidra_chip* chip, uint64_t* size) {
    if (size) *size = chip->l3_size();
    return chip->l3();
}

bool sidra_chip_run(sidra_chip* chip) { return chip->run({}); }

bool sidra_chip_run_until(sidra_chip* chip, bool (*stop)(void*), void* argument) { return chip->run({stop, argument}); }

bool sidra_chip_pending(sidra_chip* chip) { return chip->pending(); }

uint64_t sidra_chip_due_ns(sidra_chip* chip) { return chip->due_ns(); }

bool sidra_chip_in_flight(const sidra_chip* chip) { return chip && chip->in_flight().any(); }

void sidra_chip_settle(sidra_chip* chip) { chip->settle(); }

void sidra_chip_reset(sidra_chip* chip) { chip->reset(); }

void sidra_chip_start_reset(sidra_chip* chip) { chip->start_reset(); }

int sidra_chip_save(sidra_chip* chip, bool (*write)(void* opaque, const void* data, size_t size), void* opaque) {
    try {
        return chip->stream().save(write, opaque) ? 0 : -1;
    } catch (const std::exception&) {
        return -1;
    }
}

int sidra_chip_load(sidra_chip* chip, bool (*read)(void* opaque, void* data, size_t size), void* opaque, char* error,
                    size_t error_size) {
    try {
        std::string why;
        return chip->stream().load(read, opaque, &why) ? 0 : fail(error, error_size, why.c_str());
    } catch (const std::exception&) {
        return fail(error, error_size, "not enough memory");
    }
}

void sidra_chip_precopy_begin(sidra_chip* chip) { chip->stream().precopy_begin(); }

uint64_t sidra_chip_precopy_pending(sidra_chip* chip) { return chip->stream().precopy_pending(); }

int sidra_chip_precopy_save(sidra_chip* chip, uint64_t bytes,
                            bool (*write)(void* opaque, const void* data, size_t size), void* opaque) {
    try {
        return chip->stream().precopy(write, opaque, bytes) ? 0 : -1;
    } catch (const std::exception&) {
        return -1;
    }
}

int sidra_chip_precopy_load(sidra_chip* chip, bool (*read)(void* opaque, void* data, size_t size), void* opaque,
                            char* error, size_t error_size) {
    try {
        std::string why;
        return chip->stream().load_precopy(read, opaque, &why) ? 0 : fail(error, error_size, why.c_str());
    } catch (const std::exception&) {
        return fail(error, error_size, "not enough memory");
    }
}

void sidra_chip_precopy_end(sidra_chip* chip) {
    try {
        chip->stream().cancel_precopy();
    } catch (const std::exception&) {  // no memory for power-on state: what was loaded is gone all the same
    }
}

int sidra_chip_sync(sidra_chip* chip) {
    try {
        return chip->sync() ? 0 : -1;
    } catch (const std::bad_alloc&) {
        return -1;
    }
}

void sidra_chip_close_state_file(sidra_chip* chip) {
    if (chip) chip->close_state_file();
}

void sidra_chip_end_trace(sidra_chip* chip) {
    if (chip) chip->end_trace();
}

int sidra_chip_gdb_listen(sidra_chip* chip, const char* address, char* error, size_t error_size) {
    try {
        chip->gdb_listen(address);
        return 0;
    } catch (const sidra::chip::GdbError& e) {
        return fail(error, error_size, e.what(), e.code);
    } catch (const std::exception&) {
        return fail(error, error_size, "gdb: not enough memory or threads to listen for a debugger", ENOMEM);
    }
}

void sidra_chip_gdb_close(sidra_chip* chip) {
    if (chip) chip->gdb_close();
}

void sidra_chip_get_telemetry(sidra_chip* chip, sidra_telemetry* telemetry) { *telemetry = chip->telemetry(); }

bool sidra_chip_get_xbars(sidra_chip* chip, uint32_t first, uint32_t count, sidra_hw_xbar* headers) {
    return chip->xbar_headers(first, count, headers);
}

uint64_t sidra_chip_xbar_changes(const sidra_chip* chip) { return chip->xbar_changes(); }

const char* sidra_chip_engine_name(const sidra_chip* chip) { return chip->engine_name(); }

bool sidra_chip_set_knob(sidra_chip* chip, uint32_t knob, uint64_t value) {
    try {
        return chip->set_knob(knob, value);
    } catch (const std::bad_alloc&) {  // too many stuck cells
        return false;
    }
}

const char* sidra_chip_knob_name(uint32_t knob) { return knob < SIDRA_KNOB_COUNT ? kKnobNames[knob] : nullptr; }

const char* sidra_chip_lie_name(uint32_t lie) { return lie < SIDRA_LIE_COUNT ? kLieNames[lie] : nullptr; }
