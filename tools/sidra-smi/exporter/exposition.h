// SPDX-License-Identifier: MIT
// The text format of Prometheus, version 0.0.4.
#ifndef SIDRA_SMI_EXPORTER_EXPOSITION_H
#define SIDRA_SMI_EXPORTER_EXPOSITION_H

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sidra::exporter {

using Labels = std::vector<std::pair<std::string, std::string>>;

// A metric: its help is a whole sentence, its type "gauge" or "counter".
struct Family {
    std::string_view name, help, type;
};

class Exposition {
   public:
    // The samples that follow belong to this metric. A metric without samples is left out.
    void family(const Family& family);
    // Labels with an empty value are omitted. Bytes of a value other than printable ASCII become '?': data from a
    // device or a process must not make the whole text invalid.
    void sample(const Labels& labels, uint64_t value);
    void sample(const Labels& labels, double value);  // with the full precision of a double

    const std::string& text() const { return text_; }

   private:
    void line(const Labels& labels, std::string_view value);

    std::string text_, name_, pending_;
};

}  // namespace sidra::exporter

#endif
