/* SPDX-License-Identifier: MIT */
/*
 * A firmware image in memory: is it whole, is it ours, may it run here? One source for the boot ROM, the host's tools and
 * their tests. Freestanding C11: no allocation, no C library but the memcpy, memset and memcmp that a compiler may call by itself.
 *
 * The image is untrusted, and so is its length field by field: nothing is read before it was found to lie inside. It must not
 * change while it is looked at: who gets it by DMA or from another processor copies it first, and verifies and runs the copy.
 * It may lie at any alignment.
 *
 * Layout: struct sidra_fw_header (256 bytes) | payload (image_size) | TLVs (tlv_size), and not a byte more. image_size and tlv_size are
 * multiples of 8. A TLV is struct sidra_fw_tlv, then `length` bytes, then zeros up to a multiple of 8; its flags are zero.
 *
 * The SHA-256 covers the header and the payload as they lie in the image, the header's crc32 field included: bytes 0 to
 * 256 + image_size. The Ed25519 signature is over these 32 bytes of SHA-256. So tlv_size is covered, but no TLV is: what
 * SIDRA_FW_TLV_LOG_STRINGS or a type unknown here holds is not authenticated. It is text for people; no decision may rest on it.
 */
#ifndef SIDRA_FIRMWARE_IMAGE_H
#define SIDRA_FIRMWARE_IMAGE_H

#ifdef __KERNEL__
#include <linux/stddef.h>
#include <linux/types.h>
#else
#include <stddef.h>
#include <stdint.h>
#endif

#include "sidra_hw.h"

#ifdef __cplusplus
extern "C" {
#endif

#define SIDRA_IMAGE_FORMAT		1u	/* header_version */
#define SIDRA_IMAGE_ALIGNMENT		8u	/* of load_address, image_size, ram_size, tlv_size */
#define SIDRA_IMAGE_STACK_ALIGNMENT	16u	/* as the RISC-V calling convention has it */
#define SIDRA_IMAGE_ENTRY_ALIGNMENT	4u	/* the core has no compressed instructions */
#define SIDRA_IMAGE_FLAG_DEBUG		(1u << 0)
#define SIDRA_IMAGE_TLVS_MAX		16u
#define SIDRA_IMAGE_DIGEST_SIZE		32u
#define SIDRA_IMAGE_KEY_SIZE		32u
#define SIDRA_IMAGE_SIGNATURE_SIZE	64u

/* Each way to fail. The values go through the mailbox (FW_COMMIT): new ones come behind the last one, whatever their family. */
enum sidra_image_result {
	SIDRA_IMAGE_OK = 0,

	/* transfer: these are not the bytes that were sent, or not all of them */
	SIDRA_IMAGE_TOO_SHORT,		/* not even a header */
	SIDRA_IMAGE_MAGIC,
	SIDRA_IMAGE_HEADER_CRC,
	SIDRA_IMAGE_TRUNCATED,		/* ends before its payload and TLVs do */
	SIDRA_IMAGE_TRAILING,		/* goes on after them */

	/* unfit: whole as far as was looked at, but not for this chip, this memory, this driver */
	SIDRA_IMAGE_HEADER_VERSION,
	SIDRA_IMAGE_HEADER_SIZE,
	SIDRA_IMAGE_RESERVED,		/* a reserved field or an unknown flag is set */
	SIDRA_IMAGE_IMAGE_SIZE,		/* payload empty or misaligned */
	SIDRA_IMAGE_TLV_SIZE,		/* misaligned */
	SIDRA_IMAGE_LOAD_ADDRESS,	/* outside of RAM, or misaligned */
	SIDRA_IMAGE_RAM_SIZE,		/* less than the payload, misaligned, or more than there is */
	SIDRA_IMAGE_STACK_SIZE,		/* misaligned, or more than what is left above ram_size */
	SIDRA_IMAGE_ENTRY,		/* outside of the payload, or misaligned */
	SIDRA_IMAGE_CHIP,
	SIDRA_IMAGE_STEPPING,
	SIDRA_IMAGE_TYPE,
	SIDRA_IMAGE_API,
	SIDRA_IMAGE_DRIVER,		/* needs a newer driver */

	/* corrupt: damaged behind the header */
	SIDRA_IMAGE_TLV_BOUNDS,		/* a TLV ends behind tlv_size */
	SIDRA_IMAGE_TLV_FLAGS,
	SIDRA_IMAGE_TLV_PADDING,	/* not zero */
	SIDRA_IMAGE_TLV_LENGTH,		/* not that of its type */
	SIDRA_IMAGE_TLV_DUPLICATE,
	SIDRA_IMAGE_TLV_COUNT,		/* more than SIDRA_IMAGE_TLVS_MAX */
	SIDRA_IMAGE_NO_DIGEST,
	SIDRA_IMAGE_DIGEST,		/* SHA-256 differs */

	/* authenticity: whole, but not from someone who is trusted here */
	SIDRA_IMAGE_NO_KEY_HASH,
	SIDRA_IMAGE_NO_SIGNATURE,
	SIDRA_IMAGE_UNTRUSTED_KEY,
	SIDRA_IMAGE_SIGNATURE,		/* does not verify */

	/* rollback: ours, but withdrawn */
	SIDRA_IMAGE_ROLLBACK,

	/* unknown: a callback could not do its work; says nothing about the image, which must not run all the same */
	SIDRA_IMAGE_SHA256_FAILED,
	SIDRA_IMAGE_ED25519_FAILED,

	SIDRA_IMAGE_RESULTS		/* their number */
};

/* What to do about it: send it again; throw it away; distrust who sent it; get a newer one; get one for this chip; look at the chip. */
enum sidra_image_family {
	SIDRA_IMAGE_FAMILY_NONE = 0,
	SIDRA_IMAGE_FAMILY_TRANSFER,
	SIDRA_IMAGE_FAMILY_CORRUPT,
	SIDRA_IMAGE_FAMILY_AUTHENTICITY,
	SIDRA_IMAGE_FAMILY_ROLLBACK,
	SIDRA_IMAGE_FAMILY_UNFIT,
	SIDRA_IMAGE_FAMILY_UNKNOWN
};

enum sidra_image_family sidra_image_family_of(enum sidra_image_result result);
/* One line for a person, without a full stop. Never NULL, also for values that are none. */
const char *sidra_image_text(enum sidra_image_result result);
const char *sidra_image_family_text(enum sidra_image_family family);

/* What the caller has. `self` is passed back to each call; both functions are required. */
struct sidra_image_crypto {
	void *self;
	/* 0: done. Anything else: could not. */
	int (*sha256)(void *self, const void *data, size_t size, uint8_t digest[SIDRA_IMAGE_DIGEST_SIZE]);
	/* 0: the signature is by this key and over this message. Above 0: it is not. Below 0: could not be checked. */
	int (*ed25519)(void *self, const uint8_t signature[SIDRA_IMAGE_SIGNATURE_SIZE], const void *message, size_t size,
		       const uint8_t key[SIDRA_IMAGE_KEY_SIZE]);
};

/* What the caller asks for. */
struct sidra_image_policy {
	uint64_t ram_begin, ram_end;		/* where an image may lie and run: [begin, end), at most 4 GiB */
	uint32_t chip_id;
	uint32_t stepping;			/* 0 to 31: the bit of stepping_mask */
	uint32_t type;				/* enum sidra_fw_type; 0: any that is known */
	uint16_t api_major[SIDRA_FW_API_COUNT];	/* 0: not asked for */
	uint32_t driver_version;		/* as struct sidra_fw_header's version; 0: no driver asks */
	uint32_t min_security_version;
	const uint8_t (*keys)[SIDRA_IMAGE_KEY_SIZE];	/* public keys that are trusted; none: nothing is */
	size_t keys_count;
};

struct sidra_image_tlv {
	uint16_t type;
	uint16_t flags;
	uint32_t length;
	const uint8_t *value;	/* into the image; NULL: there is none */
};

/* What was found. Pointers lead into the image. After a failure: what was read before it, the rest zero. */
struct sidra_image {
	struct sidra_fw_header header;	/* a copy, in the byte order of this machine */
	const uint8_t *payload;		/* header.image_size bytes */
	const uint8_t *tlvs;		/* header.tlv_size bytes */
	struct sidra_image_tlv digest, key_hash, signature, log_strings;
	uint8_t computed[SIDRA_IMAGE_DIGEST_SIZE];	/* SHA-256 of header and payload */
	size_t key;			/* index of the policy's key that signed it; valid after SIDRA_IMAGE_OK */
};

/*
 * All checks, in this order; the first that fails is the answer, and only after SIDRA_IMAGE_OK may the image run:
 *   sidra_image_check_header, sidra_image_check_fit, sidra_image_check_tlvs, sidra_image_check_digest,
 *   sidra_image_check_signature, sidra_image_check_rollback.
 */
enum sidra_image_result sidra_image_verify(const void *data, size_t size, const struct sidra_image_policy *policy,
					   const struct sidra_image_crypto *crypto, struct sidra_image *image);

/*
 * The steps, for who reports on an image that fails. Each needs those above it that its comment names.
 */

/* Size, magic, header version and size, CRC, total size, reserved fields. Fills header, payload and tlvs. */
enum sidra_image_result sidra_image_check_header(const void *data, size_t size, struct sidra_image *image);
/* Needs the header: ranges in RAM, chip, stepping, type, APIs, driver. */
enum sidra_image_result sidra_image_check_fit(const struct sidra_image *image, const struct sidra_image_policy *policy);
/* Needs the header: walks the TLVs; fills digest, key_hash, signature and log_strings. */
enum sidra_image_result sidra_image_check_tlvs(struct sidra_image *image);
/* Needs the TLVs. Fills computed. `data` is that of the header. */
enum sidra_image_result sidra_image_check_digest(const void *data, const struct sidra_image_crypto *crypto, struct sidra_image *image);
/* Needs the digest. Fills key. */
enum sidra_image_result sidra_image_check_signature(const struct sidra_image_policy *policy, const struct sidra_image_crypto *crypto,
						    struct sidra_image *image);
/* Needs the signature: a security version means something only in an image that is authentic. */
enum sidra_image_result sidra_image_check_rollback(const struct sidra_image *image, const struct sidra_image_policy *policy);

/*
 * How many bytes of a slot or a transfer belong to the image whose first `size` bytes are here (256 are enough). *total
 * may be more than fits in 32 bits. Fails as sidra_image_check_header does, but not for the rest that is not here.
 */
enum sidra_image_result sidra_image_total(const void *data, size_t size, uint64_t *total);

/*
 * The TLV at *offset of `size` bytes of TLVs; moves *offset behind it. Begin with *offset 0; the end is *offset == size.
 * Checks bounds, flags and padding. After a failure *offset is unchanged.
 */
enum sidra_image_result sidra_image_next_tlv(const uint8_t *tlvs, uint32_t size, uint32_t *offset, struct sidra_image_tlv *tlv);

/* CRC-32 of Ethernet and zip, of a header with its crc32 field taken as zero. */
uint32_t sidra_image_header_crc(const uint8_t header[SIDRA_FW_HEADER_SIZE]);

/* The header's 256 bytes into a struct, and back, on a machine of any byte order. */
void sidra_image_load_header(const uint8_t bytes[SIDRA_FW_HEADER_SIZE], struct sidra_fw_header *header);
void sidra_image_store_header(const struct sidra_fw_header *header, uint8_t bytes[SIDRA_FW_HEADER_SIZE]);

#ifdef __cplusplus
}
#endif

#endif
