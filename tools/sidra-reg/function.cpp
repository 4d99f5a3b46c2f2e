// SPDX-License-Identifier: MIT
#include "function.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "sidra_hw.h"

namespace sidra::reg {
namespace {

namespace fs = std::filesystem;

constexpr const char* kFunctions = "/sys/bus/pci/devices";
constexpr const char* kDebugfs = "/sys/kernel/debug";

uint32_t attribute(const fs::path& file) {
    std::ifstream in(file);
    uint32_t value = 0;
    in >> std::hex >> value;
    return in ? value : 0;
}

// The driver keeps the BAR to itself (strict devmem forbids mapping it), and offers what is harmless by name.
class DriverRegisters final : public Registers {
   public:
    explicit DriverRegisters(const Function& function)
        : folder_(fs::path(kDebugfs) / "accel" / function.address), driver_(function.driver) {
        if (std::error_code error; !fs::exists(folder_ / "regs", error))
            throw Error(fmt::format(
                "cannot read {}, through which {} is reached while driver {} is bound; {}", (folder_ / "regs").string(),
                function.address, function.driver,
                geteuid() != 0 ? "run sidra-reg as root"
                               : "mount debugfs (mount -t debugfs none /sys/kernel/debug), or unbind the driver"));
    }

    bool readable(const Register& known) const override {
        return known.access == Access::R || known.access == Access::RW;
    }

    uint64_t read(const Register& known) override {
        if (!readable(known))
            throw Error(fmt::format("cannot read {} while driver {} is bound; unbind it first", known.name, driver_));
        std::ifstream in(folder_ / "regs");
        std::string name, offset, rights, value;
        while (in >> name >> offset >> rights >> value)
            if (name == known.name) return std::stoull(value, nullptr, 0);
        throw Error(fmt::format("driver {} does not report {}; it may be older than sidra-reg", driver_, known.name));
    }

    void write(const Register& known, uint64_t value) override {
        if (known.access != Access::W && known.access != Access::RW)
            throw Error(fmt::format("cannot write {} while driver {} is bound; unbind it first", known.name, driver_));
        const std::string path = folder_ / "reg";
        const std::string line = fmt::format("{} {:#x}\n", known.name, value);
        const int file = open(path.c_str(), O_WRONLY | O_CLOEXEC);
        if (file < 0) throw Error(fmt::format("cannot open {}: {}", path, strerror(errno)));
        const bool good = ::write(file, line.data(), line.size()) == static_cast<ssize_t>(line.size());
        const int error = errno;
        close(file);
        if (!good) throw Error(fmt::format("cannot write {}: {}", path, strerror(error)));
    }

    std::string way() const override { return fmt::format("driver {}", driver_); }

   private:
    const fs::path folder_;
    const std::string driver_;
};

// Without a driver nobody has switched the function's memory on. The kernel counts who wants it to be.
class Enabled {
   public:
    explicit Enabled(const Function& function) : file_(fs::path(function.folder) / "enable") {
        if (!write(1))
            throw Error(fmt::format("cannot enable {}; {}", function.address,
                                    geteuid() != 0 ? "run sidra-reg as root" : "see the kernel log"));
    }
    ~Enabled() { write(0); }
    Enabled(const Enabled&) = delete;
    Enabled& operator=(const Enabled&) = delete;

   private:
    bool write(int value) const {
        std::ofstream enable(file_);
        enable << value << std::flush;
        return enable.good();
    }

    const fs::path file_;
};

class BarRegisters final : public Registers {
   public:
    explicit BarRegisters(const Function& function) : enabled_(function) {
        const std::string path = fs::path(function.folder) / fmt::format("resource{}", SIDRA_BAR_REGS);
        const int file = open(path.c_str(), O_RDWR | O_SYNC | O_CLOEXEC);
        if (file < 0) throw Error(fmt::format("cannot open {}: {}", path, strerror(errno)));
        void* memory = mmap(nullptr, kMapped, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
        const int error = errno;
        close(file);
        if (memory == MAP_FAILED) throw Error(fmt::format("cannot map {}: {}", path, strerror(error)));
        bar_ = static_cast<std::byte*>(memory);
    }
    ~BarRegisters() override { munmap(bar_, kMapped); }

    bool readable(const Register&) const override { return true; }

    uint64_t read(const Register& known) override {
        const uint64_t low = word(known.offset);
        return known.bytes == 8 ? low | uint64_t{word(known.offset + 4)} << 32 : low;
    }
    void write(const Register& known, uint64_t value) override {
        word(known.offset) = static_cast<uint32_t>(value);
        if (known.bytes == 8) word(known.offset + 4) = static_cast<uint32_t>(value >> 32);
    }
    std::string way() const override { return "BAR0, no driver"; }

   private:
    static constexpr size_t kMapped = 1u << 16;  // all registers lie in the first 64 KiB

    volatile uint32_t& word(uint32_t offset) const { return *reinterpret_cast<volatile uint32_t*>(bar_ + offset); }

    const Enabled enabled_;
    std::byte* bar_ = nullptr;
};

}  // namespace

std::vector<Function> find_functions() {
    std::vector<Function> found;
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(kFunctions, error)) {
        if (attribute(entry.path() / "vendor") != SIDRA_PCI_VENDOR_ID ||
            attribute(entry.path() / "device") != SIDRA_PCI_DEVICE_ID)
            continue;
        const fs::path driver = fs::read_symlink(entry.path() / "driver", error);
        found.push_back({entry.path().filename(), driver.filename(), entry.path()});
    }
    std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.address < b.address; });
    return found;
}

std::unique_ptr<Registers> open_registers(const Function& function) {
    if (!function.driver.empty()) return std::make_unique<DriverRegisters>(function);
    return std::make_unique<BarRegisters>(function);
}

}  // namespace sidra::reg
