// SPDX-License-Identifier: MIT
// sidra-reg without a driver: it uses the function's memory, and leaves the function as it was.
#include "function.h"

#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "tree.h"

namespace sidra::reg {
namespace {

class Bar : public testing::Test {
   protected:
    Bar() { tree.write("card/enable", "0"); }

    std::string enabled() const {
        std::string text;
        std::getline(std::ifstream(tree.path("card/enable")), text);
        return text;
    }

    const test::Tree tree;
    const Function function = {"0000:01:00.0", "", tree.path("card")};
};

TEST_F(Bar, IsEnabledWhileItIsUsed) {
    tree.write("card/resource0", std::string(1u << 16, '\0'));
    {
        const auto opened = open_registers(function);
        EXPECT_EQ(enabled(), "1");
        const Register& scratch = *find_register("SCRATCH");
        opened->write(scratch, 0x1234);
        EXPECT_EQ(opened->read(scratch), 0x1234u);
    }
    EXPECT_EQ(enabled(), "0");
}

TEST_F(Bar, IsNotLeftEnabledByAFailure) {
    EXPECT_THROW(open_registers(function), Error);  // no resource0
    EXPECT_EQ(enabled(), "0");
    tree.link("/dev/null", "card/resource0");  // it can be opened, but not mapped
    EXPECT_THROW(open_registers(function), Error);
    EXPECT_EQ(enabled(), "0");
}

}  // namespace
}  // namespace sidra::reg
