/* SPDX-License-Identifier: MIT */
/*
 * Verifies a firmware image in memory: is it complete, authentic and suitable for this chip? The
 * boot ROM, the host's tools and their tests use the same source. Freestanding C11: no allocation,
 * and no C library except memcpy, memset and memcmp, which a compiler may call implicitly.
 *
 * The image is untrusted, including each length field: every access is checked against the size
 * first. The image must not change during verification: callers that receive it by DMA or from
 * another processor must copy it first, and verify and run the copy. It may have any alignment.
 *
 * Layout: struct sidra_fw_header (256 bytes) | payload (image_size) | TLVs (tlv_size), and nothing
 * else. image_size and tlv_size are multiples of 8. A TLV is struct sidra_fw_tlv, then `length`
 * bytes, then zeros up to a multiple of 8; its flags are zero.
 *
 * The SHA-256 covers the header and the payload as stored in the image, including the header's
 * crc32 field: bytes 0 to 256 + image_size. The Ed25519 signature signs these 32 bytes of SHA-256.
 * So tlv_size is covered, but the TLVs are not: the content of SIDRA_FW_TLV_LOG_STRINGS and of
 * unknown types is not authenticated. It is text for people; no decision may depend on it.
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
#define SIDRA_IMAGE_ALIGNMENT		8u	/* of load_address, the image, RAM and TLVs */
#define SIDRA_IMAGE_STACK_ALIGNMENT	16u	/* required by the RISC-V calling convention */
#define SIDRA_IMAGE_ENTRY_ALIGNMENT	4u	/* the core has no compressed instructions */
#define SIDRA_IMAGE_FLAG_DEBUG		(1u << 0)
#define SIDRA_IMAGE_TLVS_MAX		16u
#define SIDRA_IMAGE_TLV_SIZE_MAX	2048u	/* of all; the chip copies them to verify them */
#define SIDRA_IMAGE_DIGEST_SIZE		32u
#define SIDRA_IMAGE_KEY_SIZE		32u
#define SIDRA_IMAGE_SIGNATURE_SIZE	64u

/*
 * Reasons for failure. The mailbox (FW_COMMIT) transfers these values: new ones are added at the
 * end, whatever their family.
 */
enum sidra_image_result {
	SIDRA_IMAGE_OK = 0,

	/* transfer: the bytes differ from those that were sent, or some are missing */
	SIDRA_IMAGE_TOO_SHORT,		/* shorter than a header */
	SIDRA_IMAGE_MAGIC,
	SIDRA_IMAGE_HEADER_CRC,
	SIDRA_IMAGE_TRUNCATED,		/* ends before the end of its payload and TLVs */
	SIDRA_IMAGE_TRAILING,		/* has data after them */

	/* unfit: no damage found so far, but not for this chip, memory or driver */
	SIDRA_IMAGE_HEADER_VERSION,
	SIDRA_IMAGE_HEADER_SIZE,
	SIDRA_IMAGE_RESERVED,		/* a reserved field or an unknown flag is set */
	SIDRA_IMAGE_IMAGE_SIZE,		/* payload empty or misaligned */
	SIDRA_IMAGE_TLV_SIZE,		/* misaligned */
	SIDRA_IMAGE_LOAD_ADDRESS,	/* outside RAM, or misaligned */
	SIDRA_IMAGE_RAM_SIZE,		/* misaligned, below the payload's, or RAM too small */
	SIDRA_IMAGE_STACK_SIZE,		/* misaligned, or larger than the rest above ram_size */
	SIDRA_IMAGE_ENTRY,		/* outside the payload, or misaligned */
	SIDRA_IMAGE_CHIP,
	SIDRA_IMAGE_STEPPING,
	SIDRA_IMAGE_TYPE,
	SIDRA_IMAGE_API,
	SIDRA_IMAGE_DRIVER,		/* needs a newer driver */

	/* corrupt: damaged after the header */
	SIDRA_IMAGE_TLV_BOUNDS,		/* a TLV ends after tlv_size */
	SIDRA_IMAGE_TLV_FLAGS,
	SIDRA_IMAGE_TLV_PADDING,	/* not zero */
	SIDRA_IMAGE_TLV_LENGTH,		/* wrong for its type */
	SIDRA_IMAGE_TLV_DUPLICATE,
	SIDRA_IMAGE_TLV_COUNT,		/* more than SIDRA_IMAGE_TLVS_MAX */
	SIDRA_IMAGE_NO_DIGEST,
	SIDRA_IMAGE_DIGEST,		/* SHA-256 differs */

	/* authenticity: complete, but not signed by a trusted key */
	SIDRA_IMAGE_NO_KEY_HASH,
	SIDRA_IMAGE_NO_SIGNATURE,
	SIDRA_IMAGE_UNTRUSTED_KEY,
	SIDRA_IMAGE_SIGNATURE,		/* is not valid */

	/* rollback: authentic, but revoked */
	SIDRA_IMAGE_ROLLBACK,

	/* unknown: a callback failed. This says nothing about the image, but it must not run */
	SIDRA_IMAGE_SHA256_FAILED,
	SIDRA_IMAGE_ED25519_FAILED,

	/* unfit */
	SIDRA_IMAGE_TLV_TOO_LARGE,	/* all TLVs together: above SIDRA_IMAGE_TLV_SIZE_MAX */

	SIDRA_IMAGE_RESULTS		/* their number */
};

/*
 * Reactions: send the image again; discard it; distrust its source; get a newer one; get one for
 * this chip; examine the chip.
 */
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

/* Functions of the caller. `self` is passed back to each call; both functions are required. */
struct sidra_image_crypto {
	void *self;
	/* Returns 0 on success. */
	int (*sha256)(void *self, const void *data, size_t size,
		      uint8_t digest[SIDRA_IMAGE_DIGEST_SIZE]);
	/*
	 * Returns 0: the signature by this key over this message is valid. Above 0: it is not.
	 * Below 0: the check failed.
	 */
	int (*ed25519)(void *self, const uint8_t signature[SIDRA_IMAGE_SIGNATURE_SIZE],
		       const void *message, size_t size, const uint8_t key[SIDRA_IMAGE_KEY_SIZE]);
};

/* Requirements of the caller. */
struct sidra_image_policy {
	uint64_t ram_begin, ram_end;		/* memory for images: [begin, end), at most 4 GiB */
	uint32_t chip_id;
	uint32_t stepping;			/* 0 to 31: the bit of stepping_mask */
	uint32_t type;				/* enum sidra_fw_type; 0: any known type */
	uint16_t api_major[SIDRA_FW_API_COUNT];	/* 0: not checked */
	uint32_t driver_version;		/* like `version` of the header; 0: no driver */
	uint32_t min_security_version;
	const uint8_t (*keys)[SIDRA_IMAGE_KEY_SIZE];	/* trusted; none: trust no image */
	size_t keys_count;
};

struct sidra_image_tlv {
	uint16_t type;
	uint16_t flags;
	uint32_t length;
	const uint8_t *value;	/* in the image; NULL: no such TLV */
};

/*
 * The result. Pointers refer to the image. After a failure: what was read before it; the rest is
 * zero.
 */
struct sidra_image {
	struct sidra_fw_header header;	/* a copy, in the byte order of this machine */
	const uint8_t *payload;		/* header.image_size bytes */
	const uint8_t *tlvs;		/* header.tlv_size bytes */
	struct sidra_image_tlv digest, key_hash, signature, log_strings;
	uint8_t computed[SIDRA_IMAGE_DIGEST_SIZE];	/* SHA-256 of header and payload */
	size_t key;			/* of the policy, which signed it; after SIDRA_IMAGE_OK */
};

/*
 * Performs all checks, in this order: sidra_image_check_header, sidra_image_check_fit,
 * sidra_image_check_tlvs, sidra_image_check_digest, sidra_image_check_signature,
 * sidra_image_check_rollback. The result is the first failure; only after SIDRA_IMAGE_OK may the
 * image run.
 */
enum sidra_image_result sidra_image_verify(const void *data, size_t size,
					   const struct sidra_image_policy *policy,
					   const struct sidra_image_crypto *crypto,
					   struct sidra_image *image);

/*
 * The single steps, for reports about invalid images. Each requires the steps that its comment
 * names.
 */

/*
 * Checks size, magic, header version and size, CRC, total size and reserved fields. Fills in
 * header, payload and tlvs.
 */
enum sidra_image_result sidra_image_check_header(const void *data, size_t size,
						 struct sidra_image *image);
/*
 * Requires the header. Checks the size of the TLVs, ranges in RAM, chip, stepping, type, APIs and
 * driver.
 */
enum sidra_image_result sidra_image_check_fit(const struct sidra_image *image,
					      const struct sidra_image_policy *policy);
/* Requires the header. Parses the TLVs; fills in digest, key_hash, signature and log_strings. */
enum sidra_image_result sidra_image_check_tlvs(struct sidra_image *image);
/* Requires the TLVs. Fills in computed. `data` is the same as for the header. */
enum sidra_image_result sidra_image_check_digest(const void *data,
						 const struct sidra_image_crypto *crypto,
						 struct sidra_image *image);
/* Requires the digest. Fills in key. */
enum sidra_image_result sidra_image_check_signature(const struct sidra_image_policy *policy,
						    const struct sidra_image_crypto *crypto,
						    struct sidra_image *image);
/* Requires the signature: the security version is meaningful only in an authentic image. */
enum sidra_image_result sidra_image_check_rollback(const struct sidra_image *image,
						   const struct sidra_image_policy *policy);

/*
 * Determines the total size of an image from its first `size` bytes (256 are enough). *total may
 * exceed 32 bits. Fails as sidra_image_check_header does, except for the parts that are not in
 * memory.
 */
enum sidra_image_result sidra_image_total(const void *data, size_t size, uint64_t *total);

/*
 * Gets the TLV at *offset of `size` bytes of TLVs, and advances *offset. Start with *offset 0; the
 * end is *offset == size. Checks bounds, flags and padding. *offset is unchanged after a failure.
 */
enum sidra_image_result sidra_image_next_tlv(const uint8_t *tlvs, uint32_t size, uint32_t *offset,
					     struct sidra_image_tlv *tlv);

/* CRC-32 (as in Ethernet and zip) of a header with its crc32 field set to zero. */
uint32_t sidra_image_header_crc(const uint8_t header[SIDRA_FW_HEADER_SIZE]);

/* Convert between the header's 256 bytes and a struct, on a machine of any byte order. */
void sidra_image_load_header(const uint8_t bytes[SIDRA_FW_HEADER_SIZE],
			     struct sidra_fw_header *header);
void sidra_image_store_header(const struct sidra_fw_header *header,
			      uint8_t bytes[SIDRA_FW_HEADER_SIZE]);

#ifdef __cplusplus
}
#endif

#endif
