// SPDX-License-Identifier: MIT
// The convolutional network on the embedded chip: its own model file against what NumPy computed for it, and damaged
// files.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "convnet/model.h"
#include "convnet/network.h"
#include "digits_model.h"
#include "paths.h"
#include "sidra/sidra.hpp"

namespace sidra::convnet {
namespace {

const std::string kFolder = sidra::test::source_file("libsidra/examples/");

std::string file_bytes(const std::string& name) {
    std::ifstream file(kFolder + name, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

TEST(Convnet, LogitsOfTheReference) {
    setenv("SIDRA_DEVICE", "embedded", 1);
    setenv("SIDRA_QUIET", "1", 1);
    const Model model = load_model(kFolder + "convnet/model.bin");
    const digits::Model digits = digits::load_model(kFolder + "digits/model.bin");
    const std::string bytes = file_bytes("convnet/reference.f32");
    ASSERT_EQ(bytes.size(), size_t{digits.digits} * kClasses * sizeof(float));
    std::vector<float> reference(bytes.size() / sizeof(float));
    std::memcpy(reference.data(), bytes.data(), bytes.size());

    const Context context(Device::open());
    Stream stream(context);
    const Network network(context, stream, model);
    // Batches that do not divide the digits; what follows the last digits in their batch is that of the batch before.
    const Recognizer recognizer(network, stream, 100);
    uint32_t right = 0;
    for (uint32_t first = 0; first < digits.digits; first += 100) {
        const uint32_t count = std::min(100u, digits.digits - first);
        std::copy_n(digits.image(first).begin(), count * digits::kPixels, recognizer.pixels().begin());
        const uint64_t before = stream.timeline().submitted;
        stream.launch(recognizer.graph());
        EXPECT_EQ(before + 1, stream.timeline().submitted) << "a batch is one operation";
        stream.synchronize();
        for (uint32_t n = 0; n < count; n++) {
            const auto logits = recognizer.logits().subspan(n * kClasses, kClasses);
            const auto wanted = std::span(reference).subspan((first + n) * kClasses, kClasses);
            EXPECT_EQ(0, std::memcmp(logits.data(), wanted.data(), wanted.size_bytes())) << "digit " << first + n;
            EXPECT_EQ(std::ranges::max_element(wanted) - wanted.begin(), recognizer.answers()[n]);
            right += recognizer.answers()[n] == digits.labels[first + n];
        }
    }
    EXPECT_EQ(351u, right);
    EXPECT_EQ(351u, model.right);
}

// ---- Files

class ConvnetFile : public testing::Test {
   protected:
    ConvnetFile()
        : path_(std::filesystem::temp_directory_path() / ("sidra-convnet-test-" + std::to_string(getpid()))) {}
    ~ConvnetFile() override { std::filesystem::remove(path_); }

    std::string error(const std::string& bytes) {
        std::ofstream(path_, std::ios::binary) << bytes;
        try {
            load_model(path_.string());
        } catch (const std::runtime_error& caught) {
            EXPECT_NE(std::string_view::npos, std::string_view(caught.what()).find(path_.string()));
            return caught.what();
        }
        return "none";
    }
    // Another value in a layer's field: the field is that of FileLayer at this offset.
    static void put(std::string* bytes, size_t layer, size_t offset, uint32_t value) {
        bytes->replace(sizeof(FileHeader) + layer * sizeof(FileLayer) + offset, sizeof(value),
                       reinterpret_cast<const char*>(&value), sizeof(value));
    }
    std::string changed(size_t layer, size_t offset, uint32_t value) const {
        std::string bytes = whole_;
        put(&bytes, layer, offset, value);
        return bytes;
    }
    void expect_error(const std::string& bytes, std::string_view part) {
        EXPECT_NE(std::string::npos, error(bytes).find(part)) << part << ": " << error(bytes);
    }

    std::filesystem::path path_;
    const std::string whole_ = file_bytes("convnet/model.bin");
};

TEST_F(ConvnetFile, Headers) {
    EXPECT_EQ("none", error(whole_));
    expect_error("X" + whole_.substr(1), "does not begin with SIDRACNV");
    expect_error(std::string(whole_).replace(8, 1, "\2"), "its version is 2, not 1");
    for (const std::string_view bad : {std::string_view("\0\0", 2), std::string_view("\0\1", 2)}) {
        expect_error(std::string(whole_).replace(12, 2, bad), "layers");
        expect_error(std::string(whole_).replace(16, 4, std::string(bad) + std::string(bad)), "test digits");
    }
    EXPECT_THROW(load_model("/no/such/model"), std::runtime_error);
    EXPECT_THROW(load_model("/dev/zero"), std::runtime_error);
}

TEST_F(ConvnetFile, LayersThatDoNotFit) {
    const size_t kind = offsetof(FileLayer, kind), kernel = offsetof(FileLayer, kernel), pad = offsetof(FileLayer, pad);
    const size_t out_side = offsetof(FileLayer, out_side), out_channels = offsetof(FileLayer, out_channels);
    const size_t in_side = offsetof(FileLayer, in_side), in_channels = offsetof(FileLayer, in_channels);
    const size_t weights = offsetof(FileLayer, weights);
    constexpr uint32_t kHuge = ~0u;
    expect_error(changed(0, kind, 5), "layer 0: its kind is unknown");
    for (const uint32_t bad : {0u, 9u, kHuge}) expect_error(changed(0, kernel, bad), "its windows are out of range");
    for (const uint32_t bad : {0u, kHuge})
        expect_error(changed(6, offsetof(FileLayer, stride), bad), "its windows are out of range");
    expect_error(changed(0, pad, 3), "its windows are out of range");
    expect_error(changed(0, pad, kHuge), "its windows are out of range");
    for (const uint32_t bad : {0u, 1025u, kHuge})
        expect_error(changed(0, out_channels, bad), "channels are out of range");
    expect_error(changed(0, in_side, 7), "layer 0: its input is not the output of the layer before");
    expect_error(changed(2, in_channels, 15), "layer 2: its input is not");
    expect_error(changed(1, out_side, 7), "layer 1: its output does not have the size");
    expect_error(changed(1, offsetof(FileLayer, zero), 128), "its code of 0 is no code");
    expect_error(changed(3, weights, 1024), "a pooling has weights");
    expect_error(changed(0, weights, 0), "it has no weights");
    expect_error(changed(1, out_channels, 32), "changes the number of channels");
    expect_error(changed(0, kind, kDepthwise), "changes the number of channels");
    expect_error(changed(3, kind, kPoolAverage), "an average is not before the classifier");
    expect_error(changed(7, kind, kPoolMax), "an average is not before the classifier");
    for (const Kind pool : {kPoolMax, kPoolAverage}) {
        std::string bytes = changed(0, kind, pool);
        for (const size_t field : {weights, out_channels}) put(&bytes, 0, field, field == weights ? 0 : 1);
        expect_error(bytes, pool == kPoolMax ? "its maximum is not of codes" : "its average is of codes");
    }
    expect_error(changed(8, kind, kConvolution), "the classifier is not the last layer");
    expect_error(changed(0, kind, kClassifier), "the classifier is not the last layer");
    expect_error(changed(8, out_channels, 11), "into 10 classes");
    for (const size_t array : {weights, offsetof(FileLayer, factors), offsetof(FileLayer, offsets)}) {
        expect_error(changed(4, array, static_cast<uint32_t>(whole_.size()) - 2), "shorter than its header says");
        expect_error(changed(4, array, kHuge), "shorter than its header says");
    }
}

TEST_F(ConvnetFile, FilesThatWereCut) {
    for (size_t size = 0; size < whole_.size(); size += size < 600 ? 1 : 97)
        EXPECT_NE("none", error(whole_.substr(0, size)));
    EXPECT_NE("none", error(whole_.substr(0, whole_.size() - 1)));
}

}  // namespace
}  // namespace sidra::convnet
