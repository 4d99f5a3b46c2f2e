// SPDX-License-Identifier: MIT
// The management core: how long its firmware boots behind a chip that is opened, and how many instructions it does a
// second with the real firmware at work (the mailbox's loopback, which goes over its bytes one by one).
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <thread>
#include <vector>

#include "chip.h"
#include "error.h"
#include "factory/factory.h"
#include "groups.h"
#include "unit.h"

namespace sidra::bench {
namespace {

constexpr double kPatienceS = 10;

double now_s() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

// From the call that opens the chip until its firmware has said its version.
double boot_s(sidra_engine engine) {
    auto options = SIDRA_INIT(sidra_device_options);
    options.engine = engine;
    options.private_chip = true;
    const double start = now_s();
    sidra_device* opened = nullptr;
    SIDRA_CHECK(sidra_device_open(0, &options, &opened));
    const Device device(opened);
    auto info = SIDRA_INIT(sidra_device_info);
    while (info.firmware_version == 0) {
        if (now_s() - start > kPatienceS) throw Error("the firmware of the chip did not boot");
        std::this_thread::sleep_for(std::chrono::microseconds(200));
        SIDRA_CHECK(sidra_device_get_info(device.get(), &info));
    }
    return now_s() - start;
}

// A core with memory to talk through, and firmware that was asked more than it can answer.
class BusyCore final : private management::Surroundings {
   public:
    BusyCore() : host_(3 * kPage), unit_({sidra_boot_rom, sidra_boot_rom_end}, *this) {
        const auto flash = unit_.flash().bytes();
        std::copy(sidra_factory_runtime, sidra_factory_runtime_end,
                  flash.begin() + SIDRA_MGMT_FLASH_SLOT(SIDRA_MGMT_SLOT_A));
        for (int slices = 0; unit_.stage() != SIDRA_STAGE_RUNTIME; ++slices) {
            if (slices > 10'000) throw Error("the firmware did not boot on the core");
            run(1);
        }
        sidra_mailbox_msg request{};
        request.opcode = SIDRA_MAILBOX_LOOPBACK;
        request.length = kPage;
        request.payload = 2 * kPage;
        for (uint32_t i = 0; i < kEntries; ++i) std::memcpy(&host_[i * sizeof request], &request, sizeof request);
    }

    void run(uint64_t slices) {
        for (; slices > 0; --slices) {
            mailbox_.doorbell = unit_.reply_index() + kEntries;
            mailbox_.reply_read = unit_.reply_index();
            unit_.write_mailbox(mailbox_);
            unit_.ring();
            unit_.run(unit_.cycle() + management::Unit::kSlice);
        }
    }
    uint64_t instructions() const { return unit_.core().state().minstret; }

   private:
    static constexpr uint64_t kPage = 4096;
    static constexpr uint32_t kEntries = 64;
    bool inside(uint64_t bus, size_t bytes) const { return bus <= host_.size() && bytes <= host_.size() - bus; }
    bool read_host(uint64_t bus, std::span<uint8_t> to) override {
        if (!inside(bus, to.size())) return false;
        std::memcpy(to.data(), &host_[bus], to.size());
        return true;
    }
    bool write_host(uint64_t bus, std::span<const uint8_t> from) override {
        if (!inside(bus, from.size())) return false;
        std::memcpy(&host_[bus], from.data(), from.size());
        return true;
    }
    void interrupt_host(uint32_t) override {}

    std::vector<uint8_t> host_;  // requests, replies, what is looped back
    management::Unit unit_;
    management::MailboxRegisters mailbox_{0, kPage, kEntries, 0, 0};
};

}  // namespace

void run_firmware(const Settings& settings, Report& report) {
    report.progress().show("firmware: time from opening a chip to its answer");
    std::vector<double> boots;
    for (int i = 0; i < (settings.quick ? 5 : 15); ++i) boots.push_back(boot_s(settings.engine));

    BusyCore core;
    const uint64_t before = core.instructions();
    constexpr uint64_t kCounted = 200;
    core.run(kCounted);
    const double per_slice = static_cast<double>(core.instructions() - before) / kCounted;
    report.progress().show("firmware: instructions per second");
    const Timing timing =
        measure({{"slices", [&](uint64_t calls) { core.run(calls); }}}, settings.bar_method()).front();

    Table table({"management core", "", "best"});
    const double boot = median(boots);
    table.add({"open of a chip until its firmware answers", seconds_text(boot),
               seconds_text(*std::min_element(boots.begin(), boots.end()))});
    table.add({"instructions a second, firmware at work", rate_text(per_slice, timing), ""});
    report.print("Firmware", table);
    report.add_value("firmware", "boot", {{"runs", boots.size()}}, boot * 1e3, "ms");
    report.add({"firmware", "instructions", {}, timing, per_slice, "instructions/s"});
    report.set_bar("fw_boot_wall_ms", boot * 1e3);
    report.set_bar("fw_mips", per_slice / timing.min_s * 1e-6, timing.settled);
}

}  // namespace sidra::bench
