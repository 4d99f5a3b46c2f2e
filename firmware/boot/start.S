/* SPDX-License-Identifier: MIT */
/* Where the core begins after each reset: a stack, zeros where the ROM's variables are, and on into C. */
	.section .text.start, "ax"
	.globl _start
_start:
	la	t0, rom_trap
	csrw	mtvec, t0
	csrw	mie, zero
	la	sp, __stack_end
	la	t0, __bss_begin
	la	t1, __bss_end
1:	bgeu	t0, t1, 2f
	sw	zero, 0(t0)
	addi	t0, t0, 4
	j	1b
2:	call	rom_main

/* rom_start(entry, info). Until the image has a stack and a trap handler of its own, it has the ROM's. */
	.globl	rom_start
rom_start:
	mv	t0, a0
	mv	a0, a1
	fence.i
	jr	t0

	.balign 4
rom_trap:
	csrr	a0, mcause
	la	sp, __stack_end		/* who knows what it was */
	call	rom_panic
