// SPDX-License-Identifier: MIT
/* Checks digest, signature and security version. */
#include "image/bytes.h"
#include "image/image.h"

enum sidra_image_result sidra_image_check_digest(const void *data,
						 const struct sidra_image_crypto *crypto,
						 struct sidra_image *image)
{
	if (!image->digest.value)
		return SIDRA_IMAGE_NO_DIGEST;
	/* The sum fits into size_t, because so many bytes are in memory. */
	if (crypto->sha256(crypto->self, data,
			   (size_t)SIDRA_FW_HEADER_SIZE + image->header.image_size,
			   image->computed))
		return SIDRA_IMAGE_SHA256_FAILED;
	if (!sidra_image_equal(image->computed, image->digest.value, SIDRA_IMAGE_DIGEST_SIZE))
		return SIDRA_IMAGE_DIGEST;
	return SIDRA_IMAGE_OK;
}

enum sidra_image_result sidra_image_check_signature(const struct sidra_image_policy *policy,
						    const struct sidra_image_crypto *crypto,
						    struct sidra_image *image)
{
	int verdict;
	size_t key;

	if (!image->key_hash.value)
		return SIDRA_IMAGE_NO_KEY_HASH;
	if (!image->signature.value)
		return SIDRA_IMAGE_NO_SIGNATURE;
	for (key = 0; key < policy->keys_count; key++) {
		uint8_t hash[SIDRA_IMAGE_DIGEST_SIZE];

		if (crypto->sha256(crypto->self, policy->keys[key], SIDRA_IMAGE_KEY_SIZE, hash))
			return SIDRA_IMAGE_SHA256_FAILED;
		if (sidra_image_equal(hash, image->key_hash.value, SIDRA_IMAGE_DIGEST_SIZE))
			break;
	}
	if (key == policy->keys_count)
		return SIDRA_IMAGE_UNTRUSTED_KEY;
	/*
	 * Verify the computed digest, not the one in the TLV (they are equal here, but this stays
	 * correct if the order changes).
	 */
	verdict = crypto->ed25519(crypto->self, image->signature.value, image->computed,
				  SIDRA_IMAGE_DIGEST_SIZE, policy->keys[key]);
	if (verdict < 0)
		return SIDRA_IMAGE_ED25519_FAILED;
	if (verdict > 0)
		return SIDRA_IMAGE_SIGNATURE;
	image->key = key;
	return SIDRA_IMAGE_OK;
}

enum sidra_image_result sidra_image_check_rollback(const struct sidra_image *image,
						   const struct sidra_image_policy *policy)
{
	return image->header.security_version < policy->min_security_version ?
		       SIDRA_IMAGE_ROLLBACK :
		       SIDRA_IMAGE_OK;
}

enum sidra_image_result sidra_image_verify(const void *data, size_t size,
					   const struct sidra_image_policy *policy,
					   const struct sidra_image_crypto *crypto,
					   struct sidra_image *image)
{
	enum sidra_image_result result = sidra_image_check_header(data, size, image);

	if (result == SIDRA_IMAGE_OK)
		result = sidra_image_check_fit(image, policy);
	if (result == SIDRA_IMAGE_OK)
		result = sidra_image_check_tlvs(image);
	if (result == SIDRA_IMAGE_OK)
		result = sidra_image_check_digest(data, crypto, image);
	if (result == SIDRA_IMAGE_OK)
		result = sidra_image_check_signature(policy, crypto, image);
	if (result == SIDRA_IMAGE_OK)
		result = sidra_image_check_rollback(image, policy);
	return result;
}
