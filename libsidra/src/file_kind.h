// SPDX-License-Identifier: MIT
#ifndef SIDRA_FILE_KIND_H
#define SIDRA_FILE_KIND_H

#include <sys/stat.h>

namespace sidra {

// The type of a file as text, for messages about files of the wrong type.
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
            return "no file";  // for example an eventfd
    }
}

}  // namespace sidra

#endif
