// SPDX-License-Identifier: MIT
#include "matrix.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "common/number.h"
#include "common/program.h"
#include "names.h"

namespace sidra::objdump {
namespace {

using tools::Json;

constexpr int kEighth = 32;
constexpr uint64_t kNpyMax = uint64_t{1} << 32;

int first_of(size_t eighth) { return -128 + static_cast<int>(eighth) * kEighth; }

}  // namespace

uint32_t find_matrix(const format::Model& model, const std::string& wanted) {
    const uint32_t count = model.matrices()->size();
    std::vector<uint32_t> named;
    for (uint32_t i = 0; i < count; ++i)
        if (model.matrices()->Get(i)->name()->string_view() == wanted) named.push_back(i);
    if (named.size() == 1) return named.front();
    if (named.size() > 1)
        throw tools::Failure(fmt::format("{} matrices have the name {}; give the number of one: {}", named.size(),
                                         format::quoted(wanted), fmt::join(named, ", ")));
    if (const std::optional<uint64_t> number = tools::parse_number(wanted); number && *number < count)
        return static_cast<uint32_t>(*number);
    throw tools::Failure(
        fmt::format("the model has no matrix {}; it has {}, which count from 0", format::quoted(wanted), count));
}

MatrixStatistics statistics_of(const ModelFile& file, uint32_t matrix) {
    const format::Section& section = *file.model().matrices()->Get(matrix)->data();
    std::array<uint64_t, 256> counts{};  // of values, by their bits
    const uint64_t hash = file.read(section, [&](std::span<const std::byte> piece) {
        for (const std::byte value : piece) ++counts[std::to_integer<uint8_t>(value)];
    });
    MatrixStatistics statistics;
    statistics.intact = hash == section.hash();
    statistics.least = 127, statistics.most = -128;
    double sum = 0, magnitude = 0;
    for (int value = -128; value < 128; ++value) {
        const uint64_t count = counts[static_cast<uint8_t>(value)];
        if (count == 0) continue;
        statistics.least = std::min(statistics.least, value);
        statistics.most = std::max(statistics.most, value);
        statistics.eighths[static_cast<size_t>((value + 128) / kEighth)] += count;
        sum += static_cast<double>(count) * value;
        magnitude += static_cast<double>(count) * std::abs(value);
    }
    statistics.zeros = counts[0];
    statistics.mean = sum / static_cast<double>(section.size());
    statistics.mean_magnitude = magnitude / static_cast<double>(section.size());
    return statistics;
}

std::string matrix_text(const format::Model& model, uint32_t number, const MatrixStatistics& s) {
    constexpr size_t kBar = 50;
    const format::Matrix& matrix = *model.matrices()->Get(number);
    const auto count = static_cast<double>(matrix.data()->size());
    const auto percent = [&](uint64_t part) { return 100 * static_cast<double>(part) / count; };
    std::string text = fmt::format("matrix {}  {}  {} x {}  {}{}\n", number, printable(matrix.name()), matrix.k(),
                                   matrix.n(), encoding_name(matrix.encoding()), s.intact ? "" : "  DAMAGED");
    text += fmt::format("  min {}, max {}, mean {:.3g}, mean magnitude {:.3g}, zeros {} ({:.1f} %)\n", s.least, s.most,
                        s.mean, s.mean_magnitude, s.zeros, percent(s.zeros));
    const uint64_t most = std::ranges::max(s.eighths);
    for (size_t i = 0; i < s.eighths.size(); ++i) {
        const std::string bar(static_cast<size_t>(kBar * static_cast<double>(s.eighths[i]) / static_cast<double>(most)),
                              '#');
        text += fmt::format("  {:>4}..{:<4} {:>12} {:>5.1f} %{}{}\n", first_of(i), first_of(i) + kEighth - 1,
                            s.eighths[i], percent(s.eighths[i]), bar.empty() ? "" : "  ", bar);
    }
    return text;
}

Json matrix_json(const format::Model& model, uint32_t number, const MatrixStatistics& s) {
    Json::Array histogram;
    for (size_t i = 0; i < s.eighths.size(); ++i)
        histogram.emplace_back(
            Json::Object{{"first", first_of(i)}, {"last", first_of(i) + kEighth - 1}, {"count", s.eighths[i]}});
    return Json::Object{{"number", number},
                        {"name", printable(model.matrices()->Get(number)->name())},
                        {"intact", s.intact},
                        {"min", s.least},
                        {"max", s.most},
                        {"mean", s.mean},
                        {"mean_magnitude", s.mean_magnitude},
                        {"zeros", s.zeros},
                        {"histogram", std::move(histogram)}};
}

std::string matrix_npy(const ModelFile& file, uint32_t number) {
    constexpr size_t kBefore = 10, kAlignment = 64;  // magic, version and length of the header; where data begin
    const format::Matrix& matrix = *file.model().matrices()->Get(number);
    if (matrix.data()->size() > kNpyMax)
        throw std::runtime_error(
            fmt::format("matrix {} has {} bytes, at most {} can be extracted", number, matrix.data()->size(), kNpyMax));
    std::string header =
        fmt::format("{{'descr': '|i1', 'fortran_order': False, 'shape': ({}, {}), }}", matrix.k(), matrix.n());
    header.resize((kBefore + header.size() + kAlignment) / kAlignment * kAlignment - kBefore - 1, ' ');
    header += '\n';
    std::string bytes = "\x93NUMPY";
    bytes += {'\1', '\0', static_cast<char>(header.size() & 0xff), static_cast<char>(header.size() >> 8)};
    bytes += header;
    const uint64_t hash = file.read(*matrix.data(), [&](std::span<const std::byte> piece) {
        bytes.append(reinterpret_cast<const char*>(piece.data()), piece.size());
    });
    if (hash != matrix.data()->hash())
        throw std::runtime_error(fmt::format("{}: {} is damaged: its hash is wrong; copy or compile the model again",
                                             file.path(), format::matrix_name(file.model(), number)));
    return bytes;
}

}  // namespace sidra::objdump
