// SPDX-License-Identifier: MIT
// Compiles the stored tests of ONNX, runs them on a chip, and compares the results with those that are stored:
//   sidra-conformance [--data FOLDER] [--figures FILE] [--expect FILE] [FILTER...]
// Prints a line for each test that does not pass, and how many do. --expect compares with a list of names of the tests
// that do not pass, each with its verdict; the exit status is 1 if something differs. Each test runs in a process of
// its own.
//
// Tolerances: integers exactly. Floats within 1e-3 of themselves and 1e-5 of the largest one, as ONNX has it; where
// weights became codes of 8 bits on crossbars, within 5 % of the largest one.
#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <numeric>
#include <optional>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "driver/compile.h"
#include "onnx/proto.h"
#include "sidra/model.h"

namespace fs = std::filesystem;

namespace {

constexpr rlim_t kSeconds = 30;  // of processor time for a test

// kOnHost: it passes, and the host computes a part of it.
enum Verdict { kPass, kOnHost, kFail, kUnsupported, kOtherTypes, kVerdicts };
constexpr const char* kNames[] = {"pass on the chip", "pass, with a part on the host", "fail", "unsupported",
                                  "other types"};

struct Result {
    Verdict verdict;
    std::string why;
};

struct Failed {
    std::string why;
};

std::string read(const fs::path& path) {
    std::ifstream file(path, std::ios::binary);
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
}

// ---- Types
// -------------------------------------------------------------------------------------------------------------------------

struct Known {
    int onnx;
    sidra_type type;
};
constexpr Known kTypes[] = {{onnx::TensorProto::FLOAT, SIDRA_F32},    {onnx::TensorProto::UINT8, SIDRA_U8},
                            {onnx::TensorProto::INT8, SIDRA_S8},      {onnx::TensorProto::INT16, SIDRA_S16},
                            {onnx::TensorProto::INT32, SIDRA_S32},    {onnx::TensorProto::INT64, SIDRA_S64},
                            {onnx::TensorProto::BOOL, SIDRA_BOOL},    {onnx::TensorProto::FLOAT16, SIDRA_F16},
                            {onnx::TensorProto::BFLOAT16, SIDRA_BF16}};

const Known* known(int type) {
    const auto* const found = std::ranges::find(kTypes, type, &Known::onnx);
    return found == std::end(kTypes) ? nullptr : found;
}

// Whether the chip has the types of a model's inputs and outputs.
bool has_types(const onnx::GraphProto& graph) {
    const auto tensor = [](const onnx::ValueInfoProto& info) {
        return info.type().has_tensor_type() && known(info.type().tensor_type().elem_type()) != nullptr;
    };
    return std::ranges::all_of(graph.input(), tensor) && std::ranges::all_of(graph.output(), tensor);
}

// ---- Tensors
// -----------------------------------------------------------------------------------------------------------------------

template <typename To, typename Field>
void put(const Field& field, std::string* bytes) {
    for (const auto value : field) {
        const To element = static_cast<To>(value);
        bytes->append(reinterpret_cast<const char*>(&element), sizeof element);
    }
}

struct Tensor {
    sidra_type type;
    std::vector<uint32_t> shape;
    std::string bytes;

    // `as`: the type in the model. ONNX stores the bits of a bf16 as an integer.
    Tensor(const fs::path& path, sidra_type as) {
        onnx::TensorProto proto;
        if (!proto.ParseFromString(read(path))) throw Failed{path.filename().string() + " is no tensor"};
        const bool bits = as == SIDRA_BF16 && proto.data_type() == onnx::TensorProto::UINT16;
        const Known* const found = known(bits ? int{onnx::TensorProto::BFLOAT16} : proto.data_type());
        if (found == nullptr) throw Failed{"a stored tensor has a type that the chip lacks"};
        type = found->type;
        for (const int64_t size : proto.dims()) shape.push_back(static_cast<uint32_t>(size));
        if (proto.has_raw_data()) {
            bytes = proto.raw_data();
            return;
        }
        switch (type) {
            case SIDRA_F32:
                put<float>(proto.float_data(), &bytes);
                break;
            case SIDRA_S64:
                put<int64_t>(proto.int64_data(), &bytes);
                break;
            case SIDRA_S32:
                put<int32_t>(proto.int32_data(), &bytes);
                break;
            case SIDRA_S16:
            case SIDRA_F16:
            case SIDRA_BF16:
                put<uint16_t>(proto.int32_data(), &bytes);
                break;
            default:
                put<uint8_t>(proto.int32_data(), &bytes);
                break;
        }
    }

    size_t count() const { return bytes.size() / sidra_type_size(type); }
};

template <typename T>
T element(const std::string& bytes, size_t i) {
    T value;
    std::memcpy(&value, bytes.data() + i * sizeof value, sizeof value);
    return value;
}

double number(sidra_type type, const std::string& bytes, size_t i) {
    const auto half = [](uint16_t bits) {
        const int exponent = bits >> 10 & 31, fraction = bits & 1023;
        const double magnitude = exponent == 0    ? std::ldexp(fraction, -24)
                                 : exponent == 31 ? (fraction != 0 ? std::nan("") : HUGE_VAL)
                                                  : std::ldexp(fraction + 1024, exponent - 25);
        return bits >> 15 ? -magnitude : magnitude;
    };
    switch (type) {
        case SIDRA_F32:
            return static_cast<double>(element<float>(bytes, i));
        case SIDRA_F16:
            return half(element<uint16_t>(bytes, i));
        case SIDRA_BF16: {
            const uint32_t bits = uint32_t{element<uint16_t>(bytes, i)} << 16;
            float value;
            std::memcpy(&value, &bits, sizeof value);
            return static_cast<double>(value);
        }
        case SIDRA_S64:
            return static_cast<double>(element<int64_t>(bytes, i));
        case SIDRA_S32:
            return element<int32_t>(bytes, i);
        case SIDRA_S16:
            return element<int16_t>(bytes, i);
        case SIDRA_S8:
            return element<int8_t>(bytes, i);
        default:
            return element<uint8_t>(bytes, i);
    }
}

void compare(const Tensor& wanted, const std::string& got, bool quantised) {
    const bool is_float = wanted.type == SIDRA_F32 || wanted.type == SIDRA_F16 || wanted.type == SIDRA_BF16;
    double largest = 0;
    for (size_t i = 0; i < wanted.count(); i++)
        if (const double w = std::abs(number(wanted.type, wanted.bytes, i)); std::isfinite(w))
            largest = std::max(largest, w);
    const double relative = wanted.type == SIDRA_BF16 ? 1e-2 : 2e-3;
    for (size_t i = 0; i < wanted.count(); i++) {
        const double w = number(wanted.type, wanted.bytes, i), g = number(wanted.type, got, i);
        if (w == g || (std::isnan(w) && std::isnan(g))) continue;
        const double allowed = !is_float   ? 0
                               : quantised ? 0.05 * largest
                                           : relative * std::abs(w) + 1e-5 * largest + 1e-7;
        if (!(std::abs(w - g) <= allowed)) throw Failed{fmt::format("element {} is {}, not {}", i, g, w)};
    }
}

// ---- A test
// ------------------------------------------------------------------------------------------------------------------------

void check(sidra_status status) {
    if (status != SIDRA_OK) throw Failed{sidra_last_error()};
}

template <typename Handle, sidra_status (*kEnd)(Handle*)>
struct Owned {
    Handle* handle = nullptr;
    ~Owned() { kEnd(handle); }
    Handle** operator&() { return &handle; }
    operator Handle*() const { return handle; }
};

// inputs_left: numbers of the stored inputs that the compiled model takes.
void run(const std::string& file, const fs::path& set, const std::vector<int>& inputs_left) {
    Owned<sidra_device, sidra_device_close> device;
    Owned<sidra_context, sidra_context_destroy> context;
    Owned<sidra_stream, sidra_stream_destroy> stream;
    Owned<sidra_model, sidra_model_destroy> model;
    check(sidra_device_open(0, nullptr, &device));
    check(sidra_context_create(device, &context));
    check(sidra_stream_create(context, nullptr, &stream));
    check(sidra_model_load(context, file.c_str(), &model));
    check(sidra_model_deploy_async(stream, model));
    auto info = SIDRA_INIT(sidra_model_info);
    check(sidra_model_get_info(model, &info));
    auto variant = SIDRA_INIT(sidra_model_variant_info);
    check(sidra_model_get_variant(model, 0, &variant));
    if (variant.inputs != inputs_left.size())
        throw Failed{"the model has another number of inputs than the stored test"};
    {
        std::vector<Tensor> inputs;
        std::vector<std::string> outputs;
        std::vector<const void*> in;
        std::vector<void*> out;
        for (uint32_t i = 0; i < variant.inputs; i++) {
            auto tensor = SIDRA_INIT(sidra_model_tensor);
            check(sidra_model_get_input(model, 0, i, &tensor));
            inputs.emplace_back(set / fmt::format("input_{}.pb", inputs_left[i]), tensor.type);
            if (inputs.back().bytes.size() != tensor.bytes || inputs.back().type != tensor.type)
                throw Failed{fmt::format("input {} has another size or type than the stored one", i)};
        }
        for (const Tensor& input : inputs) in.push_back(input.bytes.data());
        for (uint32_t i = 0; i < variant.outputs; i++) {
            auto tensor = SIDRA_INIT(sidra_model_tensor);
            check(sidra_model_get_output(model, 0, i, &tensor));
            outputs.emplace_back(tensor.bytes, '\0');
        }
        for (std::string& output : outputs) out.push_back(output.data());
        check(sidra_model_run(stream, model, 0, in.data(), out.data(), sidra_deadline_after_ns(60'000'000'000)));
        for (uint32_t i = 0; i < variant.outputs; i++) {
            auto tensor = SIDRA_INIT(sidra_model_tensor);
            check(sidra_model_get_output(model, 0, i, &tensor));
            const Tensor wanted(set / fmt::format("output_{}.pb", i), tensor.type);
            const std::vector<uint32_t> shape(tensor.shape, tensor.shape + tensor.rank);
            if (tensor.type != wanted.type)
                throw Failed{fmt::format("output {} has another type than the stored one", i)};
            if (shape != wanted.shape) throw Failed{fmt::format("output {} has another shape than the stored one", i)};
            compare(wanted, outputs[i], info.matrices > 0);
        }
    }
}

// The names of a model's inputs in the order of the stored ones: without its constants.
std::vector<std::string> inputs_of(const onnx::GraphProto& graph) {
    std::vector<std::string> names;
    for (const auto& input : graph.input())
        if (std::ranges::none_of(graph.initializer(),
                                 [&](const auto& constant) { return constant.name() == input.name(); }))
            names.push_back(input.name());
    return names;
}

// The numbers of the inputs that must be constants, by the message that says so. If the model has one node, the message
// names the input. If not, it may be what an input was computed to: these are single numbers, and shapes.
std::vector<int> constant_inputs(const onnx::GraphProto& graph, const std::vector<std::string>& inputs,
                                 const fs::path& data, const std::string& message) {
    static const std::regex pattern("\\(input ([0-9]+)\\) must be a constant");
    std::smatch match;
    if (!std::regex_search(message, match, pattern)) return {};
    if (graph.node_size() == 1) {
        const int number = std::stoi(match[1]);
        if (number >= graph.node(0).input_size()) return {};
        const auto input = std::ranges::find(inputs, graph.node(0).input(number));
        if (input == inputs.end()) return {};
        return {static_cast<int>(input - inputs.begin())};
    }
    std::vector<int> small;
    for (int i = 0; i < static_cast<int>(inputs.size()); i++) {
        onnx::TensorProto tensor;
        if (!tensor.ParseFromString(read(data / fmt::format("input_{}.pb", i)))) continue;
        const bool one = std::ranges::all_of(tensor.dims(), [](int64_t size) { return size == 1; });
        if (one || (tensor.dims_size() == 1 && tensor.data_type() == onnx::TensorProto::INT64)) small.push_back(i);
    }
    return small;
}

// Gives shapes and the like, which the stored tests have as inputs, when the model is compiled. Returns the numbers of
// the inputs that remain, and whether the host computes something.
std::vector<int> compile(const fs::path& folder, const onnx::GraphProto& graph, const fs::path& data,
                         const fs::path& file, int optimization, bool* on_host) {
    sidra::compiler::Options options;
    options.optimization = optimization;
    options.note = [&](const std::string&) { *on_host = true; };
    const std::vector<std::string> inputs = inputs_of(graph);
    std::vector<int> left(inputs.size());
    std::iota(left.begin(), left.end(), 0);
    for (;;) try {
            sidra::compiler::compile(folder / "model.onnx", file, options);
            return left;
        } catch (const sidra::compiler::CompileError& refused) {
            bool more = false;
            for (const int input : constant_inputs(graph, inputs, data, refused.what())) {
                if (std::erase(left, input) == 0) continue;
                options.values[inputs[static_cast<size_t>(input)]] = data / fmt::format("input_{}.pb", input);
                more = true;
            }
            if (!more) throw;
        }
}

Result test(const fs::path& folder, const fs::path& scratch, int optimization) {
    onnx::ModelProto model;
    if (!model.ParseFromString(read(folder / "model.onnx"))) return {kFail, "the model cannot be read"};
    if (!has_types(model.graph())) return {kOtherTypes, ""};
    std::vector<fs::path> sets;
    for (const auto& entry : fs::directory_iterator(folder))
        if (entry.is_directory()) sets.push_back(entry.path());
    std::ranges::sort(sets);
    const fs::path file = scratch / (folder.filename().string() + ".sidra");
    Result result{kPass, ""};
    try {
        // What is a constant may differ between the sets.
        bool on_host = false;
        for (const fs::path& set : sets)
            run(file, set, compile(folder, model.graph(), set, file, optimization, &on_host));
        if (on_host) result.verdict = kOnHost;
    } catch (const sidra::compiler::CompileError& refused) {
        result = {kUnsupported, refused.what()};
    } catch (const Failed& failed) {
        result = {kFail, failed.why};
    }
    fs::remove(file);
    return result;
}

// In a process of its own.
Result isolated(const fs::path& folder, const fs::path& scratch, int optimization) {
    const fs::path answer = scratch / (folder.filename().string() + ".result");
    const pid_t child = fork();
    if (child == 0) {
        // A compiler that never ends would take all memory, too.
        const rlimit seconds{kSeconds, kSeconds};
        setrlimit(RLIMIT_CPU, &seconds);
        const Result result = test(folder, scratch, optimization);
        std::ofstream(answer) << result.verdict << ' ' << result.why;
        _exit(0);
    }
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) != child) return {kFail, "no process"};
    std::ifstream file(answer);
    Result result{kFail, WIFSIGNALED(status) ? fmt::format("it ended by signal {}", WTERMSIG(status)) : "it crashed"};
    int verdict;
    if (status == 0 && file >> verdict) {
        result.verdict = static_cast<Verdict>(verdict);
        file.get();
        std::getline(file, result.why, '\0');
    }
    fs::remove(answer);
    return result;
}

}  // namespace

int main(int argc, char** argv) {
    CLI::App app("Runs the stored tests of ONNX on a chip.");
    std::string data = "/usr/share/libonnx-testdata/data", figures, expected;
    std::vector<std::string> filters;
    int optimization = sidra::compiler::kOptimizationMax;
    app.add_option("-O", optimization, "level of the compiler's optimisation")
        ->check(CLI::Range(0, sidra::compiler::kOptimizationMax));
    app.add_option("--data", data, "folder of the tests")->check(CLI::ExistingDirectory);
    app.add_option("--figures", figures, "a file for the counts, as JSON");
    app.add_option("--expect", expected, "a list of the tests that do not pass");
    app.add_option("filter", filters, "only tests whose name contains one of these");
    CLI11_PARSE(app, argc, argv);
    setenv("SIDRA_DEVICE", "embedded", 1);
    setenv("SIDRA_QUIET", "1", 1);
    setenv("SIDRA_PUBLISH", "0", 1);

    std::vector<fs::path> folders;
    for (const char* const kind : {"node", "simple", "pytorch-converted", "pytorch-operator"})
        if (fs::exists(fs::path(data) / kind))
            for (const auto& entry : fs::directory_iterator(fs::path(data) / kind)) {
                const std::string name = entry.path().filename();
                if (filters.empty() ||
                    std::ranges::any_of(filters, [&](const std::string& f) { return name.find(f) != name.npos; }))
                    if (fs::exists(entry.path() / "model.onnx")) folders.push_back(entry.path());
            }
    std::ranges::sort(folders);
    if (folders.empty()) {
        fmt::print(stderr, "sidra-conformance: there are no such tests in {}; install libonnx-testdata\n", data);
        return 2;
    }
    std::string pattern = (fs::temp_directory_path() / "sidra-conformance.XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr) {
        fmt::print(stderr, "sidra-conformance: {}: {}\n", pattern, std::strerror(errno));
        return 2;
    }
    const fs::path scratch = pattern;
    // Processes are started by one thread each; nothing else runs here that a fork could leave in between.
    std::vector<Result> results(folders.size());
    std::atomic<size_t> next = 0;
    std::vector<std::thread> threads;
    for (unsigned i = 0; i < std::max(1u, std::thread::hardware_concurrency()); i++)
        threads.emplace_back([&] {
            for (size_t n; (n = next.fetch_add(1)) < folders.size();)
                results[n] = isolated(folders[n], scratch, optimization);
        });
    for (std::thread& thread : threads) thread.join();
    fs::remove_all(scratch);

    size_t counts[kVerdicts] = {}, nodes[kVerdicts] = {};
    std::map<std::string, Verdict> others;
    for (size_t i = 0; i < folders.size(); i++) {
        const std::string name = folders[i].filename();
        counts[results[i].verdict]++;
        if (folders[i].parent_path().filename() == "node") nodes[results[i].verdict]++;
        if (results[i].verdict != kFail && results[i].verdict != kUnsupported) continue;
        others[name] = results[i].verdict;
        fmt::print("{} {}: {}\n", kNames[results[i].verdict], name, results[i].why);
    }
    for (int v = 0; v < kVerdicts; v++) fmt::print("{:5} {}\n", counts[v], kNames[v]);
    const size_t passed = nodes[kPass] + nodes[kOnHost], known_types = passed + nodes[kFail] + nodes[kUnsupported];
    const double share = static_cast<double>(passed) / std::max<double>(1, static_cast<double>(known_types));
    fmt::print("node tests with types of the chip: {:.1f} % pass\n", 100 * share);
    if (!figures.empty())
        std::ofstream(figures) << fmt::format(
            "{{\"onnx_pass_share\": {:.4f}, \"onnx_pass\": {}, \"onnx_on_host\": {}, \"onnx_fail\": {}, "
            "\"onnx_unsupported\": {}}}\n",
            share, counts[kPass], counts[kOnHost], counts[kFail], counts[kUnsupported]);
    if (expected.empty()) return 0;
    int differences = 0;
    std::ifstream list(expected);
    std::map<std::string, std::string> wanted;
    for (std::string verdict, name; list >> verdict >> name;) wanted[name] = verdict;
    for (const auto& [name, verdict] : others)
        if (wanted[name] != kNames[verdict]) {
            fmt::print("UNEXPECTED: {} {}\n", kNames[verdict], name);
            differences++;
        }
    for (const auto& [name, verdict] : wanted)
        if (!verdict.empty() && !others.contains(name) &&
            std::ranges::any_of(folders, [&](const fs::path& f) { return f.filename() == name; })) {
            fmt::print("PASSES, but is listed: {}\n", name);
            differences++;
        }
    return differences != 0;
}
