// SPDX-License-Identifier: MIT
// Registers and commands of the blocks, and time.
#include "unit.h"

#include <algorithm>
#include <new>
#include <stdexcept>
#include <type_traits>

namespace sidra::management {
namespace {

// Durations of commands in cycles. They are our decision, typical of such blocks and of serial NOR flash at 100 MB/s.
constexpr uint64_t kCopyStart = 100, kCopyBytesPerCycle = 8;
constexpr uint64_t kHashBytesPerCycle = 1, kSignatureCycles = 100'000;
constexpr uint64_t kFlashStart = 100, kFlashReadBytesPerCycle = 1, kFlashProgramCyclesPerByte = 200;
constexpr uint64_t kFlashEraseCycles = 4'000'000;

uint32_t high(uint64_t value) { return static_cast<uint32_t>(value >> 32); }
uint64_t join(const uint32_t (&halves)[2]) { return halves[0] | uint64_t{halves[1]} << 32; }

}  // namespace

Unit::Unit(std::span<const uint8_t> rom, Surroundings& surroundings)
    : surroundings_(surroundings),
      core_({SIDRA_MGMT_ROM, SIDRA_MGMT_ROM_SIZE}, {SIDRA_MGMT_RAM, SIDRA_MGMT_RAM_SIZE}, *this),
      buffer_(std::max(SIDRA_MGMT_RAM_SIZE, SIDRA_MGMT_ROM_SIZE)) {
    if (sodium_init() < 0) throw std::runtime_error("libsodium does not start");
    core_.write(SIDRA_MGMT_ROM, rom);
    restart(SIDRA_BOOT_POWER_ON);
}

void Unit::restart(sidra_boot_reason reason) {
    const uint64_t cycles = core_.state().cycles;
    core_.reset();
    core_.state().cycles = cycles;
    registers_ = {};
    registers_.timer_compare = kNever;
    restart_ = kNoRestart;
    hung_ = false;
    reason_ = reason;
    stage_ = SIDRA_STAGE_RESET;
    heartbeat_ = 0;
    panic_ = 0;
    reply_index_ = 0;
    rung_ = false;
    power_.core_restarts();
    write_mailbox({});
}

void Unit::clear() {
    std::fill(buffer_.begin(), buffer_.end(), uint8_t{0});
    core_.write(SIDRA_MGMT_RAM, std::span(buffer_).first(SIDRA_MGMT_RAM_SIZE));
    security_version_ = 0;
    power_.clear();
    sequencer_.clear();
    core_.state().cycles = 0;
    restart(SIDRA_BOOT_POWER_ON);
}

void Unit::crash() {
    constexpr uint32_t kNowhere = 0xfffffffc;
    core_.state().pc = kNowhere;
    core_.state().waiting = 0;
}

void Unit::raise_security_version(uint32_t least) { security_version_ = std::max(security_version_, least); }

// ---- The host's side ----

void Unit::write_mailbox(const MailboxRegisters& registers) {
    write_mailbox(MailboxWord::kRequest, static_cast<uint32_t>(registers.request));
    write_mailbox(MailboxWord::kRequestHigh, high(registers.request));
    write_mailbox(MailboxWord::kReply, static_cast<uint32_t>(registers.reply));
    write_mailbox(MailboxWord::kReplyHigh, high(registers.reply));
    write_mailbox(MailboxWord::kEntries, registers.entries);
    write_mailbox(MailboxWord::kDoorbell, registers.doorbell);
    write_mailbox(MailboxWord::kReplyRead, registers.reply_read);
}

// ---- Saving ----

static_assert(sizeof(core::State) == 44 * 4 + 3 * 8 + 8 * 4 + 8 && sizeof(Verifier) == 104 + 8 + 32 * 4);
static_assert(std::has_unique_object_representations_v<Unit::Saved>,
              "no padding whose contents would be anybody's guess");

Unit::Saved Unit::save() const {
    Saved s{};
    s.core = core_.state();
    s.registers = registers_;
    s.mailbox_request = mailbox(MailboxWord::kRequest) | uint64_t{mailbox(MailboxWord::kRequestHigh)} << 32;
    s.mailbox_reply = mailbox(MailboxWord::kReply) | uint64_t{mailbox(MailboxWord::kReplyHigh)} << 32;
    s.mailbox_entries = mailbox(MailboxWord::kEntries);
    s.mailbox_doorbell = mailbox(MailboxWord::kDoorbell);
    s.mailbox_reply_read = mailbox(MailboxWord::kReplyRead);
    s.reply_index = reply_index_;
    s.reason = reason_;
    s.stage = stage_;
    s.heartbeat = heartbeat_;
    s.panic = panic_;
    s.restart = restart_;
    s.rung = rung_;
    s.hung = hung_;
    return s;
}

bool Unit::load(const Saved& s) {
    if (s.reason > SIDRA_BOOT_UPDATE || s.stage > SIDRA_STATUS_STAGE_MASK || s.rung > 1 || s.hung > 1 || s.reserved ||
        (s.restart > SIDRA_BOOT_UPDATE && s.restart != kNoRestart) || s.core.waiting > 1 || s.core.reserved ||
        s.core.pc % 4 || s.core.mepc % 4 || s.core.mtvec & 2 || (s.registers.irq_enable & ~SIDRA_MGMT_IRQ_ALL) ||
        (s.registers.irq_pending & ~SIDRA_MGMT_IRQ_ALL) || s.registers.watchdog_period > UINT32_MAX ||
        s.registers.watchdog_warned > 1 || s.registers.reserved || s.registers.verifier.hashing > 1 ||
        s.registers.verifier.reserved)
        return false;
    core_.state() = s.core;
    core_.state_changed();
    registers_ = s.registers;
    write_mailbox({s.mailbox_request, s.mailbox_reply, s.mailbox_entries, s.mailbox_doorbell, s.mailbox_reply_read});
    reply_index_ = s.reply_index;
    reason_ = s.reason;
    stage_ = s.stage;
    heartbeat_ = s.heartbeat;
    panic_ = s.panic;
    restart_ = s.restart;
    rung_ = s.rung;
    hung_ = s.hung;
    return true;
}

// ---- Time ----

uint64_t Unit::watchdog_ends() const {
    return registers_.watchdog_period == 0 ? kNever : registers_.watchdog_fed + registers_.watchdog_period;
}

uint64_t Unit::watchdog_due() const {
    const uint64_t ends = watchdog_ends();
    return ends == kNever || registers_.watchdog_warned ? ends
                                                        : registers_.watchdog_fed + registers_.watchdog_period / 2;
}

// An event that is due and masked does not occur again.
uint64_t Unit::next_event() const {
    uint64_t next = kNever;
    for (const uint64_t event : {registers_.timer_compare, watchdog_due()})
        if (event > core_.state().cycles) next = std::min(next, event);
    return next;
}

void Unit::set_lines() {
    core_.set_pending(core::kTimer, cycle() >= registers_.timer_compare);
    core_.set_pending(core::kExternal, registers_.irq_pending & registers_.irq_enable);
}

void Unit::take_events() {
    if (rung_.exchange(false)) registers_.irq_pending |= SIDRA_MGMT_IRQ_MAILBOX;
    if (cycle() >= watchdog_due()) {
        if (registers_.watchdog_warned) restart_ = SIDRA_BOOT_WATCHDOG;
        registers_.watchdog_warned = 1;
        registers_.irq_pending |= SIDRA_MGMT_IRQ_WATCHDOG;
    }
    if (restart_ != kNoRestart) {
        const auto reason = static_cast<sidra_boot_reason>(restart_);
        restart(reason);
        if (reason == SIDRA_BOOT_WATCHDOG) surroundings_.interrupt_host(SIDRA_INT_FIRMWARE);
    }
    power_.forget_stale(cycle());
    set_lines();
}

// Returns whether the watchdog has ended the panic.
bool Unit::leave_panic(uint64_t now) {
    uint64_t& cycles = core_.state().cycles;
    const uint64_t ends = watchdog_ends();
    if (now < ends) {
        cycles = std::max(cycles, now);
        return false;
    }
    cycles = std::max(cycles, ends);
    restart(SIDRA_BOOT_PANIC);
    surroundings_.interrupt_host(SIDRA_INT_FIRMWARE);
    return true;
}

// Time that the host did not give to the core does not count for the watchdog either.
void Unit::lose_time(uint64_t now) {
    uint64_t& cycles = core_.state().cycles;
    if (now < cycles || now - cycles <= kLagMax) return;
    const uint64_t lost = now - cycles - kLagMax;
    cycles += lost;
    registers_.watchdog_fed += lost;
}

uint64_t Unit::run(uint64_t now, uint64_t most) {
    core::State& state = core_.state();
    at_stop_ = false;
    lose_time(now);
    for (;;) {
        if (panic_ != 0 && !leave_panic(now)) return watchdog_ends();
        take_events();
        if (state.cycles >= now) return state.waiting || hung_ ? next_event() : state.cycles;
        if (most == 0) return state.cycles;
        const uint64_t until = std::min(now, next_event());
        const uint64_t began = state.cycles, budget = std::min(until - began, most);
        const core::Rv32::Stop stop = hung_ ? core::Rv32::Stop::kWaiting : core_.run(budget);
        at_stop_ = stop == core::Rv32::Stop::kBreakpoint || stop == core::Rv32::Stop::kWatchpoint;
        if (at_stop_) return kNever;
        most -= std::min(most, state.cycles - began);
        if (stop == core::Rv32::Stop::kWaiting) state.cycles = until;
    }
}

void Unit::step() {
    take_events();
    if (panic_ != 0 || hung_) return;
    core_.state().waiting = 0;
    core_.step();
}

// ---- Registers ----

// Registers that simply hold the last value written.
uint32_t* Unit::plain_register(uint32_t address) {
    Registers& r = registers_;
    const auto word = [&](uint32_t base, auto& words) -> uint32_t* {
        return address - base < sizeof words ? &words[(address - base) / 4] : nullptr;
    };
    for (uint32_t* found :
         {word(SIDRA_MGMT_COPY_BUS, r.copy_bus), word(SIDRA_MGMT_VERIFY_DIGEST, r.verifier.digest),
          word(SIDRA_MGMT_VERIFY_KEY, r.verifier.key), word(SIDRA_MGMT_VERIFY_SIG, r.verifier.signature)})
        if (found) return found;
    switch (address) {
        case SIDRA_MGMT_COPY_LOCAL:
            return &r.copy_local;
        case SIDRA_MGMT_COPY_BYTES:
            return &r.copy_bytes;
        case SIDRA_MGMT_COPY_RESULT:
            return &r.copy_result;
        case SIDRA_MGMT_VERIFY_ADDRESS:
            return &r.verify_address;
        case SIDRA_MGMT_VERIFY_BYTES:
            return &r.verify_bytes;
        case SIDRA_MGMT_VERIFY_RESULT:
            return &r.verify_result;
        case SIDRA_MGMT_FLASH_OFFSET:
            return &r.flash_offset;
        case SIDRA_MGMT_FLASH_LOCAL:
            return &r.flash_local;
        case SIDRA_MGMT_FLASH_BYTES:
            return &r.flash_bytes;
        case SIDRA_MGMT_FLASH_RESULT:
            return &r.flash_result;
        case SIDRA_MGMT_IRQ_ENABLE:
            return &r.irq_enable;
        default:
            return nullptr;
    }
}

bool Unit::load(uint32_t address, uint32_t bytes, uint32_t* value) {
    if (bytes != 4) return false;
    if (address - SIDRA_MGMT_SEQUENCER < SIDRA_MGMT_SEQUENCER_SIZE)
        return sequencer_.load(address - SIDRA_MGMT_SEQUENCER, value);
    if (const uint32_t* plain = plain_register(address)) {
        *value = *plain;
        return true;
    }
    switch (address) {
        case SIDRA_MGMT_SYSTEM_ID:
            *value = SIDRA_ID_MAGIC;
            return true;
        case SIDRA_MGMT_SYSTEM_REASON:
            *value = reason_;
            return true;
        case SIDRA_MGMT_SYSTEM_STAGE:
            *value = stage_;
            return true;
        case SIDRA_MGMT_SYSTEM_HEARTBEAT:
            *value = heartbeat_;
            return true;
        case SIDRA_MGMT_SYSTEM_PANIC:
            *value = 0;  // the core runs, or nobody would read it
            return true;
        case SIDRA_MGMT_SYSTEM_SECURITY:
            *value = security_version_;
            return true;
        case SIDRA_MGMT_TIMER_NOW:
            registers_.timer_latch = cycle();
            *value = static_cast<uint32_t>(registers_.timer_latch);
            return true;
        case SIDRA_MGMT_TIMER_NOW_HIGH:
            *value = high(registers_.timer_latch);
            return true;
        case SIDRA_MGMT_TIMER_COMPARE:
            *value = static_cast<uint32_t>(registers_.timer_compare);
            return true;
        case SIDRA_MGMT_TIMER_COMPARE_HIGH:
            *value = high(registers_.timer_compare);
            return true;
        case SIDRA_MGMT_IRQ_PENDING:
            *value = registers_.irq_pending;
            return true;
        case SIDRA_MGMT_WATCHDOG_PERIOD:
            *value = static_cast<uint32_t>(registers_.watchdog_period);
            return true;
        case SIDRA_MGMT_MAILBOX_REQUEST:
            *value = mailbox(MailboxWord::kRequest);
            return true;
        case SIDRA_MGMT_MAILBOX_REQUEST_HIGH:
            *value = mailbox(MailboxWord::kRequestHigh);
            return true;
        case SIDRA_MGMT_MAILBOX_REPLY:
            *value = mailbox(MailboxWord::kReply);
            return true;
        case SIDRA_MGMT_MAILBOX_REPLY_HIGH:
            *value = mailbox(MailboxWord::kReplyHigh);
            return true;
        case SIDRA_MGMT_MAILBOX_ENTRIES:
            *value = mailbox(MailboxWord::kEntries);
            return true;
        case SIDRA_MGMT_MAILBOX_DOORBELL:
            *value = mailbox(MailboxWord::kDoorbell);
            return true;
        case SIDRA_MGMT_MAILBOX_REPLY_READ:
            *value = mailbox(MailboxWord::kReplyRead);
            return true;
        case SIDRA_MGMT_MAILBOX_REPLY_INDEX:
            *value = reply_index_;
            return true;
        default:
            return power_.load(address, value);
    }
}

bool Unit::store(uint32_t address, uint32_t bytes, uint32_t value) {
    if (bytes != 4) return false;
    if (address - SIDRA_MGMT_SEQUENCER < SIDRA_MGMT_SEQUENCER_SIZE) {
        uint64_t took_ns = 0;
        const bool stored = sequencer_.store(address - SIDRA_MGMT_SEQUENCER, value, &took_ns);
        stand(took_ns / SIDRA_MGMT_CYCLE_NS);
        return stored;
    }
    switch (address) {
        case SIDRA_MGMT_SYSTEM_STAGE:
            stage_ = value & SIDRA_STATUS_STAGE_MASK;
            return true;
        case SIDRA_MGMT_SYSTEM_HEARTBEAT:
            heartbeat_ = value;
            return true;
        case SIDRA_MGMT_SYSTEM_PANIC:
            if (value == 0) return true;
            panic_ = value;
            stage_ = SIDRA_STAGE_PANIC;
            core_.end_slice();
            surroundings_.interrupt_host(SIDRA_INT_FIRMWARE);
            return true;
        case SIDRA_MGMT_SYSTEM_SECURITY:
            if (value > security_version_ && keeps_security(value)) security_version_ = value;
            return true;
        case SIDRA_MGMT_SYSTEM_RESTART:
            restart_ = std::min<uint32_t>(value, SIDRA_BOOT_UPDATE);
            core_.end_slice();
            return true;
        case SIDRA_MGMT_TIMER_COMPARE:
            registers_.timer_compare = (registers_.timer_compare & ~uint64_t{0xffffffff}) | value;
            set_lines();
            core_.end_slice();  // the end of this slice has changed
            return true;
        case SIDRA_MGMT_TIMER_COMPARE_HIGH:
            registers_.timer_compare = (registers_.timer_compare & 0xffffffff) | uint64_t{value} << 32;
            set_lines();
            core_.end_slice();
            return true;
        case SIDRA_MGMT_IRQ_PENDING:
            registers_.irq_pending &= ~value;
            set_lines();
            return true;
        case SIDRA_MGMT_IRQ_ENABLE:
            registers_.irq_enable = value & SIDRA_MGMT_IRQ_ALL;
            set_lines();
            return true;
        case SIDRA_MGMT_WATCHDOG_PERIOD:
            registers_.watchdog_period = value;
            [[fallthrough]];
        case SIDRA_MGMT_WATCHDOG_FEED:
            if (address == SIDRA_MGMT_WATCHDOG_FEED && value != SIDRA_MGMT_WATCHDOG_FOOD) return true;
            registers_.watchdog_fed = cycle();
            registers_.watchdog_warned = 0;
            core_.end_slice();
            return true;
        case SIDRA_MGMT_COPY_COMMAND:
            registers_.copy_result = copy(value);
            return true;
        case SIDRA_MGMT_VERIFY_COMMAND:
            registers_.verify_result = verify(value);
            return true;
        case SIDRA_MGMT_FLASH_COMMAND:
            registers_.flash_result = flash(value);
            return true;
        case SIDRA_MGMT_MAILBOX_REPLY_INDEX:
            reply_index_ = value;
            surroundings_.interrupt_host(SIDRA_INT_MAILBOX);
            return true;
        case SIDRA_MGMT_CLOCK_THROTTLED:
            if (const bool was = power_.throttled(); power_.store(address, value, cycle()), was != power_.throttled())
                surroundings_.interrupt_host(SIDRA_INT_THERMAL);
            return true;
        case SIDRA_MGMT_COPY_RESULT:
        case SIDRA_MGMT_VERIFY_RESULT:
        case SIDRA_MGMT_FLASH_RESULT:
            return false;
        default:
            break;
    }
    if (power_.store(address, value, cycle())) return true;
    uint32_t* plain = plain_register(address);
    if (plain) *plain = value;
    return plain != nullptr;
}

bool Unit::keeps_security(uint32_t least) const {
    try {
        return !keep_security_ || keep_security_(least);
    } catch (const std::bad_alloc&) {
        return false;
    }
}

// ---- Commands ----

sidra_mgmt_result Unit::copy(uint32_t command) {
    if (command != SIDRA_MGMT_COPY_FROM_HOST && command != SIDRA_MGMT_COPY_TO_HOST) return SIDRA_MGMT_BAD_COMMAND;
    const uint32_t bytes = registers_.copy_bytes, local = registers_.copy_local;
    if (bytes == 0 || bytes > SIDRA_MGMT_COPY_MAX || local < SIDRA_MGMT_RAM) return SIDRA_MGMT_BAD_RANGE;
    const std::span<uint8_t> data(buffer_.data(), bytes);
    if (!core_.read(local, data)) return SIDRA_MGMT_BAD_RANGE;
    stand(kCopyStart + bytes / kCopyBytesPerCycle);
    const uint64_t bus = join(registers_.copy_bus);
    if (bus + bytes < bus) return SIDRA_MGMT_BUS_ERROR;
    const bool done = command == SIDRA_MGMT_COPY_TO_HOST
                          ? surroundings_.write_host(bus, data)
                          : surroundings_.read_host(bus, data) && core_.write(local, data);
    return done ? SIDRA_MGMT_OK : SIDRA_MGMT_BUS_ERROR;
}

sidra_mgmt_result Unit::verify(uint32_t command) {
    Verifier& verifier = registers_.verifier;
    switch (command) {
        case SIDRA_MGMT_VERIFY_BEGIN:
            verifier.begin();
            return SIDRA_MGMT_OK;
        case SIDRA_MGMT_VERIFY_END:
            return verifier.end() ? SIDRA_MGMT_OK : SIDRA_MGMT_BAD_COMMAND;
        case SIDRA_MGMT_VERIFY_ADD:
        case SIDRA_MGMT_VERIFY_SIGNATURE:
            break;
        default:
            return SIDRA_MGMT_BAD_COMMAND;
    }
    const uint32_t bytes = registers_.verify_bytes;
    if (bytes == 0 || bytes > buffer_.size()) return SIDRA_MGMT_BAD_RANGE;
    const std::span<uint8_t> data(buffer_.data(), bytes);
    if (!core_.read(registers_.verify_address, data)) return SIDRA_MGMT_BAD_RANGE;
    if (command == SIDRA_MGMT_VERIFY_ADD) {
        if (!verifier.add(data)) return SIDRA_MGMT_BAD_COMMAND;
        stand(bytes / kHashBytesPerCycle);
        return SIDRA_MGMT_OK;
    }
    stand(kSignatureCycles);
    return verifier.signature_is_of(data) ? SIDRA_MGMT_OK : SIDRA_MGMT_DIFFERENT;
}

sidra_mgmt_result Unit::flash(uint32_t command) {
    const uint32_t offset = registers_.flash_offset, bytes = registers_.flash_bytes;
    stand(kFlashStart);
    if (command == SIDRA_MGMT_FLASH_ERASE) {
        const sidra_mgmt_result result = flash_.erase(offset);
        if (result == SIDRA_MGMT_OK) stand(kFlashEraseCycles);
        return result;
    }
    if (command != SIDRA_MGMT_FLASH_READ && command != SIDRA_MGMT_FLASH_PROGRAM) return SIDRA_MGMT_BAD_COMMAND;
    if (bytes > SIDRA_MGMT_RAM_SIZE || registers_.flash_local < SIDRA_MGMT_RAM) return SIDRA_MGMT_BAD_RANGE;
    const std::span<uint8_t> data(buffer_.data(), bytes);
    if (!core_.read(registers_.flash_local, data)) return SIDRA_MGMT_BAD_RANGE;
    if (command == SIDRA_MGMT_FLASH_PROGRAM) {
        const sidra_mgmt_result result = flash_.program(offset, data);
        if (result == SIDRA_MGMT_OK) stand(bytes * kFlashProgramCyclesPerByte);
        return result;
    }
    const sidra_mgmt_result result = flash_.read(offset, data);
    if (result != SIDRA_MGMT_OK) return result;
    stand(bytes / kFlashReadBytesPerCycle);
    core_.write(registers_.flash_local, data);
    return SIDRA_MGMT_OK;
}

}  // namespace sidra::management
