// SPDX-License-Identifier: MIT
// A card's attributes in sysfs, as bytes or as the errno of reading them.
#ifndef SIDRA_TESTS_ATTRIBUTES_H
#define SIDRA_TESTS_ATTRIBUTES_H

#include <sys/syscall.h>

#include <filesystem>
#include <set>
#include <sstream>

#include "node.h"

namespace sidra::test {

inline const std::string kClass = "/sys/class/sidra/sidra0/";

struct Answer {
    int error = 0;  // -errno
    std::string bytes;

    std::string line() const { return bytes.substr(0, bytes.find('\n')); }
    std::vector<uint64_t> numbers() const {
        std::istringstream text(bytes);
        std::vector<uint64_t> all;
        for (uint64_t number; text >> number;) all.push_back(number);
        return all;
    }
};

// Until the end, with one open.
inline Answer read_file(const std::string& path) {
    const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0) return {-errno, {}};
    Answer answer;
    char piece[16384];
    ssize_t bytes = 0;
    while ((bytes = read(fd, piece, sizeof piece)) > 0) answer.bytes.append(piece, static_cast<size_t>(bytes));
    if (bytes < 0) answer.error = -errno;
    close(fd);
    return answer;
}
inline Answer attribute(const std::string& name) { return read_file(kClass + name); }

inline int write_attribute(const std::string& name, const std::string& text) {
    const int fd = open((kClass + name).c_str(), O_WRONLY | O_CLOEXEC);
    if (fd < 0) return -errno;
    const int error = write(fd, text.data(), text.size()) < 0 ? -errno : 0;
    close(fd);
    return error;
}

// While an object exists this thread is an ordinary user. Only this thread: glibc's call would change all threads.
class OrdinaryUser {
   public:
    OrdinaryUser() { become(65534); }
    ~OrdinaryUser() { become(0); }
    OrdinaryUser(const OrdinaryUser&) = delete;
    OrdinaryUser& operator=(const OrdinaryUser&) = delete;

   private:
    static void become(long user) { EXPECT_EQ(syscall(SYS_setresuid, -1L, user, -1L), 0); }
};

// Names of files in a folder, without those that every device has.
inline std::set<std::string> files_in(const std::string& folder) {
    const std::set<std::string> of_any_device = {"dev", "uevent", "async", "autosuspend_delay_ms"};
    std::set<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder))
        if (entry.is_regular_file() && !of_any_device.count(entry.path().filename()))
            names.insert(entry.path().filename());
    return names;
}

// Names that a document of docs/abi describes: the last part of each "What:".
inline std::set<std::string> documented(const std::string& document) {
    std::ifstream file("/src/docs/abi/" + document);
    std::set<std::string> names;
    for (std::string line; std::getline(file, line);)
        if (line.rfind("What:", 0) == 0) names.insert(line.substr(line.rfind('/') + 1));
    return names;
}

}  // namespace sidra::test

#endif
