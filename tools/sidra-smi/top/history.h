// SPDX-License-Identifier: MIT
// The newest values of one thing, one a refresh. A value that could not be had keeps its place: absent is not zero.
#ifndef SIDRA_SMI_TOP_HISTORY_H
#define SIDRA_SMI_TOP_HISTORY_H

#include <array>
#include <cstddef>
#include <optional>

namespace sidra::top {

class History {
   public:
    static constexpr size_t kCapacity = 512;  // columns of the widest graph

    void push(std::optional<double> value);
    size_t size() const { return size_; }
    // `age` 0: the newest. Nothing where there is none yet, or none any more.
    std::optional<double> at(size_t age) const;
    // Of the newest `count`; 0 if all are absent.
    double largest(size_t count) const;

   private:
    std::array<std::optional<double>, kCapacity> ring_;
    size_t next_ = 0, size_ = 0;
};

}  // namespace sidra::top

#endif
