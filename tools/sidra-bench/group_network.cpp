// SPDX-License-Identifier: MIT
// The convolutional network of the examples as a whole, from submit to the end of a wait: one graph for a batch of
// images. oneDNN computes the same network with as many threads, as one primitive for each layer.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <span>

#include "convnet/network.h"
#include "data_file.h"
#include "digits_model.h"
#include "driver_node.h"
#include "error.h"
#include "groups.h"
#include "peers.h"
#include "sidra/sidra.hpp"

namespace sidra::bench {
namespace {

constexpr uint32_t kBatches[] = {1, 360};  // the test digits, in the order of the model file

struct Data {
    convnet::Model model = convnet::load_model(convnet_file());
    digits::Model digits = digits::load_model(digits_file());
    std::vector<float> logits;  // of a chip, with the bits of the reference

    std::span<const uint8_t> pixels(uint32_t images) const {
        return std::span(digits.pixels).first(size_t{images} * digits::kPixels);
    }
};

uint32_t answer(std::span<const float> logits, uint32_t image) {
    const auto row = logits.subspan(size_t{image} * convnet::kClasses, convnet::kClasses);
    return static_cast<uint32_t>(std::ranges::max_element(row) - row.begin());
}

class NetworkWork {
   public:
    NetworkWork(const Settings& settings, uint32_t threads, const Data& data, uint32_t images)
        : device_(
              sidra::Device::open(0, {.engine = settings.engine, .workers = threads, .private_chip = without_card()})),
          context_(device_),
          stream_(context_),
          network_(context_, stream_, data.model),
          recognizer_(network_, stream_, images) {
        std::ranges::copy(data.pixels(images), recognizer_.pixels().begin());
        run(1);
    }

    void run(uint64_t calls) {
        const auto deadline = Deadline::after(std::chrono::minutes(2));
        for (uint64_t i = 0; i < calls; ++i) {
            stream_.launch(recognizer_.graph());
            if (!stream_.synchronize(deadline)) throw Error("the chip did not answer in two minutes");
        }
    }
    std::string engine() const { return device_.info().engine; }
    std::span<const float> logits() const { return recognizer_.logits(); }

   private:
    sidra::Device device_;
    sidra::Context context_;
    sidra::Stream stream_;
    convnet::Network network_;
    convnet::Recognizer recognizer_;
};

// A fast wrong answer is no figure: the chip has the bits of the reference.
void check_chip(const NetworkWork& work, const Data& data) {
    const auto logits = work.logits();
    const bool right = data.logits.empty() ? digits::fnv1a(logits) == data.model.logits_hash
                                           : std::ranges::equal(logits, std::span(data.logits).first(logits.size()));
    if (!right)
        throw Error(fmt::format("wrong result of the network for {} images on engine {}",
                                logits.size() / convnet::kClasses, work.engine()));
}

// oneDNN adds the bias at another place, and rounds otherwise: some codes differ by one.
void check_peer(const NetworkPeer& peer, const Data& data) {
    const auto logits = peer.logits();
    const auto images = static_cast<uint32_t>(logits.size() / convnet::kClasses);
    uint32_t others = 0;
    double difference = 0, size = 0;
    for (size_t n = 0; n < logits.size(); ++n) {
        difference += std::fabs(logits[n] - data.logits[n]);
        size += std::fabs(data.logits[n]);
    }
    for (uint32_t image = 0; image < images; ++image) others += answer(logits, image) != answer(data.logits, image);
    if (others * 100 > images || !(difference <= 0.001 * size))
        throw Error(
            fmt::format("wrong result of the network by oneDNN: {} of {} answers differ, and the logits by {:.2g} %",
                        others, images, 100 * difference / size));
}

// figures: the rates are also figures of the file.
void measure_network(const Settings& settings, Report& report, Table& table, Data& data, uint32_t threads,
                     uint32_t images, bool figures) {
    report.progress().show(fmt::format("network: {} thread(s), {} image(s)", threads, images));
    NetworkWork work(settings, threads, data, images);
    check_chip(work, data);
    if (data.logits.empty()) data.logits.assign(work.logits().begin(), work.logits().end());
    std::vector<Contender> contenders = {{"chip", [&work](uint64_t calls) { work.run(calls); }}};
    const auto peer = make_onednn_network(data.model, images, threads);
    if (peer != nullptr) {
        std::ranges::copy(data.pixels(images), peer->pixels().begin());
        peer->run(1);
        check_peer(*peer, data);
        contenders.push_back({"oneDNN", [&peer](uint64_t calls) { peer->run(calls); }, [&peer] { peer->prepare(); }});
    }
    const auto timings = measure(contenders, settings.bar_method());
    const Json::Object parameters = {{"images", images}, {"threads", threads}};
    std::vector<std::pair<std::string, Ratio>> ratios;
    std::string peer_rate = "-", ratio = "-";
    if (peer != nullptr) {
        ratios.emplace_back("oneDNN", speed_ratio(timings[0], timings[1]));
        const Ratio& found = ratios.back().second;
        peer_rate = rate_text(images, timings[1]);
        ratio = ratio_text(found);
        if (figures) report.set_figure(fmt::format("network_b{}_vs_onednn", images), found.best, found.settled);
        report.add({"network", "oneDNN", parameters, timings[1], double(images), "image/s", true});
    }
    if (figures)
        report.set_figure(fmt::format("network_b{}_images_s", images), images / timings[0].min_s, timings[0].settled);
    Json::Object what = parameters;
    what.emplace_back("engine", work.engine());
    report.add({"network", "chip", std::move(what), timings[0], double(images), "image/s", false, std::move(ratios)});
    table.add({fmt::format("{}", threads), fmt::format("{}", images), work.engine(), seconds_text(timings[0].min_s),
               rate_text(images, timings[0]), peer_rate, ratio});
}

}  // namespace

void run_network(const Settings& settings, Report& report) {
    Data data;
    if (data.digits.digits != kBatches[1]) throw Error(fmt::format("{} has other digits", digits_file()));
    Table table({"threads", "images", "engine", "a launch", "images/s", "oneDNN", "speed"});
    for (uint32_t threads = 1; threads <= std::min(settings.cpus, 2u); ++threads)
        for (const uint32_t images : {kBatches[1], kBatches[0]})
            measure_network(settings, report, table, data, threads, images, threads == 1);
    report.print("convolutional network of the digits, submit and wait (best; in parentheses the median over rounds)",
                 table);
}

}  // namespace sidra::bench
