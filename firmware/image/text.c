// SPDX-License-Identifier: MIT
/* The family and text of each result. */
#include "image/image.h"

struct meaning {
	enum sidra_image_family family;
	const char *text;
};

#define MEANING(result, kind, words) \
	[SIDRA_IMAGE_##result] = { SIDRA_IMAGE_FAMILY_##kind, words }

static const struct meaning meanings[SIDRA_IMAGE_RESULTS] = {
	MEANING(OK, NONE, "the image is whole, authentic and fit for this chip"),
	MEANING(TOO_SHORT, TRANSFER, "shorter than the 256 bytes of a header"),
	MEANING(MAGIC, TRANSFER, "not a firmware image: it does not begin with SDFW"),
	MEANING(HEADER_CRC, TRANSFER,
		"the CRC of the header is wrong: the image was damaged in transfer"),
	MEANING(TRUNCATED, TRANSFER, "shorter than the payload and TLVs that its header announces"),
	MEANING(TRAILING, TRANSFER, "longer than the payload and TLVs that its header announces"),
	MEANING(HEADER_VERSION, UNFIT,
		"the header's version is not 1: made for other hardware or tools, or damaged"),
	MEANING(HEADER_SIZE, UNFIT,
		"the header's size is not 256: made for other hardware or tools, or damaged"),
	MEANING(RESERVED, UNFIT,
		"a reserved field or an unknown flag is set: made for newer hardware or tools"),
	MEANING(IMAGE_SIZE, UNFIT, "the payload is empty, or its size is not a multiple of 8"),
	MEANING(TLV_SIZE, UNFIT, "the size of its TLVs is not a multiple of 8"),
	MEANING(LOAD_ADDRESS, UNFIT, "the load address is outside the RAM, or not a multiple of 8"),
	MEANING(RAM_SIZE, UNFIT,
		"the RAM size is too small or not a multiple of 8, or the chip has too little RAM"),
	MEANING(STACK_SIZE, UNFIT,
		"the stack exceeds the rest of the RAM, or its size is not a multiple of 16"),
	MEANING(ENTRY, UNFIT, "the entry is outside the payload, or not a multiple of 4"),
	MEANING(CHIP, UNFIT, "made for another chip"),
	MEANING(STEPPING, UNFIT, "not made for this stepping of the chip"),
	MEANING(TYPE, UNFIT, "the wrong type of image"),
	MEANING(API, UNFIT, "an interface has a different major version than required"),
	MEANING(DRIVER, UNFIT, "needs a newer driver"),
	MEANING(TLV_BOUNDS, CORRUPT, "a TLV extends beyond the end of the TLVs"),
	MEANING(TLV_FLAGS, CORRUPT, "a TLV has flags, but none are defined"),
	MEANING(TLV_PADDING, CORRUPT, "the padding after a TLV is not zero"),
	MEANING(TLV_LENGTH, CORRUPT, "a TLV has the wrong length for its type"),
	MEANING(TLV_DUPLICATE, CORRUPT, "two TLVs have the same type"),
	MEANING(TLV_COUNT, CORRUPT, "there are more than 16 TLVs"),
	MEANING(NO_DIGEST, CORRUPT, "there is no SHA-256"),
	MEANING(DIGEST, CORRUPT, "the SHA-256 differs: the header or the payload is damaged"),
	MEANING(NO_KEY_HASH, AUTHENTICITY, "not signed: there is no key hash"),
	MEANING(NO_SIGNATURE, AUTHENTICITY, "not signed: there is no signature"),
	MEANING(UNTRUSTED_KEY, AUTHENTICITY, "signed by a key that is not trusted here"),
	MEANING(SIGNATURE, AUTHENTICITY,
		"the signature is not valid for this image and the key that it names"),
	MEANING(ROLLBACK, ROLLBACK, "its security version is below the minimum"),
	MEANING(SHA256_FAILED, UNKNOWN, "the SHA-256 could not be computed"),
	MEANING(ED25519_FAILED, UNKNOWN, "the signature could not be checked"),
	MEANING(TLV_TOO_LARGE, UNFIT, "its TLVs are larger than 2048 bytes"),
};

enum sidra_image_family sidra_image_family_of(enum sidra_image_result result)
{
	/* Do not trust invalid values. */
	return (unsigned int)result < SIDRA_IMAGE_RESULTS ? meanings[result].family :
							    SIDRA_IMAGE_FAMILY_UNKNOWN;
}

const char *sidra_image_text(enum sidra_image_result result)
{
	return (unsigned int)result < SIDRA_IMAGE_RESULTS ? meanings[result].text :
							    "not a valid result";
}

const char *sidra_image_family_text(enum sidra_image_family family)
{
	switch (family) {
	case SIDRA_IMAGE_FAMILY_NONE:
		return "ok";
	case SIDRA_IMAGE_FAMILY_TRANSFER:
		return "transfer";
	case SIDRA_IMAGE_FAMILY_CORRUPT:
		return "corrupt";
	case SIDRA_IMAGE_FAMILY_AUTHENTICITY:
		return "authenticity";
	case SIDRA_IMAGE_FAMILY_ROLLBACK:
		return "rollback";
	case SIDRA_IMAGE_FAMILY_UNFIT:
		return "unfit";
	case SIDRA_IMAGE_FAMILY_UNKNOWN:
		break;
	}
	return "unknown";
}
