// SPDX-License-Identifier: MIT
// sidra-demo sentence: finds the sentences of a list that mean nearly the same as those of the user. A chip computes a
// vector for each sentence, with one launch of a graph.
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "common/input_file.h"
#include "common/program.h"
#include "common/signals.h"
#include "demo.h"
#include "encoder.h"
#include "model_file.h"
#include "sidra/sidra.hpp"
#include "wordpiece.h"

namespace sidra::sentence {
namespace {

constexpr size_t kListMax = size_t{16} << 20, kLineMax = size_t{1} << 20;  // bytes
constexpr double kCosineMin = 0.99;                                        // with PyTorch in f32, at level fast

struct Options {
    demo::ChipOptions chip;
    std::string model = ModelFile::default_path();
    std::string list;  // "": the sentences of the model file
    uint32_t nearest = 3;
    uint32_t repeat = 1;
    std::vector<std::string> sentences;  // none: those of standard input
};

std::vector<std::string_view> lines_of(std::string_view text) {
    std::vector<std::string_view> lines;
    while (!text.empty()) {
        const std::string_view line = text.substr(0, text.find('\n'));
        text.remove_prefix(std::min(line.size() + 1, text.size()));
        if (!line.empty()) lines.push_back(line);
    }
    return lines;
}

// A text without what a terminal would obey.
std::string printable(std::string_view text) {
    std::string shown(text);
    std::ranges::replace_if(
        shown, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }, '?');
    return shown;
}

// Lines of standard input, until its end or a signal.
class Input {
   public:
    explicit Input(tools::Signals& signals) : signals_(signals) {}

    std::optional<std::string> line() {
        size_t end;
        while ((end = text_.find('\n')) == std::string::npos) {
            if (text_.size() > kLineMax)
                throw tools::Failure(fmt::format("a line of standard input has more than {} bytes", kLineMax));
            if (!read_more()) {
                if (text_.empty()) return std::nullopt;
                end = text_.size();
                text_ += '\n';
                break;
            }
        }
        std::string line = text_.substr(0, end);
        text_.erase(0, end + 1);
        return line;
    }

   private:
    bool read_more() {
        pollfd files[] = {{STDIN_FILENO, POLLIN, 0}, {signals_.fd(), POLLIN, 0}};
        while (poll(files, std::size(files), -1) < 0) {
            if (errno != EINTR) throw std::system_error(errno, std::generic_category(), "cannot wait for a sentence");
        }
        demo::check_signals(signals_);
        char bytes[4096];
        const ssize_t got = read(STDIN_FILENO, bytes, sizeof(bytes));
        if (got < 0) throw std::system_error(errno, std::generic_category(), "cannot read standard input");
        text_.append(bytes, static_cast<size_t>(got));
        return got > 0;
    }

    tools::Signals& signals_;
    std::string text_;
};

// 32-bit FNV-1a of the bytes, as simulate.py computes it.
int32_t hash(std::span<const float> values) {
    uint32_t hash = 0x811c9dc5;
    for (const std::byte byte : std::as_bytes(values)) hash = (hash ^ static_cast<uint32_t>(byte)) * 0x01000193;
    return static_cast<int32_t>(hash);
}

double cosine(std::span<const float> a, std::span<const float> b) {
    const auto dot = [](std::span<const float> x, std::span<const float> y) {
        return std::inner_product(x.begin(), x.end(), y.begin(), 0.0);
    };
    return dot(a, b) / std::sqrt(dot(a, a) * dot(b, b));
}

struct Cost {
    double wall, device, joules;  // device time and energy by the cost model
};

class Demo {
   public:
    // Programs the encoder, and shows its progress on a terminal.
    Demo(const Context& context, const ModelFile& model, tools::Signals& signals)
        : model_(model), signals_(signals), tokenizer_(model.vocabulary()), stream_(context) {
        const auto start = std::chrono::steady_clock::now();
        encoder_.emplace(context, stream_, model);
        const bool terminal = isatty(STDERR_FILENO) == 1;
        const auto show = [&] {
            const WeightsProgress progress = encoder_->progress();
            if (terminal)
                fmt::print(stderr, "\rprogramming {} of {} rows of crossbars ", progress.done, progress.total);
        };
        demo::wait(stream_, signals_, show);
        if (terminal) fmt::print(stderr, "\r\033[K");
        programming_ = cost_since(start, {});
    }

    const Encoder& encoder() const { return *encoder_; }
    const Cost& programming() const { return programming_; }

    std::vector<int32_t> tokens(std::string_view sentence) const {
        return tokenizer_.encode(sentence, model_.sizes().tokens_max);
    }
    uint32_t operations(size_t tokens) { return encoder_->operations(tokens); }

    // *cost takes the median of `repeat` launches.
    std::vector<float> embed(std::span<const int32_t> tokens, uint32_t repeat = 1, Cost* cost = nullptr) {
        static_cast<void>(encoder_->operations(tokens.size()));  // records the graph
        std::vector<double> walls;
        const sidra::Cost before = stream_.device_time();
        Cost last{};
        for (uint32_t n = 0; n < repeat; ++n) {
            const auto start = std::chrono::steady_clock::now();
            encoder_->launch(tokens);
            demo::wait(stream_, signals_);
            last = cost_since(start, before);
            walls.push_back(last.wall);
        }
        if (cost != nullptr) *cost = {demo::median(walls), last.device / repeat, last.joules / repeat};
        const auto embedding = encoder_->embedding();
        return {embedding.begin(), embedding.end()};
    }

   private:
    Cost cost_since(std::chrono::steady_clock::time_point start, const sidra::Cost& before) const {
        const double wall = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
        const sidra::Cost now = stream_.device_time();
        return {wall, static_cast<double>(now.picoseconds - before.picoseconds) * 1e-12,
                static_cast<double>(now.picojoules - before.picojoules) * 1e-12};
    }

    const ModelFile& model_;
    tools::Signals& signals_;
    WordPiece tokenizer_;
    Stream stream_;
    std::optional<Encoder> encoder_;
    Cost programming_{};
};

struct List {
    std::string file;  // what holds the text
    std::vector<std::string_view> sentences;
    std::vector<std::vector<float>> embeddings;
};

// Compares the embeddings of the model file's list with those of PyTorch in f32, and their bits with those that
// simulate.py has computed.
bool print_precision(const ModelFile& model, const List& list, bool accurate) {
    const uint32_t width = model.sizes().width, count = static_cast<uint32_t>(list.sentences.size());
    const auto wanted = model.floats("list.torch", count, width);
    const auto hashes = model.integers("list.hashes", 1, count);
    double least = 1, sum = 0;
    uint32_t same = 0;
    for (size_t n = 0; n < count; ++n) {
        const double each = cosine(list.embeddings[n], wanted.subspan(n * width, width));
        // Also a NaN becomes the least.
        if (!(each >= least)) least = each;
        sum += each;
        same += hash(list.embeddings[n]) == hashes[n];
    }
    fmt::print("precision  cosine with PyTorch in f32: at least {:.5f}, mean {:.5f}", least, sum / count);
    if (accurate) fmt::print("\n");
    else if (same == count) fmt::print("; bit-exact, the same as by NumPy\n");
    else fmt::print("; {} of {} do not have the bits that NumPy gives\n", count - same, count);
    if (accurate || least >= kCosineMin) return true;
    fmt::print(stderr, "sidra-demo: the cosine with PyTorch is below {}\n", kCosineMin);
    return false;
}

void answer(Demo* demo, const List& list, std::string_view sentence, const Options& options) {
    const std::vector<int32_t> tokens = demo->tokens(sentence);
    Cost cost{};
    const std::vector<float> embedding = demo->embed(tokens, options.repeat, &cost);
    std::vector<std::pair<double, size_t>> found;
    for (size_t n = 0; n < list.sentences.size(); ++n) found.emplace_back(-cosine(embedding, list.embeddings[n]), n);
    const size_t shown = std::min<size_t>(options.nearest, found.size());
    std::partial_sort(found.begin(), found.begin() + static_cast<std::ptrdiff_t>(shown), found.end());
    fmt::print("\n{}\n", printable(sentence));
    for (const auto& [negative, n] : std::span(found).first(shown))
        fmt::print("  {:.3f}  {}\n", -negative, printable(list.sentences[n]));
    fmt::print("  {} tokens, one launch of {} operations: {} of wall time; {} and {} by the chip's cost model\n",
               tokens.size(), demo->operations(tokens.size()), demo::time_text(cost.wall), demo::time_text(cost.device),
               demo::energy_text(cost.joules));
    std::fflush(stdout);
}

bool run(const Options& options) {
    const ModelFile model(options.model);
    List list;
    if (!options.list.empty()) {
        const std::vector<uint8_t> bytes = tools::read_file(options.list, kListMax).bytes;
        list.file.assign(bytes.begin(), bytes.end());
    }
    list.sentences = lines_of(options.list.empty() ? model.text("list") : std::string_view(list.file));
    if (list.sentences.empty()) throw tools::Failure(fmt::format("the list {} has no sentence", options.list));

    tools::Signals signals = {SIGINT, SIGTERM, SIGHUP};
    const Device device = Device::open(0, options.chip.device());
    const sidra_device_info info = device.info();
    demo::require_level(info, options.chip);
    demo::print_chip(info);
    const Context context(device);
    Demo demo(context, model, signals);
    fmt::print("model      {}: {} layers, {} wide, {} weights of 8 bits on {} crossbars\n", options.model,
               model.sizes().layers, model.sizes().width, demo.encoder().weights(), demo.encoder().crossbars());
    const Cost& programming = demo.programming();
    fmt::print("programmed {} of device time, {}; {} of wall time\n", demo::time_text(programming.device),
               demo::energy_text(programming.joules), demo::time_text(programming.wall));
    std::fflush(stdout);

    const auto start = std::chrono::steady_clock::now();
    for (const std::string_view sentence : list.sentences) list.embeddings.push_back(demo.embed(demo.tokens(sentence)));
    const double wall = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    fmt::print("list       {} sentences, in {}\n", list.sentences.size(), demo::time_text(wall));
    const bool plausible = !options.list.empty() || print_precision(model, list, options.chip.accurate());
    std::fflush(stdout);

    for (const std::string& sentence : options.sentences) answer(&demo, list, sentence, options);
    if (!options.sentences.empty()) return plausible;
    if (isatty(STDIN_FILENO) == 1) fmt::print(stderr, "Type sentences, one a line; Ctrl-D ends.\n");
    Input input(signals);
    while (const auto line = input.line()) {
        if (!line->empty()) answer(&demo, list, *line, options);
    }
    return plausible;
}

}  // namespace
}  // namespace sidra::sentence

bool sidra::demo::sentence(int argc, char** argv) {
    sidra::sentence::Options options;
    CLI::App app(
        "Finds the sentences of a list that mean nearly the same as yours, with a sentence encoder on a SIDRA chip.",
        "sidra-demo sentence");
    app.option_defaults()->always_capture_default();
    options.chip.add_to(app);
    app.add_option("--model", options.model, "File of the encoder, from `make sentence`");
    app.add_option("--list", options.list, "File with the sentences to search, one a line")
        ->default_str("those of the model file");
    app.add_option("--nearest", options.nearest, "How many sentences to print")->check(CLI::Range(1u, 1000u));
    app.add_option("--repeat", options.repeat, "Launches of each sentence; the wall time is the median")
        ->check(CLI::Range(1u, 1000000u));
    app.add_option("sentence", options.sentences, "Sentences to look for; without any, those of standard input")
        ->default_str("");
    if (!tools::parse_arguments(app, argc, argv)) return true;
    unsetenv("SIDRA_LEVEL");  // the option contains it
    return sidra::sentence::run(options);
}
