// SPDX-License-Identifier: MIT
#include "operators.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <string>

#include "import.h"

namespace sidra::compiler {

namespace {

using Table = std::map<std::string_view, Operator>;

const Table& table() {
    static const Table all = [] {
        Table result;
        for (const auto part : {elementwise_operators(), shape_operators(), index_operators(), reduction_operators(),
                                normalisation_operators(), loss_operators(), product_operators(), window_operators(),
                                recurrent_operators(), quantised_operators(), sampling_operators(), signal_operators(),
                                control_operators()})
            for (const Operator& one : part) result.emplace(one.name, one);
        return result;
    }();
    return all;
}

struct Reason {
    std::string_view text;
    std::initializer_list<std::string_view> names;
};

const Reason kReasons[] = {
    {"sequences and optional values are not supported",
     {"SequenceAt", "SequenceConstruct", "SequenceEmpty", "SequenceErase", "SequenceInsert", "SequenceLength",
      "SequenceMap", "SplitToSequence", "ConcatFromSequence", "Optional", "OptionalGetElement", "OptionalHasElement"}},
    {"the chip has no strings", {"StringNormalizer", "StringConcat", "StringSplit", "RegexFullMatch", "LabelEncoder"}},
    {"random numbers are not supported",
     {"Bernoulli", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike"}},
    {"the compiler derives no gradients; export the model without training", {"Gradient"}},
    {"the shape of its result depends on the values of its input", {"NonMaxSuppression", "Unique"}},
};

}  // namespace

const Operator* find_operator(std::string_view domain, std::string_view name) {
    if (domain == kTrainingDomain) {
        const auto found = std::ranges::find(training_operators(), name, &Operator::name);
        return found == training_operators().end() ? nullptr : &*found;
    }
    const auto found = table().find(name);
    return found == table().end() ? nullptr : &found->second;
}

std::string_view reason_against(std::string_view name) {
    for (const Reason& reason : kReasons)
        if (std::find(reason.names.begin(), reason.names.end(), name) != reason.names.end()) return reason.text;
    return "the operator is not supported";
}

std::string supported_operators() {
    std::string text;
    for (const auto& [name, one] : table())
        fmt::format_to(std::back_inserter(text), "{} {}-{}\n", name, one.since, one.until);
    return text;
}

}  // namespace sidra::compiler
