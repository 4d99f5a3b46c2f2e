// SPDX-License-Identifier: MIT
#include "reach.h"

#include <fmt/format.h>

#include <cstring>

#include "file.h"

namespace sidra::smi {
namespace {

[[noreturn]] void unreachable(const char* verb, const std::string& path, int error) {
    const char* what = std::strerror(error);
    if (error == ENOENT) what = "the driver is too old: it has no such file";
    if (error == EACCES || error == EPERM) what = "permission denied: root is required";
    if (error == ETIMEDOUT) what = "no answer before the timeout; the driver still works on the request";
    if (error == ENOMEM) what = "the system is out of memory or threads";
    if (error == EBUSY) what = "the previous request is still not answered";
    throw Unreachable{error, fmt::format("cannot {} {}: {}", verb, path, what)};
}

// Runs `work` on the second thread of the chip: the first one keeps reading files that need no answer from the chip.
template <typename T>
Maybe<T> by_deadline(sidra_smi_chip& chip, uint64_t timeout_ns, std::function<Maybe<T>()> work) {
    const auto result = std::make_shared<Maybe<T>>();
    const int error = chip.asking.start([result, work = std::move(work)] {
        try {
            *result = work();
        } catch (const std::bad_alloc&) {
            *result = Maybe<T>::none(ENOMEM);
        }
    });
    if (error != 0) return Maybe<T>::none(error);
    const uint64_t now = now_ns();
    const bool done = chip.asking.wait_until(timeout_ns > UINT64_MAX / 4 - now ? UINT64_MAX / 4 : now + timeout_ns);
    return done ? *result : Maybe<T>::none(ETIMEDOUT);
}

}  // namespace

Card& card_of(sidra_smi_chip& chip) {
    if (chip.card == nullptr)
        throw Unreachable{EPERM,
                          fmt::format("{} is an embedded model: it can be monitored but not managed", chip.name)};
    if (chip.gone) throw Unreachable{ENODEV, fmt::format("{} is gone", chip.name)};
    if (chip.card->node().empty())
        throw Unreachable{ENOENT, fmt::format("{} has no driver (modprobe sidra)", chip.name)};
    return *chip.card;
}

std::string read_slowly(sidra_smi_chip& chip, const std::string& attribute, size_t limit, uint64_t timeout_ns) {
    const std::string path = card_of(chip).attribute(attribute);
    const auto read = by_deadline<std::string>(chip, timeout_ns, [path, limit] { return read_file(path, limit); });
    if (!read) unreachable("read", path, read.error);
    return read.value;
}

void write_slowly(sidra_smi_chip& chip, const std::string& path, const std::string& text, uint64_t timeout_ns) {
    const auto written = by_deadline<bool>(chip, timeout_ns, [path, text] {
        const int error = write_file(path, text);
        return error == 0 ? Maybe<bool>(true) : Maybe<bool>::none(error);
    });
    if (!written) unreachable("write", path, written.error);
}

}  // namespace sidra::smi
