// SPDX-License-Identifier: MIT
// All weights objects on one array: their crossbars, references and names.
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

// Admin commands for cells and NVM: return 0 or -errno.
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

constexpr uint64_t tile_count(uint32_t rows, uint32_t cols, uint32_t encoding) {
    return ((uint64_t{rows} + SIDRA_XBAR_ROWS - 1) / SIDRA_XBAR_ROWS) *
           ((uint64_t{cols} + tile_outputs(encoding) - 1) / tile_outputs(encoding));
}

// Exists while a handle, a descriptor or a name refers to it. The chip reads `tiles`, so it must not move.
struct WeightsObject {
    uint64_t uid = 0;
    uint32_t rows = 0, cols = 0, encoding = 0;
    std::vector<uint32_t> tiles;
    uint32_t handles = 0;
    uint32_t descriptors = 0;
    bool damaged = false;  // named, but some of its crossbars were not found

    uint32_t tile_columns() const { return (cols + tile_outputs(encoding) - 1) / tile_outputs(encoding); }
    // Number of matrix rows in a tile.
    uint32_t rows_of(uint32_t tile) const;
};

// Not thread-safe: the driver's lock is held.
class WeightsStore {
   public:
    WeightsStore(CellPort& cells, NvmStore& nvm, uint32_t xbars, uint32_t xbars_per_cu);
    ~WeightsStore();

    // Reads the directory, finds the crossbars of named objects, and erases those of anonymous objects of an earlier
    // driver.
    int load(Detail& detail);

    uint32_t xbars() const { return xbars_; }
    uint32_t xbars_free();
    uint32_t names() const { return static_cast<uint32_t>(directory_.entries().size()); }
    uint64_t data_size() const { return directory_.data_size(); }
    uint64_t data_used() const { return directory_.data_used(); }

    // Creates an unprogrammed object with one handle. wanted: a crossbar for each tile, of which none may be in use
    // (-EBUSY); empty: the store chooses.
    int create(uint32_t rows, uint32_t cols, uint32_t encoding, std::span<const uint32_t> wanted,
               WeightsObject** object, Detail& detail);
    // Drops a handle; the last reference erases the object's cells. No context's table may refer to it (quiesced).
    void drop_handle(WeightsObject& object);

    int publish(WeightsObject& object, const std::string& name, std::span<const uint8_t> data, uint32_t mode,
                const uint8_t hash[32], uint8_t uuid[16], Detail& detail);
    // Takes a handle if `rights` are granted; `data` is the data stored with the name.
    int open(uint32_t owner, const std::string& name, uint32_t rights, WeightsObject** object,
             std::vector<uint8_t>* data, Detail& detail);
    int unlink(uint32_t owner, const std::string& name, bool evict, Detail& detail);
    // Lists at most `count` of the names that the user may know of, from entry *cursor on, and updates the cursor.
    std::vector<sidra_weights_entry> list(uint32_t* cursor, uint32_t count) const;

    // Returns a descriptor for the object, with data stored with it; >= 0, or -errno.
    int share(WeightsObject& object, uint32_t rights, std::vector<uint8_t> data, Detail& detail);
    // Takes a handle from such a descriptor; `data` is the data stored with it.
    int import(int fd, uint32_t* rights, WeightsObject** object, std::vector<uint8_t>* data, Detail& detail);

    // Number of tile rows programmed by this object, and their total number.
    int progress(const WeightsObject& object, uint32_t* programmed, uint32_t* total, Detail& detail);
    // Statistics of programming a tile of this object.
    int report(const WeightsObject& object, uint32_t tile, sidra_weights_tile* report, Detail& detail);

   private:
    // A pipe: the user has the read end, whose inode identifies it; our end shows when the last copy of the user's end
    // is closed.
    struct Descriptor {
        int our_end;
        dev_t device;
        ino_t inode;
        uint64_t uid;
        uint32_t rights;
        std::vector<uint8_t> data;
    };

    // Chooses crossbars for all tiles of a new object, whose tiles of a column, whose sums are added, are neighbours.
    void take_free(WeightsObject& object);
    // Number of the entry with this name, if the calling user may know of it.
    int find_visible(uint32_t owner, const std::string& name, uint32_t* number, Detail& detail) const;
    WeightsObject* find(uint64_t uid);
    void reap_descriptors();
    void release_if_unused(uint64_t uid);
    int erase(std::span<const uint32_t> xbars);

    CellPort& cells_;
    Directory directory_;
    XbarAllocator allocator_;
    std::map<uint64_t, WeightsObject> objects_;
    std::vector<Descriptor> descriptors_;
    std::vector<uint32_t> unerased_;  // free; erased before allocation, because the chip did not answer before
    const uint32_t xbars_;
};

}  // namespace sidra::embedded

#endif
