// SPDX-License-Identifier: MIT
// All weights objects on one array: which crossbars they have, who still refers to them, and their names.
#ifndef SIDRA_EMBEDDED_WEIGHTS_STORE_H
#define SIDRA_EMBEDDED_WEIGHTS_STORE_H

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "detail.h"
#include "directory.h"
#include "sidra_accel.h"
#include "xbar_allocator.h"

namespace sidra::embedded {

// Admin commands about cells and NVM: 0 or -errno.
class CellPort {
   public:
    virtual int read_headers(uint32_t first, std::span<sidra_hw_xbar> headers) = 0;
    virtual int read_report(uint32_t xbar, sidra_hw_xbar_report* report) = 0;
    virtual int erase(uint32_t first, uint32_t count) = 0;

   protected:
    ~CellPort() = default;
};

constexpr uint32_t tile_outputs(uint32_t encoding) {
    return encoding == SIDRA_ENCODING_DIFFERENTIAL ? SIDRA_XBAR_COLS / 2 : SIDRA_XBAR_COLS;
}

// Exists while a handle, a descriptor or a name refers to it. `tiles` is read by the chip: it stays where it is.
struct WeightsObject {
    uint64_t uid = 0;
    uint32_t rows = 0, cols = 0, encoding = 0;
    std::vector<uint32_t> tiles;
    uint32_t handles = 0;
    uint32_t descriptors = 0;
    bool damaged = false;  // named, but not all of its crossbars were found

    uint32_t tile_columns() const { return (cols + tile_outputs(encoding) - 1) / tile_outputs(encoding); }
    // Rows of the matrix that a tile holds.
    uint32_t rows_of(uint32_t tile) const;
};

// Not thread-safe: under the driver's lock.
class WeightsStore {
   public:
    WeightsStore(CellPort& cells, NvmStore& nvm, uint32_t xbars, uint32_t xbars_per_cu);
    ~WeightsStore();

    // Reads the directory, finds the crossbars of named objects, erases those of anonymous ones that an earlier driver
    // left.
    int load(Detail& detail);

    uint32_t xbars_free();
    bool has_names() const { return !directory_.entries().empty(); }

    // A new unprogrammed object with one handle.
    int create(uint32_t rows, uint32_t cols, uint32_t encoding, WeightsObject** object, Detail& detail);
    // Drops a handle; the object's cells are erased with the last reference. No context's table names it any more
    // (quiesced).
    void drop_handle(WeightsObject& object);

    int publish(WeightsObject& object, const std::string& name, std::span<const uint8_t> data, uint32_t mode,
                const uint8_t hash[32], uint8_t uuid[16], Detail& detail);
    // Takes a handle if `rights` are granted; `data` is what is kept with the name.
    int open(const std::string& name, uint32_t rights, WeightsObject** object, std::vector<uint8_t>* data,
             Detail& detail);
    int unlink(const std::string& name, bool evict, Detail& detail);
    // The first entry at or after number; its number, or -ENOENT.
    int next_entry(uint32_t number, sidra_nvm_entry* entry) const;

    // A descriptor that stands for the object, with data kept with it; >= 0, or -errno.
    int share(WeightsObject& object, uint32_t rights, std::vector<uint8_t> data, Detail& detail);
    // Takes a handle by such a descriptor; `data` is what is kept with it.
    int import(int fd, uint32_t* rights, WeightsObject** object, std::vector<uint8_t>* data, Detail& detail);

    // Rows of tiles that hold weights of this object, and how many there are in all.
    int progress(const WeightsObject& object, uint32_t* programmed, uint32_t* total, Detail& detail);
    // What programming a tile of this object took.
    int report(const WeightsObject& object, uint32_t tile, sidra_hw_xbar_report* report, Detail& detail);

   private:
    // A pipe: the user has the end to read, whose identity is what counts; ours tells when the last copy of theirs is
    // closed.
    struct Descriptor {
        int our_end;
        dev_t device;
        ino_t inode;
        uint64_t uid;
        uint32_t rights;
        std::vector<uint8_t> data;
    };

    WeightsObject* find(uint64_t uid);
    void reap_descriptors();
    void release_if_unused(uint64_t uid);
    int erase(std::span<const uint32_t> xbars);

    CellPort& cells_;
    Directory directory_;
    XbarAllocator allocator_;
    std::map<uint64_t, WeightsObject> objects_;
    std::vector<Descriptor> descriptors_;
    std::vector<uint32_t> unerased_;  // free, but the chip did not answer; erased before they are given out
    const uint32_t xbars_;
};

}  // namespace sidra::embedded

#endif
