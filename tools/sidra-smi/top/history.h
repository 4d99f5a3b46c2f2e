// SPDX-License-Identifier: MIT
// The latest values of one quantity, one per refresh. Missing values keep their place: absent is not zero.
#ifndef SIDRA_SMI_TOP_HISTORY_H
#define SIDRA_SMI_TOP_HISTORY_H

#include <array>
#include <cstddef>
#include <optional>

namespace sidra::top {

class History {
   public:
    static constexpr size_t kCapacity = 512;  // width of the widest graph

    void push(std::optional<double> value);
    size_t size() const { return size_; }
    // `age` 0: the latest. Returns nothing if there is no value.
    std::optional<double> at(size_t age) const;
    // Maximum of the latest `count` values; 0 if all are absent.
    double largest(size_t count) const;

   private:
    std::array<std::optional<double>, kCapacity> ring_;
    size_t next_ = 0, size_ = 0;
};

}  // namespace sidra::top

#endif
