/* SPDX-License-Identifier: MIT */
/* Entry point after each reset: sets up the stack, clears the ROM's variables, and calls C code. */
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

/* rom_start(entry, info). The image uses the ROM's stack and trap handler until it sets its own. */
	.globl	rom_start
rom_start:
	mv	t0, a0
	mv	a0, a1
	fence.i
	jr	t0

	.balign 4
rom_trap:
	csrr	a0, mcause
	la	sp, __stack_end		/* its value is unknown */
	call	rom_panic
