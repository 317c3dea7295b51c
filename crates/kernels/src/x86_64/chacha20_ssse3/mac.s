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
    xor rbx, rbx
    xor rbp, rbp
    mov rcx, qword ptr [rdi + 96]
    mov qword ptr [rdi + 88], rcx
    shl rcx, 5
    add rcx, rsi
2:
    add r8, [rsi + 0]
    adc r9, [rsi + 8]
    adc r10, 1
    mov rax, qword ptr [rdi + 64]
    mul r8
    mov r12, rax
    mov rax, qword ptr [rdi + 72]
    mov r13, rdx
    mul r8
    mov r14, rax
    mov rax, qword ptr [rdi + 80]
    mov r8, rdx
    mul r9
    add r12, rax
    mov rax, qword ptr [rdi + 64]
    adc r13, rdx
    mul r9
    mov r9, qword ptr [rdi + 80]
    add r14, rax
    adc r8, rdx
    imul r9, r10
    imul r10, qword ptr [rdi + 64]
    add r9, r14
    adc r10, r8
    mov r8, r12
    add r9, r13
    adc r10, 0
    mov rax, r10
    mov rdx, r10
    and rax, -4
    shr rdx, 2
    and r10, 3
    add rax, rdx
    add r8, rax
    adc r9, 0
    adc r10, 0
    add r11, [rcx + 0]
    adc rbx, [rcx + 8]
    adc rbp, 1
    mov rax, qword ptr [rdi + 64]
    mul r11
    mov r12, rax
    mov rax, qword ptr [rdi + 72]
    mov r13, rdx
    mul r11
    mov r14, rax
    mov rax, qword ptr [rdi + 80]
    mov r11, rdx
    mul rbx
    add r12, rax
    mov rax, qword ptr [rdi + 64]
    adc r13, rdx
    mul rbx
    mov rbx, qword ptr [rdi + 80]
    add r14, rax
    adc r11, rdx
    imul rbx, rbp
    imul rbp, qword ptr [rdi + 64]
    add rbx, r14
    adc rbp, r11
    mov r11, r12
    add rbx, r13
    adc rbp, 0
    mov rax, rbp
    mov rdx, rbp
    and rax, -4
    shr rdx, 2
    and rbp, 3
    add rax, rdx
    add r11, rax
    adc rbx, 0
    adc rbp, 0
    add r8, [rsi + 16]
    adc r9, [rsi + 24]
    adc r10, 1
    mov rax, qword ptr [rdi + 64]
    mul r8
    mov r12, rax
    mov rax, qword ptr [rdi + 72]
    mov r13, rdx
    mul r8
    mov r14, rax
    mov rax, qword ptr [rdi + 80]
    mov r8, rdx
    mul r9
    add r12, rax
    mov rax, qword ptr [rdi + 64]
    adc r13, rdx
    mul r9
    mov r9, qword ptr [rdi + 80]
    add r14, rax
    adc r8, rdx
    imul r9, r10
    imul r10, qword ptr [rdi + 64]
    add r9, r14
    adc r10, r8
    mov r8, r12
    add r9, r13
    adc r10, 0
    mov rax, r10
    mov rdx, r10
    and rax, -4
    shr rdx, 2
    and r10, 3
    add rax, rdx
    add r8, rax
    adc r9, 0
    adc r10, 0
    add r11, [rcx + 16]
    adc rbx, [rcx + 24]
    adc rbp, 1
    mov rax, qword ptr [rdi + 64]
    mul r11
    mov r12, rax
    mov rax, qword ptr [rdi + 72]
    mov r13, rdx
    mul r11
    mov r14, rax
    mov rax, qword ptr [rdi + 80]
    mov r11, rdx
    mul rbx
    add r12, rax
    mov rax, qword ptr [rdi + 64]
    adc r13, rdx
    mul rbx
    mov rbx, qword ptr [rdi + 80]
    add r14, rax
    adc r11, rdx
    imul rbx, rbp
    imul rbp, qword ptr [rdi + 64]
    add rbx, r14
    adc rbp, r11
    mov r11, r12
    add rbx, r13
    adc rbp, 0
    mov rax, rbp
    mov rdx, rbp
    and rax, -4
    shr rdx, 2
    and rbp, 3
    add rax, rdx
    add r11, rax
    adc rbx, 0
    adc rbp, 0
    add rsi, 32
    add rcx, 32
    dec qword ptr [rdi + 88]
    jnz 2b
    mov rax, r8
    mul qword ptr [rdi + 128]
    mov r12, rax
    mov r13, rdx
    mov rax, r8
    mul qword ptr [rdi + 136]
    mov r14, rdx
    add r13, rax
    adc r14, 0
    mov rax, r8
    mul qword ptr [rdi + 144]
    mov r15, rdx
    add r14, rax
    adc r15, 0
    xor rcx, rcx
    mov rax, r9
    mul qword ptr [rdi + 128]
    add r13, rax
    adc r14, rdx
    adc r15, 0
    adc rcx, 0
    mov rax, r9
    mul qword ptr [rdi + 136]
    add r14, rax
    adc r15, rdx
    adc rcx, 0
    mov rax, r9
    mul qword ptr [rdi + 144]
    add r15, rax
    adc rcx, rdx
    mov rax, r10
    mul qword ptr [rdi + 128]
    add r14, rax
    adc r15, rdx
    adc rcx, 0
    mov rax, r10
    mul qword ptr [rdi + 136]
    add r15, rax
    adc rcx, rdx
    mov rax, r10
    imul rax, qword ptr [rdi + 144]
    add rcx, rax
    mov r10, r14
    and r10, 3
    and r14, -4
    add r12, r11
    adc r13, rbx
    adc r10, rbp
    add r12, r14
    adc r13, r15
    adc r10, rcx
    shrd r14, r15, 2
    shrd r15, rcx, 2
    shr rcx, 2
    add r12, r14
    adc r13, r15
    adc r10, rcx
    mov r8, r12
    mov r9, r13
    mov rax, r10
    mov rdx, r10
    and rax, -4
    shr rdx, 2
    and r10, 3
    add rax, rdx
    add r8, rax
    adc r9, 0
    adc r10, 0
    xor r11, r11
    xor rbx, rbx
    xor rbp, rbp
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
