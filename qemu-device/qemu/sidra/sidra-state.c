/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The state file: what survives power-off. It is read once, at power-on, and written as a whole when executors stand still: the old
 * one stays until the new one is on disk. One chip has it at a time; an empty one is a chip from the factory.
 */
#include "qemu/osdep.h"
#include "qapi/error.h"
#include "qemu/error-report.h"
#include "system/reset.h"
#include "sidra.h"
#include "trace.h"

/*
 * Opens the file and locks it. A lock is on what was opened, not on the name: if the chip that had it has replaced the file
 * meanwhile, the lock is on one that nobody will find any more.
 */
static int sidra_state_lock(const char *path, struct stat *status, Error **errp)
{
    for (;;) {
        struct stat named;
        int error, fd = RETRY_ON_EINTR(open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0644)); /* no fdset: its name counts */

        if (fd < 0) {
            error_setg_errno(errp, errno, "it cannot be opened for reading and writing");
            return -1;
        }
        if (fstat(fd, status) < 0 || !S_ISREG(status->st_mode)) {
            error_setg(errp, "it is not a regular file");
            close(fd);
            return -1;
        }
        error = qemu_lock_fd(fd, 0, 0, true);
        if (error == -EAGAIN || error == -EACCES) {
            error_setg(errp, "another chip has it");
            error_append_hint(errp, "Give each device a file of its own, or end the QEMU that uses this one.\n");
        } else if (error < 0) {
            error_setg_errno(errp, -error, "it cannot be locked");
        } else if (stat(path, &named) == 0 && named.st_ino == status->st_ino && named.st_dev == status->st_dev) {
            return fd;
        }
        close(fd);
        if (error < 0) {
            return -1;
        }
    }
}

static bool sidra_state_read(void *opaque, void *data, size_t size)
{
    int *fd = opaque;

    for (uint8_t *at = data; size; ) {
        ssize_t got = RETRY_ON_EINTR(read(*fd, at, size));

        if (got <= 0) {
            return false;
        }
        at += got;
        size -= got;
    }
    return true;
}

static bool sidra_state_load(SidraState *s, Error **errp)
{
    char text[256];
    uint8_t more;

    if (sidra_chip_load_cells(s->chip, sidra_state_read, &s->state_fd, text, sizeof(text)) < 0) {
        error_setg(errp, "%s", text);
    } else if (sidra_state_read(&s->state_fd, &more, 1)) {
        error_setg(errp, "there is something behind its end");
    } else {
        return true;
    }
    error_append_hint(errp, "Put back a copy of it, or move it away: then the chip starts with erased cells.\n");
    return false;
}

/* What the stream ends with is its check sum. */
static bool sidra_state_sum(void *opaque, const void *data, size_t size)
{
    if (size == sizeof(uint64_t)) {
        memcpy(opaque, data, size);
    }
    return true;
}

static bool sidra_state_write(void *opaque, const void *data, size_t size)
{
    return fwrite(data, 1, size, opaque) == size;
}

/* A descriptor of the new file, locked and on disk under that name; -errno. */
static int sidra_state_write_file(SidraState *s, const char *path)
{
    int error, fd, own;
    FILE *stream;

    unlink(path); /* of somebody who was killed */
    fd = qemu_open_old(path, O_RDWR | O_CREAT | O_EXCL, 0600);
    if (fd < 0) {
        return -errno;
    }
    own = dup(fd);
    stream = own < 0 ? NULL : fdopen(own, "w");
    if (!stream) {
        error = -errno;
        close(own);
        goto fail;
    }
    errno = ENOMEM; /* unless a write says otherwise */
    error = sidra_chip_save_cells(s->chip, sidra_state_write, stream) < 0 || fflush(stream) || fsync(fd) ? -errno : 0;
    fclose(stream);
    if (!error && fchmod(fd, s->state_mode) < 0) {
        error = -errno;
    }
    if (!error) {
        error = qemu_lock_fd(fd, 0, 0, true);
    }
    if (!error) {
        return fd;
    }
fail:
    close(fd);
    unlink(path);
    return error;
}

/* So that the new name survives a crash of the host. */
static void sidra_state_sync_folder(const char *path)
{
    g_autofree char *folder = g_path_get_dirname(path);
    int fd = qemu_open_old(folder, O_RDONLY | O_DIRECTORY);

    if (fd >= 0) {
        fsync(fd);
        close(fd);
    }
}

void sidra_state_save(SidraState *s)
{
    g_autofree char *part = NULL;
    uint64_t sum = 0;
    int fd;

    if (!s->state_path) {
        return;
    }
    if (sidra_chip_save_cells(s->chip, sidra_state_sum, &sum) == 0 && sum == s->state_sum) {
        return;
    }
    part = g_strconcat(s->state_path, ".part", NULL);
    fd = sidra_state_write_file(s, part);
    if (fd >= 0 && rename(part, s->state_path) < 0) {
        close(fd);
        fd = -errno;
        unlink(part);
    }
    trace_sidra_state_save(sidra_name(s), s->state_path, fd < 0 ? fd : 0);
    if (fd < 0) {
        error_report("%s: the cells could not be written to state file '%s': %s. It still has those of the last time; "
                     "the next try is when the machine stops, is reset or ends",
                     sidra_name(s), s->state_path, strerror(-fd));
        return;
    }
    sidra_state_sync_folder(s->state_path);
    close(s->state_fd);
    s->state_fd = fd;
    s->state_sum = sum;
}

static void sidra_state_machine_reset(void *opaque)
{
    SidraState *s = opaque;

    sidra_hold(s, SIDRA_HOLD_STATE);
    sidra_state_save(s);
    sidra_release(s, SIDRA_HOLD_STATE);
}

bool sidra_state_open(SidraState *s, Error **errp)
{
    ERRP_GUARD();
    struct stat status;

    if (!s->state_file) {
        return true;
    }
    s->state_fd = sidra_state_lock(s->state_file, &status, errp);
    if (s->state_fd < 0) {
        goto fail;
    }
    if (status.st_size && !sidra_state_load(s, errp)) {
        close(s->state_fd);
        goto fail;
    }
    trace_sidra_state_load(sidra_name(s), s->state_file, status.st_size);
    s->state_mode = status.st_mode & 0777;
    sidra_chip_save_cells(s->chip, sidra_state_sum, &s->state_sum);
    s->state_path = realpath(s->state_file, NULL) ?: strdup(s->state_file); /* a link stays one */
    qemu_register_reset(sidra_state_machine_reset, s);
    return true;

fail:
    error_prepend(errp, "sidra: state file '%s' cannot be used: ", s->state_file);
    return false;
}

void sidra_state_close(SidraState *s)
{
    if (!s->state_path) {
        return;
    }
    qemu_unregister_reset(sidra_state_machine_reset, s);
    close(s->state_fd);
    free(s->state_path);
    s->state_path = NULL;
}
