// SPDX-License-Identifier: MIT
// The driver is bound to its card, and loaded, while allocations fail.
#include <sys/syscall.h>

#include <filesystem>

#include "weights.h"

namespace sidra::test {
namespace {

const std::string kBind = "/sys/bus/pci/drivers/sidra/bind";

// Not request by request: most of them are the kernel's own, and Linux 6.12 crashes on one of these (in
// drm_minor_alloc_release(), which puts the error pointer of drm_sysfs_minor_alloc()) and warns at another (where it
// frees an interrupt that has no files in /proc).
TEST_F(FailNth, Probe) {
    ASSERT_TRUE(FaultInjection::get().has_site()) << "only one place at a time: SIDRA_FAIL_SITE";
    const Card card;
    ASSERT_TRUE(card.known());
    {
        Weights weights;  // which the driver finds on its card
        ASSERT_EQ(weights.publish(), 0);
        weights.kept = true;
    }
    sweep([&](Attempt& attempt) {
        ASSERT_TRUE(card.unbind());
        attempt([&] { return write_text(kBind, card.name()) ? 0 : -errno; });
        ASSERT_TRUE(Card::comes());
    });
    EXPECT_EQ(unlink_weights(Node()), 0);
}

// The driver's own tests in the kernel, which loading it runs, take longer than all the rest.
class WithoutKunit {
   public:
    WithoutKunit() { EXPECT_TRUE(write_text(kFilter, "none")); }
    ~WithoutKunit() { EXPECT_TRUE(write_text(kFilter, "*")); }
    WithoutKunit(const WithoutKunit&) = delete;
    WithoutKunit& operator=(const WithoutKunit&) = delete;

   private:
    inline static const std::string kFilter = "/sys/module/kunit/parameters/filter_glob";
};

// Without its cards, which are bound afterwards.
TEST_F(FailNth, Load) {
    const WithoutKunit without_kunit;
    const int module = open("/job/sidra.ko", O_RDONLY | O_CLOEXEC);
    if (module < 0) GTEST_SKIP() << "/job/sidra.ko is not here";
    std::vector<std::string> cards;
    for (const auto& entry : std::filesystem::directory_iterator("/sys/bus/pci/drivers/sidra"))
        if (entry.is_symlink() && entry.path().filename() != "module") cards.push_back(entry.path().filename());
    const auto probe = [](bool wanted) { return write_text("/sys/bus/pci/drivers_autoprobe", wanted ? "1" : "0"); };
    const auto load = [&] { return syscall(SYS_finit_module, module, "", 0) == 0 ? 0 : -errno; };
    const auto unload = [] { return syscall(SYS_delete_module, "sidra", O_NONBLOCK) == 0 ? 0 : -errno; };
    ASSERT_TRUE(probe(false));
    sweep([&](Attempt& attempt) {
        ASSERT_EQ(unload(), 0);
        attempt(load, {.refused = {-EINVAL}});  // which driver_register() answers at times
        // The kernel loads a driver without memory for its file `bind`, too.
        if (attempt.refusal.count && access(kBind.c_str(), F_OK) != 0) {
            ASSERT_EQ(unload(), 0);
            ASSERT_EQ(load(), 0);
        }
        for (const std::string& card : cards) EXPECT_TRUE(write_text(kBind, card)) << card;
        ASSERT_TRUE(Card::comes());
    });
    EXPECT_TRUE(probe(true));
    close(module);
}

}  // namespace
}  // namespace sidra::test
