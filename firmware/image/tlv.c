// SPDX-License-Identifier: MIT
/* Parses the TLVs after the payload. */
#include "image/bytes.h"
#include "image/image.h"

_Static_assert(sizeof(struct sidra_fw_tlv) == 8, "a TLV begins with 8 bytes");

enum sidra_image_result sidra_image_next_tlv(const uint8_t *tlvs, uint32_t size, uint32_t *offset,
					     struct sidra_image_tlv *tlv)
{
	const uint32_t head = sizeof(struct sidra_fw_tlv);
	const uint32_t left = size - *offset;
	const uint8_t *at = tlvs + *offset;
	uint64_t padded;

	if (left < head)
		return SIDRA_IMAGE_TLV_BOUNDS;
	tlv->type = sidra_image_get16(at + offsetof(struct sidra_fw_tlv, type));
	tlv->flags = sidra_image_get16(at + offsetof(struct sidra_fw_tlv, flags));
	tlv->length = sidra_image_get32(at + offsetof(struct sidra_fw_tlv, length));
	tlv->value = at + head;
	padded = ((uint64_t)tlv->length + 7) & ~7ull;
	if (padded > left - head)
		return SIDRA_IMAGE_TLV_BOUNDS;
	if (tlv->flags)
		return SIDRA_IMAGE_TLV_FLAGS;
	if (!sidra_image_all_zero(tlv->value + tlv->length, (size_t)(padded - tlv->length)))
		return SIDRA_IMAGE_TLV_PADDING;
	*offset += head + (uint32_t)padded;
	return SIDRA_IMAGE_OK;
}

/*
 * Returns the field for a TLV of this type, and its required length (0: any). NULL: unknown type,
 * which is skipped.
 */
static struct sidra_image_tlv *place(struct sidra_image *image, uint16_t type, uint32_t *length)
{
	switch (type) {
	case SIDRA_FW_TLV_SHA256:
		*length = SIDRA_IMAGE_DIGEST_SIZE;
		return &image->digest;
	case SIDRA_FW_TLV_KEY_HASH:
		*length = SIDRA_IMAGE_DIGEST_SIZE;
		return &image->key_hash;
	case SIDRA_FW_TLV_ED25519:
		*length = SIDRA_IMAGE_SIGNATURE_SIZE;
		return &image->signature;
	case SIDRA_FW_TLV_LOG_STRINGS:
		*length = 0;
		return &image->log_strings;
	default:
		return NULL;
	}
}

enum sidra_image_result sidra_image_check_tlvs(struct sidra_image *image)
{
	uint16_t seen[SIDRA_IMAGE_TLVS_MAX];
	size_t count = 0;
	uint32_t offset = 0;

	while (offset < image->header.tlv_size) {
		struct sidra_image_tlv tlv, *to;
		uint32_t length = 0;
		enum sidra_image_result result =
			sidra_image_next_tlv(image->tlvs, image->header.tlv_size, &offset, &tlv);

		if (result != SIDRA_IMAGE_OK)
			return result;
		for (size_t i = 0; i < count; i++)
			if (seen[i] == tlv.type)
				return SIDRA_IMAGE_TLV_DUPLICATE;
		if (count == SIDRA_IMAGE_TLVS_MAX)
			return SIDRA_IMAGE_TLV_COUNT;
		seen[count++] = tlv.type;
		to = place(image, tlv.type, &length);
		if (!to)
			continue;
		if (length && tlv.length != length)
			return SIDRA_IMAGE_TLV_LENGTH;
		*to = tlv;
	}
	return SIDRA_IMAGE_OK;
}
