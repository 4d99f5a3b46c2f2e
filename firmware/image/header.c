// SPDX-License-Identifier: MIT
/* Decodes and checks the header, the first 256 bytes of an image. */
#include "image/bytes.h"
#include "image/crc32.h"
#include "image/image.h"

#define AT(field) offsetof(struct sidra_fw_header, field)

_Static_assert(sizeof(struct sidra_fw_header) == SIDRA_FW_HEADER_SIZE, "the header is 256 bytes");
_Static_assert(AT(crc32) == SIDRA_FW_HEADER_SIZE - 4, "the CRC is the last field");

void sidra_image_load_header(const uint8_t bytes[SIDRA_FW_HEADER_SIZE],
			     struct sidra_fw_header *header)
{
	header->magic = sidra_image_get32(bytes + AT(magic));
	header->header_version = sidra_image_get16(bytes + AT(header_version));
	header->header_size = sidra_image_get16(bytes + AT(header_size));
	header->type = sidra_image_get32(bytes + AT(type));
	header->flags = sidra_image_get32(bytes + AT(flags));
	header->chip_id = sidra_image_get32(bytes + AT(chip_id));
	header->stepping_mask = sidra_image_get32(bytes + AT(stepping_mask));
	header->load_address = sidra_image_get32(bytes + AT(load_address));
	header->entry = sidra_image_get32(bytes + AT(entry));
	header->image_size = sidra_image_get32(bytes + AT(image_size));
	header->ram_size = sidra_image_get32(bytes + AT(ram_size));
	header->stack_size = sidra_image_get32(bytes + AT(stack_size));
	header->version = sidra_image_get32(bytes + AT(version));
	header->security_version = sidra_image_get32(bytes + AT(security_version));
	header->min_driver = sidra_image_get32(bytes + AT(min_driver));
	for (size_t i = 0; i < sizeof(header->build_id); i++)
		header->build_id[i] = bytes[AT(build_id) + i];
	header->tlv_size = sidra_image_get32(bytes + AT(tlv_size));
	header->build_time = sidra_image_get64(bytes + AT(build_time));
	for (size_t i = 0; i < SIDRA_FW_API_COUNT; i++)
		header->api[i] = sidra_image_get32(bytes + AT(api) + 4 * i);
	for (size_t i = 0; i < sizeof(header->reserved); i++)
		header->reserved[i] = bytes[AT(reserved) + i];
	header->reserved1 = sidra_image_get32(bytes + AT(reserved1));
	header->crc32 = sidra_image_get32(bytes + AT(crc32));
}

void sidra_image_store_header(const struct sidra_fw_header *header,
			      uint8_t bytes[SIDRA_FW_HEADER_SIZE])
{
	sidra_image_put32(bytes + AT(magic), header->magic);
	sidra_image_put16(bytes + AT(header_version), header->header_version);
	sidra_image_put16(bytes + AT(header_size), header->header_size);
	sidra_image_put32(bytes + AT(type), header->type);
	sidra_image_put32(bytes + AT(flags), header->flags);
	sidra_image_put32(bytes + AT(chip_id), header->chip_id);
	sidra_image_put32(bytes + AT(stepping_mask), header->stepping_mask);
	sidra_image_put32(bytes + AT(load_address), header->load_address);
	sidra_image_put32(bytes + AT(entry), header->entry);
	sidra_image_put32(bytes + AT(image_size), header->image_size);
	sidra_image_put32(bytes + AT(ram_size), header->ram_size);
	sidra_image_put32(bytes + AT(stack_size), header->stack_size);
	sidra_image_put32(bytes + AT(version), header->version);
	sidra_image_put32(bytes + AT(security_version), header->security_version);
	sidra_image_put32(bytes + AT(min_driver), header->min_driver);
	for (size_t i = 0; i < sizeof(header->build_id); i++)
		bytes[AT(build_id) + i] = header->build_id[i];
	sidra_image_put32(bytes + AT(tlv_size), header->tlv_size);
	sidra_image_put64(bytes + AT(build_time), header->build_time);
	for (size_t i = 0; i < SIDRA_FW_API_COUNT; i++)
		sidra_image_put32(bytes + AT(api) + 4 * i, header->api[i]);
	for (size_t i = 0; i < sizeof(header->reserved); i++)
		bytes[AT(reserved) + i] = header->reserved[i];
	sidra_image_put32(bytes + AT(reserved1), header->reserved1);
	sidra_image_put32(bytes + AT(crc32), header->crc32);
}

uint32_t sidra_image_header_crc(const uint8_t header[SIDRA_FW_HEADER_SIZE])
{
	static const uint8_t zero[4];

	return sidra_image_crc32(sidra_image_crc32(0, header, AT(crc32)), zero, sizeof(zero));
}

/* Checks that need only the 256 bytes of the header. */
static enum sidra_image_result check_alone(const uint8_t *bytes, size_t size,
					   struct sidra_fw_header *header)
{
	if (size < SIDRA_FW_HEADER_SIZE)
		return SIDRA_IMAGE_TOO_SHORT;
	sidra_image_load_header(bytes, header);
	if (header->magic != SIDRA_FW_MAGIC)
		return SIDRA_IMAGE_MAGIC;
	/* Before the CRC, because its position and range depend on the version. */
	if (header->header_version != SIDRA_IMAGE_FORMAT)
		return SIDRA_IMAGE_HEADER_VERSION;
	if (header->header_size != SIDRA_FW_HEADER_SIZE)
		return SIDRA_IMAGE_HEADER_SIZE;
	if (header->crc32 != sidra_image_header_crc(bytes))
		return SIDRA_IMAGE_HEADER_CRC;
	return SIDRA_IMAGE_OK;
}

static uint64_t total_of(const struct sidra_fw_header *header)
{
	return (uint64_t)SIDRA_FW_HEADER_SIZE + header->image_size + header->tlv_size;
}

static void clear(struct sidra_image *image)
{
	uint8_t *byte = (uint8_t *)image;

	for (size_t i = 0; i < sizeof(*image); i++)
		byte[i] = 0;
}

enum sidra_image_result sidra_image_total(const void *data, size_t size, uint64_t *total)
{
	struct sidra_fw_header header;
	enum sidra_image_result result = check_alone(data, size, &header);

	*total = result == SIDRA_IMAGE_OK ? total_of(&header) : 0;
	return result;
}

enum sidra_image_result sidra_image_check_header(const void *data, size_t size,
						 struct sidra_image *image)
{
	const uint8_t *bytes = data;
	const struct sidra_fw_header *header = &image->header;
	enum sidra_image_result result;

	clear(image);
	result = check_alone(bytes, size, &image->header);
	if (result != SIDRA_IMAGE_OK)
		return result;
	if (total_of(header) > size)
		return SIDRA_IMAGE_TRUNCATED;
	if (total_of(header) < size)
		return SIDRA_IMAGE_TRAILING;
	if (header->image_size == 0 || header->image_size % SIDRA_IMAGE_ALIGNMENT)
		return SIDRA_IMAGE_IMAGE_SIZE;
	if (header->tlv_size % SIDRA_IMAGE_ALIGNMENT)
		return SIDRA_IMAGE_TLV_SIZE;
	if (header->reserved1 || header->flags & ~SIDRA_IMAGE_FLAG_DEBUG ||
	    !sidra_image_all_zero(header->reserved, sizeof(header->reserved)))
		return SIDRA_IMAGE_RESERVED;
	image->payload = bytes + SIDRA_FW_HEADER_SIZE;
	image->tlvs = image->payload + header->image_size;
	return SIDRA_IMAGE_OK;
}

/* Sums of these 32-bit fields cannot wrap in 64 bits. */
static enum sidra_image_result check_ranges(const struct sidra_fw_header *header,
					    uint64_t ram_begin, uint64_t ram_end)
{
	const uint64_t load = header->load_address;
	const uint64_t code_end = load + header->image_size;
	const uint64_t data_end = load + header->ram_size;
	const uint64_t tlvs_end = code_end + header->tlv_size;

	if (load % SIDRA_IMAGE_ALIGNMENT || load < ram_begin || load >= ram_end)
		return SIDRA_IMAGE_LOAD_ADDRESS;
	if (header->ram_size % SIDRA_IMAGE_ALIGNMENT || header->ram_size < header->image_size ||
	    data_end > ram_end || tlvs_end > ram_end)
		return SIDRA_IMAGE_RAM_SIZE;
	if (header->stack_size % SIDRA_IMAGE_STACK_ALIGNMENT ||
	    data_end + header->stack_size > ram_end)
		return SIDRA_IMAGE_STACK_SIZE;
	if (header->entry % SIDRA_IMAGE_ENTRY_ALIGNMENT || header->entry < load ||
	    header->entry >= code_end)
		return SIDRA_IMAGE_ENTRY;
	return SIDRA_IMAGE_OK;
}

enum sidra_image_result sidra_image_check_fit(const struct sidra_image *image,
					      const struct sidra_image_policy *policy)
{
	const struct sidra_fw_header *header = &image->header;
	enum sidra_image_result result;

	if (header->tlv_size > SIDRA_IMAGE_TLV_SIZE_MAX)
		return SIDRA_IMAGE_TLV_TOO_LARGE;
	result = check_ranges(header, policy->ram_begin, policy->ram_end);
	if (result != SIDRA_IMAGE_OK)
		return result;
	if (header->chip_id != policy->chip_id)
		return SIDRA_IMAGE_CHIP;
	if (policy->stepping > 31 || !(header->stepping_mask >> policy->stepping & 1u))
		return SIDRA_IMAGE_STEPPING;
	if (header->type != SIDRA_FW_RUNTIME && header->type != SIDRA_FW_RECOVERY)
		return SIDRA_IMAGE_TYPE;
	if (policy->type && header->type != policy->type)
		return SIDRA_IMAGE_TYPE;
	for (size_t i = 0; i < SIDRA_FW_API_COUNT; i++)
		if (policy->api_major[i] && header->api[i] >> 16 != policy->api_major[i])
			return SIDRA_IMAGE_API;
	if (policy->driver_version && header->min_driver > policy->driver_version)
		return SIDRA_IMAGE_DRIVER;
	return SIDRA_IMAGE_OK;
}
