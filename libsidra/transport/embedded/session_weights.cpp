// SPDX-License-Identifier: MIT
// Weights: handles of contexts for objects of the array, and their entries in the weights table.
#include <algorithm>
#include <cstring>

#include "session.h"
#include "user_memory.h"

namespace sidra::embedded {
namespace {

// Index 0 is invalid, so that packets with an unset field fault.
constexpr uint32_t kFirstIndex = 1;

uint32_t hardware_rights(uint32_t rights) {
    return (rights & SIDRA_WEIGHTS_COMPUTE ? SIDRA_HW_WEIGHTS_COMPUTE : 0u) |
           (rights & SIDRA_WEIGHTS_PROGRAM ? SIDRA_HW_WEIGHTS_PROGRAM : 0u) |
           (rights & SIDRA_WEIGHTS_READBACK ? SIDRA_HW_WEIGHTS_READBACK : 0u);
}

int check_rights(uint32_t rights, Detail& detail) {
    if (rights != 0 && (rights & ~SIDRA_WEIGHTS_RIGHTS) == 0) return 0;
    return fail(detail, -EINVAL, "rights {:#x} are not at least one of {:#x}", rights, SIDRA_WEIGHTS_RIGHTS);
}

int read_name(uint64_t address, std::string* name, Detail& detail) {
    const int error = string_from_user(name, address, SIDRA_WEIGHTS_NAME_MAX);
    if (error == -EFAULT) return fail(detail, -EFAULT, "the name at {:#x} is not readable", address);
    if (error != 0) return fail(detail, -EINVAL, "the name is longer than {} bytes", SIDRA_WEIGHTS_NAME_MAX);
    if (name->empty()) return fail(detail, -EINVAL, "the name is empty");
    return 0;
}

uint32_t owner_of(uint32_t given) { return given == SIDRA_OWNER_CALLER ? Credentials::current().uid : given; }

template <class Argument>
void describe(Argument& a, const WeightsObject& object, uint32_t index) {
    a.rows = object.rows;
    a.cols = object.cols;
    a.encoding = object.encoding;
    a.xbars = static_cast<uint32_t>(object.tiles.size());
    a.index = index;
    a.uid = object.uid;
}

}  // namespace

int Session::find_weights(Context& context, uint32_t index, WeightsHandle* handle, Detail& detail) {
    const auto place = context.weights.find(index);
    if (place == context.weights.end())
        return fail(detail, -ENOENT, "there are no weights {} in context {}", index, context.handle);
    *handle = place->second;
    return 0;
}

int Session::free_weights_index(const Context& context, uint32_t* index, Detail& detail) {
    if (context.weights.size() >= SIDRA_WEIGHTS_MAX - kFirstIndex)
        return fail(detail, -EMFILE, "the weights table of context {} is full ({} entries); destroy some",
                    context.handle, SIDRA_WEIGHTS_MAX - kFirstIndex);
    uint32_t number = std::max(context.next_weights, kFirstIndex);
    while (number >= SIDRA_WEIGHTS_MAX || context.weights.contains(number))
        number = number >= SIDRA_WEIGHTS_MAX ? kFirstIndex : number + 1;
    *index = number;
    return 0;
}

// Takes over one handle of the object.
int Session::install_weights(Context& context, WeightsObject& object, uint32_t rights, uint32_t* index,
                             Detail& detail) {
    int error;
    try {
        error = free_weights_index(context, index, detail);
        if (error == 0) {
            context.weights.emplace(*index, WeightsHandle{&object, rights});
            context.next_weights = *index + 1;
        }
    } catch (...) {
        driver_->weights().drop_handle(object);
        throw;
    }
    if (error != 0) {
        driver_->weights().drop_handle(object);
        return error;
    }
    sidra_hw_weights entry{};
    entry.uid = object.uid;
    entry.tiles = reinterpret_cast<uint64_t>(object.tiles.data());
    entry.rows = object.rows;
    entry.cols = object.cols;
    entry.tile_count = static_cast<uint32_t>(object.tiles.size());
    entry.encoding = object.encoding;
    publish_entry(context.weights_entry(*index), entry, SIDRA_HW_WEIGHTS_VALID | hardware_rights(rights));
    return 0;
}

void Session::drop_weights(Context& context, std::map<uint32_t, WeightsHandle>::iterator handle) {
    revoke_entry(context.weights_entry(handle->first));
    driver_->quiesce_weights(context, handle->first);
    WeightsObject& object = *handle->second.object;
    context.weights.erase(handle);
    driver_->weights().drop_handle(object);
}

// Returns the data stored with the object to the caller of open or import; on failure drops the new handle.
template <class Argument>
int Session::return_data(Argument& a, WeightsObject& object, std::span<const uint8_t> data, uint64_t room,
                         Detail& detail) {
    int error = 0;
    if (data.size() > room) {
        a.data_size = data.size();
        error = fail(detail, -ENOSPC, "the weights have {} bytes of data, but there is room for {}", data.size(), room);
    } else if (!data.empty() && !copy_to_user(a.data, data.data(), data.size())) {
        error = fail(detail, -EFAULT, "{} bytes at {:#x} are not writable", data.size(), a.data);
    }
    if (error != 0) driver_->weights().drop_handle(object);
    return error;
}

// The crossbars that the caller of create wants; none: the driver chooses.
int Session::read_wanted(const sidra_ioctl_weights_create& a, uint32_t given, std::vector<uint32_t>* wanted,
                         Detail& detail) const {
    if (a.xbar_ids == 0) return check_flags(a.xbar_stride, 0, "xbar_stride without xbar_ids", detail);
    if (int error = check_stride(a.xbar_stride, sizeof(uint32_t), "xbar_stride", detail)) return error;
    const uint64_t tiles = tile_count(a.rows, a.cols, a.encoding);
    if (given != tiles)
        return fail(detail, -EINVAL, "{} crossbars are wanted for a {} x {} matrix, which has {} tiles", given, a.rows,
                    a.cols, tiles);
    if (tiles > driver_->weights().xbars()) return 0;  // too many in any case
    wanted->resize(tiles);
    return read_array(wanted->data(), sizeof(uint32_t), a.xbar_ids, static_cast<uint32_t>(tiles), a.xbar_stride,
                      detail);
}

int Session::weights_create(sidra_ioctl_weights_create& a, Detail& detail) {
    const uint32_t given = a.xbars;
    a.index = a.xbars = 0;
    a.uid = 0;
    if (int error = check_flags(a.flags, 0, "flags", detail)) return error;
    if (int error = check_flags(a.pad, 0, "pad", detail)) return error;
    if (int error = check_rights(a.rights, detail)) return error;
    if (a.encoding > SIDRA_ENCODING_OFFSET)
        return fail(detail, -EINVAL, "encoding {} is neither differential (0) nor offset (1)", a.encoding);
    if (a.rows == 0 || a.cols == 0) return fail(detail, -EINVAL, "a {} x {} matrix has no elements", a.rows, a.cols);
    Context* context;
    uint32_t index;
    if (int error = find_context(a.context, kNormal, &context, detail)) return error;
    if (int error = free_weights_index(*context, &index, detail)) return error;
    std::vector<uint32_t> wanted;
    if (int error = read_wanted(a, given, &wanted, detail)) return error;
    WeightsObject* object;
    if (int error = driver_->weights().create(a.rows, a.cols, a.encoding, wanted, &object, detail)) return error;
    if (int error = install_weights(*context, *object, a.rights, &index, detail)) return error;
    a.index = index;
    a.xbars = static_cast<uint32_t>(object->tiles.size());
    a.uid = object->uid;
    return 0;
}

int Session::weights_publish(sidra_ioctl_weights_publish& a, Detail& detail) {
    std::memset(a.uuid, 0, sizeof a.uuid);
    if (int error = check_flags(a.flags, 0, "flags", detail)) return error;
    if (int error = check_flags(a.mode, 0777, "mode", detail)) return error;
    if (a.data_size > SIDRA_WEIGHTS_DATA_MAX)
        return fail(detail, -EINVAL, "{} bytes of data are more than the {} that are kept with a name", a.data_size,
                    SIDRA_WEIGHTS_DATA_MAX);
    std::string name;
    if (int error = read_name(a.name, &name, detail)) return error;
    Context* context;
    WeightsHandle handle;
    if (int error = find_context(a.context, kNormal, &context, detail)) return error;
    if (int error = find_weights(*context, a.index, &handle, detail)) return error;
    if (!(handle.rights & SIDRA_WEIGHTS_PROGRAM))
        return fail(detail, -EACCES,
                    "weights {} of context {} lack the right to program, so they cannot be given a name", a.index,
                    a.context);
    std::vector<uint8_t> data(a.data_size);
    if (!data.empty() && !copy_from_user(data.data(), a.data, data.size()))
        return fail(detail, -EFAULT, "{} bytes of data at {:#x} are not readable", a.data_size, a.data);
    return driver_->weights().publish(*handle.object, name, data, a.mode, a.hash, a.uuid, detail);
}

int Session::weights_open(sidra_ioctl_weights_open& a, Detail& detail) {
    a.rows = a.cols = a.encoding = a.xbars = a.index = 0;
    a.uid = 0;
    const uint64_t room = a.data_size;
    a.data_size = 0;
    if (int error = check_flags(a.flags, 0, "flags", detail)) return error;
    if (int error = check_flags(a.pad, 0, "pad", detail)) return error;
    if (int error = check_rights(a.rights, detail)) return error;
    std::string name;
    if (int error = read_name(a.name, &name, detail)) return error;
    Context* context;
    if (int error = find_context(a.context, kNormal, &context, detail)) return error;
    WeightsObject* object;
    std::vector<uint8_t> data;
    if (int error = driver_->weights().open(owner_of(a.owner), name, a.rights, &object, &data, detail)) return error;
    if (int error = return_data(a, *object, data, room, detail)) return error;
    uint32_t index;
    if (int error = install_weights(*context, *object, a.rights, &index, detail)) return error;
    a.data_size = data.size();
    describe(a, *object, index);
    return 0;
}

int Session::weights_unlink(sidra_ioctl_weights_unlink& a, Detail& detail) {
    if (int error = check_flags(a.flags, SIDRA_UNLINK_EVICT, "flags", detail)) return error;
    std::string name;
    if (int error = read_name(a.name, &name, detail)) return error;
    return driver_->weights().unlink(owner_of(a.owner), name, a.flags & SIDRA_UNLINK_EVICT, detail);
}

int Session::weights_destroy(sidra_ioctl_weights& a, Detail& detail) {
    if (int error = check_flags(a.flags, 0, "flags", detail)) return error;
    if (int error = check_flags(a.pad, 0, "pad", detail)) return error;
    Context* context;
    WeightsHandle handle;
    if (int error = find_context(a.context, kRelease, &context, detail)) return error;
    if (int error = find_weights(*context, a.index, &handle, detail)) return error;
    drop_weights(*context, context->weights.find(a.index));
    return 0;
}

int Session::weights_share(sidra_ioctl_weights_share& a, Detail& detail) {
    a.fd = -1;
    if (int error = check_flags(a.flags, 0, "flags", detail)) return error;
    if (int error = check_rights(a.rights, detail)) return error;
    Context* context;
    WeightsHandle handle;
    if (int error = find_context(a.context, kNormal, &context, detail)) return error;
    if (int error = find_weights(*context, a.index, &handle, detail)) return error;
    if ((a.rights & ~handle.rights) != 0)
        return fail(detail, -EACCES, "weights {} of context {} have the rights {:#x}; {:#x} cannot be passed on",
                    a.index, a.context, handle.rights, a.rights);
    if (a.data_size > SIDRA_WEIGHTS_DATA_MAX)
        return fail(detail, -EINVAL, "{} bytes of data are more than the {} that are kept with a descriptor",
                    a.data_size, SIDRA_WEIGHTS_DATA_MAX);
    std::vector<uint8_t> data(a.data_size);
    if (!data.empty() && !copy_from_user(data.data(), a.data, data.size()))
        return fail(detail, -EFAULT, "{} bytes of data at {:#x} are not readable", a.data_size, a.data);
    const int fd = driver_->weights().share(*handle.object, a.rights, std::move(data), detail);
    if (fd < 0) return fd;
    a.fd = fd;
    return 0;
}

int Session::weights_import(sidra_ioctl_weights_import& a, Detail& detail) {
    a.rights = a.rows = a.cols = a.encoding = a.xbars = a.index = 0;
    a.uid = 0;
    const uint64_t room = a.data_size;
    a.data_size = 0;
    if (int error = check_flags(a.flags, 0, "flags", detail)) return error;
    Context* context;
    if (int error = find_context(a.context, kNormal, &context, detail)) return error;
    WeightsObject* object;
    uint32_t rights, index;
    std::vector<uint8_t> data;
    if (int error = driver_->weights().import(a.fd, &rights, &object, &data, detail)) return error;
    if (int error = return_data(a, *object, data, room, detail)) return error;
    if (int error = install_weights(*context, *object, rights, &index, detail)) return error;
    a.data_size = data.size();
    a.rights = rights;
    describe(a, *object, index);
    return 0;
}

int Session::weights_query(sidra_ioctl_weights_query& a, Detail& detail) {
    const uint32_t room = a.xbars;
    a.xbars = a.programmed_rows = a.total_rows = 0;
    if (int error = check_flags(a.flags, 0, "flags", detail)) return error;
    if (int error = check_flags(a.pad, 0, "pad", detail)) return error;
    if (int error = a.xbar_ids != 0 ? check_stride(a.xbar_stride, sizeof(uint32_t), "xbar_stride", detail)
                                    : check_flags(a.xbar_stride, 0, "xbar_stride without xbar_ids", detail))
        return error;
    Context* context;
    WeightsHandle handle;
    if (int error = find_context(a.context, kNormal, &context, detail)) return error;
    if (int error = find_weights(*context, a.index, &handle, detail)) return error;
    const std::vector<uint32_t>& tiles = handle.object->tiles;
    if (a.xbar_ids != 0 && room < tiles.size()) {
        a.xbars = static_cast<uint32_t>(tiles.size());
        return fail(detail, -ENOSPC, "the weights have {} crossbars, but there is room for {} numbers", tiles.size(),
                    room);
    }
    uint32_t programmed, total;
    if (int error = driver_->weights().progress(*handle.object, &programmed, &total, detail)) return error;
    if (a.xbar_ids != 0)
        if (int error = write_array(a.xbar_ids, static_cast<uint32_t>(tiles.size()), a.xbar_stride, tiles.data(),
                                    sizeof tiles[0], detail))
            return error;
    a.xbars = static_cast<uint32_t>(tiles.size());
    a.programmed_rows = programmed;
    a.total_rows = total;
    return 0;
}

int Session::weights_report(sidra_ioctl_weights_report& a, Detail& detail) {
    uint32_t room = a.size;
    a.size = 0;
    if (int error = check_flags(a.flags, 0, "flags", detail)) return error;
    if (int error = check_flags(a.pad, 0, "pad", detail)) return error;
    Context* context;
    WeightsHandle handle;
    if (int error = find_context(a.context, kNormal, &context, detail)) return error;
    if (int error = find_weights(*context, a.index, &handle, detail)) return error;
    const size_t tiles = handle.object->tiles.size();
    if (a.tile >= tiles) return fail(detail, -EINVAL, "there is no tile {}; the object has {}", a.tile, tiles);
    sidra_weights_tile report;
    if (int error = driver_->weights().report(*handle.object, a.tile, &report, detail)) return error;
    if (int error = return_struct(a.report, &room, &report, sizeof report, detail)) return error;
    a.size = room;
    return 0;
}

int Session::weights_list(sidra_ioctl_weights_list& a, Detail& detail) {
    const uint32_t count = a.count;
    uint32_t cursor = a.cursor;
    a.count = 0;
    if (int error = check_flags(a.flags, 0, "flags", detail)) return error;
    if (count == 0) return fail(detail, -EINVAL, "there is room for no entry: count is 0");
    if (int error = check_stride(a.stride, sizeof(sidra_weights_entry), "stride", detail)) return error;
    const std::vector<sidra_weights_entry> list = driver_->weights().list(&cursor, count);
    if (int error =
            write_array(a.entries, static_cast<uint32_t>(list.size()), a.stride, list.data(), sizeof list[0], detail))
        return error;
    a.count = static_cast<uint32_t>(list.size());
    a.cursor = cursor;
    return 0;
}

}  // namespace sidra::embedded
