/* From reset to main: the stack, the variables, the handler of interrupts. The dump is in the ROM behind the code. */
    .section .start, "ax"
    .globl start
start:
    la sp, stack_end
    la t0, interrupt
    csrw mtvec, t0
    la t0, data_load
    la t1, data_begin
    la t2, data_end
copy:
    bgeu t1, t2, clear
    lw t3, 0(t0)
    sw t3, 0(t1)
    addi t0, t0, 4
    addi t1, t1, 4
    j copy
clear:
    la t1, bss_begin
    la t2, bss_end
next:
    bgeu t1, t2, run
    sw zero, 0(t1)
    addi t1, t1, 4
    j next
run:
    call main
stop:
    j stop

    .section .rodata
    .balign 8
    .globl dump
dump:
    .incbin "dump.bin"
    .balign 4
