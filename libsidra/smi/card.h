// SPDX-License-Identifier: MIT
// Cards: /sys/class/sidra, and PCI functions without a driver.
#ifndef SIDRA_SMI_CARD_H
#define SIDRA_SMI_CARD_H

#include <memory>
#include <string>
#include <vector>

#include "aside.h"
#include "sample.h"

namespace sidra::smi {

class Card {
   public:
    // `node` is empty where no driver is bound.
    Card(std::string root, std::string node, std::string bdf);

    const std::string& node() const { return node_; }
    const std::string& bdf() const { return bdf_; }
    const std::string& device() const { return device_; }  // /dev/sidraN
    // Paths of a file of the node and of a file of its PCI function.
    std::string attribute(const std::string& name) const { return folder_ + "/" + name; }
    std::string function(const std::string& name) const { return function_ + "/" + name; }
    const std::string& root() const { return root_; }
    // Reads everything. May block in the kernel without limit.
    Sample read() const;

   private:
    std::string root_, node_, bdf_, device_, folder_, function_;
};

// Reads a card on a thread of its own.
class CardReader {
   public:
    // As Aside::start().
    int start(const std::shared_ptr<Card>& card) noexcept;
    // Whether a reading that was started has ended, and its result was not taken.
    bool complete();
    // The result of the reading; ETIMEDOUT if it is not complete by `deadline_ns`.
    Maybe<Sample> finish(uint64_t deadline_ns) noexcept;

   private:
    Aside aside_;
    std::shared_ptr<Maybe<Sample>> result_;
};

// All cards: by node, then those without a driver by BDF.
std::vector<std::shared_ptr<Card>> find_cards(const std::string& root);

}  // namespace sidra::smi

#endif
