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
    pshufd xmm0, xmmword ptr [rdi + 192], 0
    movdqa xmmword ptr [rdi + 384], xmm0
    pshufd xmm1, xmmword ptr [rdi + 192], 85
    movdqa xmmword ptr [rdi + 400], xmm1
    pshufd xmm2, xmmword ptr [rdi + 192], 170
    movdqa xmmword ptr [rdi + 416], xmm2
    pshufd xmm3, xmmword ptr [rdi + 192], 255
    movdqa xmmword ptr [rdi + 432], xmm3
    pshufd xmm4, xmmword ptr [rdi + 208], 0
    movdqa xmmword ptr [rdi + 448], xmm4
    pshufd xmm5, xmmword ptr [rdi + 208], 85
    movdqa xmmword ptr [rdi + 464], xmm5
    pshufd xmm6, xmmword ptr [rdi + 208], 170
    movdqa xmmword ptr [rdi + 480], xmm6
    pshufd xmm7, xmmword ptr [rdi + 208], 255
    movdqa xmmword ptr [rdi + 496], xmm7
    pshufd xmm12, xmmword ptr [rdi + 224], 0
    movdqa xmmword ptr [rdi + 512], xmm12
    pshufd xmm13, xmmword ptr [rdi + 224], 85
    movdqa xmmword ptr [rdi + 528], xmm13
    pshufd xmm14, xmmword ptr [rdi + 224], 170
    movdqa xmmword ptr [rdi + 544], xmm14
    pshufd xmm15, xmmword ptr [rdi + 224], 255
    movdqa xmmword ptr [rdi + 560], xmm15
    movd xmm9, dword ptr [rdi + 244]
    pshufd xmm9, xmm9, 0
    movdqa xmmword ptr [rdi + 592], xmm9
    movd xmm10, dword ptr [rdi + 248]
    pshufd xmm10, xmm10, 0
    movdqa xmmword ptr [rdi + 608], xmm10
    movd xmm11, dword ptr [rdi + 252]
    pshufd xmm11, xmm11, 0
    movdqa xmmword ptr [rdi + 624], xmm11
    jmp 4f
2:
    movdqa xmm0, xmmword ptr [rdi + 384]
    movdqa xmm1, xmmword ptr [rdi + 400]
    movdqa xmm2, xmmword ptr [rdi + 416]
    movdqa xmm3, xmmword ptr [rdi + 432]
    movdqa xmm4, xmmword ptr [rdi + 448]
    movdqa xmm5, xmmword ptr [rdi + 464]
    movdqa xmm6, xmmword ptr [rdi + 480]
    movdqa xmm7, xmmword ptr [rdi + 496]
    movdqa xmm12, xmmword ptr [rdi + 512]
    movdqa xmm13, xmmword ptr [rdi + 528]
    movdqa xmm14, xmmword ptr [rdi + 544]
    movdqa xmm15, xmmword ptr [rdi + 560]
    movdqa xmm9, xmmword ptr [rdi + 592]
    movdqa xmm10, xmmword ptr [rdi + 608]
    movdqa xmm11, xmmword ptr [rdi + 624]
4:
    movd xmm8, dword ptr [rdi + 240]
    pshufd xmm8, xmm8, 0
    paddd xmm8, xmmword ptr [rdi + 256]
    movdqa xmmword ptr [rdi + 576], xmm8
    movdqa xmmword ptr [rdi - 64], xmm14
    movdqa xmmword ptr [rdi - 32], xmm15
    mov qword ptr [rdi + 88], 8
3:
    paddd xmm0, xmm4
    paddd xmm1, xmm5
    pxor xmm8, xmm0
    add r8, [rsi + 0]
    pxor xmm9, xmm1
    pshufb xmm8, xmmword ptr [rdi]
    adc r9, [rsi + 8]
    pshufb xmm9, xmmword ptr [rdi]
    paddd xmm12, xmm8
    adc r10, 1
    paddd xmm13, xmm9
    pxor xmm4, xmm12
    mov rax, qword ptr [rdi + 64]
    pxor xmm5, xmm13
    movdqa xmm14, xmm4
    mul r8
    pslld xmm14, 12
    psrld xmm4, 20
    mov r12, rax
    movdqa xmm15, xmm5
    pslld xmm15, 12
    mov rax, qword ptr [rdi + 72]
    por xmm4, xmm14
    psrld xmm5, 20
    mov r13, rdx
    por xmm5, xmm15
    paddd xmm0, xmm4
    mul r8
    paddd xmm1, xmm5
    pxor xmm8, xmm0
    mov r14, rax
    pxor xmm9, xmm1
    pshufb xmm8, xmmword ptr [rdi + 32]
    mov rax, qword ptr [rdi + 80]
    pshufb xmm9, xmmword ptr [rdi + 32]
    paddd xmm12, xmm8
    mov r8, rdx
    paddd xmm13, xmm9
    pxor xmm4, xmm12
    pxor xmm5, xmm13
    mul r9
    movdqa xmm14, xmm4
    pslld xmm14, 7
    add r12, rax
    psrld xmm4, 25
    movdqa xmm15, xmm5
    mov rax, qword ptr [rdi + 64]
    pslld xmm15, 7
    por xmm4, xmm14
    adc r13, rdx
    psrld xmm5, 25
    por xmm5, xmm15
    mul r9
    paddd xmm2, xmm6
    paddd xmm3, xmm7
    mov r9, qword ptr [rdi + 80]
    movdqa xmmword ptr [rdi - 128], xmm12
    movdqa xmmword ptr [rdi - 96], xmm13
    add r14, rax
    movdqa xmm12, xmmword ptr [rdi - 64]
    movdqa xmm13, xmmword ptr [rdi - 32]
    adc r8, rdx
    pxor xmm10, xmm2
    pxor xmm11, xmm3
    imul r9, r10
    pshufb xmm10, xmmword ptr [rdi]
    pshufb xmm11, xmmword ptr [rdi]
    imul r10, qword ptr [rdi + 64]
    paddd xmm12, xmm10
    paddd xmm13, xmm11
    add r9, r14
    pxor xmm6, xmm12
    pxor xmm7, xmm13
    adc r10, r8
    movdqa xmm14, xmm6
    pslld xmm14, 12
    psrld xmm6, 20
    mov r8, r12
    movdqa xmm15, xmm7
    pslld xmm15, 12
    add r9, r13
    por xmm6, xmm14
    psrld xmm7, 20
    adc r10, 0
    por xmm7, xmm15
    paddd xmm2, xmm6
    mov rax, r10
    paddd xmm3, xmm7
    pxor xmm10, xmm2
    mov rdx, r10
    pxor xmm11, xmm3
    pshufb xmm10, xmmword ptr [rdi + 32]
    and rax, -4
    pshufb xmm11, xmmword ptr [rdi + 32]
    paddd xmm12, xmm10
    shr rdx, 2
    paddd xmm13, xmm11
    pxor xmm6, xmm12
    and r10, 3
    pxor xmm7, xmm13
    movdqa xmm14, xmm6
    add rax, rdx
    pslld xmm14, 7
    psrld xmm6, 25
    add r8, rax
    movdqa xmm15, xmm7
    pslld xmm15, 7
    adc r9, 0
    por xmm6, xmm14
    psrld xmm7, 25
    adc r10, 0
    por xmm7, xmm15
    paddd xmm0, xmm5
    paddd xmm1, xmm6
    add r11, [rsi + 128]
    pxor xmm11, xmm0
    pxor xmm8, xmm1
    adc rbx, [rsi + 136]
    pshufb xmm11, xmmword ptr [rdi]
    pshufb xmm8, xmmword ptr [rdi]
    adc rbp, 1
    paddd xmm12, xmm11
    paddd xmm13, xmm8
    mov rax, qword ptr [rdi + 64]
    pxor xmm5, xmm12
    pxor xmm6, xmm13
    mul r11
    movdqa xmm14, xmm5
    pslld xmm14, 12
    mov r12, rax
    psrld xmm5, 20
    movdqa xmm15, xmm6
    mov rax, qword ptr [rdi + 72]
    pslld xmm15, 12
    por xmm5, xmm14
    mov r13, rdx
    psrld xmm6, 20
    por xmm6, xmm15
    mul r11
    paddd xmm0, xmm5
    paddd xmm1, xmm6
    mov r14, rax
    pxor xmm11, xmm0
    pxor xmm8, xmm1
    mov rax, qword ptr [rdi + 80]
    pshufb xmm11, xmmword ptr [rdi + 32]
    pshufb xmm8, xmmword ptr [rdi + 32]
    mov r11, rdx
    paddd xmm12, xmm11
    paddd xmm13, xmm8
    pxor xmm5, xmm12
    mul rbx
    pxor xmm6, xmm13
    movdqa xmm14, xmm5
    add r12, rax
    pslld xmm14, 7
    psrld xmm5, 25
    mov rax, qword ptr [rdi + 64]
    movdqa xmm15, xmm6
    pslld xmm15, 7
    adc r13, rdx
    por xmm5, xmm14
    psrld xmm6, 25
    mul rbx
    por xmm6, xmm15
    paddd xmm2, xmm7
    mov rbx, qword ptr [rdi + 80]
    paddd xmm3, xmm4
    movdqa xmmword ptr [rdi - 64], xmm12
    add r14, rax
    movdqa xmmword ptr [rdi - 32], xmm13
    movdqa xmm12, xmmword ptr [rdi - 128]
    adc r11, rdx
    movdqa xmm13, xmmword ptr [rdi - 96]
    pxor xmm9, xmm2
    imul rbx, rbp
    pxor xmm10, xmm3
    pshufb xmm9, xmmword ptr [rdi]
    imul rbp, qword ptr [rdi + 64]
    pshufb xmm10, xmmword ptr [rdi]
    paddd xmm12, xmm9
    add rbx, r14
    paddd xmm13, xmm10
    pxor xmm7, xmm12
    adc rbp, r11
    pxor xmm4, xmm13
    movdqa xmm14, xmm7
    pslld xmm14, 12
    mov r11, r12
    psrld xmm7, 20
    movdqa xmm15, xmm4
    add rbx, r13
    pslld xmm15, 12
    por xmm7, xmm14
    adc rbp, 0
    psrld xmm4, 20
    por xmm4, xmm15
    mov rax, rbp
    paddd xmm2, xmm7
    paddd xmm3, xmm4
    mov rdx, rbp
    pxor xmm9, xmm2
    pxor xmm10, xmm3
    and rax, -4
    pshufb xmm9, xmmword ptr [rdi + 32]
    pshufb xmm10, xmmword ptr [rdi + 32]
    shr rdx, 2
    paddd xmm12, xmm9
    paddd xmm13, xmm10
    and rbp, 3
    pxor xmm7, xmm12
    pxor xmm4, xmm13
    add rax, rdx
    movdqa xmm14, xmm7
    pslld xmm14, 7
    add r11, rax
    psrld xmm7, 25
    movdqa xmm15, xmm4
    adc rbx, 0
    pslld xmm15, 7
    por xmm7, xmm14
    adc rbp, 0
    psrld xmm4, 25
    por xmm4, xmm15
    add rsi, 16
    dec qword ptr [rdi + 88]
    jnz 3b
    paddd xmm0, xmm4
    paddd xmm1, xmm5
    pxor xmm8, xmm0
    pxor xmm9, xmm1
    pshufb xmm8, xmmword ptr [rdi]
    add rsi, 128
    pshufb xmm9, xmmword ptr [rdi]
    paddd xmm12, xmm8
    paddd xmm13, xmm9
    pxor xmm4, xmm12
    mov rax, r8
    pxor xmm5, xmm13
    movdqa xmm14, xmm4
    pslld xmm14, 12
    psrld xmm4, 20
    mul qword ptr [rdi + 128]
    movdqa xmm15, xmm5
    pslld xmm15, 12
    por xmm4, xmm14
    psrld xmm5, 20
    mov r12, rax
    por xmm5, xmm15
    paddd xmm0, xmm4
    paddd xmm1, xmm5
    pxor xmm8, xmm0
    pxor xmm9, xmm1
    mov r13, rdx
    pshufb xmm8, xmmword ptr [rdi + 32]
    pshufb xmm9, xmmword ptr [rdi + 32]
    paddd xmm12, xmm8
    paddd xmm13, xmm9
    mov rax, r8
    pxor xmm4, xmm12
    pxor xmm5, xmm13
    movdqa xmm14, xmm4
    pslld xmm14, 7
    mul qword ptr [rdi + 136]
    psrld xmm4, 25
    movdqa xmm15, xmm5
    pslld xmm15, 7
    por xmm4, xmm14
    mov r14, rdx
    psrld xmm5, 25
    por xmm5, xmm15
    paddd xmm2, xmm6
    paddd xmm3, xmm7
    add r13, rax
    movdqa xmmword ptr [rdi - 128], xmm12
    movdqa xmmword ptr [rdi - 96], xmm13
    movdqa xmm12, xmmword ptr [rdi - 64]
    movdqa xmm13, xmmword ptr [rdi - 32]
    pxor xmm10, xmm2
    adc r14, 0
    pxor xmm11, xmm3
    pshufb xmm10, xmmword ptr [rdi]
    pshufb xmm11, xmmword ptr [rdi]
    paddd xmm12, xmm10
    mov rax, r8
    paddd xmm13, xmm11
    pxor xmm6, xmm12
    pxor xmm7, xmm13
    movdqa xmm14, xmm6
    mul qword ptr [rdi + 144]
    pslld xmm14, 12
    psrld xmm6, 20
    movdqa xmm15, xmm7
    pslld xmm15, 12
    mov r15, rdx
    por xmm6, xmm14
    psrld xmm7, 20
    por xmm7, xmm15
    paddd xmm2, xmm6
    paddd xmm3, xmm7
    add r14, rax
    pxor xmm10, xmm2
    pxor xmm11, xmm3
    pshufb xmm10, xmmword ptr [rdi + 32]
    pshufb xmm11, xmmword ptr [rdi + 32]
    adc r15, 0
    paddd xmm12, xmm10
    paddd xmm13, xmm11
    pxor xmm6, xmm12
    pxor xmm7, xmm13
    xor rcx, rcx
    movdqa xmm14, xmm6
    pslld xmm14, 7
    psrld xmm6, 25
    movdqa xmm15, xmm7
    mov rax, r9
    pslld xmm15, 7
    por xmm6, xmm14
    psrld xmm7, 25
    por xmm7, xmm15
    mul qword ptr [rdi + 128]
    paddd xmm0, xmm5
    paddd xmm1, xmm6
    pxor xmm11, xmm0
    pxor xmm8, xmm1
    pshufb xmm11, xmmword ptr [rdi]
    add r13, rax
    pshufb xmm8, xmmword ptr [rdi]
    paddd xmm12, xmm11
    paddd xmm13, xmm8
    pxor xmm5, xmm12
    adc r14, rdx
    pxor xmm6, xmm13
    movdqa xmm14, xmm5
    pslld xmm14, 12
    psrld xmm5, 20
    adc r15, 0
    movdqa xmm15, xmm6
    pslld xmm15, 12
    por xmm5, xmm14
    psrld xmm6, 20
    adc rcx, 0
    por xmm6, xmm15
    paddd xmm0, xmm5
    paddd xmm1, xmm6
    pxor xmm11, xmm0
    pxor xmm8, xmm1
    mov rax, r9
    pshufb xmm11, xmmword ptr [rdi + 32]
    pshufb xmm8, xmmword ptr [rdi + 32]
    paddd xmm12, xmm11
    paddd xmm13, xmm8
    mul qword ptr [rdi + 136]
    pxor xmm5, xmm12
    pxor xmm6, xmm13
    movdqa xmm14, xmm5
    pslld xmm14, 7
    add r14, rax
    psrld xmm5, 25
    movdqa xmm15, xmm6
    pslld xmm15, 7
    por xmm5, xmm14
    adc r15, rdx
    psrld xmm6, 25
    por xmm6, xmm15
    paddd xmm2, xmm7
    paddd xmm3, xmm4
    adc rcx, 0
    movdqa xmmword ptr [rdi - 64], xmm12
    movdqa xmmword ptr [rdi - 32], xmm13
    movdqa xmm12, xmmword ptr [rdi - 128]
    movdqa xmm13, xmmword ptr [rdi - 96]
    pxor xmm9, xmm2
    mov rax, r9
    pxor xmm10, xmm3
    pshufb xmm9, xmmword ptr [rdi]
    pshufb xmm10, xmmword ptr [rdi]
    paddd xmm12, xmm9
    mul qword ptr [rdi + 144]
    paddd xmm13, xmm10
    pxor xmm7, xmm12
    pxor xmm4, xmm13
    movdqa xmm14, xmm7
    add r15, rax
    pslld xmm14, 12
    psrld xmm7, 20
    movdqa xmm15, xmm4
    pslld xmm15, 12
    adc rcx, rdx
    por xmm7, xmm14
    psrld xmm4, 20
    por xmm4, xmm15
    paddd xmm2, xmm7
    paddd xmm3, xmm4
    mov rax, r10
    pxor xmm9, xmm2
    pxor xmm10, xmm3
    pshufb xmm9, xmmword ptr [rdi + 32]
    pshufb xmm10, xmmword ptr [rdi + 32]
    mul qword ptr [rdi + 128]
    paddd xmm12, xmm9
    paddd xmm13, xmm10
    pxor xmm7, xmm12
    pxor xmm4, xmm13
    add r14, rax
    movdqa xmm14, xmm7
    pslld xmm14, 7
    psrld xmm7, 25
    movdqa xmm15, xmm4
    adc r15, rdx
    pslld xmm15, 7
    por xmm7, xmm14
    psrld xmm4, 25
    por xmm4, xmm15
    adc rcx, 0
    paddd xmm0, xmm4
    paddd xmm1, xmm5
    pxor xmm8, xmm0
    pxor xmm9, xmm1
    pshufb xmm8, xmmword ptr [rdi]
    mov rax, r10
    pshufb xmm9, xmmword ptr [rdi]
    paddd xmm12, xmm8
    paddd xmm13, xmm9
    pxor xmm4, xmm12
    mul qword ptr [rdi + 136]
    pxor xmm5, xmm13
    movdqa xmm14, xmm4
    pslld xmm14, 12
    psrld xmm4, 20
    add r15, rax
    movdqa xmm15, xmm5
    pslld xmm15, 12
    por xmm4, xmm14
    psrld xmm5, 20
    adc rcx, rdx
    por xmm5, xmm15
    paddd xmm0, xmm4
    paddd xmm1, xmm5
    pxor xmm8, xmm0
    pxor xmm9, xmm1
    mov rax, r10
    pshufb xmm8, xmmword ptr [rdi + 32]
    pshufb xmm9, xmmword ptr [rdi + 32]
    paddd xmm12, xmm8
    paddd xmm13, xmm9
    imul rax, qword ptr [rdi + 144]
    pxor xmm4, xmm12
    pxor xmm5, xmm13
    movdqa xmm14, xmm4
    pslld xmm14, 7
    add rcx, rax
    psrld xmm4, 25
    movdqa xmm15, xmm5
    pslld xmm15, 7
    por xmm4, xmm14
    mov r10, r14
    psrld xmm5, 25
    por xmm5, xmm15
    paddd xmm2, xmm6
    paddd xmm3, xmm7
    and r10, 3
    movdqa xmmword ptr [rdi - 128], xmm12
    movdqa xmmword ptr [rdi - 96], xmm13
    movdqa xmm12, xmmword ptr [rdi - 64]
    movdqa xmm13, xmmword ptr [rdi - 32]
    pxor xmm10, xmm2
    and r14, -4
    pxor xmm11, xmm3
    pshufb xmm10, xmmword ptr [rdi]
    pshufb xmm11, xmmword ptr [rdi]
    paddd xmm12, xmm10
    add r12, r11
    paddd xmm13, xmm11
    pxor xmm6, xmm12
    pxor xmm7, xmm13
    movdqa xmm14, xmm6
    adc r13, rbx
    pslld xmm14, 12
    psrld xmm6, 20
    movdqa xmm15, xmm7
    pslld xmm15, 12
    adc r10, rbp
    por xmm6, xmm14
    psrld xmm7, 20
    por xmm7, xmm15
    paddd xmm2, xmm6
    paddd xmm3, xmm7
    add r12, r14
    pxor xmm10, xmm2
    pxor xmm11, xmm3
    pshufb xmm10, xmmword ptr [rdi + 32]
    pshufb xmm11, xmmword ptr [rdi + 32]
    adc r13, r15
    paddd xmm12, xmm10
    paddd xmm13, xmm11
    pxor xmm6, xmm12
    pxor xmm7, xmm13
    adc r10, rcx
    movdqa xmm14, xmm6
    pslld xmm14, 7
    psrld xmm6, 25
    movdqa xmm15, xmm7
    shrd r14, r15, 2
    pslld xmm15, 7
    por xmm6, xmm14
    psrld xmm7, 25
    por xmm7, xmm15
    shrd r15, rcx, 2
    paddd xmm0, xmm5
    paddd xmm1, xmm6
    pxor xmm11, xmm0
    pxor xmm8, xmm1
    pshufb xmm11, xmmword ptr [rdi]
    shr rcx, 2
    pshufb xmm8, xmmword ptr [rdi]
    paddd xmm12, xmm11
    paddd xmm13, xmm8
    pxor xmm5, xmm12
    add r12, r14
    pxor xmm6, xmm13
    movdqa xmm14, xmm5
    pslld xmm14, 12
    psrld xmm5, 20
    adc r13, r15
    movdqa xmm15, xmm6
    pslld xmm15, 12
    por xmm5, xmm14
    psrld xmm6, 20
    adc r10, rcx
    por xmm6, xmm15
    paddd xmm0, xmm5
    paddd xmm1, xmm6
    pxor xmm11, xmm0
    pxor xmm8, xmm1
    mov r8, r12
    pshufb xmm11, xmmword ptr [rdi + 32]
    pshufb xmm8, xmmword ptr [rdi + 32]
    paddd xmm12, xmm11
    paddd xmm13, xmm8
    mov r9, r13
    pxor xmm5, xmm12
    pxor xmm6, xmm13
    movdqa xmm14, xmm5
    pslld xmm14, 7
    mov rax, r10
    psrld xmm5, 25
    movdqa xmm15, xmm6
    pslld xmm15, 7
    por xmm5, xmm14
    mov rdx, r10
    psrld xmm6, 25
    por xmm6, xmm15
    paddd xmm2, xmm7
    paddd xmm3, xmm4
    and rax, -4
    movdqa xmmword ptr [rdi - 64], xmm12
    movdqa xmmword ptr [rdi - 32], xmm13
    movdqa xmm12, xmmword ptr [rdi - 128]
    movdqa xmm13, xmmword ptr [rdi - 96]
    pxor xmm9, xmm2
    shr rdx, 2
    pxor xmm10, xmm3
    pshufb xmm9, xmmword ptr [rdi]
    pshufb xmm10, xmmword ptr [rdi]
    paddd xmm12, xmm9
    and r10, 3
    paddd xmm13, xmm10
    pxor xmm7, xmm12
    pxor xmm4, xmm13
    movdqa xmm14, xmm7
    add rax, rdx
    pslld xmm14, 12
    psrld xmm7, 20
    movdqa xmm15, xmm4
    pslld xmm15, 12
    add r8, rax
    por xmm7, xmm14
    psrld xmm4, 20
    por xmm4, xmm15
    paddd xmm2, xmm7
    paddd xmm3, xmm4
    adc r9, 0
    pxor xmm9, xmm2
    pxor xmm10, xmm3
    pshufb xmm9, xmmword ptr [rdi + 32]
    pshufb xmm10, xmmword ptr [rdi + 32]
    adc r10, 0
    paddd xmm12, xmm9
    paddd xmm13, xmm10
    pxor xmm7, xmm12
    pxor xmm4, xmm13
    xor r11, r11
    movdqa xmm14, xmm7
    pslld xmm14, 7
    psrld xmm7, 25
    movdqa xmm15, xmm4
    xor rbx, rbx
    pslld xmm15, 7
    por xmm7, xmm14
    psrld xmm4, 25
    por xmm4, xmm15
    xor rbp, rbp
    mov r12, qword ptr [rdi + 112]
    mov r13, qword ptr [rdi + 120]
    paddd xmm0, xmmword ptr [rdi + 384]
    paddd xmm1, xmmword ptr [rdi + 400]
    paddd xmm2, xmmword ptr [rdi + 416]
    paddd xmm3, xmmword ptr [rdi + 432]
    movdqa xmm14, xmm0
    punpckldq xmm14, xmm1
    punpckhdq xmm0, xmm1
    movdqa xmm15, xmm2
    punpckldq xmm15, xmm3
    punpckhdq xmm2, xmm3
    movdqa xmm1, xmm14
    punpcklqdq xmm1, xmm15
    punpckhqdq xmm14, xmm15
    movdqa xmm3, xmm0
    punpcklqdq xmm3, xmm2
    punpckhqdq xmm0, xmm2
    movdqu xmm15, xmmword ptr [r12 + 0]
    pxor xmm15, xmm1
    movdqu xmmword ptr [r13 + 0], xmm15
    movdqu xmm2, xmmword ptr [r12 + 64]
    pxor xmm2, xmm14
    movdqu xmmword ptr [r13 + 64], xmm2
    movdqu xmm15, xmmword ptr [r12 + 128]
    pxor xmm15, xmm3
    movdqu xmmword ptr [r13 + 128], xmm15
    movdqu xmm2, xmmword ptr [r12 + 192]
    pxor xmm2, xmm0
    movdqu xmmword ptr [r13 + 192], xmm2
    paddd xmm4, xmmword ptr [rdi + 448]
    paddd xmm5, xmmword ptr [rdi + 464]
    paddd xmm6, xmmword ptr [rdi + 480]
    paddd xmm7, xmmword ptr [rdi + 496]
    movdqa xmm15, xmm4
    punpckldq xmm15, xmm5
    punpckhdq xmm4, xmm5
    movdqa xmm2, xmm6
    punpckldq xmm2, xmm7
    punpckhdq xmm6, xmm7
    movdqa xmm5, xmm15
    punpcklqdq xmm5, xmm2
    punpckhqdq xmm15, xmm2
    movdqa xmm7, xmm4
    punpcklqdq xmm7, xmm6
    punpckhqdq xmm4, xmm6
    movdqu xmm2, xmmword ptr [r12 + 16]
    pxor xmm2, xmm5
    movdqu xmmword ptr [r13 + 16], xmm2
    movdqu xmm6, xmmword ptr [r12 + 80]
    pxor xmm6, xmm15
    movdqu xmmword ptr [r13 + 80], xmm6
    movdqu xmm2, xmmword ptr [r12 + 144]
    pxor xmm2, xmm7
    movdqu xmmword ptr [r13 + 144], xmm2
    movdqu xmm6, xmmword ptr [r12 + 208]
    pxor xmm6, xmm4
    movdqu xmmword ptr [r13 + 208], xmm6
    paddd xmm8, xmmword ptr [rdi + 576]
    paddd xmm9, xmmword ptr [rdi + 592]
    paddd xmm10, xmmword ptr [rdi + 608]
    paddd xmm11, xmmword ptr [rdi + 624]
    movdqa xmm2, xmm8
    punpckldq xmm2, xmm9
    punpckhdq xmm8, xmm9
    movdqa xmm6, xmm10
    punpckldq xmm6, xmm11
    punpckhdq xmm10, xmm11
    movdqa xmm9, xmm2
    punpcklqdq xmm9, xmm6
    punpckhqdq xmm2, xmm6
    movdqa xmm11, xmm8
    punpcklqdq xmm11, xmm10
    punpckhqdq xmm8, xmm10
    movdqu xmm6, xmmword ptr [r12 + 48]
    pxor xmm6, xmm9
    movdqu xmmword ptr [r13 + 48], xmm6
    movdqu xmm10, xmmword ptr [r12 + 112]
    pxor xmm10, xmm2
    movdqu xmmword ptr [r13 + 112], xmm10
    movdqu xmm6, xmmword ptr [r12 + 176]
    pxor xmm6, xmm11
    movdqu xmmword ptr [r13 + 176], xmm6
    movdqu xmm10, xmmword ptr [r12 + 240]
    pxor xmm10, xmm8
    movdqu xmmword ptr [r13 + 240], xmm10
    movdqa xmm0, xmmword ptr [rdi - 64]
    movdqa xmm1, xmmword ptr [rdi - 32]
    paddd xmm12, xmmword ptr [rdi + 512]
    paddd xmm13, xmmword ptr [rdi + 528]
    paddd xmm0, xmmword ptr [rdi + 544]
    paddd xmm1, xmmword ptr [rdi + 560]
    movdqa xmm6, xmm12
    punpckldq xmm6, xmm13
    punpckhdq xmm12, xmm13
    movdqa xmm10, xmm0
    punpckldq xmm10, xmm1
    punpckhdq xmm0, xmm1
    movdqa xmm13, xmm6
    punpcklqdq xmm13, xmm10
    punpckhqdq xmm6, xmm10
    movdqa xmm1, xmm12
    punpcklqdq xmm1, xmm0
    punpckhqdq xmm12, xmm0
    movdqu xmm10, xmmword ptr [r12 + 32]
    pxor xmm10, xmm13
    movdqu xmmword ptr [r13 + 32], xmm10
    movdqu xmm0, xmmword ptr [r12 + 96]
    pxor xmm0, xmm6
    movdqu xmmword ptr [r13 + 96], xmm0
    movdqu xmm10, xmmword ptr [r12 + 160]
    pxor xmm10, xmm1
    movdqu xmmword ptr [r13 + 160], xmm10
    movdqu xmm0, xmmword ptr [r12 + 224]
    pxor xmm0, xmm12
    movdqu xmmword ptr [r13 + 224], xmm0
    add qword ptr [rdi + 112], 256
    add qword ptr [rdi + 120], 256
    add dword ptr [rdi + 240], 4
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
    pxor xmm0, xmm0
    pxor xmm1, xmm1
    pxor xmm2, xmm2
    pxor xmm3, xmm3
    pxor xmm4, xmm4
    pxor xmm5, xmm5
    pxor xmm6, xmm6
    pxor xmm7, xmm7
    pxor xmm8, xmm8
    pxor xmm9, xmm9
    pxor xmm10, xmm10
    pxor xmm11, xmm11
    pxor xmm12, xmm12
    pxor xmm13, xmm13
    pxor xmm14, xmm14
    pxor xmm15, xmm15
    movdqa xmmword ptr [rdi + 448], xmm0
    movdqa xmmword ptr [rdi + 464], xmm0
    movdqa xmmword ptr [rdi + 480], xmm0
    movdqa xmmword ptr [rdi + 496], xmm0
    movdqa xmmword ptr [rdi + 512], xmm0
    movdqa xmmword ptr [rdi + 528], xmm0
    movdqa xmmword ptr [rdi + 544], xmm0
    movdqa xmmword ptr [rdi + 560], xmm0
    movdqa xmmword ptr [rdi + 576], xmm0
    movdqa xmmword ptr [rdi + 592], xmm0
    movdqa xmmword ptr [rdi + 608], xmm0
    movdqa xmmword ptr [rdi + 624], xmm0
    ret
