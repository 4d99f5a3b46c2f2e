// SPDX-License-Identifier: MIT
// What a compiled network takes of a chip, row by row: time, energy, crossbars and accuracy. As JSON and as a page.
#ifndef SIDRA_COMPILER_NETWORK_REPORT_H
#define SIDRA_COMPILER_NETWORK_REPORT_H

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "measured.h"
#include "samples.h"

namespace sidra::compiler {

// All calls of layers with matrices of one name, which are one layer of the network and its copies; or another call; or
// what starts a run.
struct ReportRow {
    std::string name;  // printable UTF-8
    std::string kind;  // that of the step ("layer", "vector", ...), or "start"
    uint32_t calls = 0;
    uint32_t k = 0, n = 0;              // inputs and outputs of the matrix; 0: it has none
    uint32_t matrices = 0;              // on crossbars of their own
    uint64_t crossbars = 0, cells = 0;  // cells: that have a weight
    uint64_t products = 0;              // vectors that the crossbars multiply in a run
    uint64_t product_ps = 0, compute_ps = 0, packet_ps = 0, energy_pj = 0;
    int input_bits = 0;                     // of a layer
    std::optional<LayerAccuracy> accuracy;  // of variant 0

    uint64_t time_ps() const { return product_ps + compute_ps + packet_ps; }
    // The share of its crossbars' cells.
    double utilisation() const;
};

struct ReportPicture {
    std::string title;
    std::string svg;      // empty: there is none
    std::string problem;  // why
};

// An input of a variant: of the network, or of what an earlier chip hands on.
struct ReportInput {
    std::string name, type;  // printable UTF-8
    std::vector<uint32_t> shape;

    std::string text() const;  // "x f32 1 x 64"
};

// What a chip does in a run of one variant.
struct VariantReport {
    std::vector<ReportInput> inputs;
    uint64_t work_bytes = 0;
    uint32_t calls = 0, host_calls = 0;
    uint64_t time_ps = 0, energy_pj = 0;  // as an embedded chip counts them: the sums of the rows
    std::vector<ReportRow> rows;          // in the order of their first calls
    std::vector<ReportPicture> pictures;
};

struct ChipReport {
    uint64_t constant_bytes = 0, weights = 0, crossbars = 0;
    std::vector<VariantReport> variants;
    ReportPicture picture;  // of the crossbars
};

struct NetworkReport {
    std::string name, producer, source, options;  // printable UTF-8
    uint64_t file_bytes = 0, chip_crossbars = 0;
    bool from_samples = false;      // the run of variant 0 had a sample as its inputs; the others had zeros
    std::vector<ChipReport> chips;  // a stage each, with as many variants
    std::vector<Effect> effects;    // none without samples, or with several chips
};

// Runs each variant of the compiled file on embedded chips. Throws SamplesError or std::runtime_error.
NetworkReport report_of(const std::string& file, const std::vector<Samples>& samples,
                        std::span<const LayerAccuracy> accuracies, std::vector<Effect> effects);

// sidra-compile(1) has the schema.
std::string json_of(const NetworkReport& report);
// One file of HTML, which is XML, too, and needs nothing else.
std::string page_of(const NetworkReport& report);

// Writes it, as JSON if the name ends so. Throws std::runtime_error.
void write_report(const NetworkReport& report, const std::string& path);

}  // namespace sidra::compiler

#endif
