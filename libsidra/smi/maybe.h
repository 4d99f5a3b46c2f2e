// SPDX-License-Identifier: MIT
// A value, or the errno that says why there is none.
#ifndef SIDRA_SMI_MAYBE_H
#define SIDRA_SMI_MAYBE_H

#include <cerrno>
#include <utility>

namespace sidra::smi {

template <typename T>
struct Maybe {
    T value{};
    int error = ENODATA;

    Maybe() = default;
    Maybe(T present) : value(std::move(present)), error(0) {}
    static Maybe none(int why) {
        Maybe absent;
        absent.error = why != 0 ? why : EIO;
        return absent;
    }
    explicit operator bool() const { return error == 0; }
};

}  // namespace sidra::smi

#endif
