# Written by `cargo xtask kernels` (xtask/src/kernels.rs).
    push rbx
    push rbp
    push r12
    push r13
    push r14
    push r15
    mov rsi, qword ptr [rdi + 176]
    mov r8, qword ptr [rdi + 152]
    mov r9, qword ptr [rdi + 160]
    mov r10, qword ptr [rdi + 168]
    xor r11, r11
    xor rax, rax
    xor rbx, rbx
    mov rcx, qword ptr [rdi + 96]
    mov qword ptr [rdi + 88], rcx
    shl rcx, 5
    add rcx, rsi
2:
    add r8, [rsi + 0]
    adc r9, [rsi + 8]
    adc r10, 1
    mov rdx, r8
    mulx r12, r8, qword ptr [rdi + 64]
    mulx r14, r13, qword ptr [rdi + 72]
    mov rdx, r9
    mulx rbp, r15, qword ptr [rdi + 80]
    add r8, r15
    adc r12, rbp
    mulx rbp, r9, qword ptr [rdi + 64]
    add r9, r13
    adc rbp, r14
    mov r15, qword ptr [rdi + 80]
    imul r15, r10
    imul r10, qword ptr [rdi + 64]
    add r9, r15
    adc r10, rbp
    add r9, r12
    adc r10, 0
    mov r15, r10
    mov rbp, r10
    and r15, -4
    shr rbp, 2
    and r10, 3
    add r15, rbp
    add r8, r15
    adc r9, 0
    adc r10, 0
    add r11, [rcx + 0]
    adc rax, [rcx + 8]
    adc rbx, 1
    mov rdx, r11
    mulx r12, r11, qword ptr [rdi + 64]
    mulx r14, r13, qword ptr [rdi + 72]
    mov rdx, rax
    mulx rbp, r15, qword ptr [rdi + 80]
    add r11, r15
    adc r12, rbp
    mulx rbp, rax, qword ptr [rdi + 64]
    add rax, r13
    adc rbp, r14
    mov r15, qword ptr [rdi + 80]
    imul r15, rbx
    imul rbx, qword ptr [rdi + 64]
    add rax, r15
    adc rbx, rbp
    add rax, r12
    adc rbx, 0
    mov r15, rbx
    mov rbp, rbx
    and r15, -4
    shr rbp, 2
    and rbx, 3
    add r15, rbp
    add r11, r15
    adc rax, 0
    adc rbx, 0
    add r8, [rsi + 16]
    adc r9, [rsi + 24]
    adc r10, 1
    mov rdx, r8
    mulx r12, r8, qword ptr [rdi + 64]
    mulx r14, r13, qword ptr [rdi + 72]
    mov rdx, r9
    mulx rbp, r15, qword ptr [rdi + 80]
    add r8, r15
    adc r12, rbp
    mulx rbp, r9, qword ptr [rdi + 64]
    add r9, r13
    adc rbp, r14
    mov r15, qword ptr [rdi + 80]
    imul r15, r10
    imul r10, qword ptr [rdi + 64]
    add r9, r15
    adc r10, rbp
    add r9, r12
    adc r10, 0
    mov r15, r10
    mov rbp, r10
    and r15, -4
    shr rbp, 2
    and r10, 3
    add r15, rbp
    add r8, r15
    adc r9, 0
    adc r10, 0
    add r11, [rcx + 16]
    adc rax, [rcx + 24]
    adc rbx, 1
    mov rdx, r11
    mulx r12, r11, qword ptr [rdi + 64]
    mulx r14, r13, qword ptr [rdi + 72]
    mov rdx, rax
    mulx rbp, r15, qword ptr [rdi + 80]
    add r11, r15
    adc r12, rbp
    mulx rbp, rax, qword ptr [rdi + 64]
    add rax, r13
    adc rbp, r14
    mov r15, qword ptr [rdi + 80]
    imul r15, rbx
    imul rbx, qword ptr [rdi + 64]
    add rax, r15
    adc rbx, rbp
    add rax, r12
    adc rbx, 0
    mov r15, rbx
    mov rbp, rbx
    and r15, -4
    shr rbp, 2
    and rbx, 3
    add r15, rbp
    add r11, r15
    adc rax, 0
    adc rbx, 0
    add rsi, 32
    add rcx, 32
    dec qword ptr [rdi + 88]
    jnz 2b
    mov rdx, r8
    mulx r13, r12, qword ptr [rdi + 128]
    mulx r14, r15, qword ptr [rdi + 136]
    add r13, r15
    mulx rbp, r15, qword ptr [rdi + 144]
    adc r14, r15
    adc rbp, 0
    mov rdx, r9
    mulx r8, r15, qword ptr [rdi + 128]
    add r13, r15
    adc r14, r8
    adc rbp, 0
    mulx r8, r15, qword ptr [rdi + 136]
    mov r9, 0
    add r14, r15
    adc rbp, r8
    adc r9, 0
    mulx r8, r15, qword ptr [rdi + 144]
    add rbp, r15
    adc r9, r8
    mov rdx, r10
    mulx r8, r15, qword ptr [rdi + 128]
    add r14, r15
    adc rbp, r8
    adc r9, 0
    mulx r8, r15, qword ptr [rdi + 136]
    add rbp, r15
    adc r9, r8
    imul rdx, qword ptr [rdi + 144]
    add r9, rdx
    mov r10, r14
    and r10, 3
    and r14, -4
    add r12, r11
    adc r13, rax
    adc r10, rbx
    add r12, r14
    adc r13, rbp
    adc r10, r9
    shrd r14, rbp, 2
    shrd rbp, r9, 2
    shr r9, 2
    add r12, r14
    adc r13, rbp
    adc r10, r9
    mov r8, r12
    mov r9, r13
    mov r12, r10
    mov r13, r10
    and r12, -4
    shr r13, 2
    and r10, 3
    add r12, r13
    add r8, r12
    adc r9, 0
    adc r10, 0
    xor r11, r11
    xor rax, rax
    xor rbx, rbx
    mov qword ptr [rdi + 152], r8
    mov qword ptr [rdi + 160], r9
    mov qword ptr [rdi + 168], r10
    pop r15
    pop r14
    pop r13
    pop r12
    pop rbp
    pop rbx
    ret
