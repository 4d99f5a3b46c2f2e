/* SPDX-License-Identifier: MIT */
/* What each failure is called, and to which family it belongs. */
#include "image/image.h"

struct meaning {
	enum sidra_image_family family;
	const char *text;
};

#define MEANING(result, kind, words) [SIDRA_IMAGE_##result] = { SIDRA_IMAGE_FAMILY_##kind, words }

static const struct meaning meanings[SIDRA_IMAGE_RESULTS] = {
	MEANING(OK, NONE, "the image is whole, authentic and fit for this chip"),
	MEANING(TOO_SHORT, TRANSFER, "shorter than the 256 bytes of a header"),
	MEANING(MAGIC, TRANSFER, "does not begin as a firmware image does (SDFW)"),
	MEANING(HEADER_CRC, TRANSFER, "the header's CRC is wrong: damaged on its way"),
	MEANING(TRUNCATED, TRANSFER, "ends before the payload and TLVs that its header announces"),
	MEANING(TRAILING, TRANSFER, "goes on behind the payload and TLVs that its header announces"),
	MEANING(HEADER_VERSION, UNFIT, "the header's version is not 1: made for other hardware or tools, or damaged"),
	MEANING(HEADER_SIZE, UNFIT, "the header's size is not 256: made for other hardware or tools, or damaged"),
	MEANING(RESERVED, UNFIT, "a reserved field or an unknown flag of the header is set: made for newer hardware or tools"),
	MEANING(IMAGE_SIZE, UNFIT, "the payload is empty, or its size no multiple of 8"),
	MEANING(TLV_SIZE, UNFIT, "the size of its TLVs is no multiple of 8"),
	MEANING(LOAD_ADDRESS, UNFIT, "the load address is outside of the RAM, or no multiple of 8"),
	MEANING(RAM_SIZE, UNFIT, "the RAM that it asks for is less than its payload, more than there is, or no multiple of 8"),
	MEANING(STACK_SIZE, UNFIT, "the stack does not fit above it in the RAM, or its size is no multiple of 16"),
	MEANING(ENTRY, UNFIT, "the entry is outside of the payload, or no multiple of 4"),
	MEANING(CHIP, UNFIT, "made for another chip"),
	MEANING(STEPPING, UNFIT, "not made for this stepping of the chip"),
	MEANING(TYPE, UNFIT, "not the type of image that belongs here"),
	MEANING(API, UNFIT, "an interface has another major version than is asked for"),
	MEANING(DRIVER, UNFIT, "needs a newer driver"),
	MEANING(TLV_BOUNDS, CORRUPT, "a TLV ends behind the end of all TLVs"),
	MEANING(TLV_FLAGS, CORRUPT, "a TLV has flags, and there are none"),
	MEANING(TLV_PADDING, CORRUPT, "the padding behind a TLV is not zero"),
	MEANING(TLV_LENGTH, CORRUPT, "a TLV has not the length of its type"),
	MEANING(TLV_DUPLICATE, CORRUPT, "there are two TLVs of one type"),
	MEANING(TLV_COUNT, CORRUPT, "there are more than 16 TLVs"),
	MEANING(NO_DIGEST, CORRUPT, "there is no SHA-256"),
	MEANING(DIGEST, CORRUPT, "the SHA-256 differs: header or payload are damaged"),
	MEANING(NO_KEY_HASH, AUTHENTICITY, "not signed: there is no key hash"),
	MEANING(NO_SIGNATURE, AUTHENTICITY, "not signed: there is no signature"),
	MEANING(UNTRUSTED_KEY, AUTHENTICITY, "signed by a key that is not trusted here"),
	MEANING(SIGNATURE, AUTHENTICITY, "the signature is not by the key that it names, or not over this image"),
	MEANING(ROLLBACK, ROLLBACK, "its security version is lower than the lowest that may run"),
	MEANING(SHA256_FAILED, UNKNOWN, "the SHA-256 could not be computed"),
	MEANING(ED25519_FAILED, UNKNOWN, "the signature could not be checked"),
};

enum sidra_image_family sidra_image_family_of(enum sidra_image_result result)
{
	/* What is no result is nothing to trust. */
	return (unsigned)result < SIDRA_IMAGE_RESULTS ? meanings[result].family : SIDRA_IMAGE_FAMILY_UNKNOWN;
}

const char *sidra_image_text(enum sidra_image_result result)
{
	return (unsigned)result < SIDRA_IMAGE_RESULTS ? meanings[result].text : "no result of a check";
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
