// SPDX-License-Identifier: MIT
// sidra-objdump as it is installed: what it prints, draws and refuses.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <random>
#include <string>

#include "analysis.h"
#include "calls.h"
#include "model_builder.h"
#include "paths.h"
#include "pictures.h"
#include "sidra/sidra.hpp"
#include "summary.h"

namespace sidra::test {
namespace {

struct Result {
    int status;
    std::string text;  // of standard output and error
};

class ObjdumpProgram : public testing::Test {
   protected:
    ObjdumpProgram() : network_({1, 5}, 7), folder_(testing::TempDir() + "sidra-objdump-XXXXXX") {
        EXPECT_NE(nullptr, mkdtemp(folder_.data()));
        setenv("SIDRA_DEVICE", "none", 1);  // it needs no device
    }
    ~ObjdumpProgram() override { EXPECT_EQ(0, std::system(("rm -rf " + folder_).c_str())); }

    static Result run(const std::string& arguments) {
        FILE* pipe = popen((objdump_program() + " 2>&1 </dev/null " + arguments).c_str(), "r");
        std::string text;
        for (int c; (c = std::fgetc(pipe)) != EOF;) text += static_cast<char>(c);
        const int status = pclose(pipe);
        return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, text};
    }
    static std::string expect(int status, const std::vector<std::string>& said, const std::string& arguments) {
        const Result result = run(arguments);
        EXPECT_EQ(status, result.status) << result.text;
        for (const std::string& text : said)
            EXPECT_NE(std::string::npos, result.text.find(text)) << result.text << "\ndoes not say: " << text;
        return result.text;
    }
    void refused(const Bytes& bytes, const std::vector<std::string>& said) const {
        const TestFile file(bytes);
        for (const std::string& options : {std::string(), std::string("--calls "), std::string("--programs --json "),
                                           "--memory " + folder_ + "/x.svg "})
            expect(1, said, options + file.path());
    }
    std::string read(const std::string& name) const {
        std::ifstream file(folder_ + "/" + name, std::ios::binary);
        return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    }
    // A picture of the model is well-formed XML, and has these texts.
    void expect_picture(const std::string& option, const Bytes& bytes, const std::vector<std::string>& said) const {
        const TestFile file(bytes);
        const std::string path = folder_ + "/picture.svg";
        expect(0, {}, option + " " + path + " " + file.path());
        const std::string parse = "python3 -c 'import sys, xml.etree.ElementTree as e; e.parse(sys.argv[1])' ";
        EXPECT_EQ(0, std::system((parse + path).c_str()));
        const std::string picture = read("picture.svg");
        for (const std::string& text : said) EXPECT_NE(std::string::npos, picture.find(text)) << picture;
    }
    static void expect_json(const std::string& arguments, const std::string& condition) {
        const std::string check =
            "python3 -c 'import json, sys; d = json.load(sys.stdin); assert " + condition + ", d'";
        EXPECT_EQ(0, std::system((objdump_program() + " --json " + arguments + " | " + check).c_str())) << condition;
    }

    Perceptron network_;
    std::string folder_;
};

TEST_F(ObjdumpProgram, Summary) {
    const TestFile file(network_.model.file());
    const std::string text = expect(
        0,
        {"model      perceptron\n", "compiler   model_builder 1.0\n", "options    --test\n", "format     1.2\n",
         "matrices   2, with 14800 weights on 3 of 6400 crossbars",
         "fc1.weight  64 x 200  auto (becomes differential): crossbars 2 differential, 1 offset\n",
         "fc2.weight  200 x 10  auto (becomes differential): crossbars 1 differential, 1 offset\n", "programs   3\n",
         "2    3 instructions, in 2 calls\n", "variant 1  3 calls (1 vector, 2 layer)",
         "input   pixels  u8  5 x 64  320 bytes at work+0x0\n", "output  digit  s64  5  40 bytes at work+0x5f0\n"},
        file.path());
    EXPECT_EQ(std::string::npos, text.find("DAMAGED"));
    EXPECT_EQ(std::string::npos, text.find("cannot"));
}

TEST_F(ObjdumpProgram, CallsAndPrograms) {
    const TestFile file(network_.model.file());
    const std::string text =
        expect(0,
               {"variant 1\n", "0    layer  /fc1/Gemm", "matrix 0 fc1.weight (64 x 200), program 0\n",
                "windows  work+0x0  u8 (codes u8, zero 0)  1 images x 1 rows x 5 columns\n",
                "param  0x3a83126f (0.001)", "o1  constants+0x0  f32  strides [0, 0, 0, 4]\n", "2    vector  /ArgMax",
                "program 2, size [1, 1, 5, 10]\n", "program 0\npass:\n    v0 = load sums\n", "store_int o1, s0\n"},
               std::string("--calls --programs --variant 1 ") + file.path());
    EXPECT_EQ(std::string::npos, text.find("variant 0\n"));
    EXPECT_EQ(std::string::npos, text.find("cannot be run"));
}

TEST_F(ObjdumpProgram, FunctionsOfTheHost) {
    HostModel host;
    const TestFile file(host.model.file());
    const std::string path = file.path();
    expect(0, {"variant 0  4 calls (2 vector, 2 host), "}, path);
    expect(0,
           {"1    host  /Scatter", "scatter on the host, parameters [0]\n", "in1  work+0x40  s64  shape [3]\n",
            "in1  constants+0x0  s64  shape [3]\n", "out  work+0x180  f32  shape [4, 2]\n"},
           "--calls " + path);
    expect_json("--calls " + path,
                "d[\"calls\"][0][1][\"function\"] == \"scatter\" and d[\"calls\"][0][1][\"parameters\"] == [0] and "
                "d[\"calls\"][0][3][\"inputs\"][1] == {\"at\": {\"memory\": \"constants\", \"offset\": 0}, "
                "\"type\": \"s64\", \"shape\": [3]} and "
                "{\"begin\": 384, \"end\": 416, \"write\": True} in d[\"calls\"][0][3][\"accesses\"]");
    expect_picture("--timeline", host.model.file(), {"vector"});
    expect_picture("--memory", host.model.file(), {"/Scatter"});
}

TEST_F(ObjdumpProgram, Json) {
    const TestFile file(network_.model.file([](fb::ModelT& model) {
        model.name = "a \"name\"\n with \xc3\xa4 and \xff";
        model.matrices[0]->name = "<&>";
    }));
    const std::string path = file.path();
    expect_json(path, "d[\"name\"] == \"a \\\"name\\\"\\ufffd with \\u00e4 and \\ufffd\"");
    expect_json(path, "d[\"intact\"] and d[\"version\"] == \"1.2\" and d[\"weights\"] == 14800 and \"calls\" not in d");
    expect_json(path, "d[\"matrices\"][0][\"placed\"][\"crossbars\"] == [0, 1] and d[\"crossbars\"][\"taken\"] == 3");
    expect_json(TestFile(network_.model.file()).path(),
                "[p[\"name\"] for p in d[\"parts\"]] == "
                "[\"header\", \"manifest\", \"constants\", \"matrix 0\", \"matrix 1\"]");
    expect_json(
        "--calls --variant 1 " + path,
        "d[\"calls\"][0] is None and [c[\"step\"] for c in d[\"calls\"][1]] == [\"layer\", \"layer\", \"vector\"]");
    expect_json("--calls " + path,
                "d[\"calls\"][0][0][\"windows\"][\"at\"] == {\"memory\": \"work\", \"offset\": 0} and "
                "{\"begin\": 0, \"end\": 64, \"write\": False} in d[\"calls\"][0][0][\"accesses\"]");
    expect_json("--programs --matrix 1 " + path,
                "len(d[\"program_texts\"]) == 3 and d[\"matrix\"][\"name\"] == \"fc2.weight\" and "
                "sum(h[\"count\"] for h in d[\"matrix\"][\"histogram\"]) == 2000");
}

TEST_F(ObjdumpProgram, ValuesOfAMatrix) {
    TestModel model;
    model.add_matrix("m", 2, 4, {-128, -97, -96, 0, 0, 31, 32, 127});
    model.add_matrix("twin", 1, 1, {5});
    model.add_matrix("twin", 1, 1, {5});
    model.add_variant(64);
    const TestFile file(model.file());
    const std::string path = file.path(), npy = folder_ + "/m.npy";
    expect(0,
           {"min -128, max 127, mean -16.4, mean magnitude 63.9, zeros 2 (25.0 %)",
            "  -128..-97             2  25.0 %  ###", "     0..31              3  37.5 %",
            "   -32..-1              0   0.0 %\n"},
           "--matrix m --extract " + npy + " " + path);
    const std::string check =
        "python3 -c 'import sys; b = open(sys.argv[1], \"rb\").read(); assert b[:8] == b\"\\x93NUMPY\\x01\\x00\" and "
        "len(b) % 64 == 8 and b\"(2, 4)\" in b and list(b[-8:]) == [128, 159, 160, 0, 0, 31, 32, 127], b' ";
    EXPECT_EQ(0, std::system((check + npy).c_str()));
    expect(0, {"matrix 2  twin"}, "--matrix 2 " + path);
    expect(1, {"2 matrices have the name 'twin'; give the number of one: 1, 2"}, "--matrix twin " + path);
    expect(1, {"no matrix 'other'; it has 3"}, "--matrix other " + path);
    expect(1, {"no matrix '3'"}, "--matrix 3 " + path);
    // -128 has only the offset encoding.
    expect(0, {"m  2 x 4  auto (becomes offset)"}, path);
}

TEST_F(ObjdumpProgram, Pictures) {
    const Bytes bytes = network_.model.file([](fb::ModelT& model) { model.matrices[0]->name = "<fc & \"1\">"; });
    expect_picture("--memory", bytes,
                   {"work memory", "peak: ", "input pixels", "/fc1/Gemm", "scores", "number of the call"});
    expect_picture(
        "--chip", bytes,
        {"3 of 6400 crossbars (0.0 %)", "empty chip", "&lt;fc &amp; &quot;1&quot;&gt;", "cluster 0, CU 0, crossbar 2"});
    expect_picture("--variant 1 --timeline", bytes,
                   {"variant 1: ", "crossbars", "compute engine", "time on the chip (ns)", "/ArgMax"});
    TestModel empty;  // without calls and matrices
    empty.add_variant(64);
    for (const char* option : {"--memory", "--chip", "--timeline"}) expect_picture(option, empty.file(), {"<title>"});
}

TEST_F(ObjdumpProgram, DamageIsFound) {
    const Bytes good = network_.model.file();
    fb::FileHeader header;
    std::memcpy(&header, good.data(), sizeof header);
    Bytes bad = good;
    bad[0] = 'X';
    refused(bad, {"is not a compiled model"});
    bad = good;
    bad[20] ^= 1;
    refused(bad, {": header: its hash is wrong"});
    bad = good;
    change_header(&bad, [](fb::FileHeader& h) { h.version = 2 << 16; });
    refused(bad, {"has version 2.0 of the format"});
    bad = good;
    bad[header.manifest_offset + 100] ^= 1;
    refused(bad, {": manifest: its hash is wrong"});
    std::fill_n(bad.begin() + static_cast<ptrdiff_t>(header.manifest_offset), 64, uint8_t{0xff});
    seal(&bad);
    refused(bad, {": manifest: it is not a valid FlatBuffer"});
    refused({good.begin(), good.end() - 1}, {"it was cut off"});
    refused({}, {"has 0 bytes"});
    // Sections: everything else is still printed.
    const fb::Model& model = *fb::GetModel(good.data() + header.manifest_offset);
    bad = good;
    bad[model.matrices()->Get(1)->data()->offset()] ^= 1;
    const TestFile matrix(bad);
    expect(1, {"matrix 0", " intact\n", " DAMAGED\n", "variant 1", "the hash is wrong of: matrix 1 'fc2.weight'"},
           matrix.path());
    expect(1, {"fc2.weight  200 x 10  auto  DAMAGED"}, std::string("--matrix 1 ") + matrix.path());
    expect(1, {"matrix 1 'fc2.weight' is damaged"}, "--matrix 1 --extract " + folder_ + "/x.npy " + matrix.path());
    bad = good;
    bad[model.constants()->offset()] ^= 1;
    expect(1, {"the hash is wrong of: constants"}, TestFile(bad).path());
}

// What the verifier of FlatBuffers lets through, but no call of libsidra.
TEST_F(ObjdumpProgram, HostileCallsAreShown) {
    const auto shown = [&](const std::function<void(fb::ModelT&)>& change, const std::string& said) {
        Perceptron network({2}, 1);
        const TestFile file(network.model.file(change));
        expect(0, {"cannot be run: " + said}, std::string("--calls --programs ") + file.path());
        for (const char* option : {"--memory", "--timeline"})
            expect(1, {"there is no picture, because call ", said}, option + (" " + folder_ + "/p.svg ") + file.path());
    };
    const auto layer = [](fb::ModelT& m) -> fb::LayerT& { return *m.variants[0]->calls[0]->step.AsLayer(); };
    const auto vector = [](fb::ModelT& m) -> fb::VectorT& { return *m.variants[0]->calls[2]->step.AsVector(); };
    shown([&](fb::ModelT& m) { layer(m).windows->kernel_h = 70000; }, "windows.kernel_h is 70000");
    shown([&](fb::ModelT& m) { layer(m).windows->channels = 63; }, "a window has 63 elements");
    shown([&](fb::ModelT& m) { layer(m).windows->image_stride = UINT64_MAX, layer(m).windows->images = 2; },
          "the images of its windows");
    shown([&](fb::ModelT& m) { layer(m).windows->pixel_stride = 1 << 20; }, "windows ends at byte");
    shown([&](fb::ModelT& m) { vector(m).operands[0]->stride[2] = UINT64_MAX; }, "the chip refuses its program");
    shown([&](fb::ModelT& m) { layer(m).operands[1]->at = std::make_unique<fb::Place>(constant(1600)); },
          "operand 1 ends at byte 2400 of the constant memory, which has 1632");
    shown([&](fb::ModelT& m) { vector(m).size = {0, 1, 1, 1}; }, "the chip refuses its program");
    shown([&](fb::ModelT& m) { vector(m).operands.clear(); }, "the chip refuses its program");
    shown([&](fb::ModelT& m) { m.programs[2]->code.assign(16 * 1000, 0xff); }, "the chip refuses its program");
    shown([&](fb::ModelT& m) { m.programs[0]->prologue = UINT32_MAX; }, "the chip refuses its program");
    shown([&](fb::ModelT& m) { m.variants[0]->work = (uint64_t{1} << 39) - 1; },
          "its memory is larger than that of a chip");
    shown([&](fb::ModelT& m) { vector(m).operands[1]->at = std::make_unique<fb::Place>(constant(0)); }, "");
    // Matrices that no chip has room for.
    Perceptron network({2}, 1);
    for (auto& matrix : network.model.manifest.matrices) matrix->encoding = fb::Encoding::Differential;
    const TestFile file(network.model.file([](fb::ModelT&) {}));
    expect(0, {"fc1.weight  64 x 200  differential: "}, file.path());
}

// Changed anywhere, with hashes that are right: whatever the verifier lets through is shown, or refused with a reason.
TEST_F(ObjdumpProgram, RandomChanges) {
    const Bytes good = network_.model.file();
    fb::FileHeader header;
    std::memcpy(&header, good.data(), sizeof header);
    std::mt19937 random(1);
    uint32_t shown = 0;
    const auto try_picture = [](const auto& draw) {
        try {
            EXPECT_FALSE(draw().empty());
        } catch (const std::runtime_error& e) {
            EXPECT_STRNE("", e.what());
        }
    };
    for (int i = 0; i < 2000; ++i) {
        Bytes bad = good;
        for (uint32_t n = 0; n <= i % 4u; ++n)
            bad[header.manifest_offset + random() % header.manifest_size] =
                static_cast<uint8_t>(random() % 2 == 0 ? random() : random() % 2 * 0xff);
        seal(&bad);
        const TestFile path(bad);
        try {
            const objdump::ModelFile file(path.path());
            const objdump::Contents contents = objdump::read_contents(file);
            const objdump::Placement placement = objdump::place(file.model(), contents);
            EXPECT_FALSE(objdump::summary_text(file, contents, placement).empty());
            EXPECT_FALSE(tools::Json(objdump::summary_json(file, contents, placement)).text().empty());
            objdump::programs_text(file.model());
            try_picture([&] { return objdump::chip_picture(file.model(), placement); });
            for (uint32_t v = 0; v < file.model().variants()->size(); ++v) {
                const fb::Variant& variant = *file.model().variants()->Get(v);
                const auto analyses = objdump::analyse(file.model(), variant, placement);
                objdump::calls_text(file.model(), variant, analyses);
                EXPECT_FALSE(objdump::calls_json(variant, analyses).text().empty());
                try_picture([&] { return objdump::memory_picture(file.model(), v, analyses); });
                try_picture([&] { return objdump::timeline_picture(file.model(), v, analyses); });
            }
            ++shown;
        } catch (const std::runtime_error& e) {
            EXPECT_STRNE("", e.what());
        }
    }
    EXPECT_GT(shown, 200u);
}

TEST_F(ObjdumpProgram, TooManyCrossbars) {
    constexpr uint32_t kInputs = 256 * 6401;
    TestModel model;
    model.add_matrix("large", kInputs, 1, std::vector<int8_t>(kInputs, 1));
    model.add_variant(64);
    const TestFile file(model.file());
    expect(0, {"on 0 of 6400", "cannot be deployed: its matrices need 6401 crossbars or more"}, file.path());
    expect(1, {"there is no picture of the chip: its matrices need 6401"},
           "--chip " + folder_ + "/c.svg " + file.path());
}

TEST_F(ObjdumpProgram, WrongUsage) {
    const TestFile file(network_.model.file());
    const std::string path = file.path();
    expect(2, {"sidra-objdump --help"}, "");
    expect(2, {"sidra-objdump --help"}, path + " --nope");
    expect(2, {"--matrix"}, "--extract " + folder_ + "/x.npy " + path);
    expect(2, {"--variant"}, "--variant -1 " + path);
    expect(1, {"--variant is 2, but the model has 2"}, "--variant 2 " + path);
    expect(1, {"/nowhere"}, "--chip " + folder_ + "/nowhere/c.svg " + path);
    expect(1, {"No such file"}, folder_ + "/none.sidra");
    expect(1, {"is a directory"}, folder_);
    expect(1, {"is a character device"}, "/dev/zero");
    expect(1, {"cannot write to standard output"}, path + " >/dev/full");
}

// A chip takes the crossbars that are drawn: those of the file, and its own choice for what cannot be there.
TEST_F(ObjdumpProgram, AgreesWithAChipOnPlaces) {
    setenv("SIDRA_DEVICE", "embedded", 1);
    setenv("SIDRA_PROFILE", "y1", 1);
    setenv("SIDRA_QUIET", "1", 1);
    const std::vector<std::vector<uint32_t>> firsts = {{6399, 17}, {6400, 17}, {1}};
    for (const std::vector<uint32_t>& first : firsts) {
        const TestFile file(network_.model.file([&](fb::ModelT& manifest) {
            manifest.matrices[0]->crossbars = first;
            manifest.matrices[1]->crossbars = {0};
        }));
        const objdump::ModelFile read(file.path());
        const objdump::Placement placement = objdump::place(read.model(), objdump::read_contents(read));
        ASSERT_EQ(placement.matrices.size(), 2u);
        EXPECT_EQ(placement.by_file, first[0] == 6400 ? 1u : 2u);
        EXPECT_EQ(placement.matrices[0].crossbars == first, first[0] != 6400);
        const Device device = Device::open();
        const Context context(device);
        const Model model(context, file.path());
        Stream stream(context);
        stream.deploy(model);
        stream.synchronize();
        for (uint32_t m = 0; m < 2; ++m) {
            auto matrix = SIDRA_INIT(sidra_model_matrix);
            ASSERT_EQ(sidra_model_get_matrix(model.get(), m, &matrix), SIDRA_OK);
            uint32_t count = 8;
            std::vector<uint32_t> crossbars(count);
            ASSERT_EQ(sidra_weights_crossbars(matrix.weights, crossbars.data(), &count), SIDRA_OK);
            crossbars.resize(count);
            EXPECT_EQ(crossbars, placement.matrices[m].crossbars) << m;
        }
    }
}

// An embedded chip is the other opinion: it takes as many crossbars, and a run takes as long.
TEST_F(ObjdumpProgram, AgreesWithAChip) {
    const TestFile file(network_.model.file());
    setenv("SIDRA_DEVICE", "embedded", 1);
    setenv("SIDRA_PROFILE", "y1", 1);
    setenv("SIDRA_QUIET", "1", 1);
    const objdump::ModelFile read(file.path());
    const objdump::Placement placement = objdump::place(read.model(), objdump::read_contents(read));
    const Device device = Device::open();
    const Context context(device);
    const Model model(context, file.path());
    Stream stream(context);
    const uint64_t free = device.info().crossbars_free;
    stream.deploy(model);
    stream.synchronize();
    EXPECT_EQ(free - device.info().crossbars_free, placement.taken);
    for (uint32_t v = 0; v < 2; ++v) {
        uint64_t ps = 0, pj = 0;
        for (const objdump::CallAnalysis& call :
             objdump::analyse(read.model(), *read.model().variants()->Get(v), placement)) {
            EXPECT_EQ("", call.problem);
            ps += call.total_ps(), pj += call.energy_pj;
        }
        Bytes pixels(size_t{v == 0 ? 1u : 5u} * Perceptron::kInputs, 3);
        const void* inputs[] = {pixels.data()};
        void* outputs[] = {nullptr, nullptr};
        stream.run(model, v, inputs, outputs);
        const Cost before = stream.device_time();
        stream.run(model, v, inputs, outputs);
        const Cost after = stream.device_time();
        // Besides the calls, a run has the packet that starts the graph.
        EXPECT_EQ(ps + 4'000, after.picoseconds - before.picoseconds);
        EXPECT_EQ(pj + 20, after.picojoules - before.picojoules);
    }
}

}  // namespace
}  // namespace sidra::test
