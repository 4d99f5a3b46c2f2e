// SPDX-License-Identifier: MIT
// The function as the PCI bus sees it: identity, capabilities, BARs, access sizes, properties, several functions,
// removal.
#include <linux/pci_regs.h>

#include "fixture.h"

namespace sidra::qtest {
namespace {

using chip_test::nop;

class Pci : public Qtest {};

TEST_F(Pci, Identity) {
    start();
    EXPECT_EQ(card->config(PCI_VENDOR_ID, 2), SIDRA_PCI_VENDOR_ID);
    EXPECT_EQ(card->config(PCI_DEVICE_ID, 2), SIDRA_PCI_DEVICE_ID);
    EXPECT_EQ(card->config(PCI_CLASS_REVISION, 4) >> 8, SIDRA_PCI_CLASS);
    EXPECT_EQ(card->config(PCI_SUBSYSTEM_VENDOR_ID, 2), SIDRA_PCI_VENDOR_ID);
    EXPECT_EQ(card->config(PCI_INTERRUPT_PIN, 1), 0u) << "no INTx";
}

TEST_F(Pci, Capabilities) {
    start();
    const unsigned express = card->capability(PCI_CAP_ID_EXP);
    ASSERT_NE(express, 0u);
    EXPECT_TRUE(card->config(express + PCI_EXP_DEVCAP, 4) & PCI_EXP_DEVCAP_FLR);
    EXPECT_NE(card->capability(PCI_CAP_ID_PM), 0u);
    EXPECT_NE(card->extended_capability(PCI_EXT_CAP_ID_ERR), 0u);
    const unsigned msix = card->capability(PCI_CAP_ID_MSIX);
    ASSERT_NE(msix, 0u);
    EXPECT_EQ((card->config(msix + PCI_MSIX_FLAGS, 2) & PCI_MSIX_FLAGS_QSIZE) + 1, SIDRA_MSIX_VECTORS);
    EXPECT_EQ(card->config(msix + PCI_MSIX_TABLE, 4), SIDRA_BAR_MSIX_TABLE | SIDRA_BAR_REGS);
    EXPECT_EQ(card->config(msix + PCI_MSIX_PBA, 4), SIDRA_BAR_MSIX_PBA | SIDRA_BAR_REGS);
}

TEST_F(Pci, Bars) {
    start({"sidra,addr=4.0", "sidra,addr=5.0,profile=small"});
    constexpr uint32_t kKind = 15;
    EXPECT_EQ(card->config(PCI_BASE_ADDRESS_0, 4) & kKind, uint32_t{PCI_BASE_ADDRESS_MEM_TYPE_64});
    EXPECT_EQ(card->config(PCI_BASE_ADDRESS_2, 4) & kKind,
              uint32_t{PCI_BASE_ADDRESS_MEM_TYPE_64 | PCI_BASE_ADDRESS_MEM_PREFETCH});
    EXPECT_EQ(card->bar_size(0), SIDRA_BAR_REGS_SIZE);
    EXPECT_EQ(card->bar_size(2), 16u << 20);
    EXPECT_EQ(Card(*machine, kSlot5).bar_size(2), 1u << 20);
    EXPECT_EQ(card->config(PCI_BASE_ADDRESS_4, 4), 0u);
}

TEST_F(Pci, BringUpFromPowerOn) {
    start();
    card->enable_pci();
    EXPECT_EQ(card->read32(SIDRA_REG_ID), SIDRA_ID_MAGIC);
    EXPECT_EQ(card->read32(SIDRA_REG_HW_VERSION), SIDRA_HW_VERSION);
    EXPECT_EQ(card->read32(SIDRA_REG_STATUS), SIDRA_STAGE_RESET | SIDRA_STATUS_READY);
    EXPECT_EQ(card->read32(SIDRA_REG_BOOT_REASON), uint32_t{SIDRA_BOOT_POWER_ON});
    EXPECT_EQ(card->read32(SIDRA_REG_GENERATION), 0u);
    EXPECT_EQ(card->read64(SIDRA_REG_FEATURES), SIDRA_FEATURE_FIRMWARE);
    EXPECT_EQ(card->read32(SIDRA_REG_GEOMETRY0), 1u | 2u << 16);
    EXPECT_EQ(card->read64(SIDRA_REG_L3_SIZE), 1u << 20);
    EXPECT_NE(card->read64(SIDRA_REG_UUID), 0u);
    card->write32(SIDRA_REG_SCRATCH, 0x12345678);
    EXPECT_EQ(card->read32(SIDRA_REG_SCRATCH), ~0x12345678u);
    card->bring_up();
    EXPECT_EQ(card->read64(SIDRA_REG_CONTEXT_TABLE), card->context_table());
    EXPECT_EQ(card->read32(SIDRA_REG_CONTROL), SIDRA_CONTROL_ENABLE);
}

TEST_F(Pci, AccessSizes) {
    start();
    card->enable_pci();
    const uint64_t id = card->bar0() + SIDRA_REG_ID, scratch = card->bar0() + SIDRA_REG_SCRATCH;
    card->write32(SIDRA_REG_SCRATCH, 5);
    for (const unsigned size : {1u, 2u}) {
        EXPECT_EQ(machine->read(id, size), 0u) << size;
        machine->write(scratch, 9, size);
    }
    EXPECT_EQ(machine->read(id + 1, 4), 0u);
    EXPECT_EQ(machine->read(id + 2, 4), 0u);
    EXPECT_EQ(machine->read(id + 4, 8), 0u);
    EXPECT_EQ(machine->read(id, 8), 0u) << "not a 64-bit register";
    machine->write(scratch + 2, 9, 4);
    machine->write(scratch, 9, 8);
    EXPECT_EQ(card->read32(SIDRA_REG_SCRATCH), ~5u);
    EXPECT_EQ(card->read32(0x0ffc), 0u) << "does not exist";
    machine->write(card->bar0() + 0x0ffc, ~0u, 4);
    EXPECT_EQ(machine->read(card->bar0() + SIDRA_BAR_REGS_SIZE - 4, 4), 0u);
    for (const unsigned size : {1u, 2u, 8u}) machine->write(card->bar0() + SIDRA_DOORBELL(0, 0), 1, size);
    EXPECT_EQ(card->telemetry(offsetof(sidra_telemetry, doorbells)), 0u);
}

TEST_F(Pci, ClockIsVirtualTime) {
    start();
    card->enable_pci();
    const uint64_t before = card->read64(SIDRA_REG_CLOCK);
    machine->step_clock(12345678);
    EXPECT_EQ(card->read64(SIDRA_REG_CLOCK) - before, 12345678u);
    const uint32_t low = card->read32(SIDRA_REG_CLOCK), high = card->read32(SIDRA_REG_CLOCK + 4);
    EXPECT_EQ(low | uint64_t{high} << 32, before + 12345678);
}

TEST_F(Pci, L3Window) {
    start();
    card->enable_pci();
    const std::vector<uint8_t> data = {1, 2, 3, 4, 5, 6, 7, 8};
    machine->write_bytes(card->bar2() + 0x1000, data.data(), data.size());
    EXPECT_EQ(machine->read_bytes(card->bar2() + 0x1000, data.size()), data);
    EXPECT_EQ(card->admin(SIDRA_ADMIN_L3_ZERO, 0x1000, 4096), SIDRA_ADMIN_OK);
    EXPECT_EQ(machine->read_bytes(card->bar2() + 0x1000, data.size()), std::vector<uint8_t>(data.size(), 0));
}

TEST_F(Pci, DevicesDoNotShareAnything) {
    bring_up({kSmallCard, "sidra,id=other,addr=5.0,profile=small,executors=3,seed=8"});
    Card other(*machine, kSlot5, 1);
    other.enable_pci();
    other.bring_up();
    EXPECT_NE(card->read64(SIDRA_REG_UUID), other.read64(SIDRA_REG_UUID));
    Context a(*card, 0), b(other, 0);
    uint64_t to_a, to_b;
    const uint64_t va_a = a.alloc(4096, &to_a), va_b = b.alloc(4096, &to_b);
    a.submit({chip_test::fill(va_a, 4096, 0xa1, 1), nop()});
    b.submit({chip_test::fill(va_b, 4096, 0xb2, 1), nop(), nop()});
    ASSERT_TRUE(a.wait(2));
    ASSERT_TRUE(b.wait(3));
    EXPECT_EQ(machine->read(to_a, 8), 0xa1a1a1a1a1a1a1a1u);
    EXPECT_EQ(machine->read(to_b, 8), 0xb2b2b2b2b2b2b2b2u);
    card->flr();
    b.submit({nop()});
    EXPECT_TRUE(b.wait(4));
    EXPECT_EQ(other.read32(SIDRA_REG_GENERATION), 0u);
}

// Surprise removal from a root port by native hotplug, while a queue runs.
TEST_F(Pci, RemovedUnderLoad) {
    start_behind_port();
    card->enable_pci();
    card->bring_up();
    Context context(*card, 0);
    const uint64_t bytes = 1 << 20, a = context.alloc(bytes), b = context.alloc(bytes);
    for (int i = 0; i < 60; i++) context.push(chip_test::copy(b, a, bytes));
    context.publish();
    context.doorbell();
    ASSERT_TRUE(context.wait(1));
    power_off();
    EXPECT_EQ(card->config(PCI_VENDOR_ID, 2), 0xffffu);
    const uint64_t timeline = context.state().timeline;
    EXPECT_NE(
        machine->qmp(R"({"execute": "qom-get", "arguments": {"path": "/machine/peripheral/card", "property": "seed"}})")
            .find("error"),
        std::string::npos);
    EXPECT_EQ(machine->read(card->bar0() + SIDRA_REG_ID, 4), 0u);
    EXPECT_EQ(context.state().timeline, timeline);
    EXPECT_TRUE(eventually([&] { return machine->reported("DEVICE_DELETED"); })) << "the card stays in memory";
}

// A card is removed while another one computes with its memory: then that one has the last reference to it.
TEST_F(Pci, RemovedWhileAnotherCardUsesItsMemory) {
    start_behind_port({"-device", "sidra,id=other,addr=4.0,profile=small,workers=2"});
    card->enable_pci();
    Card other(*machine, kSlot4, 2);
    other.enable_pci();
    other.bring_up();
    Context context(other, 0);
    constexpr uint64_t kTheirs = 0x50000000;
    for (uint64_t page = 0; page < 4; page++) context.map(kTheirs + page * 4096, card->bar2() + page * 4096);
    context.set_weights(1, 32, 32);
    context.submit({chip_test::program(0, 0, 32, 0, 32, kTheirs, 32)});
    ASSERT_TRUE(context.wait(1));
    ASSERT_NE(machine->set_property("other", "slow-tile-ns", "200000000").find("return"), std::string::npos);
    const uint64_t a = context.alloc(1 << 20), b = context.alloc(1 << 20);
    context.submit({chip_test::copy(b, a, 1 << 20),
                    chip_test::mvm(0, SIDRA_TYPE_U8, SIDRA_TYPE_S32, 3, kTheirs, 32, kTheirs + 8192, 128)});
    ASSERT_TRUE(context.wait(2)) << "the product is next in the same slice";
    power_off();
    EXPECT_TRUE(eventually([&] { return machine->reported("DEVICE_DELETED"); })) << "the card stays in memory";
    EXPECT_EQ(other.read32(SIDRA_REG_ID), SIDRA_ID_MAGIC);
}

// When the card is removed, which takes as long as a slice, a CPU has begun a write to a register, and waits for its
// turn.
TEST_F(Pci, RemovedWhileACpuWrites) {
    constexpr uint64_t kWhere = 0x1000;  // the address of the register
    std::vector<uint8_t> code = {
        0xfa,                                            // cli
        0x2e, 0x66, 0x0f, 0x01, 0x16, 0x38, 0x00,        // lgdt cs:[0x38]
        0x0f, 0x20, 0xc0,                                // mov eax, cr0
        0x0c, 0x01,                                      // or al, 1
        0x0f, 0x22, 0xc0,                                // mov cr0, eax
        0x66, 0xea, 0x18, 0x00, 0xff, 0xff, 0x08, 0x00,  // jmp 8:0xffff0018, the next instruction
        0x66, 0xb8, 0x10, 0x00,                          // mov ax, 0x10
        0x8e, 0xd8,                                      // mov ds, ax
        0xb8, 0x01, 0x00, 0x00, 0x00,                    // mov eax, 1
        0x8b, 0x3d, 0x00, 0x10, 0x00, 0x00,              // mov edi, [kWhere]
        0x85, 0xff,                                      // test edi, edi
        0x74, 0xf6,                                      // jz to mov edi
        0x89, 0x07,                                      // mov [edi], eax
        0xeb, 0xf2,                                      // jmp to mov edi
    };
    code.resize(0x38);
    code.insert(code.end(), {0x17, 0x00, 0x40, 0x00, 0xff, 0xff, 0x00, 0x00});  // size and address of the segments:
    code.insert(code.end(), {0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00});
    code.insert(code.end(), {0xff, 0xff, 0x00, 0x00, 0x00, 0x9a, 0xcf, 0x00});  // all of memory as code
    code.insert(code.end(), {0xff, 0xff, 0x00, 0x00, 0x00, 0x92, 0xcf, 0x00});  // and as data
    const Bios bios(code);
    for (int round = 0; round < 5; round++) {
        start_behind_port({"-accel", "tcg", "-S", "-bios", bios.name()});
        card->enable_pci();
        card->bring_up();
        machine->qmp(R"({"execute": "cont"})");
        machine->write(kWhere, card->bar0() + SIDRA_REG_TEST_IRQ, 4);
        ASSERT_TRUE(card->wait_msix(1));
        Context context(*card, 0);
        begin_long_slice(context, 50000000);
        power_off();
        EXPECT_EQ(card->config(PCI_VENDOR_ID, 2), 0xffffu);
        machine->qmp(R"({"execute": "stop"})");
    }
}

TEST_F(Pci, PropertiesSayWhatIsWrong) {
    start({"pcie-root-port,id=rp,addr=6.0,chassis=1,slot=1"});
    const auto add = [&](const std::string& properties) {
        return machine->qmp(R"({"execute": "device_add", "arguments": {"driver": "sidra", "bus": "rp", )" + properties +
                            "}}");
    };
    EXPECT_NE(add(R"("executors": 0)").find("executors must be 1 to 16"), std::string::npos);
    EXPECT_NE(add(R"("executors": 17)").find("executors must be 1 to 16"), std::string::npos);
    EXPECT_NE(add(R"("workers": 257)").find("at most 256 workers"), std::string::npos);
    EXPECT_NE(add(R"("engine": "neon")").find("does not support the requested engine"), std::string::npos);
    EXPECT_NE(add(R"("engine": "quantum")").find("does not accept value 'quantum'"), std::string::npos);
    EXPECT_NE(add(R"("profile": "huge")").find("does not accept value 'huge'"), std::string::npos);
    EXPECT_NE(add(R"("stall": 2)").find("cannot set stall to 2"), std::string::npos);
    EXPECT_EQ(add(R"("id": "late", "profile": "small")").find("error"), std::string::npos);
    EXPECT_NE(machine->set_property("late", "profile", "\"y1\"").find("can only be given with -device"),
              std::string::npos);
    EXPECT_NE(machine->set_property("late", "seed", "3").find("error"), std::string::npos);
}

}  // namespace
}  // namespace sidra::qtest
