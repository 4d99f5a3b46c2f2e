// SPDX-License-Identifier: MIT
// Behind an IOMMU: addresses that it does not translate are refused, its fault interrupt and a reset do not deadlock.
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <iterator>

#include "fixture.h"

namespace sidra::qtest {
namespace {

using chip_test::copy;
using chip_test::fill;
using chip_test::nop;

constexpr uint64_t kVtd = 0xfed90000;
constexpr uint64_t kGlobalCommand = 0x18, kRootTable = 0x20, kFaultStatus = 0x34, kFaultControl = 0x38,
                   kFaultData = 0x3c, kFaultAddress = 0x40;

class Iommu : public Qtest {
   protected:
    // Translation on for bus 0: IOVA [0, 4 MiB) of the card is memory at base_.
    void translate() {
        root_ = machine->alloc(4096);
        contexts_ = machine->alloc(4096);
        tables_ = machine->alloc(4 * 4096);
        base_ = machine->alloc(4 << 20, 2 << 20);
        machine->fill(root_, 4096, 0);
        machine->fill(contexts_, 4096, 0);
        machine->fill(tables_, 3 * 4096, 0);
        machine->write(root_, contexts_ | 1, 8);
        machine->write(contexts_ + kSlot4 * 16, tables_ | 1, 8);
        machine->write(contexts_ + kSlot4 * 16 + 8, 1 << 8 | 1, 8);  // domain 1, 39 bits: three levels
        machine->write(tables_, (tables_ + 4096) | 3, 8);
        machine->write(tables_ + 4096, base_ | 3 | 1 << 7, 8);  // 2 MiB pages
        machine->write(tables_ + 4096 + 8, (base_ + (2 << 20)) | 3 | 1 << 7, 8);
        machine->write(kVtd + kFaultAddress, 0xfee00000, 4);  // so that a fault raises an interrupt
        machine->write(kVtd + kFaultData, 0x31, 4);
        machine->write(kVtd + kFaultControl, 0, 4);
        machine->write(kVtd + kRootTable, root_, 8);
        machine->write(kVtd + kGlobalCommand, 1u << 30, 4);
        machine->write(kVtd + kGlobalCommand, 1u << 31, 4);
    }
    uint64_t root_ = 0, contexts_ = 0, tables_ = 0, base_ = 0;
};

TEST_F(Iommu, TranslatesAndRefuses) {
    start({"intel-iommu", kSmallCard});
    card->enable_pci();
    translate();
    machine->fill(base_, 8192, 0);
    machine->write(base_ + 0x100, 0x1234, 8);
    EXPECT_EQ(card->admin(SIDRA_ADMIN_TEST_DMA, 0x100, 0x1100, 8), SIDRA_ADMIN_OK);
    EXPECT_EQ(machine->read(base_ + 0x1100, 8), 0x1234u);
    EXPECT_EQ(card->admin(SIDRA_ADMIN_TEST_DMA, (2 << 20) - 64, 0x2000, 128), SIDRA_ADMIN_OK) << "two pages";
    EXPECT_EQ(card->admin(SIDRA_ADMIN_TEST_DMA, base_ + 0x100, 0x1100, 8), SIDRA_ADMIN_BUS_ERROR) << "physical address";
    EXPECT_EQ(card->admin(SIDRA_ADMIN_TEST_DMA, 0x100, 4 << 20, 8), SIDRA_ADMIN_BUS_ERROR);
    EXPECT_EQ(card->admin(SIDRA_ADMIN_TEST_DMA, 0x100, (4 << 20) - 4, 8), SIDRA_ADMIN_BUS_ERROR);
    EXPECT_NE(machine->read(kVtd + kFaultStatus, 4), 0u) << "the IOMMU has recorded it";
}

// Executors fault in the IOMMU, which interrupts under the big lock, while the holder of that lock waits for executors.
TEST_F(Iommu, FaultsWhileResettingAndStopping) {
    start({"intel-iommu", "sidra,id=card,addr=4.0,profile=small,executors=3,workers=2"});
    for (uint32_t round = 0; round < 30; round++) {
        card->enable_pci();
        if (round == 0) translate();
        card->write64(SIDRA_REG_CONTEXT_TABLE, 64 << 20);  // not mapped
        card->write32(SIDRA_REG_CONTROL, SIDRA_CONTROL_ENABLE);
        for (uint32_t context = 0; context < SIDRA_CONTEXTS_MAX; context++) {
            card->write32(SIDRA_DOORBELL(context, 0), 1);
            machine->write(kVtd + kFaultStatus, 1, 4);
        }
        if (round % 2) {
            machine->qmp(R"({"execute": "stop"})");
            machine->qmp(R"({"execute": "cont"})");
        }
        card->flr();
    }
    card->enable_pci();
    EXPECT_EQ(card->read32(SIDRA_REG_GENERATION), 30u);
}

// While the main loop waits for the executors of a card that is being reset, which need the big lock for each
// translation, a CPU gets that lock and resets another card.
TEST_F(Iommu, ResetsOfTwoCardsAtOnce) {
    // Function-level resets of the card in slot 5, one after the other.
    constexpr uint32_t kControl = 0x80000000u | kSlot5 << 8 | 0x88;  // configuration address of its Device Control
    // clang-format off
    const Bios bios({
        0xba, 0xf8, 0x0c,  // mov dx, 0xcf8
        0x66, 0xb8, kControl & 0xff, kControl >> 8 & 0xff, kControl >> 16 & 0xff, kControl >> 24,  // mov eax, kControl
        0x66, 0xef,        // out dx, eax
        0xba, 0xfc, 0x0c,  // mov dx, 0xcfc
        0xb8, 0x00, 0x80,  // mov ax, PCI_EXP_DEVCTL_BCR_FLR
        0xef,              // out dx, ax
        0xeb, 0xec,        // to the beginning
    });
    // clang-format on
    machine = std::make_unique<Machine>(std::vector<std::string>{
        "-accel", "tcg", "-S", "-bios", bios.name(), "-device", "intel-iommu", "-device",
        "sidra,id=card,addr=4.0,profile=small,workers=1", "-device", "sidra,addr=5.0,profile=small,workers=1"});
    card = std::make_unique<Card>(*machine, kSlot4);
    card->enable_pci();
    translate();
    for (uint64_t page = 0; page < Machine::kRamSize >> 21; page++)  // identity mapping of all memory
        machine->write(tables_ + 4096 + 8 * page, page << 21 | 3 | 1 << 7, 8);
    card->bring_up();
    Context context(*card, 0);
    const uint64_t from = context.alloc(1 << 16), to = context.alloc(1 << 16);
    machine->qmp(R"({"execute": "cont"})");
    for (uint32_t round = 0; round < 50; round++) {
        machine->write(context.entry().state, 0, 8);  // as written in the previous round
        context.store();
        context.reset_queue();
        for (int i = 0; i < 32; i++) context.push(chip_test::copy_2d(to, 16, from, 16, 8, 4096));
        context.publish();
        context.doorbell();
        ASSERT_TRUE(context.wait(1));
        card->flr();
        card->enable_pci();
        card->bring_up();
    }
    EXPECT_EQ(card->read32(SIDRA_REG_GENERATION), 50u);
    machine->qmp(R"({"execute": "stop"})");
}

// A CPU resets the bus of a card whose link is lost, and which loses no reset with it.
TEST_F(Iommu, ResetsWhatTheLinkDoesNotReach) {
    constexpr uint64_t kWhere = 0x1000;  // the configuration address of Bridge Control
    constexpr uint64_t kDone = 0x1004;   // not 0 when the CPU has done it
    // clang-format off
    const Bios bios({
        0x66, 0xa1, kWhere & 0xff, kWhere >> 8,    // mov eax, [kWhere]
        0x66, 0x85, 0xc0,                          // test eax, eax
        0x74, 0xf7,                                // jz to the beginning
        0xba, 0xf8, 0x0c,                          // mov dx, 0xcf8
        0x66, 0xef,                                // out dx, eax
        0xba, 0xfe, 0x0c,                          // mov dx, 0xcfe
        0xb8, PCI_BRIDGE_CTL_BUS_RESET, 0x00,      // mov ax, PCI_BRIDGE_CTL_BUS_RESET
        0xef,                                      // out dx, ax
        0x31, 0xc0,                                // xor ax, ax
        0xef,                                      // out dx, ax
        0x40,                                      // inc ax
        0x66, 0xa3, kDone & 0xff, kDone >> 8,      // mov [kDone], eax
        0xf4,                                      // hlt
    });
    // clang-format on
    start_behind_port({"-accel", "tcg", "-S", "-bios", bios.name(), "-device", "intel-iommu"});
    card->enable_pci();
    card->bring_up();
    machine->qmp(R"({"execute": "cont"})");
    ASSERT_NE(machine->set_property("card", "link-lost", "1").find("return"), std::string::npos);
    machine->write(kWhere, 0x80000000u | kPort << 8 | (PCI_BRIDGE_CONTROL & ~3), 4);
    ASSERT_TRUE(eventually([&] { return machine->read(kDone, 4) != 0; }));
    ASSERT_NE(machine->set_property("card", "link-lost", "0").find("return"), std::string::npos);
    card->enable_pci();
    EXPECT_TRUE(eventually([&] { return card->read32(SIDRA_REG_GENERATION) == 1; }));
    EXPECT_EQ(card->read32(SIDRA_REG_CONTROL), 0u);
    EXPECT_EQ(card->read64(SIDRA_REG_CONTEXT_TABLE), 0u);
    machine->qmp(R"({"execute": "stop"})");
}

// A CPU removes the card during a long slice, for which it waits without the big lock. Until it goes on, the card must
// not be removed once more.
TEST_F(Iommu, RemovedWhileBeingRemoved) {
    constexpr uint64_t kWhere = 0x1000;  // the configuration address of Slot Control
    // clang-format off
    const Bios bios({
        0x66, 0xa1, kWhere & 0xff, kWhere >> 8,    // mov eax, [kWhere]
        0x66, 0x85, 0xc0,                          // test eax, eax
        0x74, 0xf7,                                // jz to the beginning
        0xba, 0xf8, 0x0c,                          // mov dx, 0xcf8
        0x66, 0xef,                                // out dx, eax
        0xba, 0xfc, 0x0c,                          // mov dx, 0xcfc
        0xb8, kPowerOff & 0xff, kPowerOff >> 8,    // mov ax, kPowerOff
        0xef,                                      // out dx, ax
        0xf4,                                      // hlt
    });
    // clang-format on
    start_behind_port({"-accel", "tcg", "-S", "-bios", bios.name(), "-device", "intel-iommu"});
    card->enable_pci();
    card->bring_up();
    machine->qmp(R"({"execute": "cont"})");
    Context context(*card, 0);
    begin_long_slice(context, 1000000000);
    machine->write(kWhere, 0x80000000u | kPort << 8 | slot_control, 4);
    const auto realized = [&] {
        return machine->qmp(
            R"({"execute": "qom-get", "arguments": {"path": "/machine/peripheral/card", "property": "realized"}})");
    };
    ASSERT_TRUE(eventually([&] { return realized().find("true") == std::string::npos; }));
    const std::string answer = machine->qmp(R"({"execute": "device_del", "arguments": {"id": "card"}})");
    EXPECT_TRUE(answer.find("is being removed") != std::string::npos || answer.find("not found") != std::string::npos)
        << answer;
    EXPECT_TRUE(eventually([&] { return machine->reported("DEVICE_DELETED"); }));
    machine->qmp(R"({"execute": "stop"})");
}

}  // namespace
}  // namespace sidra::qtest
