// SPDX-License-Identifier: GPL-2.0-only
#include "sidra_nvm.h"

#define DATA_ALIGNMENT	64u
#define UID_BLOCK	256u	/* uids reserved with one write; unused ones are skipped */
#define NEXT_UID_MAX	(U64_MAX / 2)	/* no array gets there; uids must not begin anew with 0 */

u64 sidra_nvm_extent(u64 size)
{
	return ALIGN(size, (u64)DATA_ALIGNMENT);
}

static u64 sidra_nvm_entry_offset(u32 number)
{
	return SIDRA_NVM_ENTRIES_OFFSET + (u64)number * sizeof(struct sidra_nvm_entry);
}

/* What the driver wrote is always plausible; damaged memory must not lead to accesses elsewhere. */
static bool sidra_nvm_plausible(const struct sidra_nvm *nvm, const struct sidra_nvm_entry *entry)
{
	u32 encoding = le32_to_cpu(entry->encoding);

	if (!entry->name[0] || entry->name[sizeof(entry->name) - 1])
		return false;
	if (le64_to_cpu(entry->uid) >= nvm->next_uid || !entry->rows || !entry->cols ||
	    encoding > SIDRA_ENCODING_OFFSET)
		return false;
	return le32_to_cpu(entry->tile_count) == sidra_tile_count(le32_to_cpu(entry->rows),
								  le32_to_cpu(entry->cols),
								  encoding) &&
		le64_to_cpu(entry->data_size) <= SIDRA_WEIGHTS_DATA_MAX &&
		le64_to_cpu(entry->data_offset) % DATA_ALIGNMENT == 0;
}

static int sidra_nvm_load_entries(struct sidra_nvm *nvm)
{
	struct sidra_nvm_entry *all;
	int ret;
	u32 i;

	all = kvcalloc(SIDRA_NVM_ENTRIES, sizeof(*all), GFP_KERNEL);
	if (!all)
		return -ENOMEM;
	ret = nvm->store->read(nvm->owner, SIDRA_NVM_ENTRIES_OFFSET, all,
			       (u64)SIDRA_NVM_ENTRIES * sizeof(*all));
	for (i = 0; !ret && i < SIDRA_NVM_ENTRIES; i++) {
		const struct sidra_nvm_entry *entry = &all[i];

		if (!entry->uid || !sidra_nvm_plausible(nvm, entry) ||
		    sidra_nvm_find(nvm, le32_to_cpu(entry->owner), entry->name) >= 0 ||
		    sidra_nvm_find_uid(nvm, le64_to_cpu(entry->uid)) >= 0)
			continue;
		if (entry->data_size) {
			ret = sidra_range_reserve(&nvm->data, le64_to_cpu(entry->data_offset),
						  sidra_nvm_extent(le64_to_cpu(entry->data_size)));
			if (ret == -ENOSPC) {
				ret = 0;
				continue;
			}
		}
		if (!ret)
			nvm->entries[i] = *entry;
	}
	kvfree(all);
	return ret;
}

int sidra_nvm_load(struct sidra_nvm *nvm, const struct sidra_nvm_store *store, void *owner,
		   u64 size)
{
	struct sidra_nvm_super super = {};
	int ret;

	*nvm = (struct sidra_nvm){ .store = store, .owner = owner };
	ret = sidra_range_init(&nvm->data, SIDRA_NVM_DATA_OFFSET, size);
	if (ret)
		return ret;
	nvm->entries = kvcalloc(SIDRA_NVM_ENTRIES, sizeof(*nvm->entries), GFP_KERNEL);
	if (!nvm->entries)
		return -ENOMEM;
	ret = store->read(owner, 0, &super, sizeof(super));
	if (ret)
		return ret;
	if (!super.magic && !super.version)
		return 0;	/* never written */
	if (super.magic != cpu_to_le32(SIDRA_NVM_MAGIC) ||
	    super.version != cpu_to_le32(SIDRA_NVM_VERSION) ||
	    le64_to_cpu(super.next_uid) > NEXT_UID_MAX)
		return -EPROTO;
	nvm->next_uid = le64_to_cpu(super.next_uid);
	nvm->uid = nvm->next_uid;
	return sidra_nvm_load_entries(nvm);
}

void sidra_nvm_fini(struct sidra_nvm *nvm)
{
	kvfree(nvm->entries);
	nvm->entries = NULL;
	if (nvm->store)
		sidra_range_fini(&nvm->data);
}

int sidra_nvm_take_uid(struct sidra_nvm *nvm, u64 *uid)
{
	if (nvm->uid == nvm->next_uid) {
		const u64 next_uid = (nvm->uid ? nvm->uid : 1) + UID_BLOCK;
		const struct sidra_nvm_super super = {
			.magic = cpu_to_le32(SIDRA_NVM_MAGIC),
			.version = cpu_to_le32(SIDRA_NVM_VERSION),
			.next_uid = cpu_to_le64(next_uid),
		};
		int ret = nvm->store->write(nvm->owner, 0, &super, sizeof(super));

		if (ret)
			return ret;
		nvm->uid = next_uid - UID_BLOCK;
		nvm->next_uid = next_uid;
	}
	*uid = nvm->uid++;
	return 0;
}

int sidra_nvm_find(const struct sidra_nvm *nvm, u32 owner, const char *name)
{
	int i;

	for (i = 0; i < (int)SIDRA_NVM_ENTRIES; i++)
		if (nvm->entries[i].uid && le32_to_cpu(nvm->entries[i].owner) == owner &&
		    !strcmp(nvm->entries[i].name, name))
			return i;
	return -ENOENT;
}

int sidra_nvm_find_uid(const struct sidra_nvm *nvm, u64 uid)
{
	int i;

	for (i = 0; i < (int)SIDRA_NVM_ENTRIES; i++)
		if (le64_to_cpu(nvm->entries[i].uid) == uid)
			return i;
	return -ENOENT;
}

int sidra_nvm_add(struct sidra_nvm *nvm, struct sidra_nvm_entry *entry, const void *data, u64 size)
{
	u64 data_offset = 0;
	int ret, number;

	if (sidra_nvm_find(nvm, le32_to_cpu(entry->owner), entry->name) >= 0)
		return -EEXIST;
	number = sidra_nvm_find_uid(nvm, 0);
	if (number < 0)
		return -ENOSPC;
	if (size) {
		ret = sidra_range_alloc(&nvm->data, sidra_nvm_extent(size), DATA_ALIGNMENT, 0, 0,
					&data_offset);
		if (ret)
			return ret;
		ret = nvm->store->write(nvm->owner, data_offset, data, size);
		if (ret)
			goto err_free;
	}
	entry->data_offset = cpu_to_le64(data_offset);
	entry->data_size = cpu_to_le64(size);
	ret = nvm->store->write(nvm->owner, sidra_nvm_entry_offset((u32)number), entry,
				sizeof(*entry));
	if (ret)
		goto err_free;
	return number;

err_free:
	if (size)
		sidra_range_free(&nvm->data, data_offset, sidra_nvm_extent(size));
	return ret;
}

void sidra_nvm_show(struct sidra_nvm *nvm, u32 number, const struct sidra_nvm_entry *entry)
{
	nvm->entries[number] = *entry;
}

int sidra_nvm_remove(struct sidra_nvm *nvm, u32 number)
{
	static const struct sidra_nvm_entry empty;
	const struct sidra_nvm_entry *entry = &nvm->entries[number];
	int ret = nvm->store->write(nvm->owner, sidra_nvm_entry_offset(number), &empty,
				    sizeof(empty));

	if (ret)
		return ret;
	if (entry->data_size)
		sidra_range_free(&nvm->data, le64_to_cpu(entry->data_offset),
				 sidra_nvm_extent(le64_to_cpu(entry->data_size)));
	return 0;
}

void sidra_nvm_hide(struct sidra_nvm *nvm, u32 number)
{
	nvm->entries[number] = (struct sidra_nvm_entry){};
}

u32 sidra_nvm_rights(const struct sidra_nvm_entry *entry, const struct sidra_nvm_user *user)
{
	/* There is no group: everybody else is "other". */
	u32 mode = le32_to_cpu(entry->mode),
	    bits = user->uid == le32_to_cpu(entry->owner) ? mode >> 6 : mode;

	if (user->admin)
		return SIDRA_WEIGHTS_RIGHTS;
	return (bits & 4 ? SIDRA_WEIGHTS_COMPUTE : 0) |
	       (bits & 2 ? SIDRA_WEIGHTS_PROGRAM | SIDRA_WEIGHTS_READBACK : 0);
}

bool sidra_nvm_visible(const struct sidra_nvm_entry *entry, const struct sidra_nvm_user *user)
{
	return user->uid == le32_to_cpu(entry->owner) || sidra_nvm_rights(entry, user);
}
