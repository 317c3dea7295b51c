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
2:
    vpbroadcastd ymm0, dword ptr [rdi + 192]
    vpbroadcastd ymm4, dword ptr [rdi + 208]
    vpbroadcastd ymm8, dword ptr [rdi + 240]
    vpaddd ymm8, ymm8, ymmword ptr [rdi + 256]
    vpbroadcastd ymm1, dword ptr [rdi + 196]
    vpbroadcastd ymm5, dword ptr [rdi + 212]
    vpbroadcastd ymm9, dword ptr [rdi + 244]
    vpbroadcastd ymm2, dword ptr [rdi + 200]
    vpbroadcastd ymm6, dword ptr [rdi + 216]
    vpbroadcastd ymm10, dword ptr [rdi + 248]
    vpbroadcastd ymm3, dword ptr [rdi + 204]
    vpbroadcastd ymm7, dword ptr [rdi + 220]
    vpbroadcastd ymm11, dword ptr [rdi + 252]
    vpbroadcastd ymm12, dword ptr [rdi + 224]
    vpbroadcastd ymm13, dword ptr [rdi + 228]
    vpbroadcastd ymm14, dword ptr [rdi + 232]
    vmovdqu ymmword ptr [rdi - 64], ymm14
    vpbroadcastd ymm15, dword ptr [rdi + 236]
    vmovdqu ymmword ptr [rdi - 32], ymm15
    mov r12, qword ptr [rdi + 96]
    mov qword ptr [rdi + 88], r12
    shl r12, 5
    lea rcx, [rsi + r12]
3:
    vpaddd ymm0, ymm0, ymm4
    vpaddd ymm1, ymm1, ymm5
    add r8, [rsi + 0]
    vpxor ymm8, ymm8, ymm0
    adc r9, [rsi + 8]
    vpxor ymm9, ymm9, ymm1
    adc r10, 1
    vpshufb ymm8, ymm8, ymmword ptr [rdi]
    mov rdx, r8
    vpshufb ymm9, ymm9, ymmword ptr [rdi]
    mulx r12, r8, qword ptr [rdi + 64]
    vpaddd ymm12, ymm12, ymm8
    mulx r14, r13, qword ptr [rdi + 72]
    vpaddd ymm13, ymm13, ymm9
    mov rdx, r9
    vpxor ymm4, ymm4, ymm12
    mulx rbp, r15, qword ptr [rdi + 80]
    vpxor ymm5, ymm5, ymm13
    vpslld ymm14, ymm4, 12
    add r8, r15
    vpslld ymm15, ymm5, 12
    adc r12, rbp
    vpsrld ymm4, ymm4, 20
    mulx rbp, r9, qword ptr [rdi + 64]
    vpsrld ymm5, ymm5, 20
    add r9, r13
    vpor ymm4, ymm4, ymm14
    adc rbp, r14
    vpor ymm5, ymm5, ymm15
    mov r15, qword ptr [rdi + 80]
    vpaddd ymm0, ymm0, ymm4
    imul r15, r10
    vpaddd ymm1, ymm1, ymm5
    imul r10, qword ptr [rdi + 64]
    vpxor ymm8, ymm8, ymm0
    vpxor ymm9, ymm9, ymm1
    add r9, r15
    vpshufb ymm8, ymm8, ymmword ptr [rdi + 32]
    adc r10, rbp
    vpshufb ymm9, ymm9, ymmword ptr [rdi + 32]
    add r9, r12
    vpaddd ymm12, ymm12, ymm8
    adc r10, 0
    vpaddd ymm13, ymm13, ymm9
    mov r15, r10
    vpxor ymm4, ymm4, ymm12
    mov rbp, r10
    vpxor ymm5, ymm5, ymm13
    and r15, -4
    vpslld ymm14, ymm4, 7
    shr rbp, 2
    vpslld ymm15, ymm5, 7
    and r10, 3
    vpsrld ymm4, ymm4, 25
    vpsrld ymm5, ymm5, 25
    add r15, rbp
    vpor ymm4, ymm4, ymm14
    add r8, r15
    vpor ymm5, ymm5, ymm15
    adc r9, 0
    vpaddd ymm2, ymm2, ymm6
    adc r10, 0
    vpaddd ymm3, ymm3, ymm7
    add r11, [rcx + 0]
    vmovdqu ymmword ptr [rdi - 128], ymm12
    adc rax, [rcx + 8]
    vmovdqu ymmword ptr [rdi - 96], ymm13
    adc rbx, 1
    vpxor ymm10, ymm10, ymm2
    mov rdx, r11
    vpxor ymm11, ymm11, ymm3
    vpshufb ymm10, ymm10, ymmword ptr [rdi]
    mulx r12, r11, qword ptr [rdi + 64]
    vpshufb ymm11, ymm11, ymmword ptr [rdi]
    mulx r14, r13, qword ptr [rdi + 72]
    vpaddd ymm12, ymm10, ymmword ptr [rdi - 64]
    mov rdx, rax
    vpaddd ymm13, ymm11, ymmword ptr [rdi - 32]
    mulx rbp, r15, qword ptr [rdi + 80]
    vpxor ymm6, ymm6, ymm12
    add r11, r15
    vpxor ymm7, ymm7, ymm13
    adc r12, rbp
    vpslld ymm14, ymm6, 12
    mulx rbp, rax, qword ptr [rdi + 64]
    vpslld ymm15, ymm7, 12
    add rax, r13
    vpsrld ymm6, ymm6, 20
    adc rbp, r14
    vpsrld ymm7, ymm7, 20
    vpor ymm6, ymm6, ymm14
    mov r15, qword ptr [rdi + 80]
    vpor ymm7, ymm7, ymm15
    imul r15, rbx
    vpaddd ymm2, ymm2, ymm6
    imul rbx, qword ptr [rdi + 64]
    vpaddd ymm3, ymm3, ymm7
    add rax, r15
    vpxor ymm10, ymm10, ymm2
    adc rbx, rbp
    vpxor ymm11, ymm11, ymm3
    add rax, r12
    vpshufb ymm10, ymm10, ymmword ptr [rdi + 32]
    adc rbx, 0
    vpshufb ymm11, ymm11, ymmword ptr [rdi + 32]
    mov r15, rbx
    vpaddd ymm12, ymm12, ymm10
    vpaddd ymm13, ymm13, ymm11
    mov rbp, rbx
    vpxor ymm6, ymm6, ymm12
    and r15, -4
    vpxor ymm7, ymm7, ymm13
    shr rbp, 2
    vpslld ymm14, ymm6, 7
    and rbx, 3
    vpslld ymm15, ymm7, 7
    add r15, rbp
    vpsrld ymm6, ymm6, 25
    add r11, r15
    vpsrld ymm7, ymm7, 25
    adc rax, 0
    vpor ymm6, ymm6, ymm14
    adc rbx, 0
    vpor ymm7, ymm7, ymm15
    add r8, [rsi + 16]
    vpaddd ymm0, ymm0, ymm5
    vpaddd ymm1, ymm1, ymm6
    adc r9, [rsi + 24]
    vpxor ymm11, ymm11, ymm0
    adc r10, 1
    vpxor ymm8, ymm8, ymm1
    mov rdx, r8
    vpshufb ymm11, ymm11, ymmword ptr [rdi]
    mulx r12, r8, qword ptr [rdi + 64]
    vpshufb ymm8, ymm8, ymmword ptr [rdi]
    mulx r14, r13, qword ptr [rdi + 72]
    vpaddd ymm12, ymm12, ymm11
    mov rdx, r9
    vpaddd ymm13, ymm13, ymm8
    mulx rbp, r15, qword ptr [rdi + 80]
    vpxor ymm5, ymm5, ymm12
    add r8, r15
    vpxor ymm6, ymm6, ymm13
    vpslld ymm14, ymm5, 12
    adc r12, rbp
    vpslld ymm15, ymm6, 12
    mulx rbp, r9, qword ptr [rdi + 64]
    vpsrld ymm5, ymm5, 20
    add r9, r13
    vpsrld ymm6, ymm6, 20
    adc rbp, r14
    vpor ymm5, ymm5, ymm14
    mov r15, qword ptr [rdi + 80]
    vpor ymm6, ymm6, ymm15
    imul r15, r10
    vpaddd ymm0, ymm0, ymm5
    imul r10, qword ptr [rdi + 64]
    vpaddd ymm1, ymm1, ymm6
    add r9, r15
    vpxor ymm11, ymm11, ymm0
    vpxor ymm8, ymm8, ymm1
    adc r10, rbp
    vpshufb ymm11, ymm11, ymmword ptr [rdi + 32]
    add r9, r12
    vpshufb ymm8, ymm8, ymmword ptr [rdi + 32]
    adc r10, 0
    vpaddd ymm12, ymm12, ymm11
    mov r15, r10
    vpaddd ymm13, ymm13, ymm8
    mov rbp, r10
    vpxor ymm5, ymm5, ymm12
    and r15, -4
    vpxor ymm6, ymm6, ymm13
    shr rbp, 2
    vpslld ymm14, ymm5, 7
    and r10, 3
    vpslld ymm15, ymm6, 7
    add r15, rbp
    vpsrld ymm5, ymm5, 25
    vpsrld ymm6, ymm6, 25
    add r8, r15
    vpor ymm5, ymm5, ymm14
    adc r9, 0
    vpor ymm6, ymm6, ymm15
    adc r10, 0
    vpaddd ymm2, ymm2, ymm7
    add r11, [rcx + 16]
    vpaddd ymm3, ymm3, ymm4
    adc rax, [rcx + 24]
    vmovdqu ymmword ptr [rdi - 64], ymm12
    adc rbx, 1
    vmovdqu ymmword ptr [rdi - 32], ymm13
    mov rdx, r11
    vpxor ymm9, ymm9, ymm2
    mulx r12, r11, qword ptr [rdi + 64]
    vpxor ymm10, ymm10, ymm3
    vpshufb ymm9, ymm9, ymmword ptr [rdi]
    mulx r14, r13, qword ptr [rdi + 72]
    vpshufb ymm10, ymm10, ymmword ptr [rdi]
    mov rdx, rax
    vpaddd ymm12, ymm9, ymmword ptr [rdi - 128]
    mulx rbp, r15, qword ptr [rdi + 80]
    vpaddd ymm13, ymm10, ymmword ptr [rdi - 96]
    add r11, r15
    vpxor ymm7, ymm7, ymm12
    adc r12, rbp
    vpxor ymm4, ymm4, ymm13
    mulx rbp, rax, qword ptr [rdi + 64]
    vpslld ymm14, ymm7, 12
    add rax, r13
    vpslld ymm15, ymm4, 12
    adc rbp, r14
    vpsrld ymm7, ymm7, 20
    mov r15, qword ptr [rdi + 80]
    vpsrld ymm4, ymm4, 20
    vpor ymm7, ymm7, ymm14
    imul r15, rbx
    vpor ymm4, ymm4, ymm15
    imul rbx, qword ptr [rdi + 64]
    vpaddd ymm2, ymm2, ymm7
    add rax, r15
    vpaddd ymm3, ymm3, ymm4
    adc rbx, rbp
    vpxor ymm9, ymm9, ymm2
    add rax, r12
    vpxor ymm10, ymm10, ymm3
    adc rbx, 0
    vpshufb ymm9, ymm9, ymmword ptr [rdi + 32]
    mov r15, rbx
    vpshufb ymm10, ymm10, ymmword ptr [rdi + 32]
    mov rbp, rbx
    vpaddd ymm12, ymm12, ymm9
    vpaddd ymm13, ymm13, ymm10
    and r15, -4
    vpxor ymm7, ymm7, ymm12
    shr rbp, 2
    vpxor ymm4, ymm4, ymm13
    and rbx, 3
    vpslld ymm14, ymm7, 7
    add r15, rbp
    vpslld ymm15, ymm4, 7
    add r11, r15
    vpsrld ymm7, ymm7, 25
    adc rax, 0
    vpsrld ymm4, ymm4, 25
    adc rbx, 0
    vpor ymm7, ymm7, ymm14
    add rsi, 32
    vpor ymm4, ymm4, ymm15
    add rcx, 32
    dec qword ptr [rdi + 88]
    jnz 3b
    vpaddd ymm0, ymm0, ymm4
    vpaddd ymm1, ymm1, ymm5
    vpxor ymm8, ymm8, ymm0
    mov rdx, r8
    vpxor ymm9, ymm9, ymm1
    vpshufb ymm8, ymm8, ymmword ptr [rdi]
    mulx r13, r12, qword ptr [rdi + 128]
    vpshufb ymm9, ymm9, ymmword ptr [rdi]
    vpaddd ymm12, ymm12, ymm8
    mulx r14, r15, qword ptr [rdi + 136]
    vpaddd ymm13, ymm13, ymm9
    vpxor ymm4, ymm4, ymm12
    add r13, r15
    vpxor ymm5, ymm5, ymm13
    vpslld ymm14, ymm4, 12
    mulx rbp, r15, qword ptr [rdi + 144]
    vpslld ymm15, ymm5, 12
    vpsrld ymm4, ymm4, 20
    vpsrld ymm5, ymm5, 20
    adc r14, r15
    vpor ymm4, ymm4, ymm14
    vpor ymm5, ymm5, ymm15
    adc rbp, 0
    vpaddd ymm0, ymm0, ymm4
    vpaddd ymm1, ymm1, ymm5
    mov rdx, r9
    vpxor ymm8, ymm8, ymm0
    vpxor ymm9, ymm9, ymm1
    mulx r8, r15, qword ptr [rdi + 128]
    vpshufb ymm8, ymm8, ymmword ptr [rdi + 32]
    vpshufb ymm9, ymm9, ymmword ptr [rdi + 32]
    add r13, r15
    vpaddd ymm12, ymm12, ymm8
    vpaddd ymm13, ymm13, ymm9
    vpxor ymm4, ymm4, ymm12
    adc r14, r8
    vpxor ymm5, ymm5, ymm13
    vpslld ymm14, ymm4, 7
    adc rbp, 0
    vpslld ymm15, ymm5, 7
    vpsrld ymm4, ymm4, 25
    mulx r8, r15, qword ptr [rdi + 136]
    vpsrld ymm5, ymm5, 25
    vpor ymm4, ymm4, ymm14
    mov r9, 0
    vpor ymm5, ymm5, ymm15
    vpaddd ymm2, ymm2, ymm6
    add r14, r15
    vpaddd ymm3, ymm3, ymm7
    vmovdqu ymmword ptr [rdi - 128], ymm12
    vmovdqu ymmword ptr [rdi - 96], ymm13
    adc rbp, r8
    vpxor ymm10, ymm10, ymm2
    vpxor ymm11, ymm11, ymm3
    adc r9, 0
    vpshufb ymm10, ymm10, ymmword ptr [rdi]
    vpshufb ymm11, ymm11, ymmword ptr [rdi]
    mulx r8, r15, qword ptr [rdi + 144]
    vpaddd ymm12, ymm10, ymmword ptr [rdi - 64]
    vpaddd ymm13, ymm11, ymmword ptr [rdi - 32]
    add rbp, r15
    vpxor ymm6, ymm6, ymm12
    vpxor ymm7, ymm7, ymm13
    adc r9, r8
    vpslld ymm14, ymm6, 12
    vpslld ymm15, ymm7, 12
    vpsrld ymm6, ymm6, 20
    mov rdx, r10
    vpsrld ymm7, ymm7, 20
    vpor ymm6, ymm6, ymm14
    mulx r8, r15, qword ptr [rdi + 128]
    vpor ymm7, ymm7, ymm15
    vpaddd ymm2, ymm2, ymm6
    add r14, r15
    vpaddd ymm3, ymm3, ymm7
    vpxor ymm10, ymm10, ymm2
    adc rbp, r8
    vpxor ymm11, ymm11, ymm3
    vpshufb ymm10, ymm10, ymmword ptr [rdi + 32]
    adc r9, 0
    vpshufb ymm11, ymm11, ymmword ptr [rdi + 32]
    vpaddd ymm12, ymm12, ymm10
    vpaddd ymm13, ymm13, ymm11
    mulx r8, r15, qword ptr [rdi + 136]
    vpxor ymm6, ymm6, ymm12
    vpxor ymm7, ymm7, ymm13
    add rbp, r15
    vpslld ymm14, ymm6, 7
    vpslld ymm15, ymm7, 7
    adc r9, r8
    vpsrld ymm6, ymm6, 25
    vpsrld ymm7, ymm7, 25
    imul rdx, qword ptr [rdi + 144]
    vpor ymm6, ymm6, ymm14
    vpor ymm7, ymm7, ymm15
    add r9, rdx
    vpaddd ymm0, ymm0, ymm5
    vpaddd ymm1, ymm1, ymm6
    vpxor ymm11, ymm11, ymm0
    mov r10, r14
    vpxor ymm8, ymm8, ymm1
    vpshufb ymm11, ymm11, ymmword ptr [rdi]
    and r10, 3
    vpshufb ymm8, ymm8, ymmword ptr [rdi]
    vpaddd ymm12, ymm12, ymm11
    and r14, -4
    vpaddd ymm13, ymm13, ymm8
    vpxor ymm5, ymm5, ymm12
    add r12, r11
    vpxor ymm6, ymm6, ymm13
    vpslld ymm14, ymm5, 12
    adc r13, rax
    vpslld ymm15, ymm6, 12
    vpsrld ymm5, ymm5, 20
    vpsrld ymm6, ymm6, 20
    adc r10, rbx
    vpor ymm5, ymm5, ymm14
    vpor ymm6, ymm6, ymm15
    add r12, r14
    vpaddd ymm0, ymm0, ymm5
    vpaddd ymm1, ymm1, ymm6
    adc r13, rbp
    vpxor ymm11, ymm11, ymm0
    vpxor ymm8, ymm8, ymm1
    adc r10, r9
    vpshufb ymm11, ymm11, ymmword ptr [rdi + 32]
    vpshufb ymm8, ymm8, ymmword ptr [rdi + 32]
    shrd r14, rbp, 2
    vpaddd ymm12, ymm12, ymm11
    vpaddd ymm13, ymm13, ymm8
    vpxor ymm5, ymm5, ymm12
    shrd rbp, r9, 2
    vpxor ymm6, ymm6, ymm13
    vpslld ymm14, ymm5, 7
    shr r9, 2
    vpslld ymm15, ymm6, 7
    vpsrld ymm5, ymm5, 25
    add r12, r14
    vpsrld ymm6, ymm6, 25
    vpor ymm5, ymm5, ymm14
    adc r13, rbp
    vpor ymm6, ymm6, ymm15
    vpaddd ymm2, ymm2, ymm7
    adc r10, r9
    vpaddd ymm3, ymm3, ymm4
    vmovdqu ymmword ptr [rdi - 64], ymm12
    vmovdqu ymmword ptr [rdi - 32], ymm13
    mov r8, r12
    vpxor ymm9, ymm9, ymm2
    vpxor ymm10, ymm10, ymm3
    mov r9, r13
    vpshufb ymm9, ymm9, ymmword ptr [rdi]
    vpshufb ymm10, ymm10, ymmword ptr [rdi]
    mov r12, r10
    vpaddd ymm12, ymm9, ymmword ptr [rdi - 128]
    vpaddd ymm13, ymm10, ymmword ptr [rdi - 96]
    mov r13, r10
    vpxor ymm7, ymm7, ymm12
    vpxor ymm4, ymm4, ymm13
    and r12, -4
    vpslld ymm14, ymm7, 12
    vpslld ymm15, ymm4, 12
    vpsrld ymm7, ymm7, 20
    shr r13, 2
    vpsrld ymm4, ymm4, 20
    vpor ymm7, ymm7, ymm14
    and r10, 3
    vpor ymm4, ymm4, ymm15
    vpaddd ymm2, ymm2, ymm7
    add r12, r13
    vpaddd ymm3, ymm3, ymm4
    vpxor ymm9, ymm9, ymm2
    add r8, r12
    vpxor ymm10, ymm10, ymm3
    vpshufb ymm9, ymm9, ymmword ptr [rdi + 32]
    adc r9, 0
    vpshufb ymm10, ymm10, ymmword ptr [rdi + 32]
    vpaddd ymm12, ymm12, ymm9
    vpaddd ymm13, ymm13, ymm10
    adc r10, 0
    vpxor ymm7, ymm7, ymm12
    vpxor ymm4, ymm4, ymm13
    xor r11, r11
    vpslld ymm14, ymm7, 7
    vpslld ymm15, ymm4, 7
    xor rax, rax
    vpsrld ymm7, ymm7, 25
    vpsrld ymm4, ymm4, 25
    xor rbx, rbx
    vpor ymm7, ymm7, ymm14
    vpor ymm4, ymm4, ymm15
    mov rsi, rcx
    mov r12, 9
    sub r12, qword ptr [rdi + 96]
4:
    vpaddd ymm0, ymm0, ymm4
    vpaddd ymm1, ymm1, ymm5
    vpxor ymm8, ymm8, ymm0
    vpxor ymm9, ymm9, ymm1
    vpshufb ymm8, ymm8, ymmword ptr [rdi]
    vpshufb ymm9, ymm9, ymmword ptr [rdi]
    vpaddd ymm12, ymm12, ymm8
    vpaddd ymm13, ymm13, ymm9
    vpxor ymm4, ymm4, ymm12
    vpxor ymm5, ymm5, ymm13
    vpslld ymm14, ymm4, 12
    vpslld ymm15, ymm5, 12
    vpsrld ymm4, ymm4, 20
    vpsrld ymm5, ymm5, 20
    vpor ymm4, ymm4, ymm14
    vpor ymm5, ymm5, ymm15
    vpaddd ymm0, ymm0, ymm4
    vpaddd ymm1, ymm1, ymm5
    vpxor ymm8, ymm8, ymm0
    vpxor ymm9, ymm9, ymm1
    vpshufb ymm8, ymm8, ymmword ptr [rdi + 32]
    vpshufb ymm9, ymm9, ymmword ptr [rdi + 32]
    vpaddd ymm12, ymm12, ymm8
    vpaddd ymm13, ymm13, ymm9
    vpxor ymm4, ymm4, ymm12
    vpxor ymm5, ymm5, ymm13
    vpslld ymm14, ymm4, 7
    vpslld ymm15, ymm5, 7
    vpsrld ymm4, ymm4, 25
    vpsrld ymm5, ymm5, 25
    vpor ymm4, ymm4, ymm14
    vpor ymm5, ymm5, ymm15
    vpaddd ymm2, ymm2, ymm6
    vpaddd ymm3, ymm3, ymm7
    vmovdqu ymmword ptr [rdi - 128], ymm12
    vmovdqu ymmword ptr [rdi - 96], ymm13
    vpxor ymm10, ymm10, ymm2
    vpxor ymm11, ymm11, ymm3
    vpshufb ymm10, ymm10, ymmword ptr [rdi]
    vpshufb ymm11, ymm11, ymmword ptr [rdi]
    vpaddd ymm12, ymm10, ymmword ptr [rdi - 64]
    vpaddd ymm13, ymm11, ymmword ptr [rdi - 32]
    vpxor ymm6, ymm6, ymm12
    vpxor ymm7, ymm7, ymm13
    vpslld ymm14, ymm6, 12
    vpslld ymm15, ymm7, 12
    vpsrld ymm6, ymm6, 20
    vpsrld ymm7, ymm7, 20
    vpor ymm6, ymm6, ymm14
    vpor ymm7, ymm7, ymm15
    vpaddd ymm2, ymm2, ymm6
    vpaddd ymm3, ymm3, ymm7
    vpxor ymm10, ymm10, ymm2
    vpxor ymm11, ymm11, ymm3
    vpshufb ymm10, ymm10, ymmword ptr [rdi + 32]
    vpshufb ymm11, ymm11, ymmword ptr [rdi + 32]
    vpaddd ymm12, ymm12, ymm10
    vpaddd ymm13, ymm13, ymm11
    vpxor ymm6, ymm6, ymm12
    vpxor ymm7, ymm7, ymm13
    vpslld ymm14, ymm6, 7
    vpslld ymm15, ymm7, 7
    vpsrld ymm6, ymm6, 25
    vpsrld ymm7, ymm7, 25
    vpor ymm6, ymm6, ymm14
    vpor ymm7, ymm7, ymm15
    vpaddd ymm0, ymm0, ymm5
    vpaddd ymm1, ymm1, ymm6
    vpxor ymm11, ymm11, ymm0
    vpxor ymm8, ymm8, ymm1
    vpshufb ymm11, ymm11, ymmword ptr [rdi]
    vpshufb ymm8, ymm8, ymmword ptr [rdi]
    vpaddd ymm12, ymm12, ymm11
    vpaddd ymm13, ymm13, ymm8
    vpxor ymm5, ymm5, ymm12
    vpxor ymm6, ymm6, ymm13
    vpslld ymm14, ymm5, 12
    vpslld ymm15, ymm6, 12
    vpsrld ymm5, ymm5, 20
    vpsrld ymm6, ymm6, 20
    vpor ymm5, ymm5, ymm14
    vpor ymm6, ymm6, ymm15
    vpaddd ymm0, ymm0, ymm5
    vpaddd ymm1, ymm1, ymm6
    vpxor ymm11, ymm11, ymm0
    vpxor ymm8, ymm8, ymm1
    vpshufb ymm11, ymm11, ymmword ptr [rdi + 32]
    vpshufb ymm8, ymm8, ymmword ptr [rdi + 32]
    vpaddd ymm12, ymm12, ymm11
    vpaddd ymm13, ymm13, ymm8
    vpxor ymm5, ymm5, ymm12
    vpxor ymm6, ymm6, ymm13
    vpslld ymm14, ymm5, 7
    vpslld ymm15, ymm6, 7
    vpsrld ymm5, ymm5, 25
    vpsrld ymm6, ymm6, 25
    vpor ymm5, ymm5, ymm14
    vpor ymm6, ymm6, ymm15
    vpaddd ymm2, ymm2, ymm7
    vpaddd ymm3, ymm3, ymm4
    vmovdqu ymmword ptr [rdi - 64], ymm12
    vmovdqu ymmword ptr [rdi - 32], ymm13
    vpxor ymm9, ymm9, ymm2
    vpxor ymm10, ymm10, ymm3
    vpshufb ymm9, ymm9, ymmword ptr [rdi]
    vpshufb ymm10, ymm10, ymmword ptr [rdi]
    vpaddd ymm12, ymm9, ymmword ptr [rdi - 128]
    vpaddd ymm13, ymm10, ymmword ptr [rdi - 96]
    vpxor ymm7, ymm7, ymm12
    vpxor ymm4, ymm4, ymm13
    vpslld ymm14, ymm7, 12
    vpslld ymm15, ymm4, 12
    vpsrld ymm7, ymm7, 20
    vpsrld ymm4, ymm4, 20
    vpor ymm7, ymm7, ymm14
    vpor ymm4, ymm4, ymm15
    vpaddd ymm2, ymm2, ymm7
    vpaddd ymm3, ymm3, ymm4
    vpxor ymm9, ymm9, ymm2
    vpxor ymm10, ymm10, ymm3
    vpshufb ymm9, ymm9, ymmword ptr [rdi + 32]
    vpshufb ymm10, ymm10, ymmword ptr [rdi + 32]
    vpaddd ymm12, ymm12, ymm9
    vpaddd ymm13, ymm13, ymm10
    vpxor ymm7, ymm7, ymm12
    vpxor ymm4, ymm4, ymm13
    vpslld ymm14, ymm7, 7
    vpslld ymm15, ymm4, 7
    vpsrld ymm7, ymm7, 25
    vpsrld ymm4, ymm4, 25
    vpor ymm7, ymm7, ymm14
    vpor ymm4, ymm4, ymm15
    dec r12
    jnz 4b
    mov r13, qword ptr [rdi + 112]
    mov r14, qword ptr [rdi + 120]
    vpbroadcastd ymm14, dword ptr [rdi + 192]
    vpaddd ymm0, ymm0, ymm14
    vpbroadcastd ymm15, dword ptr [rdi + 196]
    vpaddd ymm1, ymm1, ymm15
    vpbroadcastd ymm14, dword ptr [rdi + 200]
    vpaddd ymm2, ymm2, ymm14
    vpbroadcastd ymm15, dword ptr [rdi + 204]
    vpaddd ymm3, ymm3, ymm15
    vpunpckldq ymm14, ymm0, ymm1
    vpunpckhdq ymm0, ymm0, ymm1
    vpunpckldq ymm15, ymm2, ymm3
    vpunpckhdq ymm2, ymm2, ymm3
    vpunpcklqdq ymm1, ymm14, ymm15
    vpunpckhqdq ymm3, ymm14, ymm15
    vpunpcklqdq ymm14, ymm0, ymm2
    vpunpckhqdq ymm15, ymm0, ymm2
    vpbroadcastd ymm0, dword ptr [rdi + 208]
    vpaddd ymm4, ymm4, ymm0
    vpbroadcastd ymm2, dword ptr [rdi + 212]
    vpaddd ymm5, ymm5, ymm2
    vpbroadcastd ymm0, dword ptr [rdi + 216]
    vpaddd ymm6, ymm6, ymm0
    vpbroadcastd ymm2, dword ptr [rdi + 220]
    vpaddd ymm7, ymm7, ymm2
    vpunpckldq ymm0, ymm4, ymm5
    vpunpckhdq ymm4, ymm4, ymm5
    vpunpckldq ymm2, ymm6, ymm7
    vpunpckhdq ymm6, ymm6, ymm7
    vpunpcklqdq ymm5, ymm0, ymm2
    vpunpckhqdq ymm7, ymm0, ymm2
    vpunpcklqdq ymm0, ymm4, ymm6
    vpunpckhqdq ymm2, ymm4, ymm6
    vperm2i128 ymm4, ymm1, ymm5, 0x20
    vperm2i128 ymm1, ymm1, ymm5, 0x31
    vpxor ymm4, ymm4, ymmword ptr [r13 + 0]
    vmovdqu ymmword ptr [r14 + 0], ymm4
    vpxor ymm1, ymm1, ymmword ptr [r13 + 256]
    vmovdqu ymmword ptr [r14 + 256], ymm1
    vperm2i128 ymm6, ymm3, ymm7, 0x20
    vperm2i128 ymm3, ymm3, ymm7, 0x31
    vpxor ymm6, ymm6, ymmword ptr [r13 + 64]
    vmovdqu ymmword ptr [r14 + 64], ymm6
    vpxor ymm3, ymm3, ymmword ptr [r13 + 320]
    vmovdqu ymmword ptr [r14 + 320], ymm3
    vperm2i128 ymm5, ymm14, ymm0, 0x20
    vperm2i128 ymm14, ymm14, ymm0, 0x31
    vpxor ymm5, ymm5, ymmword ptr [r13 + 128]
    vmovdqu ymmword ptr [r14 + 128], ymm5
    vpxor ymm14, ymm14, ymmword ptr [r13 + 384]
    vmovdqu ymmword ptr [r14 + 384], ymm14
    vperm2i128 ymm1, ymm15, ymm2, 0x20
    vperm2i128 ymm15, ymm15, ymm2, 0x31
    vpxor ymm1, ymm1, ymmword ptr [r13 + 192]
    vmovdqu ymmword ptr [r14 + 192], ymm1
    vpxor ymm15, ymm15, ymmword ptr [r13 + 448]
    vmovdqu ymmword ptr [r14 + 448], ymm15
    vpbroadcastd ymm4, dword ptr [rdi + 240]
    vpaddd ymm8, ymm8, ymm4
    vpbroadcastd ymm7, dword ptr [rdi + 244]
    vpaddd ymm9, ymm9, ymm7
    vpbroadcastd ymm4, dword ptr [rdi + 248]
    vpaddd ymm10, ymm10, ymm4
    vpbroadcastd ymm7, dword ptr [rdi + 252]
    vpaddd ymm11, ymm11, ymm7
    vpaddd ymm8, ymm8, ymmword ptr [rdi + 256]
    vpunpckldq ymm4, ymm8, ymm9
    vpunpckhdq ymm8, ymm8, ymm9
    vpunpckldq ymm7, ymm10, ymm11
    vpunpckhdq ymm10, ymm10, ymm11
    vpunpcklqdq ymm9, ymm4, ymm7
    vpunpckhqdq ymm11, ymm4, ymm7
    vpunpcklqdq ymm4, ymm8, ymm10
    vpunpckhqdq ymm7, ymm8, ymm10
    vmovdqu ymm8, ymmword ptr [rdi - 64]
    vmovdqu ymm10, ymmword ptr [rdi - 32]
    vpbroadcastd ymm3, dword ptr [rdi + 224]
    vpaddd ymm12, ymm12, ymm3
    vpbroadcastd ymm6, dword ptr [rdi + 228]
    vpaddd ymm13, ymm13, ymm6
    vpbroadcastd ymm3, dword ptr [rdi + 232]
    vpaddd ymm8, ymm8, ymm3
    vpbroadcastd ymm6, dword ptr [rdi + 236]
    vpaddd ymm10, ymm10, ymm6
    vpunpckldq ymm3, ymm12, ymm13
    vpunpckhdq ymm12, ymm12, ymm13
    vpunpckldq ymm6, ymm8, ymm10
    vpunpckhdq ymm8, ymm8, ymm10
    vpunpcklqdq ymm13, ymm3, ymm6
    vpunpckhqdq ymm10, ymm3, ymm6
    vpunpcklqdq ymm3, ymm12, ymm8
    vpunpckhqdq ymm6, ymm12, ymm8
    vperm2i128 ymm12, ymm13, ymm9, 0x20
    vperm2i128 ymm13, ymm13, ymm9, 0x31
    vpxor ymm12, ymm12, ymmword ptr [r13 + 32]
    vmovdqu ymmword ptr [r14 + 32], ymm12
    vpxor ymm13, ymm13, ymmword ptr [r13 + 288]
    vmovdqu ymmword ptr [r14 + 288], ymm13
    vperm2i128 ymm8, ymm10, ymm11, 0x20
    vperm2i128 ymm10, ymm10, ymm11, 0x31
    vpxor ymm8, ymm8, ymmword ptr [r13 + 96]
    vmovdqu ymmword ptr [r14 + 96], ymm8
    vpxor ymm10, ymm10, ymmword ptr [r13 + 352]
    vmovdqu ymmword ptr [r14 + 352], ymm10
    vperm2i128 ymm0, ymm3, ymm4, 0x20
    vperm2i128 ymm3, ymm3, ymm4, 0x31
    vpxor ymm0, ymm0, ymmword ptr [r13 + 160]
    vmovdqu ymmword ptr [r14 + 160], ymm0
    vpxor ymm3, ymm3, ymmword ptr [r13 + 416]
    vmovdqu ymmword ptr [r14 + 416], ymm3
    vperm2i128 ymm14, ymm6, ymm7, 0x20
    vperm2i128 ymm6, ymm6, ymm7, 0x31
    vpxor ymm14, ymm14, ymmword ptr [r13 + 224]
    vmovdqu ymmword ptr [r14 + 224], ymm14
    vpxor ymm6, ymm6, ymmword ptr [r13 + 480]
    vmovdqu ymmword ptr [r14 + 480], ymm6
    add qword ptr [rdi + 112], 512
    add qword ptr [rdi + 120], 512
    add dword ptr [rdi + 240], 8
    dec qword ptr [rdi + 104]
    jnz 2b
    mov qword ptr [rdi + 152], r8
    mov qword ptr [rdi + 160], r9
    mov qword ptr [rdi + 168], r10
    pop r15
    pop r14
    pop r13
    pop r12
    pop rbp
    pop rbx
    vzeroupper
    ret
