// SPDX-License-Identifier: MIT
// Structs and arrays of the caller, which may be smaller or larger than this library's.
#include <algorithm>
#include <cstring>
#include <vector>

#include "session.h"
#include "user_memory.h"

namespace sidra::embedded {
namespace {

bool all_zero(const uint8_t* bytes, size_t size) {
    return std::all_of(bytes, bytes + size, [](uint8_t byte) { return byte == 0; });
}

bool write_struct(uint64_t to, size_t room, const void* from, size_t size) {
    std::vector<uint8_t> image(room);
    std::memcpy(image.data(), from, std::min(room, size));
    return room == 0 || copy_to_user(to, image.data(), room);
}

}  // namespace

int return_struct(uint64_t to, uint32_t* room, const void* from, size_t size, Detail& detail) {
    const uint32_t given = *room;
    if (given > SIDRA_STRIDE_MAX) return fail(detail, -EINVAL, "size {} is more than {}", given, SIDRA_STRIDE_MAX);
    *room = static_cast<uint32_t>(size);
    if (to == 0 || write_struct(to, given, from, size)) return 0;
    return fail(detail, -EFAULT, "{} bytes at {:#x} are not writable", given, to);
}

int check_stride(uint32_t stride, size_t size, const char* field, Detail& detail) {
    if (stride >= size && stride <= SIDRA_STRIDE_MAX) return 0;
    return fail(detail, -EINVAL, "{} {} is not {}..{}", field, stride, size, SIDRA_STRIDE_MAX);
}

int read_array(void* to, size_t size, uint64_t from, uint32_t count, uint32_t stride, Detail& detail) {
    auto* place = static_cast<uint8_t*>(to);
    if (stride == size && count != 0 && !copy_from_user(place, from, size * count))
        return fail(detail, -EFAULT, "{} elements of {} bytes at {:#x} are not readable", count, size, from);
    if (stride == size) return 0;
    std::vector<uint8_t> element(stride);
    for (uint32_t i = 0; i < count; i++) {
        const uint64_t at = from + uint64_t{i} * stride;
        if (!copy_from_user(element.data(), at, stride))
            return fail(detail, -EFAULT, "element {}, {} bytes at {:#x}, is not readable", i, stride, at);
        if (!all_zero(element.data() + size, stride - size))
            return fail(detail, -E2BIG, "element {} has more than the {} bytes that this library knows", i, size);
        std::memcpy(place + i * size, element.data(), size);
    }
    return 0;
}

int write_array(uint64_t to, uint32_t count, uint32_t stride, const void* from, size_t size, Detail& detail) {
    const auto* place = static_cast<const uint8_t*>(from);
    for (uint32_t i = 0; i < count; i++)
        if (!write_struct(to + uint64_t{i} * stride, stride, place + i * size, size))
            return fail(detail, -EFAULT, "element {}, {} bytes at {:#x}, is not writable", i, stride,
                        to + uint64_t{i} * stride);
    return 0;
}

}  // namespace sidra::embedded
