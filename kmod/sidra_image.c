// SPDX-License-Identifier: GPL-2.0-only
/* The checks of firmware images, which boot ROM, firmware and tools have, too: the same sources. */
#include "../firmware/image/bytes.c"
#include "../firmware/image/crc32.c"
#include "../firmware/image/header.c"
#include "../firmware/image/text.c"
#include "../firmware/image/tlv.c"
#include "../firmware/image/verify.c"
