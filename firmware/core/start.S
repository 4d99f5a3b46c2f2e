/* SPDX-License-Identifier: MIT */
/* Entry point of an image, with its .bss cleared and a0 pointing to its struct sidra_boot_info; and its trap handler. */
	.section .text.start, "ax"
	.globl _start
_start:
	la	sp, __stack_end
	la	t0, trap
	csrw	mtvec, t0
	la	t0, trap_registers
	csrw	mscratch, t0
	call	runtime_main

/*
 * Interrupts are never enabled in mstatus: wfi returns when one is pending, and the event loop checks which. So each trap is an
 * exception, the handler does not return, and all registers are saved for the dump.
 */
	.balign 4
trap:
	csrrw	sp, mscratch, sp
	sw	x1, 4(sp)
	sw	x3, 12(sp)
	sw	x4, 16(sp)
	sw	x5, 20(sp)
	sw	x6, 24(sp)
	sw	x7, 28(sp)
	sw	x8, 32(sp)
	sw	x9, 36(sp)
	sw	x10, 40(sp)
	sw	x11, 44(sp)
	sw	x12, 48(sp)
	sw	x13, 52(sp)
	sw	x14, 56(sp)
	sw	x15, 60(sp)
	sw	x16, 64(sp)
	sw	x17, 68(sp)
	sw	x18, 72(sp)
	sw	x19, 76(sp)
	sw	x20, 80(sp)
	sw	x21, 84(sp)
	sw	x22, 88(sp)
	sw	x23, 92(sp)
	sw	x24, 96(sp)
	sw	x25, 100(sp)
	sw	x26, 104(sp)
	sw	x27, 108(sp)
	sw	x28, 112(sp)
	sw	x29, 116(sp)
	sw	x30, 120(sp)
	sw	x31, 124(sp)
	csrr	t0, mscratch
	sw	t0, 8(sp)
	la	sp, __stack_end
	call	panic_trap
