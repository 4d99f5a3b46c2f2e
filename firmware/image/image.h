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

/**
 * enum sidra_image_result - why an image is refused
 * @SIDRA_IMAGE_OK: the image is valid
 * @SIDRA_IMAGE_TOO_SHORT: shorter than a header
 * @SIDRA_IMAGE_MAGIC: the header begins with another number
 * @SIDRA_IMAGE_HEADER_CRC: the CRC of the header differs
 * @SIDRA_IMAGE_TRUNCATED: ends before the end of its payload and TLVs
 * @SIDRA_IMAGE_TRAILING: has data after its payload and TLVs
 * @SIDRA_IMAGE_HEADER_VERSION: header_version is not SIDRA_IMAGE_FORMAT
 * @SIDRA_IMAGE_HEADER_SIZE: header_size is not SIDRA_FW_HEADER_SIZE
 * @SIDRA_IMAGE_RESERVED: a reserved field or an unknown flag is set
 * @SIDRA_IMAGE_IMAGE_SIZE: the payload is empty or misaligned
 * @SIDRA_IMAGE_TLV_SIZE: the size of the TLVs is misaligned
 * @SIDRA_IMAGE_LOAD_ADDRESS: the load address is outside RAM, or misaligned
 * @SIDRA_IMAGE_RAM_SIZE: the size in RAM is misaligned, smaller than the payload, or larger than
 *         RAM
 * @SIDRA_IMAGE_STACK_SIZE: the size of the stack is misaligned, or larger than the rest above
 *         ram_size
 * @SIDRA_IMAGE_ENTRY: the entry is outside the payload, or misaligned
 * @SIDRA_IMAGE_CHIP: for another chip
 * @SIDRA_IMAGE_STEPPING: not for this stepping of the chip
 * @SIDRA_IMAGE_TYPE: unknown, or not the type that the caller wants
 * @SIDRA_IMAGE_API: has another version of an interface than the caller wants
 * @SIDRA_IMAGE_DRIVER: needs a newer driver
 * @SIDRA_IMAGE_TLV_BOUNDS: a TLV ends after tlv_size
 * @SIDRA_IMAGE_TLV_FLAGS: the flags of a TLV are not zero
 * @SIDRA_IMAGE_TLV_PADDING: the bytes after a TLV are not zero
 * @SIDRA_IMAGE_TLV_LENGTH: the length of a TLV is wrong for its type
 * @SIDRA_IMAGE_TLV_DUPLICATE: there are two TLVs of one type
 * @SIDRA_IMAGE_TLV_COUNT: there are more TLVs than SIDRA_IMAGE_TLVS_MAX
 * @SIDRA_IMAGE_NO_DIGEST: there is no SHA-256
 * @SIDRA_IMAGE_DIGEST: the SHA-256 differs
 * @SIDRA_IMAGE_NO_KEY_HASH: there is no hash of a key
 * @SIDRA_IMAGE_NO_SIGNATURE: there is no signature
 * @SIDRA_IMAGE_UNTRUSTED_KEY: signed by a key that the caller does not trust
 * @SIDRA_IMAGE_SIGNATURE: the signature is not valid
 * @SIDRA_IMAGE_ROLLBACK: its security version is below the lowest that the caller allows
 * @SIDRA_IMAGE_SHA256_FAILED: the caller's function failed
 * @SIDRA_IMAGE_ED25519_FAILED: the caller's function failed
 * @SIDRA_IMAGE_TLV_TOO_LARGE: all TLVs together are larger than SIDRA_IMAGE_TLV_SIZE_MAX
 * @SIDRA_IMAGE_RESULTS: number of results
 *
 * The mailbox (FW_COMMIT) transfers these values: new ones are added at the end, whatever their
 * family.
 */
enum sidra_image_result {
	SIDRA_IMAGE_OK = 0,

	/* transfer: the bytes differ from those that were sent, or some are missing */
	SIDRA_IMAGE_TOO_SHORT,
	SIDRA_IMAGE_MAGIC,
	SIDRA_IMAGE_HEADER_CRC,
	SIDRA_IMAGE_TRUNCATED,
	SIDRA_IMAGE_TRAILING,

	/* unfit: no damage found so far, but not for this chip, memory or driver */
	SIDRA_IMAGE_HEADER_VERSION,
	SIDRA_IMAGE_HEADER_SIZE,
	SIDRA_IMAGE_RESERVED,
	SIDRA_IMAGE_IMAGE_SIZE,
	SIDRA_IMAGE_TLV_SIZE,
	SIDRA_IMAGE_LOAD_ADDRESS,
	SIDRA_IMAGE_RAM_SIZE,
	SIDRA_IMAGE_STACK_SIZE,
	SIDRA_IMAGE_ENTRY,
	SIDRA_IMAGE_CHIP,
	SIDRA_IMAGE_STEPPING,
	SIDRA_IMAGE_TYPE,
	SIDRA_IMAGE_API,
	SIDRA_IMAGE_DRIVER,

	/* corrupt: damaged after the header */
	SIDRA_IMAGE_TLV_BOUNDS,
	SIDRA_IMAGE_TLV_FLAGS,
	SIDRA_IMAGE_TLV_PADDING,
	SIDRA_IMAGE_TLV_LENGTH,
	SIDRA_IMAGE_TLV_DUPLICATE,
	SIDRA_IMAGE_TLV_COUNT,
	SIDRA_IMAGE_NO_DIGEST,
	SIDRA_IMAGE_DIGEST,

	/* authenticity: complete, but not signed by a trusted key */
	SIDRA_IMAGE_NO_KEY_HASH,
	SIDRA_IMAGE_NO_SIGNATURE,
	SIDRA_IMAGE_UNTRUSTED_KEY,
	SIDRA_IMAGE_SIGNATURE,

	/* rollback: authentic, but revoked */
	SIDRA_IMAGE_ROLLBACK,

	/* unknown: a callback failed. This says nothing about the image, but it must not run */
	SIDRA_IMAGE_SHA256_FAILED,
	SIDRA_IMAGE_ED25519_FAILED,

	/* unfit */
	SIDRA_IMAGE_TLV_TOO_LARGE,

	SIDRA_IMAGE_RESULTS
};

/**
 * enum sidra_image_family - what to do about a refused image
 * @SIDRA_IMAGE_FAMILY_NONE: nothing: it is valid
 * @SIDRA_IMAGE_FAMILY_TRANSFER: send it again
 * @SIDRA_IMAGE_FAMILY_CORRUPT: discard it
 * @SIDRA_IMAGE_FAMILY_AUTHENTICITY: distrust its source
 * @SIDRA_IMAGE_FAMILY_ROLLBACK: get a newer one
 * @SIDRA_IMAGE_FAMILY_UNFIT: get one for this chip
 * @SIDRA_IMAGE_FAMILY_UNKNOWN: examine the chip
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

/**
 * struct sidra_image_crypto - functions of the caller; both are required
 * @self: passed back to each call
 * @sha256: computes a digest; returns 0 on success
 * @ed25519: returns 0: the signature by this key over this message is valid. Above 0: it is not.
 *           Below 0: the check failed
 */
struct sidra_image_crypto {
	void *self;
	int (*sha256)(void *self, const void *data, size_t size,
		      uint8_t digest[SIDRA_IMAGE_DIGEST_SIZE]);
	int (*ed25519)(void *self, const uint8_t signature[SIDRA_IMAGE_SIGNATURE_SIZE],
		       const void *message, size_t size, const uint8_t key[SIDRA_IMAGE_KEY_SIZE]);
};

/**
 * struct sidra_image_policy - requirements of the caller
 * @ram_begin: first byte of the memory for images
 * @ram_end: end of that memory; at most 4 GiB
 * @chip_id: the chip
 * @stepping: 0 to 31: the bit of stepping_mask
 * @type: enum sidra_fw_type; 0: any known type
 * @api_major: versions of interfaces; 0: not checked
 * @driver_version: like `version` of the header; 0: no driver
 * @min_security_version: the lowest security version that is allowed
 * @keys: trusted keys; none: trust no image
 * @keys_count: their number
 */
struct sidra_image_policy {
	uint64_t ram_begin, ram_end;
	uint32_t chip_id;
	uint32_t stepping;
	uint32_t type;
	uint16_t api_major[SIDRA_FW_API_COUNT];
	uint32_t driver_version;
	uint32_t min_security_version;
	const uint8_t (*keys)[SIDRA_IMAGE_KEY_SIZE];
	size_t keys_count;
};

/**
 * struct sidra_image_tlv - a TLV of an image
 * @type: enum sidra_fw_tlv_type
 * @flags: zero
 * @length: bytes at @value
 * @value: in the image; NULL: no such TLV
 */
struct sidra_image_tlv {
	uint16_t type;
	uint16_t flags;
	uint32_t length;
	const uint8_t *value;
};

/**
 * struct sidra_image - the result. Pointers refer to the image. After a failure: what was read
 * before it; the rest is zero
 * @header: a copy, in the byte order of this machine
 * @payload: header.image_size bytes
 * @tlvs: header.tlv_size bytes
 * @digest: SHA-256 that the image states
 * @key_hash: hash of the key that has signed it
 * @signature: signature of the SHA-256
 * @log_strings: texts of the firmware's log
 * @computed: SHA-256 of header and payload
 * @key: number of the key of the policy that has signed it; after SIDRA_IMAGE_OK
 */
struct sidra_image {
	struct sidra_fw_header header;
	const uint8_t *payload;
	const uint8_t *tlvs;
	struct sidra_image_tlv digest, key_hash, signature, log_strings;
	uint8_t computed[SIDRA_IMAGE_DIGEST_SIZE];
	size_t key;
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
