// SPDX-License-Identifier: MIT
#ifndef SIDRA_FILE_KIND_H
#define SIDRA_FILE_KIND_H

#include <sys/stat.h>

namespace sidra {

// What a file is, in words: for texts about one that is of the wrong kind.
inline const char* file_kind(mode_t mode) {
    switch (mode & S_IFMT) {
        case S_IFREG:
            return "a regular file";
        case S_IFDIR:
            return "a directory";
        case S_IFCHR:
            return "a character device";
        case S_IFBLK:
            return "a block device";
        case S_IFIFO:
            return "a pipe";
        case S_IFSOCK:
            return "a socket";
        default:
            return "no file";  // an eventfd and its like
    }
}

}  // namespace sidra

#endif
