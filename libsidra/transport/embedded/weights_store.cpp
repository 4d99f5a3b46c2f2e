// SPDX-License-Identifier: MIT
#include "weights_store.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "uuid.h"

namespace sidra::embedded {
namespace {

constexpr uint32_t kHeadersMax = 1024;  // limit of one XBAR_READ

// Calls fn(first element, count, index of the first) for each run of consecutive numbers, at most `most` long; stops at
// an error.
template <class Fn>
int for_each_run(std::span<const uint32_t> numbers, size_t most, Fn fn) {
    for (size_t begin = 0; begin < numbers.size();) {
        size_t end = begin + 1;
        while (end < numbers.size() && end - begin < most && numbers[end] == numbers[end - 1] + 1) end++;
        if (int error = fn(numbers[begin], static_cast<uint32_t>(end - begin), begin)) return error;
        begin = end;
    }
    return 0;
}

}  // namespace

uint32_t WeightsObject::rows_of(uint32_t tile) const {
    return std::min(SIDRA_XBAR_ROWS, rows - tile / tile_columns() * SIDRA_XBAR_ROWS);
}

WeightsStore::WeightsStore(CellPort& cells, NvmStore& nvm, uint32_t xbars, uint32_t xbars_per_cu)
    : cells_(cells), directory_(nvm), allocator_(xbars, xbars_per_cu), xbars_(xbars) {}

WeightsStore::~WeightsStore() {
    for (const Descriptor& descriptor : descriptors_) close(descriptor.our_end);
}

int WeightsStore::load(Detail& detail) {
    if (int error = directory_.load(detail)) return error;
    if (directory_.fresh()) return 0;  // no identity was ever assigned, so the crossbars are empty

    for (const auto& [number, entry] : directory_.entries()) {
        WeightsObject object;
        object.uid = entry.uid;
        object.rows = entry.rows;
        object.cols = entry.cols;
        object.encoding = entry.encoding;
        object.tiles.assign(entry.tile_count, ~0u);
        objects_.emplace(entry.uid, std::move(object));
    }
    std::vector<sidra_hw_xbar> headers(kHeadersMax);
    std::vector<uint32_t> orphans;
    for (uint32_t first = 0; first < xbars_; first += kHeadersMax) {
        const uint32_t count = std::min(kHeadersMax, xbars_ - first);
        if (int error = cells_.read_headers(first, {headers.data(), count}))
            return fail(detail, error, "the headers of crossbars {}..{} cannot be read", first, first + count - 1);
        for (uint32_t i = 0; i < count; i++) {
            if (headers[i].uid == 0) continue;
            WeightsObject* object = find(headers[i].uid);
            if (object != nullptr && headers[i].tile < object->tiles.size() && object->tiles[headers[i].tile] == ~0u)
                object->tiles[headers[i].tile] = first + i;
            else orphans.push_back(first + i);
        }
    }
    if (int error = erase(orphans)) return fail(detail, error, "erasing the crossbars that have no owner failed");
    for (auto& [uid, object] : objects_) {
        object.damaged = std::erase(object.tiles, ~0u) != 0;
        allocator_.reserve(object.tiles);
    }
    return 0;
}

WeightsObject* WeightsStore::find(uint64_t uid) {
    const auto place = objects_.find(uid);
    return place == objects_.end() ? nullptr : &place->second;
}

int WeightsStore::erase(std::span<const uint32_t> xbars) {
    std::vector<uint32_t> sorted(xbars.begin(), xbars.end());
    std::sort(sorted.begin(), sorted.end());
    return for_each_run(sorted, xbars_,
                        [&](uint32_t first, uint32_t count, size_t) { return cells_.erase(first, count); });
}

uint32_t WeightsStore::xbars_free() {
    reap_descriptors();
    return allocator_.free_count();
}

void WeightsStore::take_free(WeightsObject& object) {
    const std::vector<uint32_t> xbars = allocator_.allocate(static_cast<uint32_t>(object.tiles.size()));
    const uint32_t tile_cols = object.tile_columns();
    const uint32_t tile_rows = static_cast<uint32_t>(object.tiles.size()) / tile_cols;
    for (uint32_t i = 0; i < tile_rows; i++)
        for (uint32_t j = 0; j < tile_cols; j++) object.tiles[i * tile_cols + j] = xbars[j * tile_rows + i];
}

int WeightsStore::create(uint32_t rows, uint32_t cols, uint32_t encoding, std::span<const uint32_t> wanted,
                         WeightsObject** object, Detail& detail) {
    const uint64_t needed = tile_count(rows, cols, encoding);
    if (needed > xbars_)
        return fail(detail, -ENOSPC, "a {} x {} matrix needs {} crossbars, the whole chip has {}; split it", rows, cols,
                    needed, xbars_);
    if (!unerased_.empty()) {
        if (int error = erase(unerased_)) return fail(detail, error, "erasing the crossbars of freed weights failed");
        allocator_.free(unerased_);
        unerased_.clear();
    }
    if (needed > allocator_.free_count()) reap_descriptors();
    if (needed > allocator_.free_count())
        return fail(detail, -ENOSPC, "a {} x {} matrix needs {} crossbars, {} of {} are free", rows, cols, needed,
                    allocator_.free_count(), xbars_);
    const int64_t uid = directory_.take_uid(detail);
    if (uid < 0) return static_cast<int>(uid);
    WeightsObject fresh;
    fresh.uid = static_cast<uint64_t>(uid);
    fresh.rows = rows;
    fresh.cols = cols;
    fresh.encoding = encoding;
    fresh.tiles.resize(needed);
    fresh.handles = 1;
    const auto place = objects_.emplace(fresh.uid, std::move(fresh)).first;
    WeightsObject& made = place->second;
    try {  // last: nothing fails after this
        if (wanted.empty()) {
            take_free(made);
        } else if (const std::optional<uint32_t> refused = allocator_.reserve(wanted)) {
            objects_.erase(place);
            return fail(detail, -EBUSY, "crossbar {} is in use, wanted twice, or none of the {}", *refused, xbars_);
        } else {
            std::ranges::copy(wanted, made.tiles.begin());
        }
    } catch (...) {
        objects_.erase(place);
        throw;
    }
    *object = &made;
    return 0;
}

void WeightsStore::drop_handle(WeightsObject& object) {
    object.handles--;
    release_if_unused(object.uid);
}

void WeightsStore::release_if_unused(uint64_t uid) {
    WeightsObject* object = find(uid);
    if (object == nullptr || object->handles != 0 || object->descriptors != 0 || directory_.find_uid(uid)) return;
    if (erase(object->tiles) == 0) allocator_.free(object->tiles);
    else unerased_.insert(unerased_.end(), object->tiles.begin(), object->tiles.end());
    objects_.erase(uid);
}

int WeightsStore::progress(const WeightsObject& object, uint32_t* programmed, uint32_t* total, Detail& detail) {
    std::vector<std::pair<uint32_t, uint32_t>> placed;  // (crossbar, tile), so that neighbours are read together
    placed.reserve(object.tiles.size());
    for (uint32_t tile = 0; tile < object.tiles.size(); tile++) placed.emplace_back(object.tiles[tile], tile);
    std::sort(placed.begin(), placed.end());
    std::vector<uint32_t> xbars;
    xbars.reserve(placed.size());
    for (const auto& [xbar, tile] : placed) xbars.push_back(xbar);
    std::vector<sidra_hw_xbar> headers(xbars.size());
    const int error = for_each_run(xbars, kHeadersMax, [&](uint32_t first, uint32_t count, size_t at) {
        return cells_.read_headers(first, {headers.data() + at, count});
    });
    if (error != 0) return fail(detail, error, "reading the headers of the weights' crossbars failed");
    *programmed = *total = 0;
    for (size_t i = 0; i < placed.size(); i++) {
        const uint32_t rows = object.rows_of(placed[i].second);
        *total += rows;
        if (headers[i].uid == object.uid) *programmed += std::min<uint32_t>(headers[i].programmed_rows, rows);
    }
    return 0;
}

int WeightsStore::report(const WeightsObject& object, uint32_t tile, sidra_weights_tile* report, Detail& detail) {
    sidra_hw_xbar_report told{};
    if (int error = cells_.read_report(object.tiles[tile], &told))
        return fail(detail, error, "the report of crossbar {} cannot be read", object.tiles[tile]);
    const bool sane = told.level <= SIDRA_XBAR_PULSED && told.stuck_cells <= SIDRA_XBAR_ROWS * SIDRA_XBAR_COLS;
    if (!sane || (told.uid == object.uid && told.tile != tile))
        return fail(detail, -EIO, "the chip's report of crossbar {} is not valid", object.tiles[tile]);
    *report = {};
    report->programs = told.programs;
    report->level = told.level;
    report->stuck_cells = told.stuck_cells;
    if (told.uid != object.uid) return 0;  // another object's data is hidden
    report->programmed_rows = told.programmed_rows;
    report->spare_columns = told.spare_columns;
    report->error_ppm = told.error_ppm;
    report->drift_ppm = told.drift_ppm;
    report->bad_cells = told.bad_cells;
    report->age_s = told.age_s;
    report->failed = told.failed;
    report->recovered = told.recovered;
    report->set_pulses = told.set_pulses;
    report->reset_pulses = told.reset_pulses;
    report->reads = told.reads;
    report->device_ps = told.device_ps;
    report->energy_pj = told.energy_pj;
    report->clipped = told.clipped;
    report->adc_range = told.adc_range;
    static_assert(sizeof report->arrived == sizeof told.arrived);
    std::memcpy(report->arrived, told.arrived, sizeof told.arrived);
    return 0;
}

int WeightsStore::publish(WeightsObject& object, const std::string& name, std::span<const uint8_t> data, uint32_t mode,
                          const uint8_t hash[32], uint8_t uuid[16], Detail& detail) {
    if (const auto number = directory_.find_uid(object.uid))
        return fail(detail, -EEXIST, "the weights have the name \"{}\" already; unlink that first",
                    directory_.entries().at(*number).name);
    uint32_t programmed, total;
    if (int error = progress(object, &programmed, &total, detail)) return error;
    if (programmed != total)
        return fail(detail, -ENODATA,
                    "only {} of {} rows of the object's tiles are programmed; program all of it first", programmed,
                    total);
    sidra_nvm_entry entry{};
    entry.uid = object.uid;
    make_uuid(entry.uuid);
    std::memcpy(entry.hash, hash, sizeof entry.hash);
    entry.owner = Credentials::current().uid;
    entry.mode = mode;
    entry.rows = object.rows;
    entry.cols = object.cols;
    entry.encoding = object.encoding;
    entry.tile_count = static_cast<uint32_t>(object.tiles.size());
    entry.created_s = static_cast<uint64_t>(time(nullptr));
    std::memcpy(entry.name, name.c_str(), name.size() + 1);
    if (int number = directory_.add(entry, data, detail); number < 0) return number;
    std::memcpy(uuid, entry.uuid, sizeof entry.uuid);
    return 0;
}

int WeightsStore::find_visible(uint32_t owner, const std::string& name, uint32_t* number, Detail& detail) const {
    const auto found = directory_.find(owner, name);
    if (!found || !visible(directory_.entries().at(*found), Credentials::current()))
        return fail(detail, -ENOENT, "user {} has no weights named \"{}\" on this array", owner, name);
    *number = *found;
    return 0;
}

int WeightsStore::open(uint32_t owner, const std::string& name, uint32_t rights, WeightsObject** object,
                       std::vector<uint8_t>* data, Detail& detail) {
    uint32_t number;
    if (int error = find_visible(owner, name, &number, detail)) return error;
    const sidra_nvm_entry& entry = directory_.entries().at(number);
    const uint32_t granted = granted_rights(entry, Credentials::current());
    if ((rights & ~granted) != 0)
        return fail(detail, -EACCES, "owner {} and mode {:o} of \"{}\" grant the rights {:#x}, not {:#x}", entry.owner,
                    entry.mode, name, granted, rights);
    WeightsObject* found = find(entry.uid);
    if (found == nullptr || found->damaged)
        return fail(detail, -EIO, "crossbars of \"{}\" are missing on this array; evict it and program it again", name);
    if (int error = directory_.read_data(number, data, detail)) return error;
    found->handles++;
    *object = found;
    return 0;
}

int WeightsStore::unlink(uint32_t owner, const std::string& name, bool evict, Detail& detail) {
    uint32_t number;
    if (int error = find_visible(owner, name, &number, detail)) return error;
    const sidra_nvm_entry& entry = directory_.entries().at(number);
    const Credentials who = Credentials::current();
    if (!who.admin && who.uid != entry.owner)
        return fail(detail, -EACCES, "\"{}\" belongs to user {}; only its owner or an administrator may unlink it",
                    name, entry.owner);
    const uint64_t uid = entry.uid;
    reap_descriptors();
    const WeightsObject* object = find(uid);
    if (evict && object != nullptr && (object->handles != 0 || object->descriptors != 0))
        return fail(detail, -EBUSY, "\"{}\" is in use: {} handles and {} descriptors", name, object->handles,
                    object->descriptors);
    if (int error = directory_.remove(number, detail)) return error;
    release_if_unused(uid);
    return 0;
}

std::vector<sidra_weights_entry> WeightsStore::list(uint32_t* cursor, uint32_t count) const {
    const Credentials who = Credentials::current();
    std::vector<sidra_weights_entry> list;
    auto place = directory_.entries().lower_bound(*cursor);
    for (; place != directory_.entries().end() && list.size() < count; ++place) {
        const sidra_nvm_entry& from = place->second;
        *cursor = place->first + 1;
        if (!visible(from, who)) continue;
        sidra_weights_entry& to = list.emplace_back();
        to.uid = from.uid;
        to.owner = from.owner;
        to.mode = from.mode;
        to.rights = granted_rights(from, who);
        to.rows = from.rows;
        to.cols = from.cols;
        to.encoding = from.encoding;
        to.xbars = from.tile_count;
        to.data_size = from.data_size;
        to.created_s = from.created_s;
        std::memcpy(to.uuid, from.uuid, sizeof to.uuid);
        std::memcpy(to.hash, from.hash, sizeof to.hash);
        std::memcpy(to.name, from.name, sizeof to.name);
    }
    return list;
}

int WeightsStore::share(WeightsObject& object, uint32_t rights, std::vector<uint8_t> data, Detail& detail) {
    reap_descriptors();
    int ends[2];
    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0)
        return fail(detail, -errno, "creating a file descriptor for the weights failed: {}", strerror(errno));
    struct stat identity;
    fstat(ends[0], &identity);
    try {
        descriptors_.push_back({ends[1], identity.st_dev, identity.st_ino, object.uid, rights, std::move(data)});
    } catch (...) {
        close(ends[0]);
        close(ends[1]);
        throw;
    }
    object.descriptors++;
    return ends[0];
}

int WeightsStore::import(int fd, uint32_t* rights, WeightsObject** object, std::vector<uint8_t>* data, Detail& detail) {
    struct stat identity;
    if (fstat(fd, &identity) != 0) return fail(detail, -EBADF, "{} is not an open file descriptor", fd);
    for (const Descriptor& descriptor : descriptors_) {
        if (!S_ISFIFO(identity.st_mode) || descriptor.device != identity.st_dev || descriptor.inode != identity.st_ino)
            continue;
        *data = descriptor.data;
        WeightsObject* found = find(descriptor.uid);
        found->handles++;
        *rights = descriptor.rights;
        *object = found;
        return 0;
    }
    return fail(detail, -ENOENT, "file descriptor {} is not one of weights on this chip", fd);
}

// Drops the references of descriptors whose last copy was closed: a pipe without a reader reports an error.
void WeightsStore::reap_descriptors() {
    for (size_t i = 0; i < descriptors_.size();) {
        const int our_end = descriptors_[i].our_end;
        const uint64_t uid = descriptors_[i].uid;
        pollfd poll_fd{our_end, 0, 0};
        if (poll(&poll_fd, 1, 0) != 1 || !(poll_fd.revents & POLLERR)) {
            i++;
            continue;
        }
        close(our_end);
        std::swap(descriptors_[i], descriptors_.back());
        descriptors_.pop_back();
        find(uid)->descriptors--;
        release_if_unused(uid);
    }
}

}  // namespace sidra::embedded
