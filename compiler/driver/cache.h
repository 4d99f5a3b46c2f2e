// SPDX-License-Identifier: MIT
// Compiled files of earlier runs, by the hash of all that they depend on. Several processes can use one folder.
#ifndef SIDRA_COMPILER_CACHE_H
#define SIDRA_COMPILER_CACHE_H

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

namespace sidra::compiler {

class Cache {
   public:
    // limit: bytes of all entries. note: gets a sentence about what happened, for people. Creates nothing yet.
    Cache(uint64_t limit, std::function<void(const std::string&)> note);

    // Copies the entry of a key to the file `output`, and marks it as used. False: there is none, or it is damaged.
    // Throws FileError if the output cannot be written.
    bool fetch(const std::string& key, const std::string& output);
    // Keeps a copy of a compiled file, in the place of those that were not used for the longest time if there is no
    // room. Where that is not possible, it is said, and changes nothing else.
    void keep(const std::string& key, const std::string& file);

    // $XDG_CACHE_HOME/sidra/compiled, or that of ~/.cache; empty: this user has no home.
    static std::filesystem::path folder();

   private:
    std::filesystem::path entry(const std::string& key) const { return folder_ / (key + ".sidra"); }
    void make_room(uint64_t size) const;

    const std::filesystem::path folder_;
    const uint64_t limit_;
    const std::function<void(const std::string&)> note_;
};

}  // namespace sidra::compiler

#endif
