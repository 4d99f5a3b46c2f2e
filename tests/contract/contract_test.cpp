// SPDX-License-Identifier: MIT
// Rules of uapi/ that concern the contract as a whole. That each table entry is true is asserted when contract.h
// compiles; here: that the tables miss nothing, that structs have no holes, that nothing overlaps, and that libsidra's
// numbers are the packets'.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "paths.h"
#include "sidra/sidra.h"
#include "sidra_accel.h"
#include "sidra_hw.h"

namespace {

struct Field {
    std::string name;
    size_t offset;
    size_t size;
};
struct Layout {
    size_t size;
    std::vector<Field> fields;
};

const std::map<std::string, Layout>& structs() {
    static const std::map<std::string, Layout> table = [] {
        std::map<std::string, Layout> t;
        std::string current;
        const auto begin = [&](const char* name, size_t size) {
            current = name;
            EXPECT_TRUE(t.emplace(current, Layout{size, {}}).second) << name << " is listed twice";
        };
        const auto add = [&](const std::string& type, const char* field, size_t offset, size_t size) {
            EXPECT_EQ(type.substr(type.find(' ') + 1), current) << field << " stands under the wrong struct";
            t.at(current).fields.push_back({field, offset, size});
        };
#define STRUCT(name, size) begin(#name, size);
#define UNION(name, size) begin(#name, size);
#define FIELD(type, field, offset, size) add(#type, #field, offset, size);
#include "layout.inc"
#undef STRUCT
#undef UNION
#undef FIELD
        return t;
    }();
    return table;
}

// The text of a file of the tree.
std::string source(const std::string& name) {
    std::ifstream file(sidra::test::source_file(name));
    std::stringstream text;
    text << file.rdbuf();
    EXPECT_FALSE(text.str().empty()) << "cannot read " << name;
    return text.str();
}

// The text of a header of uapi/ without its comments.
std::string header(const std::string& name) {
    std::string s = source("uapi/" + name);
    for (size_t at; (at = s.find("/*")) != std::string::npos;) s.erase(at, s.find("*/", at) + 2 - at);
    return s;
}

std::set<std::string> matches(const std::regex& pattern) {
    std::set<std::string> found;
    for (const char* name : {"sidra_cmd.h", "sidra_state.h", "sidra_monitor.h", "sidra_vector.h", "sidra_hw.h",
                             "sidra_publish.h", "sidra_accel.h"}) {
        const std::string text = header(name);
        for (std::sregex_iterator it(text.begin(), text.end(), pattern), end; it != end; ++it) found.insert((*it)[1]);
    }
    return found;
}

TEST(Contract, EveryStructOfTheHeadersIsInTheTable) {
    std::set<std::string> listed;
    for (const auto& [name, layout] : structs()) listed.insert(name);
    EXPECT_EQ(matches(std::regex(R"(\n(?:struct|union) (\w+) \{)")), listed);
}

TEST(Contract, EveryNumberOfTheHeadersIsInATable) {
    std::set<std::string> listed;
#define VALUE(name, value) EXPECT_TRUE(listed.insert(#name).second) << #name " is listed twice";
#define REGISTER(name, offset, bytes) listed.insert(#name);
#define IOCTL(name, number, type) listed.insert(#name);
#include "ioctls.inc"
#include "registers.inc"
#include "values.inc"
#undef VALUE
#undef REGISTER
#undef IOCTL
    // Object-like macros with a value, and enumerators (each on a line of its own).
    std::set<std::string> defined = matches(std::regex(R"(\n#define +(SIDRA_\w+)[ \t]+[^ \t\n])"));
    defined.merge(matches(std::regex(R"(\n\t(SIDRA_\w+)[ \t]*(?:=|,|\n))")));
    EXPECT_EQ(defined, listed);
}

TEST(Contract, TheDocumentsHaveEveryCallErrorAndCause) {
    const std::string contract = source("docs/uapi.md"), device = source("docs/device.md");
    const std::string sysfs = source("docs/driver.md");
#define IOCTL(name, number, type)                                                                                   \
    EXPECT_NE(contract.find("| " + std::string(#name).substr(sizeof "SIDRA_IOCTL_" - 1) + " |"), std::string::npos) \
        << #name;
#include "ioctls.inc"
#undef IOCTL
    for (const std::string& cause : matches(std::regex(R"(\n\tSIDRA_FAULT_(\w+)\s*=\s*[1-9])")))
        EXPECT_TRUE(std::regex_search(device, std::regex("\n\\| [A-Z_, ]*\\b" + cause + "\\b[A-Z_, ]* \\|"))) << cause;
    // Internal to the driver: never returned to callers.
    const std::set<std::string> internal = {"EAGAIN",     "EIOCBQUEUED", "ERESTARTSYS", "E2BIG",
                                            "ECONNRESET", "EPROTO",      "EINPROGRESS"};
    const std::regex error(R"(-(E[A-Z0-9]+)\b)");
    for (const auto& file : std::filesystem::directory_iterator(sidra::test::source_file("kmod"))) {
        if (file.path().extension() != ".c") continue;
        const std::string text = source("kmod/" + file.path().filename().string());
        for (std::sregex_iterator it(text.begin(), text.end(), error), end; it != end; ++it) {
            const std::string row = "| `-" + (*it)[1].str() + "` |";
            EXPECT_TRUE(internal.count((*it)[1]) || contract.find(row) != std::string::npos ||
                        sysfs.find(row) != std::string::npos)
                << (*it)[0] << " of " << file.path();
        }
    }
}

TEST(Contract, StructsHaveNoHolesAndNoTailPadding) {
    for (const auto& [name, layout] : structs()) {
        if (name == "sidra_cmd") continue;  // the union
        size_t at = 0;
        for (const Field& field : layout.fields) {
            EXPECT_EQ(field.offset, at) << "before " << name << "." << field.name;
            at = field.offset + field.size;
        }
        EXPECT_EQ(at, layout.size) << "tail of " << name;
    }
}

TEST(Contract, PacketsAre64BytesAndBeginWithTheHeader) {
    for (const auto& [name, layout] : structs()) {
        if (!name.starts_with("sidra_cmd_") || name == "sidra_cmd_header") continue;
        EXPECT_EQ(layout.size, SIDRA_CMD_SIZE) << name;
        // These packets spell the header out, because they keep fields of their own in its pad.
        const bool spelled = name == "sidra_cmd_mvm" || name == "sidra_cmd_label" || name == "sidra_cmd_layer" ||
                             name == "sidra_cmd_sort";
        if (spelled) {
            EXPECT_EQ(layout.fields.at(0).name, "opcode") << name;
            EXPECT_EQ(layout.fields.at(1).name, "flags") << name;
        } else {
            EXPECT_EQ(layout.fields.at(0).name, "hdr") << name;
        }
    }
    const size_t cookies[] = {offsetof(sidra_cmd_mvm, cookie), offsetof(sidra_cmd_label, cookie),
                              offsetof(sidra_cmd_layer, cookie), offsetof(sidra_cmd_sort, cookie)};
    for (const size_t cookie : cookies) EXPECT_EQ(cookie, offsetof(sidra_cmd_header, cookie));
    EXPECT_EQ(offsetof(sidra_cmd_label, weights), offsetof(sidra_cmd_header, pad));
    EXPECT_EQ(offsetof(sidra_cmd_layer, weights), offsetof(sidra_cmd_header, pad));
}

TEST(Contract, IoctlsAreUniqueInTheDriverRangeAndSmall) {
    std::set<unsigned> numbers;
#define IOCTL(name, number, type)                                                         \
    EXPECT_TRUE(numbers.insert(number).second) << #name " has the number of another one"; \
    EXPECT_LT(0x40 + (number), 0xa0) << #name " lies outside of the DRM driver range";    \
    EXPECT_EQ(sizeof(type) % 8, 0u) << #type;                                             \
    EXPECT_LE(sizeof(type), 128u) << #type;
#include "ioctls.inc"
#undef IOCTL
}

struct Range {
    std::string name;
    uint64_t begin, end;
};

void expect_disjoint(std::vector<Range> ranges, uint64_t limit) {
    std::sort(ranges.begin(), ranges.end(), [](const Range& a, const Range& b) { return a.begin < b.begin; });
    for (size_t i = 0; i + 1 < ranges.size(); ++i)
        EXPECT_LE(ranges[i].end, ranges[i + 1].begin) << ranges[i].name << " runs into " << ranges[i + 1].name;
    ASSERT_FALSE(ranges.empty());
    EXPECT_LE(ranges.back().end, limit) << ranges.back().name;
}

TEST(Contract, RegistersAreAlignedAndDoNotOverlap) {
    std::vector<Range> ranges;
#define REGISTER(name, offset, bytes)                                       \
    EXPECT_EQ((offset) % std::min(bytes, 8), 0) << #name " is not aligned"; \
    ranges.push_back({#name, offset, (offset) + (bytes)});
#include "registers.inc"
#undef REGISTER
    expect_disjoint(ranges, 0x1000);
}

TEST(Contract, WindowsOfBar0DoNotOverlap) {
    expect_disjoint({{"registers", 0, 0x1000},
                     {"telemetry", SIDRA_BAR_TELEMETRY, SIDRA_BAR_TELEMETRY + SIDRA_PAGE_SIZE},
                     {"arm", SIDRA_BAR_ARM, SIDRA_ARM(SIDRA_CONTEXTS_MAX, 0u)},
                     {"doorbells", SIDRA_BAR_DOORBELL, SIDRA_DOORBELL(SIDRA_CONTEXTS_MAX, 0u)},
                     {"MSI-X table", SIDRA_BAR_MSIX_TABLE, SIDRA_BAR_MSIX_TABLE + SIDRA_MSIX_VECTORS * 16},
                     {"MSI-X PBA", SIDRA_BAR_MSIX_PBA, SIDRA_BAR_MSIX_PBA + SIDRA_MSIX_VECTORS / 8}},
                    SIDRA_BAR_REGS_SIZE);
    EXPECT_LE(sizeof(sidra_telemetry), SIDRA_PAGE_SIZE);
}

TEST(Contract, EachQueueHasItsOwnDoorbellAndArmWord) {
    std::set<uint64_t> addresses;
    for (uint32_t context = 0; context < SIDRA_CONTEXTS_MAX; ++context) {
        // A page mapped into a process holds the doorbells of one context only, also with 64 KiB pages.
        EXPECT_EQ(SIDRA_DOORBELL(context, 0u) % 0x10000, 0u);
        for (uint32_t queue = 0; queue < SIDRA_QUEUES_PER_CONTEXT_MAX; ++queue) {
            EXPECT_EQ(SIDRA_DOORBELL(context, queue) / 0x10000, SIDRA_DOORBELL(context, 0u) / 0x10000);
            EXPECT_TRUE(addresses.insert(SIDRA_DOORBELL(context, queue)).second) << context << ' ' << queue;
            EXPECT_TRUE(addresses.insert(SIDRA_ARM(context, queue)).second) << context << ' ' << queue;
        }
    }
    for (uint64_t address : addresses) EXPECT_EQ(address % 8, 0u);
}

TEST(Contract, PageTablesCoverTheAddressSpace) {
    EXPECT_EQ(1u << (SIDRA_HUGE_SHIFT - SIDRA_PAGE_SHIFT), SIDRA_PT_ENTRIES);
    EXPECT_EQ(SIDRA_PT_ENTRIES * sizeof(uint64_t), SIDRA_PAGE_SIZE);
    EXPECT_EQ(SIDRA_PAGE_SHIFT + SIDRA_PT_LEVELS * 9, SIDRA_VA_BITS);
    const uint64_t bits[] = {SIDRA_PTE_VALID, SIDRA_PTE_LEAF, SIDRA_PTE_READ,    SIDRA_PTE_WRITE,
                             SIDRA_PTE_LOCAL, SIDRA_PTE_ADDR, SIDRA_PTE_RESERVED};
    uint64_t seen = 0;
    for (uint64_t bit : bits) {
        EXPECT_EQ(seen & bit, 0u) << std::hex << bit;
        seen |= bit;
    }
    EXPECT_EQ(seen, ~uint64_t{0});
}

TEST(Contract, TablesAndRecordsFitTheirPages) {
    EXPECT_EQ(SIDRA_CONTEXTS_MAX * sizeof(sidra_hw_context), SIDRA_PAGE_SIZE);
    EXPECT_LE(sizeof(sidra_queue_state), SIDRA_PAGE_SIZE);
    EXPECT_EQ((uint64_t{SIDRA_CMD_SIZE} << SIDRA_QUEUE_LOG2_MIN) % SIDRA_PAGE_SIZE, 0u);
    EXPECT_EQ(offsetof(sidra_queue_state, run_state) / 64, 1u) << "run_state shares the timeline's cache line";
    EXPECT_EQ(sizeof(sidra_nvm_entry::name), SIDRA_NVM_NAME_MAX + 1);
}

TEST(Contract, LibsidraSpeaksTheNumbersOfThePackets) {
#define SAME(type) EXPECT_EQ(int{SIDRA_##type}, int{SIDRA_TYPE_##type})
    SAME(U8);
    SAME(S8);
    SAME(S32);
    SAME(F32);
    SAME(S16);
    SAME(S64);
    SAME(BOOL);
    SAME(F16);
    SAME(BF16);
#undef SAME
    // The ioctl's rights are those of the chip's table shifted by one bit (bit 0 is VALID there).
    EXPECT_EQ(SIDRA_WEIGHTS_COMPUTE << 1, SIDRA_HW_WEIGHTS_COMPUTE);
    EXPECT_EQ(SIDRA_WEIGHTS_PROGRAM << 1, SIDRA_HW_WEIGHTS_PROGRAM);
    EXPECT_EQ(SIDRA_WEIGHTS_READBACK << 1, SIDRA_HW_WEIGHTS_READBACK);
}

}  // namespace
