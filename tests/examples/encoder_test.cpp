// SPDX-License-Identifier: MIT
// The sentence encoder on the embedded chip: a small one with random weights against plain loops in f64, and the real
// one against PyTorch and NumPy, whose results its folder has.
#include "sentence/encoder.h"
#include "paths.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <random>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "sentence/model_file.h"
#include "sentence/wordpiece.h"
#include "sidra/sidra.hpp"
#include "sidra_cmd.h"

namespace sidra::sentence {
namespace {

template <class A, class B>
double cosine(const A& a, const B& b) {
    double ab = 0, aa = 0, bb = 0;
    for (size_t n = 0; n < a.size(); ++n) {
        ab += double{a[n]} * double{b[n]};
        aa += double{a[n]} * double{a[n]};
        bb += double{b[n]} * double{b[n]};
    }
    return ab / std::sqrt(aa * bb);
}

class EncoderTest : public testing::Test {
   protected:
    EncoderTest() {
        setenv("SIDRA_DEVICE", "embedded", 1);
        setenv("SIDRA_QUIET", "1", 1);
        context_ = Context(Device::open());
        stream_ = Stream(context_);
    }
    std::vector<float> embed(Encoder* encoder, const std::vector<int32_t>& tokens) {
        encoder->launch(tokens);
        stream_.synchronize();
        const auto embedding = encoder->embedding();
        return {embedding.begin(), embedding.end()};
    }

    Context context_;
    Stream stream_;
};

// ---- A small encoder

constexpr uint32_t kLayers = 2, kWidth = 32, kHeads = 2, kHead = kWidth / kHeads, kInner = 48, kWords = 7, kTokens = 20;
constexpr float kEpsilon = 1e-6f;

using Matrix = std::vector<std::vector<double>>;

// Random arrays, written from the tables of README.md.
class SmallModel {
   public:
    SmallModel() {
        text_.emplace_back("vocabulary", std::string("a\nb\nc\nd\ne\nf\ng"));
        floats("words", kWords, kWidth, -1, 1);
        floats("positions", kTokens, kWidth, -1, 1);
        floats("embedding.gamma", 1, kWidth, 0.5, 1.5);
        floats("embedding.beta", 1, kWidth, -0.5, 0.5);
        for (uint32_t n = 0; n < kLayers; ++n) {
            const std::string layer = "layer" + std::to_string(n) + ".";
            matrix(layer + "qkv", kWidth, 3 * kWidth, true);
            matrix(layer + "out", kWidth, kWidth, false);
            matrix(layer + "inner", kWidth, kInner, true);
            matrix(layer + "outer", kInner, kWidth, false);
        }
    }

    void write(const std::filesystem::path& path) const {
        std::string table, data;
        const size_t start = 64 + 64 * (arrays_.size() + text_.size());
        const auto add = [&](std::string name, uint32_t type, uint32_t rows, uint32_t columns,
                             const std::string& bytes) {
            data.resize((start + data.size() + 63) / 64 * 64 - start);
            name.resize(40);
            table += name;
            for (const uint32_t value : {type, rows, columns, 0u}) append(value, &table);
            append(uint64_t{start + data.size()}, &table);
            data += bytes;
        };
        for (const auto& [name, bytes] : text_) add(name, SIDRA_TYPE_U8, 1, static_cast<uint32_t>(bytes.size()), bytes);
        for (const auto& [name, array] : arrays_) {
            std::string bytes;
            for (const auto& row : array.values) {
                for (const double value : row) {
                    if (array.type == SIDRA_TYPE_F32) append(static_cast<float>(value), &bytes);
                    else if (array.type == SIDRA_TYPE_S32) append(static_cast<int32_t>(value), &bytes);
                    else append(static_cast<int8_t>(value), &bytes);
                }
            }
            add(name, array.type, static_cast<uint32_t>(array.values.size()),
                static_cast<uint32_t>(array.values[0].size()), bytes);
        }
        std::string header = "SIDRASEN";
        for (const uint32_t value : {2u, static_cast<uint32_t>(arrays_.size() + text_.size()), kLayers, kWidth, kHeads,
                                     kInner, kWords, kTokens})
            append(value, &header);
        append(kEpsilon, &header);
        header.resize(64);
        std::ofstream(path, std::ios::binary) << header << table << data;
    }

    // The embedding in f64, of weights as the codes stand for them.
    std::vector<double> embed(const std::vector<int32_t>& tokens) const {
        const size_t count = tokens.size();
        Matrix x(count);
        for (size_t t = 0; t < count; ++t) {
            for (size_t n = 0; n < kWidth; ++n)
                x[t].push_back(at("words")[static_cast<size_t>(tokens[t])][n] + at("positions")[t][n]);
        }
        x = norm(x, "embedding");
        for (uint32_t n = 0; n < kLayers; ++n) {
            const std::string layer = "layer" + std::to_string(n) + ".";
            const Matrix qkv = linear(x, layer + "qkv");
            Matrix c(count, std::vector<double>(kWidth));
            for (size_t head = 0; head < kHeads; ++head) {
                for (size_t t = 0; t < count; ++t) {
                    std::vector<double> p(count);
                    double sum = 0;
                    for (size_t u = 0; u < count; ++u) {
                        for (size_t i = head * kHead; i < (head + 1) * kHead; ++i)
                            p[u] += qkv[t][i] * qkv[u][kWidth + i];
                        p[u] = std::exp(p[u] / std::sqrt(double{kHead}));
                        sum += p[u];
                    }
                    for (size_t u = 0; u < count; ++u) {
                        for (size_t i = head * kHead; i < (head + 1) * kHead; ++i)
                            c[t][i] += p[u] / sum * qkv[u][2 * kWidth + i];
                    }
                }
            }
            const Matrix y = norm(sum(linear(c, layer + "out"), x), layer + "out");
            Matrix h = linear(y, layer + "inner");
            for (auto& row : h) {
                for (double& value : row) value *= 0.5 * (1 + std::erf(value / std::sqrt(2.0)));
            }
            x = norm(sum(linear(h, layer + "outer"), y), layer + "outer");
        }
        std::vector<double> mean(kWidth);
        for (const auto& row : x) {
            for (size_t n = 0; n < kWidth; ++n) mean[n] += row[n];
        }
        return mean;  // of any length
    }

   private:
    struct Array {
        uint32_t type;
        Matrix values;
    };

    template <class T>
    static void append(const T& value, std::string* bytes) {
        bytes->append(reinterpret_cast<const char*>(&value), sizeof(value));
    }
    const Matrix& at(const std::string& name) const { return arrays_.at(name).values; }

    Matrix& floats(const std::string& name, uint32_t rows, uint32_t columns, double low, double high) {
        Array& array = arrays_[name] = {SIDRA_TYPE_F32, Matrix(rows, std::vector<double>(columns))};
        std::uniform_real_distribution<float> value(static_cast<float>(low), static_cast<float>(high));
        for (auto& row : array.values) std::ranges::generate(row, [&] { return value(random_); });
        return array.values;
    }
    void matrix(const std::string& name, uint32_t inputs, uint32_t outputs, bool smooth) {
        Array& codes = arrays_[name + ".codes"] = {SIDRA_TYPE_S8, Matrix(inputs, std::vector<double>(outputs))};
        Array& sums = arrays_[name + ".sums"] = {SIDRA_TYPE_S32, Matrix(1, std::vector<double>(outputs))};
        std::uniform_int_distribution<int> code(-127, 127);
        for (auto& row : codes.values) {
            for (size_t n = 0; n < outputs; ++n) sums.values[0][n] += row[n] = code(random_);
        }
        floats(name + ".scale", 1, outputs, 0.001, 0.004);
        floats(name + ".bias", 1, outputs, -0.5, 0.5);
        if (smooth) {
            for (double& factor : floats(name + ".smooth", 1, inputs, -1, 2)[0]) factor = std::exp2(std::floor(factor));
        } else {
            floats(name + ".gamma", 1, outputs, 0.5, 1.5);
            floats(name + ".beta", 1, outputs, -0.5, 0.5);
        }
    }

    Matrix linear(const Matrix& x, const std::string& name) const {
        const Matrix &codes = at(name + ".codes"), &scale = at(name + ".scale"), &bias = at(name + ".bias");
        const bool smooth = arrays_.contains(name + ".smooth");
        Matrix y(x.size(), bias[0]);
        for (size_t t = 0; t < x.size(); ++t) {
            for (size_t k = 0; k < codes.size(); ++k) {
                const double factor = x[t][k] * (smooth ? at(name + ".smooth")[0][k] : 1);
                for (size_t n = 0; n < y[t].size(); ++n) y[t][n] += factor * codes[k][n] * scale[0][n];
            }
        }
        return y;
    }
    Matrix norm(Matrix x, const std::string& name) const {
        for (auto& row : x) {
            double mean = 0, variance = 0;
            for (const double value : row) mean += value / kWidth;
            for (const double value : row) variance += (value - mean) * (value - mean) / kWidth;
            for (size_t n = 0; n < kWidth; ++n)
                row[n] = (row[n] - mean) / std::sqrt(variance + double{kEpsilon}) * at(name + ".gamma")[0][n] +
                         at(name + ".beta")[0][n];
        }
        return x;
    }
    static Matrix sum(Matrix a, const Matrix& b) {
        for (size_t t = 0; t < a.size(); ++t) {
            for (size_t n = 0; n < a[t].size(); ++n) a[t][n] += b[t][n];
        }
        return a;
    }

    std::mt19937 random_{1};
    std::vector<std::pair<std::string, std::string>> text_;
    std::map<std::string, Array> arrays_;
};

class SmallEncoder : public EncoderTest {
   protected:
    SmallEncoder()
        : path_(std::filesystem::temp_directory_path() / ("sidra-encoder-test-" + std::to_string(getpid()))) {
        model_.write(path_);
    }
    ~SmallEncoder() override { std::filesystem::remove(path_); }

    SmallModel model_;
    std::filesystem::path path_;
};

TEST_F(SmallEncoder, LikePlainLoops) {
    Encoder encoder(context_, stream_, ModelFile(path_.string()));
    std::mt19937 random(2);
    // Both numbers of rows that there are, 16 and 20; shorter sentences after longer ones.
    for (const size_t count : {1, 20, 2, 15, 17, 16, 3}) {
        std::vector<int32_t> tokens(count);
        std::ranges::generate(tokens, [&] { return static_cast<int32_t>(random() % kWords); });
        const std::vector<float> embedding = embed(&encoder, tokens);
        EXPECT_LT(0.9995, cosine(embedding, model_.embed(tokens))) << count;
        double length = 0;
        for (const float value : embedding) length += double{value} * double{value};
        EXPECT_NEAR(1, length, 1e-5);
    }
    EXPECT_TRUE(encoder.progress().complete());
    EXPECT_EQ(kLayers * kWidth * (4 * kWidth + 2 * kInner), encoder.weights());
}

TEST_F(SmallEncoder, ASentenceIsOneOperationOfTheStream) {
    Encoder encoder(context_, stream_, ModelFile(path_.string()));
    EXPECT_EQ(3 + 6 * kLayers, encoder.operations(16));
    embed(&encoder, {1, 2, 3});
    const uint64_t before = stream_.timeline().completed;
    embed(&encoder, {4, 5});
    EXPECT_EQ(before + 1, stream_.timeline().completed);
}

TEST_F(SmallEncoder, BadTokens) {
    Encoder encoder(context_, stream_, ModelFile(path_.string()));
    EXPECT_THROW(encoder.launch({}), std::invalid_argument);
    EXPECT_THROW(encoder.launch(std::vector<int32_t>(kTokens + 1)), std::invalid_argument);
    for (const int32_t token : {-1, static_cast<int32_t>(kWords)}) {
        encoder.launch(std::vector<int32_t>{token});
        EXPECT_THROW(stream_.synchronize(), Error);
        EXPECT_TRUE(stream_.fault().has_value());
        stream_.reset();
    }
    EXPECT_LT(0.9995, cosine(embed(&encoder, {3}), model_.embed({3})));
}

// ---- The real encoder

struct Reference {
    size_t nearest;
    std::vector<int32_t> tokens;
    std::string sentence, hash;
    std::vector<float> torch;
};

std::ifstream open_reference(const std::string& name) {
    return std::ifstream(sidra::test::source_file("libsidra/examples/sentence/" + name), std::ios::binary);
}

bool next_row(std::ifstream* file, std::string* line) {
    while (std::getline(*file, *line)) {
        if (!line->starts_with('#')) return true;
    }
    return false;
}

std::vector<Reference> references(size_t width) {
    std::ifstream table = open_reference("reference.tsv"), hashes = open_reference("chip.tsv");
    std::ifstream embeddings = open_reference("reference.f32");
    std::vector<Reference> references;
    for (std::string line, hash; next_row(&table, &line) && next_row(&hashes, &hash);) {
        Reference one{};
        std::istringstream fields(line);
        fields >> one.nearest >> std::ws;
        std::string ids;
        std::getline(fields, ids, '\t');
        std::getline(fields, one.sentence);
        std::istringstream numbers(ids);
        for (int32_t id; numbers >> id;) one.tokens.push_back(id);
        one.hash = hash.substr(0, hash.find('\t'));
        one.torch.resize(width);
        embeddings.read(reinterpret_cast<char*>(one.torch.data()), static_cast<std::streamsize>(width * sizeof(float)));
        EXPECT_TRUE(embeddings.good());
        references.push_back(one);
    }
    return references;
}

std::string fnv1a(const std::vector<float>& values) {
    uint32_t hash = 0x811c9dc5;
    const auto* bytes = reinterpret_cast<const unsigned char*>(values.data());
    for (size_t n = 0; n < values.size() * sizeof(float); ++n) hash = (hash ^ bytes[n]) * 0x01000193;
    char text[9];
    std::snprintf(text, sizeof text, "%08x", hash);
    return text;
}

TEST_F(EncoderTest, SentencesLikePyTorchAndNumPy) {
    const std::string path = ModelFile::default_path();
    if (!std::filesystem::exists(path))
        GTEST_SKIP() << "The sentence encoder with its real weights was not tested: there is no " << path
                     << ". `make sentence` writes it.";
    const ModelFile model(path);
    const WordPiece tokenizer(model.vocabulary());
    Encoder encoder(context_, stream_, model);
    const std::vector<Reference> all = references(model.sizes().width);
    ASSERT_EQ(20u, all.size());
    std::vector<std::vector<float>> embeddings;
    for (const Reference& one : all) {
        EXPECT_EQ(one.tokens, tokenizer.encode(one.sentence, model.sizes().tokens_max));
        embeddings.push_back(embed(&encoder, one.tokens));
        EXPECT_EQ(one.hash, fnv1a(embeddings.back())) << one.sentence;
        EXPECT_LE(0.99, cosine(embeddings.back(), one.torch)) << one.sentence;
    }
    for (size_t n = 0; n < all.size(); ++n) {
        double best = -2;
        size_t nearest = 0;
        for (size_t other = 0; other < all.size(); ++other) {
            const double similar = other == n ? -2 : cosine(embeddings[n], embeddings[other]);
            if (similar > best) best = similar, nearest = other;
        }
        EXPECT_EQ(all[n].nearest, nearest) << all[n].sentence;
    }
    // As many tokens as there may be: one more sentence that no table has.
    embed(&encoder, std::vector<int32_t>(model.sizes().tokens_max, all[0].tokens[1]));
}

}  // namespace
}  // namespace sidra::sentence
