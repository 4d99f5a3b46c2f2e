// SPDX-License-Identifier: MIT
#include "board.h"

#include <gtest/gtest.h>

#include <cstring>

#include "core/runtime.h"
#include "drivers/registers.h"

extern "C" {

uint32_t read_register(uint32_t address) { return sidra::test::Board::get().read(address); }
void write_register(uint32_t address, uint32_t value) { sidra::test::Board::get().write(address, value); }
uint32_t local_address(const void* local) { return sidra::test::Board::get().local(local); }

const sidra_boot_info* runtime_boot() { return &sidra::test::Board::get().boot; }
uint32_t runtime_version() { return sidra::test::Board::get().boot.version; }
sidra_kept_operation* runtime_operations() { return sidra::test::Board::get().operations; }
const sidra_boot_dump* runtime_dump() { return &sidra::test::Board::get().dump; }
}

namespace sidra::test {

Board& Board::get() {
    static Board board;
    return board;
}

Board::Board() {
    using management::Sequencer;
    const auto work = [this](const Sequencer::Order& order) -> Sequencer::Outcome {
        if (fails(kSequencer)) return {SIDRA_MGMT_NOT_KEPT, 0, 0, 0, 0, 0, 0, 0, 0};
        orders.push_back(order);
        const bool refresh = order.command == SIDRA_MGMT_SEQUENCER_REFRESH;
        return {SIDRA_MGMT_OK, 100, 33, refresh ? 1u : 0u, refresh ? 64u : 0u, 50'000, 9'000, 1'000'000, 7};
    };
    sequencer.connect(kXbars, work, [](const management::Policy&) { return true; });
}

// Blocks have 32-bit addresses: the lower half of a pointer, which must be unique among those in use.
uint32_t Board::local(const void* pointer) {
    const auto whole = reinterpret_cast<uintptr_t>(pointer);
    const auto low = static_cast<uint32_t>(whole);
    locals_[low] = whole;
    return low;
}

uint8_t* Board::at(uint32_t local) const {
    const auto found = locals_.find(local);
    EXPECT_NE(found, locals_.end()) << "a block is given an address that is nobody's";
    return found == locals_.end() ? nullptr : reinterpret_cast<uint8_t*>(found->second);
}

void Board::pass(uint64_t ns, uint64_t queues_mw) {
    cycles += ns / SIDRA_MGMT_CYCLE_NS;
    power_ns_ += ns;
    queues_pj_ += ns * queues_mw;
    interrupts += power.advance(power_ns_, queues_pj_);
}

bool Board::fails(Block block) { return fail_at[block] != 0 && --fail_at[block] == 0; }

uint32_t Board::copy(uint32_t command) {
    if (while_copy) while_copy();
    cycles += 100;
    const uint64_t bus = plain_[SIDRA_MGMT_COPY_BUS] | uint64_t{plain_[SIDRA_MGMT_COPY_BUS_HIGH]} << 32;
    const uint32_t bytes = plain_[SIDRA_MGMT_COPY_BYTES];
    if (bytes == 0 || bytes > SIDRA_MGMT_COPY_MAX) return SIDRA_MGMT_BAD_RANGE;
    if (fails(kCopy) || bus < kHost || bus - kHost > kHostSize || kHostSize - (bus - kHost) < bytes)
        return SIDRA_MGMT_BUS_ERROR;
    uint8_t* const local = at(plain_[SIDRA_MGMT_COPY_LOCAL]);
    uint8_t* const there = host.data() + (bus - kHost);
    if (command == SIDRA_MGMT_COPY_FROM_HOST) {
        std::memcpy(local, there, bytes);
        return SIDRA_MGMT_OK;
    }
    EXPECT_EQ(command, uint32_t{SIDRA_MGMT_COPY_TO_HOST});
    std::memcpy(there, local, bytes);
    stored.push_back({bus, bytes});
    return SIDRA_MGMT_OK;
}

uint32_t Board::use_flash(uint32_t command) {
    const uint32_t offset = plain_[SIDRA_MGMT_FLASH_OFFSET], bytes = plain_[SIDRA_MGMT_FLASH_BYTES];
    cycles += 100;
    if (fails(kFlash)) return SIDRA_MGMT_NOT_KEPT;
    if (command == SIDRA_MGMT_FLASH_ERASE) return flash.erase(offset);
    uint8_t* const local = at(plain_[SIDRA_MGMT_FLASH_LOCAL]);
    if (command == SIDRA_MGMT_FLASH_READ) return flash.read(offset, {local, bytes});
    EXPECT_EQ(command, uint32_t{SIDRA_MGMT_FLASH_PROGRAM});
    return flash.program(offset, {local, bytes});
}

uint32_t Board::verify(uint32_t command) {
    cycles += 1000;
    if (fails(kVerify)) return SIDRA_MGMT_BAD_RANGE;
    for (uint32_t i = 0; i < 8; i++) verifier_.key[i] = plain_[SIDRA_MGMT_VERIFY_KEY + 4 * i];
    for (uint32_t i = 0; i < 16; i++) verifier_.signature[i] = plain_[SIDRA_MGMT_VERIFY_SIG + 4 * i];
    switch (command) {
        case SIDRA_MGMT_VERIFY_BEGIN:
            verifier_.begin();
            return SIDRA_MGMT_OK;
        case SIDRA_MGMT_VERIFY_END:
            if (!verifier_.end()) return SIDRA_MGMT_BAD_COMMAND;
            for (uint32_t i = 0; i < 8; i++) plain_[SIDRA_MGMT_VERIFY_DIGEST + 4 * i] = verifier_.digest[i];
            return SIDRA_MGMT_OK;
        default:
            break;
    }
    const std::span<const uint8_t> data(at(plain_[SIDRA_MGMT_VERIFY_ADDRESS]), plain_[SIDRA_MGMT_VERIFY_BYTES]);
    if (command == SIDRA_MGMT_VERIFY_ADD) return verifier_.add(data) ? SIDRA_MGMT_OK : SIDRA_MGMT_BAD_COMMAND;
    EXPECT_EQ(command, uint32_t{SIDRA_MGMT_VERIFY_SIGNATURE});
    return verifier_.signature_is_of(data) ? SIDRA_MGMT_OK : SIDRA_MGMT_DIFFERENT;
}

uint32_t* Board::plain(uint32_t address) {
    switch (address & ~0xfffu) {
        case SIDRA_MGMT_COPY_BUS & ~0xfffu:
        case SIDRA_MGMT_VERIFY_ADDRESS & ~0xfffu:
        case SIDRA_MGMT_FLASH_OFFSET & ~0xfffu:
            return &plain_[address];
        default:
            return nullptr;
    }
}

uint32_t Board::read(uint32_t address) {
    switch (address) {
        case SIDRA_MGMT_SYSTEM_SECURITY:
            return security;
        case SIDRA_MGMT_SYSTEM_STAGE:
            return stage;
        case SIDRA_MGMT_SYSTEM_HEARTBEAT:
            return heartbeat;
        case SIDRA_MGMT_TIMER_NOW:
            return static_cast<uint32_t>(++cycles);
        case SIDRA_MGMT_TIMER_NOW_HIGH:
            return static_cast<uint32_t>(cycles >> 32);
        case SIDRA_MGMT_MAILBOX_REQUEST:
            return static_cast<uint32_t>(request);
        case SIDRA_MGMT_MAILBOX_REQUEST_HIGH:
            return static_cast<uint32_t>(request >> 32);
        case SIDRA_MGMT_MAILBOX_REPLY:
            return static_cast<uint32_t>(reply);
        case SIDRA_MGMT_MAILBOX_REPLY_HIGH:
            return static_cast<uint32_t>(reply >> 32);
        case SIDRA_MGMT_MAILBOX_ENTRIES:
            return entries;
        case SIDRA_MGMT_MAILBOX_DOORBELL:
            return doorbell;
        case SIDRA_MGMT_MAILBOX_REPLY_READ:
            return reply_read;
        case SIDRA_MGMT_COPY_RESULT:
        case SIDRA_MGMT_FLASH_RESULT:
        case SIDRA_MGMT_VERIFY_RESULT:
            return results_[address];
        default:
            break;
    }
    if (const uint32_t* word = plain(address)) return *word;
    if (uint32_t value; power.load(address, &value) || sequencer.load(address - SIDRA_MGMT_SEQUENCER, &value))
        return value;
    ADD_FAILURE() << "a register that is not there is read: 0x" << std::hex << address;
    return 0;
}

void Board::write(uint32_t address, uint32_t value) {
    switch (address) {
        case SIDRA_MGMT_SYSTEM_SECURITY:
            security = std::max(security, value);
            return;
        case SIDRA_MGMT_WATCHDOG_FEED:
            EXPECT_EQ(value, SIDRA_MGMT_WATCHDOG_FOOD);
            meals++;
            return;
        case SIDRA_MGMT_COPY_COMMAND:
            results_[SIDRA_MGMT_COPY_RESULT] = copy(value);
            return;
        case SIDRA_MGMT_FLASH_COMMAND:
            results_[SIDRA_MGMT_FLASH_RESULT] = use_flash(value);
            return;
        case SIDRA_MGMT_VERIFY_COMMAND:
            results_[SIDRA_MGMT_VERIFY_RESULT] = verify(value);
            return;
        case SIDRA_MGMT_MAILBOX_REPLY_INDEX:
            EXPECT_EQ(value, reply_index + 1) << "one reply at a time";
            reply_index = value;
            return;
        default:
            break;
    }
    if (power.store(address, value, cycles)) {
        interrupts += address == SIDRA_MGMT_CLOCK_THROTTLED;
        return;
    }
    if (uint64_t took_ns = 0; sequencer.store(address - SIDRA_MGMT_SEQUENCER, value, &took_ns)) {
        cycles += took_ns / SIDRA_MGMT_CYCLE_NS;
        return;
    }
    uint32_t* const word = plain(address);
    if (word) *word = value;
    else ADD_FAILURE() << "a register that is not there is written: 0x" << std::hex << address;
}

}  // namespace sidra::test
