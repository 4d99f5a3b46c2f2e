#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""fail_sites.py MODULE.ko: the places where the driver asks the kernel for something that it may refuse. A line for each: section, offset in it, place
as call stacks name it (FUNCTION+0xOFFSET, where the call returns to), and the function of the kernel that is called.

Read from the machine code. Which functions can refuse something for want of memory, or because the caller's memory cannot be read or written, stands
below. A function of the kernel's that is in neither list is an error: so none is forgotten.
"""
import re
import subprocess
import sys

REFUSES = re.compile(r"""
    __(alloc_pages|kmalloc|kmalloc_cache|kvmalloc_node|vmalloc)_noprof | vzalloc_noprof | kvmemdup | vmemdup_user
    | _copy_(from|to)_user | strncpy_from_user
    | __xa_(alloc|alloc_cyclic|insert) | ida_alloc_range
    | dmam?_alloc_attrs | dma_map_(page_attrs|resource|sgtable) | dma_buf_dynamic_attach | sg_alloc_\w+ | pin_user_pages_fast | blk_check_plugged
    | accel_open | drm_(compat_)?ioctl | drm_dev_register | drm_gem_(dmabuf_export|handle_create|mmap|prime_import)
    | drm_gem_shmem_(create|get_sg_table|mmap|pin|prime_import_sg_table)
    | sync_file_create | anon_inode_get(fd|file) | get_unused_fd_flags
    | __devm_drm_dev_alloc | __drmm_add_action_or_reset | devm_\w*(request|reserve)\w+
    | pcim_(enable_device|iomap_region|request_region) | pci_alloc_irq_vectors | alloc_workqueue
    | alloc_chrdev_region | class_register | __pci_register_driver | cdev_device_add | dev_set_name
    | hwmon_device_register_with_info | dev_coredumpv | firmware_request_nowarn | vmf_insert_pfn
    | kthread_create_on_node
""", re.VERBOSE)

# Also what goes on without the memory that it did not get: notes in the log, events of a trace, uevents, what is shown in debugfs.
NEVER_REFUSES = re.compile(r"""
    __asan_\w+ | __ubsan_\w+ | __gcov_\w+ | __kasan_\w+ | \w*lockdep\w* | lock_\w+ | rcu_\w+ | fs_reclaim_\w+ | __check_object_size | debug_\w+ | \w*kunit_\w+
    | __might_\w+ | __cond_resched | __warn_printk | dump_page | refcount_warn_saturate | __list_\w+_or_report
    | (__)?trace_\w+ | perf_trace_\w+ | _dev_\w+ | dev_err_probe | __drm_dev_dbg | drm_printf | seq_\w+ | sysfs_\w+ | debugfs_\w+ | drm_debugfs_\w+
    | kobject_uevent_env | hwmon_notify_event | \w*snprintf | sscanf | kstrto\w+ | str\w+(?<!from_user) | sized_strscpy | mem\w+ | check_zeroed_user
    | _raw_spin_\w+ | (__|ww_)?mutex_\w+ | (down|up)_(read|write)(_killable|_trylock)? | __raw_spin_lock_init | __init_\w+ | init_\w+ | \w*_put | \w+_get | k?v?free | __free_pages
    | \w*wait\w*(?<!eventfd_wait) | (__?)?wake_up\w* | complete | schedule_\w+ | usleep_range_state | ktime_\w+ | hrtimer_\w+
    | (un)?queue_\w+ | mod_delayed_work_on | \w*cancel_delayed_work\w* | cancel_work_sync | flush_(delayed_)?work | disable_\w+ | __flush_workqueue | destroy_workqueue
    | delayed_work_timer_fn | call_rcu | kvfree_call_rcu | dma_fence_\w+ | drm_dev_(enter|exit|unplug) | drm_(poll|read|release|show_fdinfo|print_memory_stats)
    | drm_gem_((object|private|vm)_\w+|dmabuf_release|create_mmap_offset|handle_delete) | drm_gem_shmem_(free|print_info|unpin\w*|vmap|vunmap|pin_locked|vm_ops)
    | drm_syncobj_(add_point|find|find_fence|free|replace_fence) | __drmm_mutex_release | eventfd_\w+ | fd_install | fget | fput | sync_file_get_fence
    | \w*io_uring_cmd_\w+ | _copy_from_iter | iov_iter_revert | memory_read_from_buffer | simple_open | noop_llseek | compat_ptr_ioctl
    | (dma|dmam)_free_attrs | dma_unmap_\w+ | __dma_need_sync | dma_set_\w+ | dma_buf_(detach|map_attachment|move_notify|(un)?pin|unmap_attachment(_unlocked)?) | dma_resv_(init|fini|reset_max_fences) | sg_(free_\w+|init_table|next)
    | unpin_\w+ | __folio_put | __mmdrop | put_unused_fd | unmap_mapping_range | pgprot_\w+ | cachemode2protval | vm_get_page_prot
    | xa_\w+ | idr_get_next | ida_free | (__)?rb_\w+ | sort | uuid_gen | from_kuid | file_ns_capable | capable | pid_vnr
    | pci_(clear_master|irq_vector|restore_state|save_state|set_master|unregister_driver) | devm_free_irq | irq_set_affinity | iommu_get_domain_for_dev
    | cdev_(init|device_del) | device_initialize | class_unregister | unregister_chrdev_region | hwmon_device_unregister | release_firmware
    | try_module_get | module_put | set_cpus_allowed_ptr | sched_set_fifo | kthread_(bind|should_stop|stop) | cpumask_local_spread | inode_init_once | put_device
    | USER_PTR_MAX | __cpu_online_mask | __msecs_to_jiffies | _ctype | boot_cpu_data | const_pcpu_hot | pcpu_hot | cpu_bit_bitmap | jiffies | kmalloc_caches | _totalram_pages
    | param_ops_(bool|uint) | system_freezable_wq | this_cpu_off | finish_wait | schedule | static_key_\w+ | make_kuid | from_kuid_munged
    | drm_ioctl_kernel | rep_stos_alternative | blk_(start|finish)_plug | kernel_sigaction | send_sig | flush_signals | ___ratelimit
""", re.VERBOSE)

_SECTION = re.compile(r"Disassembly of section (\S+):")
_FUNCTION = re.compile(r"([0-9a-f]+) <(.+)>:$")
_INSTRUCTION = re.compile(r"\s+([0-9a-f]+):\t(\w+)\s*(?:[0-9a-f]+ <([\w.]+)>)?")
_LOCAL = re.compile(r"([0-9a-f]+) l     F (\S+)\s+[0-9a-f]+ (\S+)$")
_RELOCATION = re.compile(r"\s+[0-9a-f]+: R_X86_64_(?:PLT32|PC32)\t([\w.]+)-0x4$")


def output(*command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def local_names(module):
    """Of what has two names, as init_module() has, call stacks show the local one: section and address, and that name."""
    names = {}
    for line in output("objdump", "-t", module).splitlines():
        if found := _LOCAL.match(line):
            names[found[2], int(found[1], 16)] = found[3]
    return names


def branches(module):
    """Of each call and jump to a function: section, function that it is in, offset in the section and in the function of what comes behind it, "call"
    or "jmp", and the other function."""
    section = function = pending = None
    begin = 0
    local = local_names(module)
    for line in output("objdump", "-dr", "--no-show-raw-insn", module).splitlines():
        if found := _SECTION.match(line):
            section = found[1]
        elif found := _FUNCTION.match(line):
            begin = int(found[1], 16)
            function = local.get((section, begin), found[2])
        elif found := _INSTRUCTION.match(line):
            at = int(found[1], 16)
            if pending and pending[2]:
                yield section, pending[0], at, at - pending[3], pending[1], pending[2]
            pending = [function, found[2], found[3], begin] if found[2] in ("call", "jmp") else None
        elif pending and (found := _RELOCATION.match(line)):
            pending[2] = found[1]


def main():
    module = sys.argv[1]
    kernels = set(output("nm", "--undefined-only", "--format=just-symbols", module).split())
    if unknown := sorted(symbol for symbol in kernels if bool(REFUSES.fullmatch(symbol)) == bool(NEVER_REFUSES.fullmatch(symbol))):
        sys.exit("fail_sites: can these refuse what they are asked for? Say so in scripts/vm/fail_sites.py: " + " ".join(unknown))
    every = list(branches(module))
    refuses = {symbol: symbol for symbol in kernels if REFUSES.fullmatch(symbol)}
    # A function that ends with a jump to one of the kernel's is not in the call stack, and whoever called it is.
    refuses.update({function: other for _, function, _, _, kind, other in every if kind == "jmp" and other in refuses})
    for section, function, offset, inside, kind, other in every:
        if kind == "call" and other in refuses:
            print(section, hex(offset), f"{function}+{inside:#x}", refuses[other])


main()
