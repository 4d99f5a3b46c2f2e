// SPDX-License-Identifier: MIT
// Firmware from a file: stored by the driver, started at the next reset, and refused with one clear line.
#include <sys/stat.h>

#include <iterator>
#include <thread>

#include "innocent.h"
#include "log.h"

namespace sidra::test {
namespace {

constexpr const char* kUpdate = "/sys/class/sidra/sidra0/firmware_update";

bool runs_well(const std::string& command) { return system((command + " >/tmp/sidra-fw.log 2>&1").c_str()) == 0; }

// The search path of request_firmware(), while the object exists.
class Files {
   public:
    Files() {
        mkdir(kFolder, 0755);
        mkdir((std::string(kFolder) + "/sidra").c_str(), 0755);
        // Of its text a newline would become part.
        EXPECT_TRUE(write_text(kPath, kFolder));
    }
    ~Files() {
        remove();
        EXPECT_TRUE(write_text(kPath, std::string(1, '\0')));
    }
    Files(const Files&) = delete;
    Files& operator=(const Files&) = delete;

    // The built runtime under another version, signed with the development key.
    static void make(const std::string& version, const std::string& options = "", const std::string& security = "1",
                     const std::string& key = "/src/firmware/keys/development.key") {
        ASSERT_TRUE(runs_well("sidra-fw build --version " + version + " --security-version " + security +
                              " --api boot=1.0 " +
                              (options.find("mailbox") == std::string::npos ? "--api mailbox=1.0 " : "") + options +
                              " /build/release/firmware/runtime.elf " + kImage));
        if (!key.empty()) ASSERT_TRUE(runs_well(std::string("sidra-fw sign --key ") + key + " " + kImage));
    }
    static std::string read() {
        std::ifstream file(kImage, std::ios::binary);
        return {std::istreambuf_iterator<char>(file), {}};
    }
    static void write(const std::string& image) { std::ofstream(kImage, std::ios::binary) << image; }
    static void remove() { unlink(kImage); }

   private:
    static constexpr const char* kFolder = "/tmp/firmware";
    static constexpr const char* kImage = "/tmp/firmware/sidra/y1-runtime.fw";
    static constexpr const char* kPath = "/sys/module/firmware_class/parameters/path";
};

class Update : public NodeTest {
   protected:
    const Card card;
    Files files;
    Log log;

    void SetUp() override {
        NodeTest::SetUp();
        ASSERT_TRUE(card.known());
        ASSERT_TRUE(runs("0.1.0"));
    }
    void TearDown() override {
        if (version() == "0.1.0") return;
        Files::make("0.1.0");
        EXPECT_EQ(update(), 0);
        EXPECT_TRUE(starts("0.1.0"));
    }
    static int update() {
        const int fd = open(kUpdate, O_WRONLY | O_CLOEXEC);
        const int error = ::write(fd, "1", 1) == 1 ? 0 : -errno;
        close(fd);
        return error;
    }
    static std::string version() {
        std::string text;
        std::ifstream("/sys/class/sidra/sidra0/firmware_version") >> text;
        return text;
    }
    static bool runs(const std::string& wanted) {
        return eventually([&] { return version() == wanted; });
    }
    // Resets the device, and waits until the image has confirmed itself.
    bool starts(const std::string& wanted) const {
        const Node node;
        sidra_ioctl_device_reset reset{};
        return node.call(SIDRA_IOCTL_DEVICE_RESET, reset) == 0 && runs(wanted) &&
               eventually([&] { return heartbeat() > 1; });
    }
    uint64_t heartbeat() const {
        std::ifstream file("/sys/kernel/debug/accel/" + card.name() + "/regs");
        for (std::string name, offset, access, value; file >> name >> offset >> access >> value;)
            if (name == "HEARTBEAT") return std::stoull(value, nullptr, 0);
        return 0;
    }
    bool logged(const std::string& text) {
        return eventually([&] { return log.says(text); });
    }
    // The running image stays, now and after a reset.
    void expect_refusal(int error, const std::string& words) {
        EXPECT_EQ(update(), error);
        EXPECT_TRUE(logged("sidra/y1-runtime.fw: " + words));
        EXPECT_EQ(version(), "0.1.0");
    }
};

TEST_F(Update, IsTriedAtTheNextReset) {
    Innocent innocent;
    Files::make("0.2.0");
    EXPECT_EQ(update(), 0);
    EXPECT_TRUE(logged("firmware 0.2.0"));
    EXPECT_TRUE(logged("the next reset of the device tries it"));
    EXPECT_EQ(version(), "0.1.0") << "no reset by itself";
    innocent.work();
    ASSERT_TRUE(starts("0.2.0"));
    innocent.lose_and_recover(SIDRA_FAULT_RESET);
    EXPECT_TRUE(logged("on trial"));
    ASSERT_TRUE(starts("0.2.0")) << "it has confirmed itself";
    EXPECT_EQ(update(), 0);
    EXPECT_TRUE(logged("firmware 0.2.0 is already running"));
}

// As an administrator requests it: a reset of the PCI function involves more than one reset of the chip.
TEST_F(Update, IsTriedAtAResetOfTheFunction) {
    Files::make("0.4.0");
    EXPECT_EQ(update(), 0);
    ASSERT_TRUE(runs_well("sidra-smi reset --chip sidra0"));
    ASSERT_TRUE(runs("0.4.0"));
    EXPECT_TRUE(eventually([&] { return heartbeat() > 1; }));
    EXPECT_TRUE(starts("0.4.0")) << "it has confirmed itself";
}

TEST_F(Update, TheDriverOffersItOnce) {
    Files::make("0.3.0");
    ASSERT_TRUE(card.unbind());
    ASSERT_TRUE(card.bind());
    EXPECT_TRUE(logged("stored and verified"));
    EXPECT_TRUE(runs("0.1.0"));
    ASSERT_TRUE(starts("0.3.0"));
}

// The same version, but another build.
TEST_F(Update, AnotherBuildIsAnotherImage) {
    const auto expect = [](const std::string& build_id, const std::string& text) {
        Log since;
        Files::make("0.1.0", build_id.empty() ? "" : "--build-id " + build_id);
        EXPECT_EQ(update(), 0);
        EXPECT_TRUE(eventually([&] { return since.says(text); })) << text;
    };
    const std::string other = "1234567800112233445566778899aabbccddeeff", none(40, '0');
    expect(other, "firmware 0.1.0, build 12345678");
    ASSERT_TRUE(starts("0.1.0"));
    expect(other, "firmware 0.1.0 is already running");
    expect(none, "firmware 0.1.0 is already running");
    expect("", "running: 0.1.0, build 12345678");
    ASSERT_TRUE(starts("0.1.0"));
    expect("", "firmware 0.1.0 is already running");
}

TEST_F(Update, RefusedByTheDriver) {
    const auto refused = [&](int error, const std::string& words) {
        expect_refusal(error, "refused by the driver: " + words);
    };
    Files::make("0.2.0");
    const std::string image = Files::read();
    Files::write(image.substr(0, image.size() - 1));
    refused(-EIO, "transfer: shorter than the payload");
    Files::write(image.substr(0, 100));
    refused(-EIO, "transfer: ");
    Files::write(image + '\0');
    refused(-EIO, "transfer: ");
    std::string damaged = image;
    damaged[offsetof(sidra_fw_header, version)] ^= 1;
    Files::write(damaged);
    refused(-EIO, "transfer: ");
    Files::make("0.2.0", "--chip-id 0x1234");
    refused(-EINVAL, "unfit: made for another chip (it is for chip 0x1234, this is 0x5931)");
    Files::make("0.2.0", "--type recovery");
    refused(-EINVAL, "unfit: the wrong type");
    Files::make("0.2.0", "--api mailbox=2.5");
    refused(-EINVAL,
            "unfit: an interface has a different major version than required (it has mailbox version 2.5, this driver "
            "1.0)");
    Files::make("0.2.0", "--min-driver 9.1.2");
    refused(-EINVAL, "unfit: needs a newer driver (it needs 9.1.2, this is 2.0.0)");
    Files::make("0.2.0", "", "0");
    refused(-EKEYREVOKED, "rollback: its security version is below the minimum (it is 0, and the chip requires 1)");
    Files::remove();
    expect_refusal(-ENOENT, "cannot be read");
    ASSERT_TRUE(starts("0.1.0"));
}

TEST_F(Update, RefusedByTheChip) {
    Innocent innocent;
    const auto refused = [&](int error, const std::string& words) {
        expect_refusal(error, "refused by the chip: " + words);
    };
    Files::make("0.2.0");
    std::string image = Files::read();
    image[SIDRA_FW_HEADER_SIZE + 100] ^= 1;
    Files::write(image);
    refused(-EBADMSG, "corrupt: the SHA-256 differs");
    Files::make("0.2.0", "", "1", "");
    refused(-EKEYREJECTED, "authenticity: not signed");
    ASSERT_TRUE(runs_well("rm -f /tmp/other.key /tmp/other.pub && sidra-fw keygen --name other /tmp/other.key"));
    Files::make("0.2.0", "", "1", "/tmp/other.key");
    refused(-EKEYREJECTED, "authenticity: signed by a key that is not trusted here");
    Files::make("0.2.0");
    image = Files::read();
    image[image.size() - 1] ^= 1;  // the last byte of the signature
    Files::write(image);
    refused(-EKEYREJECTED, "authenticity: the signature");
    innocent.work();
    ASSERT_TRUE(starts("0.1.0"));
}

TEST_F(Update, FirmwareThatDoesNotAnswer) {
    Innocent innocent;
    const Parameter impatient("mailbox_timeout_ms", "100");
    ASSERT_TRUE(impatient.good);
    Files::make("0.2.0");
    ASSERT_TRUE(knob("firmware-hang", 1));
    const int error = update();
    EXPECT_TRUE(error == -ETIMEDOUT || error == -ECONNRESET || error == -EAGAIN) << error;
    EXPECT_TRUE(logged("sidra/y1-runtime.fw: not stored"));
    innocent.work();
    EXPECT_TRUE(logged("the firmware hung"));
    EXPECT_TRUE(runs("0.1.0"));
}

// The device is reset repeatedly during updates: an image is stored completely or not at all.
TEST_F(Update, ResetsInBetween) {
    const Node node;
    Files::make("0.2.0");
    int stored = 0;
    for (int i = 0; i < rounds(5, 100); i++) {
        std::thread writer([&] { stored += update() == 0; });
        usleep(
            static_cast<useconds_t>(i * 3000));  // no wait for an event: the reset comes at a different point each time
        sidra_ioctl_device_reset reset{};
        EXPECT_EQ(node.call(SIDRA_IOCTL_DEVICE_RESET, reset), 0);
        writer.join();
        EXPECT_TRUE(eventually([] { return version() != "none"; }));
        // The image may also be stored when the reset came before the last reply.
        EXPECT_TRUE(version() == "0.1.0" ||
                    (version() == "0.2.0" && (stored > 0 || log.says("not stored: FW_COMMIT failed"))))
            << version();
    }
    // The image stored after the last reset is started by this reset, not by that of a later test.
    sidra_ioctl_device_reset reset{};
    ASSERT_EQ(node.call(SIDRA_IOCTL_DEVICE_RESET, reset), 0);
    EXPECT_TRUE(eventually([this] { return version() != "none" && heartbeat() > 1; }));
}

TEST_F(Update, OnlyRootMay) {
    struct stat info {};
    ASSERT_EQ(stat(kUpdate, &info), 0);
    EXPECT_EQ(info.st_mode & 0777, 0200u);
    EXPECT_EQ(info.st_uid, 0u);
}

}  // namespace
}  // namespace sidra::test
