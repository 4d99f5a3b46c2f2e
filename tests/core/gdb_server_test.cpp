// SPDX-License-Identifier: MIT
// GDB's protocol, spoken as GDB does.
#include "gdb_server.h"

#include <gtest/gtest.h>

#include "assembler.h"
#include "machine.h"

namespace sidra::test {
namespace {

using core::Rv32;

std::string framed(const std::string& packet) {
    uint8_t sum = 0;
    for (const char c : packet) sum = static_cast<uint8_t>(sum + static_cast<uint8_t>(c));
    char check[3];
    snprintf(check, sizeof check, "%02x", sum);
    return "$" + packet + "#" + check;
}

class Gdb : public testing::Test {
   protected:
    Gdb() {
        machine.put(0, {addi(a0, a0, 1), addi(a0, a0, 1), jal(zero, -8)});
        server.attach();
    }
    // The answer without its frame; the acknowledgement is checked.
    std::string ask(const std::string& packet) {
        const std::string reply = server.receive(framed(packet));
        EXPECT_EQ(reply.substr(0, 2), "+$") << packet;
        const std::string text = reply.substr(2, reply.find('#') - 2);
        EXPECT_EQ(reply, "+" + framed(text));
        return text;
    }
    Machine machine;
    core::GdbServer server{machine.core, [this] { machine.core.step(); }};
};

TEST_F(Gdb, SaysWhatItIsAndHowItStands) {
    EXPECT_EQ(ask("qSupported:multiprocess+;xmlRegisters=i386"),
              "PacketSize=1000;qXfer:features:read+;hwbreak+;swbreak+");
    EXPECT_EQ(ask("?"), "S05");
    EXPECT_EQ(ask("qAttached"), "1");
    EXPECT_EQ(ask("Hg0"), "OK");
    EXPECT_EQ(ask("vMustReplyEmpty"), "");
    std::string xml;
    for (std::string part = "m"; part[0] == 'm'; xml += part.substr(1)) {
        char from[16];
        snprintf(from, sizeof from, "%zx", xml.size());
        part = ask(std::string("qXfer:features:read:target.xml:") + from + ",100");
    }
    EXPECT_NE(xml.find("<architecture>riscv:rv32</architecture>"), std::string::npos);
    EXPECT_NE(xml.find("name=\"mcause\" bitsize=\"32\" regnum=\"899\""), std::string::npos);
    EXPECT_EQ(xml.substr(xml.size() - 9), "</target>");
    EXPECT_EQ(ask("qXfer:features:read:target.xml:fffff,10"), "l");
}

TEST_F(Gdb, RegistersInBothDirections) {
    machine.x(ra) = 0x11223344;
    machine.core.state().pc = 4;
    machine.core.state().mepc = 0x80;
    std::string all = ask("g");
    ASSERT_EQ(all.size(), 33u * 8);
    EXPECT_EQ(all.substr(8, 8), "44332211");
    EXPECT_EQ(all.substr(32 * 8), "04000000");
    all.replace(0, 16, "ffffffff55667788");
    EXPECT_EQ(ask("G" + all), "OK");
    EXPECT_EQ(machine.x(zero), 0u);
    EXPECT_EQ(machine.x(ra), 0x88776655u);
    EXPECT_EQ(ask("p20"), "04000000");
    EXPECT_EQ(ask("p382"), "80000000") << "mepc";
    EXPECT_EQ(ask("Pa=2a000000"), "OK");
    EXPECT_EQ(machine.x(a0), 42u);
    EXPECT_EQ(ask("P20=0b000000"), "OK");
    EXPECT_EQ(machine.pc(), 8u);
}

TEST_F(Gdb, MemoryAndWhatRunsThen) {
    EXPECT_EQ(ask("M10000000,4:01020304"), "OK");
    EXPECT_EQ(ask("m10000001,3"), "020304");
    EXPECT_EQ(ask("m30000000,4"), "E0e");
    EXPECT_EQ(ask("M30000000,1:00"), "E0e");
    EXPECT_EQ(ask("M0,1:00"), "E1e") << "the ROM";
    machine.core.state().pc = 0x10000000;
    for (const char* code : {"M10000000,4:13051500", "M10000000,4:13057500"}) {  // addi a0, a0, 1; addi a0, a0, 7
        EXPECT_EQ(ask(code), "OK");
        EXPECT_EQ(ask("s"), "S05");
        machine.core.state().pc = 0x10000000;
    }
    EXPECT_EQ(machine.x(a0), 8u);
}

TEST_F(Gdb, RunsToABreakpointAndOn) {
    EXPECT_EQ(ask("Z0,4,4"), "OK");
    EXPECT_EQ(server.receive(framed("c")), "+");
    EXPECT_TRUE(server.running());
    EXPECT_EQ(machine.core.run(1000), Rv32::Stop::kBreakpoint);
    EXPECT_EQ(server.stopped(), framed("S05"));
    EXPECT_FALSE(server.running());
    EXPECT_EQ(machine.pc(), 4u);
    EXPECT_EQ(ask("s"), "S05");
    EXPECT_EQ(machine.pc(), 8u);
    EXPECT_EQ(ask("z0,4,4"), "OK");
    EXPECT_EQ(machine.core.run(1000), Rv32::Stop::kBudget);
}

// Stores a0 to memory at a1 and loads it from there to a2.
class GdbWatching : public Gdb {
   protected:
    GdbWatching() {
        machine.put(0, {addi(a0, a0, 1), sw(a0, a1, 8), lw(a2, a1, 8), jal(zero, -12)});
        machine.x(a1) = 0x10000000;
        machine.core.state().pc = 0;
    }
    // Lets it run and returns the reason of the stop.
    std::string go() {
        EXPECT_EQ(server.receive(framed("c")), "+");
        const Rv32::Stop stop = machine.core.run(1000);
        if (stop == Rv32::Stop::kBudget) return "";
        EXPECT_EQ(stop, Rv32::Stop::kWatchpoint);
        const std::string reply = server.stopped();
        const std::string text = reply.substr(1, reply.find('#') - 1);
        EXPECT_EQ(reply, framed(text));
        return text;
    }
};

TEST_F(GdbWatching, StopsBehindTheAccessThatIsWatched) {
    EXPECT_EQ(ask("Z2,10000008,4"), "OK");
    EXPECT_EQ(go(), "T05watch:10000008;");
    EXPECT_EQ(machine.pc(), 8u);
    EXPECT_EQ(machine.word(0x10000008), 1u) << "it has been done";
    EXPECT_EQ(ask("?"), "T05watch:10000008;");
    EXPECT_EQ(go(), "T05watch:10000008;");
    EXPECT_EQ(machine.x(a0), 2u) << "reads are another matter";
    EXPECT_EQ(ask("z2,10000008,4"), "OK");
    EXPECT_EQ(ask("Z3,1000000a,1"), "OK") << "a part of it";
    EXPECT_EQ(go(), "T05rwatch:1000000a;");
    EXPECT_EQ(machine.pc(), 12u);
    EXPECT_EQ(machine.x(a2), 2u);
    EXPECT_EQ(ask("z3,1000000a,1"), "OK");
    EXPECT_EQ(ask("Z4,10000008,4"), "OK");
    EXPECT_EQ(go(), "T05awatch:10000008;");
    EXPECT_EQ(machine.pc(), 8u);
    EXPECT_EQ(ask("s"), "T05awatch:10000008;") << "also of a step";
    EXPECT_EQ(ask("s"), "S05");
}

TEST_F(GdbWatching, NotItsNeighbours) {
    for (const char* beside : {"Z4,10000007,1", "Z4,1000000c,fffffff4", "Z2,0,10000000"}) EXPECT_EQ(ask(beside), "OK");
    EXPECT_EQ(go(), "");
    EXPECT_EQ(server.receive("\x03"), framed("S02"));
    EXPECT_EQ(ask("Z2,fffffff,a"), "OK");
    EXPECT_EQ(go(), "T05watch:0fffffff;") << "the last byte of the range is the first of the word";
    EXPECT_EQ(ask("D"), "OK");
    EXPECT_EQ(machine.core.run(1000), Rv32::Stop::kBudget) << "no watchpoint is left";
}

TEST_F(Gdb, PointsHaveAnEnd) {
    char text[40];
    for (const char* kind : {"Z0", "Z2"}) {
        for (size_t i = 0; i < core::GdbServer::kPointsMax; i++) {
            snprintf(text, sizeof text, "%s,%zx,4", kind, 0x10000000 + 4 * i);
            EXPECT_EQ(ask(text), "OK");
        }
        EXPECT_EQ(ask(std::string(kind) + ",10004000,4"), "E1c");
    }
    EXPECT_EQ(ask("z0,10000000,4"), "OK");
    EXPECT_EQ(ask("Z0,10004000,4"), "OK");
}

TEST_F(Gdb, CtrlCStopsAndDetachingLetsGo) {
    EXPECT_EQ(ask("Z1,0,4"), "OK");
    EXPECT_EQ(server.receive("+" + framed("c") + "\x03"), "+" + framed("S02"));
    EXPECT_FALSE(server.running());
    EXPECT_EQ(server.receive("\x03"), "") << "it stands already";
    EXPECT_EQ(ask("D"), "OK");
    EXPECT_TRUE(server.running());
    EXPECT_EQ(machine.core.run(1000), Rv32::Stop::kBudget) << "no breakpoint is left";
}

TEST_F(Gdb, TakesPiecesAndRefusesDamage) {
    const std::string packet = framed("m0,4");
    for (size_t i = 0; i + 1 < packet.size(); i++) EXPECT_EQ(server.receive(packet.substr(i, 1)), "");
    EXPECT_EQ(server.receive(packet.substr(packet.size() - 1)), "+" + framed("13051500"));
    EXPECT_EQ(server.receive("$m0,4#00"), "-");
    EXPECT_EQ(server.receive("$m0,4#zz"), "-");
    for (const char* nonsense : {"m",
                                 "m0",
                                 "mx,y",
                                 "m0,4x",
                                 "M0,4:00",
                                 "M0,1:0",
                                 "M0,1:0g",
                                 "G00",
                                 "Gzz",
                                 "p",
                                 "p21",
                                 "pfffffff",
                                 "P5",
                                 "P5=00",
                                 "P382=00000000",
                                 "Z0",
                                 "Z0,x,4",
                                 "Z0,2,4",
                                 "s4",
                                 "Z2,10000000,0",
                                 "Z0,4",
                                 "Zx,0,4",
                                 "qXfer:features:read:target.xml:x"})
        EXPECT_EQ(ask(nonsense), "E01") << nonsense;
    for (const char* unknown : {"", "Z5,0,4", "X0,0:", "vCont?", "qC", "!"}) EXPECT_EQ(ask(unknown), "") << unknown;
    EXPECT_EQ(server.receive("$" + std::string(100'000, 'a')), "") << "is not kept for ever";
    EXPECT_EQ(ask("?"), "S05");
    EXPECT_EQ(ask("mffffffff,ffffffff"), "E0e");
    EXPECT_EQ(machine.word(0), addi(a0, a0, 1));
}

}  // namespace
}  // namespace sidra::test
