# Written by `cargo xtask kernels` (xtask/src/kernels.rs).
2:
    movdqu xmm0, xmmword ptr [rdx]
    movdqu xmm1, xmmword ptr [rdx + 16]
    movdqu xmm2, xmmword ptr [rdx + 32]
    movdqu xmm3, xmmword ptr [rdx + 48]
    movdqu xmm4, xmmword ptr [rdx + 64]
    movdqu xmm5, xmmword ptr [rdx + 80]
    movdqu xmm6, xmmword ptr [rdx + 96]
    movdqu xmm7, xmmword ptr [rdx + 112]
    movdqa xmm8, xmm0
    psrlq xmm8, 1
    movdqa xmm9, xmm2
    psrlq xmm9, 1
    movdqa xmm10, xmm4
    psrlq xmm10, 1
    pxor xmm10, xmm5
    pxor xmm8, xmm1
    movdqa xmm11, xmm6
    psrlq xmm11, 1
    pand xmm8, xmmword ptr [r9]
    pand xmm10, xmmword ptr [r9]
    pxor xmm9, xmm3
    pxor xmm1, xmm8
    movdqa xmm12, xmm1
    psrlq xmm12, 2
    psllq xmm8, 1
    movdqa xmm13, xmm10
    psllq xmm13, 1
    pxor xmm0, xmm8
    pand xmm9, xmmword ptr [r9]
    pxor xmm3, xmm9
    pxor xmm11, xmm7
    psllq xmm9, 1
    pxor xmm12, xmm3
    pand xmm11, xmmword ptr [r9]
    movdqa xmm8, xmm0
    psrlq xmm8, 2
    pxor xmm4, xmm13
    pxor xmm5, xmm10
    pxor xmm7, xmm11
    movdqa xmm10, xmm5
    psrlq xmm10, 2
    psllq xmm11, 1
    pxor xmm6, xmm11
    pxor xmm2, xmm9
    pxor xmm10, xmm7
    pand xmm10, xmmword ptr [r9 + 16]
    pxor xmm8, xmm2
    pand xmm12, xmmword ptr [r9 + 16]
    movdqa xmm9, xmm4
    psrlq xmm9, 2
    movdqa xmm11, xmm10
    psllq xmm11, 2
    pxor xmm7, xmm10
    pxor xmm9, xmm6
    pand xmm8, xmmword ptr [r9 + 16]
    pxor xmm3, xmm12
    pxor xmm2, xmm8
    pand xmm9, xmmword ptr [r9 + 16]
    psllq xmm12, 2
    psllq xmm8, 2
    movdqa xmm10, xmm3
    psrlq xmm10, 4
    movdqa xmm13, xmm2
    psrlq xmm13, 4
    movdqa xmm14, xmm9
    psllq xmm14, 2
    pxor xmm1, xmm12
    pxor xmm5, xmm11
    pxor xmm0, xmm8
    pxor xmm4, xmm14
    pxor xmm10, xmm7
    pxor xmm6, xmm9
    pxor xmm13, xmm6
    pand xmm13, xmmword ptr [r9 + 32]
    movdqa xmm8, xmm1
    psrlq xmm8, 4
    movdqa xmm9, xmm0
    psrlq xmm9, 4
    pxor xmm8, xmm5
    pxor xmm6, xmm13
    pxor xmm9, xmm4
    pand xmm10, xmmword ptr [r9 + 32]
    pxor xmm7, xmm10
    pand xmm9, xmmword ptr [r9 + 32]
    psllq xmm13, 4
    movdqa xmm11, xmm9
    psllq xmm11, 4
    pxor xmm6, xmmword ptr [rsi + 96]
    pand xmm8, xmmword ptr [r9 + 32]
    pxor xmm0, xmm11
    pxor xmm5, xmm8
    pxor xmm7, xmmword ptr [rsi + 112]
    pxor xmm0, xmmword ptr [rsi]
    pxor xmm2, xmm13
    pxor xmm4, xmm9
    psllq xmm8, 4
    pxor xmm2, xmmword ptr [rsi + 32]
    pxor xmm5, xmmword ptr [rsi + 80]
    psllq xmm10, 4
    pxor xmm1, xmm8
    pxor xmm4, xmmword ptr [rsi + 64]
    pxor xmm3, xmm10
    pxor xmm3, xmmword ptr [rsi + 48]
    pxor xmm1, xmmword ptr [rsi + 16]
    mov r10d, dword ptr [rdi + 272]
    lea rax, [r9 + 256]
    lea r11, [rsi + 128]
3:
    movdqa xmm8, xmm0
    pxor xmm8, xmm3
    movdqa xmm9, xmm4
    pxor xmm9, xmm8
    pxor xmm0, xmm9
    movdqa xmm10, xmm4
    pxor xmm10, xmm7
    pxor xmm4, xmm6
    pxor xmm5, xmm0
    movdqa xmm6, xmm1
    pxor xmm6, xmm9
    movdqa xmm11, xmm7
    pxor xmm11, xmm4
    pxor xmm2, xmm7
    movdqa xmm7, xmm4
    pxor xmm7, xmm6
    pxor xmm2, xmm7
    movdqa xmm12, xmm0
    pxor xmm12, xmm2
    movdqa xmm13, xmm7
    pxor xmm13, xmm5
    pxor xmm1, xmm13
    movdqa xmm14, xmm4
    pxor xmm14, xmm10
    movdqa xmm15, xmm0
    pxor xmm15, xmm7
    movdqa xmmword ptr [rdi], xmm5
    movdqa xmm5, xmm12
    pxor xmm5, xmm13
    movdqa xmmword ptr [rdi + 16], xmm8
    movdqa xmm8, xmm9
    pand xmm8, xmm4
    movdqa xmmword ptr [rdi + 32], xmm4
    movdqa xmm4, xmm11
    pxor xmm4, xmm9
    movdqa xmmword ptr [rdi + 48], xmm9
    movdqa xmm9, xmm4
    pand xmm9, xmm14
    pxor xmm3, xmm11
    movdqa xmmword ptr [rdi + 64], xmm14
    movdqa xmm14, xmm12
    pand xmm14, xmm0
    movdqa xmmword ptr [rdi + 80], xmm0
    movdqa xmm0, xmm12
    pxor xmm0, xmm4
    movdqa xmmword ptr [rdi + 96], xmm4
    movdqa xmm4, xmm6
    pxor xmm4, xmm3
    movdqa xmmword ptr [rdi + 112], xmm12
    movdqa xmm12, xmm5
    pand xmm12, xmm15
    movdqa xmmword ptr [rdi + 128], xmm15
    movdqa xmm15, xmm11
    pxor xmm15, xmm5
    movdqa xmmword ptr [rdi + 144], xmm5
    movdqa xmm5, xmm4
    pand xmm5, xmm15
    movdqa xmmword ptr [rdi + 160], xmm15
    movdqa xmm15, xmm6
    pxor xmm15, xmm1
    movdqa xmmword ptr [rdi + 176], xmm4
    movdqa xmm4, xmm3
    pand xmm4, xmm0
    movdqa xmmword ptr [rdi + 192], xmm0
    movdqa xmm0, xmm15
    pand xmm0, xmm6
    movdqa xmmword ptr [rdi + 208], xmm3
    movdqa xmm3, xmm10
    pand xmm3, xmm11
    pxor xmm12, xmm5
    movdqa xmmword ptr [rdi + 224], xmm11
    movdqa xmm11, xmm7
    pand xmm11, xmm13
    pxor xmm4, xmm14
    pxor xmm11, xmm0
    pxor xmm8, xmm0
    pxor xmm3, xmm5
    pxor xmm9, xmm14
    pxor xmm3, xmm4
    pxor xmm12, xmm9
    pxor xmm11, xmm9
    pxor xmm3, xmm2
    pxor xmm8, xmm4
    pxor xmm8, xmm1
    pxor xmm12, xmmword ptr [rdi + 16]
    movdqa xmm0, xmm3
    pand xmm0, xmm8
    movdqa xmm1, xmm12
    pxor xmm1, xmm0
    pxor xmm11, xmmword ptr [rdi]
    pxor xmm3, xmm12
    pxor xmm0, xmm11
    movdqa xmm2, xmm11
    pxor xmm2, xmm8
    pand xmm1, xmm2
    pxor xmm1, xmm11
    movdqa xmm2, xmm0
    pand xmm2, xmm3
    movdqa xmm4, xmm1
    pxor xmm4, xmm0
    pxor xmm8, xmm1
    pand xmm11, xmm4
    pxor xmm2, xmm12
    pxor xmm8, xmm11
    pxor xmm0, xmm11
    movdqa xmm4, xmmword ptr [rdi + 128]
    pand xmm4, xmm1
    movdqa xmm5, xmm2
    pxor xmm5, xmm1
    pand xmm0, xmm2
    movdqa xmm9, xmmword ptr [rdi + 112]
    pand xmm9, xmm5
    pand xmm7, xmm2
    movdqa xmm11, xmmword ptr [rdi + 80]
    pand xmm11, xmm5
    pxor xmm3, xmm0
    movdqa xmm0, xmm3
    pxor xmm0, xmm2
    pand xmm10, xmm8
    movdqa xmm12, xmmword ptr [rdi + 32]
    pand xmm12, xmm3
    pand xmm15, xmm0
    movdqa xmm14, xmm8
    pxor xmm14, xmm3
    pxor xmm9, xmm11
    pand xmm2, xmm13
    movdqa xmm13, xmmword ptr [rdi + 144]
    pand xmm13, xmm1
    pxor xmm1, xmm8
    pand xmm0, xmm6
    pand xmm8, xmmword ptr [rdi + 224]
    pxor xmm10, xmm4
    pxor xmm15, xmm2
    movdqa xmm6, xmmword ptr [rdi + 96]
    pand xmm6, xmm14
    movdqa xmmword ptr [rdi], xmm11
    movdqa xmm11, xmmword ptr [rdi + 176]
    pand xmm11, xmm1
    pxor xmm5, xmm14
    pand xmm1, xmmword ptr [rdi + 160]
    pxor xmm1, xmm15
    pxor xmm9, xmm0
    pxor xmm9, xmm15
    pxor xmm8, xmm6
    movdqa xmm15, xmmword ptr [rdi + 208]
    pand xmm15, xmm5
    pxor xmm4, xmm11
    pxor xmm12, xmm15
    pxor xmm10, xmm15
    pxor xmm13, xmm1
    pxor xmm10, xmm13
    pxor xmm9, xmm12
    pxor xmm8, xmm1
    pand xmm3, xmmword ptr [rdi + 48]
    pxor xmm2, xmm3
    pxor xmm7, xmm10
    pxor xmm6, xmm9
    pxor xmm13, xmm6
    pand xmm14, xmmword ptr [rdi + 64]
    pand xmm5, xmmword ptr [rdi + 192]
    pxor xmm2, xmm9
    pxor xmm10, xmm14
    pxor xmm4, xmm14
    pxor xmm8, xmm2
    pxor xmm0, xmm4
    pxor xmm5, xmm2
    pxor xmm4, xmmword ptr [rdi]
    movdqa xmm1, xmm6
    pshufb xmm1, xmmword ptr [rax + 16]
    pxor xmm10, xmm5
    movdqa xmm2, xmm13
    pshufb xmm2, xmmword ptr [rax + 16]
    pxor xmm7, xmm8
    movdqa xmm3, xmm8
    pshufb xmm3, xmmword ptr [rax + 16]
    pxor xmm2, xmm13
    pxor xmm3, xmm8
    pxor xmm0, xmm7
    movdqa xmm9, xmm0
    pshufb xmm9, xmmword ptr [rax + 16]
    pxor xmm1, xmm6
    movdqa xmm11, xmm4
    pshufb xmm11, xmmword ptr [rax + 16]
    movdqa xmm14, xmm10
    pshufb xmm14, xmmword ptr [rax + 16]
    pxor xmm9, xmm0
    pxor xmm14, xmm10
    movdqa xmm15, xmm5
    pshufb xmm15, xmmword ptr [rax + 16]
    pxor xmm12, xmm7
    movdqa xmm7, xmm1
    pxor xmm7, xmm9
    pxor xmm7, xmm5
    pxor xmm5, xmm15
    pxor xmm14, xmm1
    pxor xmm5, xmm9
    pxor xmm11, xmm4
    movdqa xmm15, xmm7
    pshufb xmm15, xmmword ptr [rax]
    pxor xmm11, xmm1
    pxor xmm0, xmm2
    pxor xmm3, xmm1
    pxor xmm3, xmm9
    pxor xmm8, xmm11
    movdqa xmm1, xmm0
    pshufb xmm1, xmmword ptr [rax]
    movdqa xmm2, xmm8
    pshufb xmm2, xmmword ptr [rax]
    movdqa xmm11, xmm12
    pshufb xmm11, xmmword ptr [rax + 16]
    pxor xmm14, xmm12
    pxor xmm13, xmm3
    pxor xmm10, xmm5
    pxor xmm7, xmm15
    movdqa xmm3, xmm13
    pshufb xmm3, xmmword ptr [rax]
    movdqa xmm5, xmm10
    pshufb xmm5, xmmword ptr [rax]
    movdqa xmmword ptr [rdi], xmm6
    movdqa xmm6, xmm2
    pxor xmm6, xmmword ptr [r11 + 32]
    pxor xmm0, xmm1
    pxor xmm4, xmm9
    movdqa xmm9, xmm14
    pshufb xmm9, xmmword ptr [rax]
    pxor xmm8, xmm2
    pxor xmm13, xmm3
    movdqa xmm2, xmm0
    pshufb xmm2, xmmword ptr [rax + 16]
    pxor xmm15, xmmword ptr [r11 + 16]
    movdqa xmmword ptr [rdi + 16], xmm0
    movdqa xmm0, xmm4
    pshufb xmm0, xmmword ptr [rax]
    pxor xmm12, xmm11
    pxor xmm1, xmmword ptr [r11 + 96]
    pxor xmm3, xmmword ptr [r11 + 64]
    movdqa xmm11, xmm13
    pshufb xmm11, xmmword ptr [rax + 16]
    pxor xmm14, xmm9
    pxor xmm3, xmm11
    pxor xmm10, xmm5
    movdqa xmm11, xmm7
    pshufb xmm11, xmmword ptr [rax + 16]
    pxor xmm12, xmmword ptr [rdi]
    pxor xmm1, xmm2
    movdqa xmm2, xmm12
    pshufb xmm2, xmmword ptr [rax]
    pxor xmm9, xmmword ptr [r11 + 80]
    pxor xmm4, xmm0
    pxor xmm3, xmm10
    pxor xmm15, xmm11
    pxor xmm5, xmmword ptr [r11 + 48]
    movdqa xmm11, xmm2
    pxor xmm11, xmmword ptr [r11 + 112]
    pshufb xmm10, xmmword ptr [rax + 16]
    pxor xmm12, xmm2
    pxor xmm15, xmm4
    pshufb xmm4, xmmword ptr [rax + 16]
    pxor xmm1, xmm14
    movdqa xmm2, xmm8
    pshufb xmm2, xmmword ptr [rax + 16]
    pxor xmm6, xmm2
    pxor xmm0, xmmword ptr [r11]
    pxor xmm5, xmm10
    pshufb xmm14, xmmword ptr [rax + 16]
    pxor xmm0, xmm4
    pxor xmm15, xmm12
    movdqa xmm2, xmm12
    pshufb xmm2, xmmword ptr [rax + 16]
    pxor xmm3, xmm12
    pxor xmm5, xmm8
    pxor xmm5, xmm12
    pxor xmm11, xmm2
    pxor xmm9, xmm14
    pxor xmm0, xmm12
    pxor xmm11, xmmword ptr [rdi + 16]
    pxor xmm9, xmm13
    pxor xmm6, xmm7
    movdqa xmm2, xmm6
    movdqa xmm4, xmm3
    movdqa xmm3, xmm5
    movdqa xmm5, xmm9
    movdqa xmm6, xmm1
    movdqa xmm1, xmm15
    movdqa xmm7, xmm11
    add rax, 48
    add r11, 128
    dec r10d
    jnz 3b
    movdqa xmm8, xmm4
    pxor xmm8, xmm7
    pxor xmm6, xmm4
    movdqa xmm9, xmm6
    pxor xmm9, xmm8
    movdqa xmm10, xmm0
    pxor xmm10, xmm3
    pxor xmm4, xmm10
    movdqa xmm11, xmm6
    pxor xmm11, xmm7
    pxor xmm0, xmm4
    movdqa xmm12, xmm4
    pxor xmm12, xmm1
    movdqa xmm13, xmm11
    pand xmm13, xmm8
    movdqa xmm14, xmm6
    pxor xmm14, xmm12
    pxor xmm3, xmm11
    movdqa xmm15, xmm4
    pxor xmm15, xmm11
    pxor xmm2, xmm7
    movdqa xmm7, xmm6
    pand xmm7, xmm4
    movdqa xmmword ptr [rdi], xmm4
    movdqa xmm4, xmm14
    pxor xmm4, xmm0
    pxor xmm2, xmm14
    movdqa xmmword ptr [rdi + 16], xmm8
    movdqa xmm8, xmm0
    pxor xmm8, xmm2
    pxor xmm5, xmm0
    movdqa xmmword ptr [rdi + 32], xmm6
    movdqa xmm6, xmm14
    pxor xmm6, xmm5
    movdqa xmmword ptr [rdi + 48], xmm10
    movdqa xmm10, xmm6
    pxor xmm10, xmm8
    movdqa xmmword ptr [rdi + 64], xmm5
    movdqa xmm5, xmm10
    pxor xmm5, xmm11
    movdqa xmmword ptr [rdi + 80], xmm11
    movdqa xmm11, xmm15
    pand xmm11, xmm9
    movdqa xmmword ptr [rdi + 96], xmm9
    movdqa xmm9, xmm6
    pand xmm9, xmm14
    movdqa xmmword ptr [rdi + 112], xmm14
    movdqa xmm14, xmm12
    pxor xmm14, xmm3
    pxor xmm1, xmm6
    movdqa xmmword ptr [rdi + 128], xmm6
    movdqa xmm6, xmm8
    pxor xmm6, xmm15
    movdqa xmmword ptr [rdi + 144], xmm15
    movdqa xmm15, xmm14
    pand xmm15, xmm5
    movdqa xmmword ptr [rdi + 160], xmm5
    movdqa xmm5, xmm12
    pxor xmm5, xmm1
    movdqa xmmword ptr [rdi + 176], xmm14
    movdqa xmm14, xmm8
    pand xmm14, xmm0
    pxor xmm11, xmm14
    movdqa xmmword ptr [rdi + 192], xmm0
    movdqa xmm0, xmm5
    pand xmm0, xmm12
    movdqa xmmword ptr [rdi + 208], xmm12
    movdqa xmm12, xmm3
    pand xmm12, xmm6
    movdqa xmmword ptr [rdi + 224], xmm6
    movdqa xmm6, xmm10
    pand xmm6, xmm4
    pxor xmm6, xmm15
    pxor xmm9, xmm0
    pxor xmm12, xmm14
    pxor xmm13, xmm15
    pxor xmm7, xmm0
    pxor xmm13, xmm12
    pxor xmm6, xmm11
    pxor xmm13, xmm2
    pxor xmm7, xmm12
    pxor xmm7, xmm1
    pxor xmm9, xmm11
    pxor xmm9, xmmword ptr [rdi + 64]
    movdqa xmm0, xmm7
    pand xmm0, xmm13
    movdqa xmm1, xmm9
    pxor xmm1, xmm7
    pxor xmm6, xmmword ptr [rdi + 48]
    movdqa xmm2, xmm0
    pxor xmm2, xmm6
    pxor xmm0, xmm9
    pxor xmm13, xmm6
    pand xmm2, xmm1
    movdqa xmm1, xmm0
    pand xmm1, xmm13
    pxor xmm2, xmm9
    pxor xmm1, xmm6
    movdqa xmm6, xmm0
    pxor xmm6, xmm2
    pand xmm9, xmm6
    pxor xmm0, xmm9
    pand xmm0, xmm1
    pand xmm10, xmm2
    movdqa xmm6, xmm2
    pxor xmm6, xmm1
    pxor xmm7, xmm2
    pxor xmm9, xmm7
    pand xmm8, xmm6
    movdqa xmm7, xmmword ptr [rdi + 80]
    pand xmm7, xmm9
    movdqa xmm11, xmmword ptr [rdi + 192]
    pand xmm11, xmm6
    pxor xmm13, xmm0
    movdqa xmm0, xmm13
    pxor xmm0, xmm9
    movdqa xmm12, xmmword ptr [rdi + 112]
    pand xmm12, xmm1
    movdqa xmm14, xmm1
    pxor xmm14, xmm13
    pand xmm5, xmm14
    movdqa xmm15, xmm2
    pxor xmm15, xmm9
    pand xmm2, xmm4
    pxor xmm8, xmm11
    pand xmm1, xmmword ptr [rdi + 128]
    movdqa xmm4, xmmword ptr [rdi + 176]
    pand xmm4, xmm15
    pxor xmm6, xmm0
    pxor xmm5, xmm1
    pand xmm14, xmmword ptr [rdi + 208]
    movdqa xmmword ptr [rdi + 48], xmm12
    movdqa xmm12, xmmword ptr [rdi + 96]
    pand xmm12, xmm0
    pxor xmm8, xmm14
    pxor xmm8, xmm5
    pxor xmm4, xmm2
    pand xmm0, xmmword ptr [rdi + 144]
    pand xmm15, xmmword ptr [rdi + 160]
    movdqa xmmword ptr [rdi + 64], xmm14
    movdqa xmm14, xmmword ptr [rdi + 32]
    pand xmm14, xmm13
    pxor xmm4, xmm12
    pand xmm9, xmmword ptr [rdi + 16]
    pand xmm13, xmmword ptr [rdi]
    pxor xmm1, xmm13
    pxor xmm2, xmm9
    pand xmm3, xmm6
    pxor xmm15, xmm5
    pxor xmm14, xmm3
    pxor xmm8, xmm14
    pxor xmm10, xmm15
    pxor xmm11, xmm4
    pxor xmm7, xmm0
    pxor xmm1, xmm8
    pand xmm6, xmmword ptr [rdi + 224]
    pxor xmm2, xmm3
    pxor xmm2, xmm10
    pxor xmm7, xmm15
    pxor xmm6, xmm1
    pxor xmm0, xmm8
    pxor xmm7, xmm1
    pxor xmm11, xmmword ptr [r11]
    pxor xmm12, xmm2
    pxor xmm10, xmm0
    movdqa xmm1, xmm6
    pxor xmm1, xmmword ptr [r11 + 16]
    pxor xmm10, xmmword ptr [r11 + 64]
    pshufb xmm11, xmmword ptr [rax + 32]
    pxor xmm2, xmmword ptr [rdi + 48]
    pshufb xmm10, xmmword ptr [rax + 32]
    movdqa xmm3, xmm11
    psrlq xmm3, 1
    pxor xmm4, xmmword ptr [rdi + 64]
    pshufb xmm1, xmmword ptr [rax + 32]
    pxor xmm2, xmm7
    pxor xmm3, xmm1
    pand xmm3, xmmword ptr [r9]
    movdqa xmm5, xmm10
    psrlq xmm5, 1
    pxor xmm4, xmm2
    pxor xmm0, xmmword ptr [r11 + 112]
    pxor xmm14, xmm2
    pxor xmm7, xmmword ptr [r11 + 32]
    pxor xmm12, xmm6
    pshufb xmm7, xmmword ptr [rax + 32]
    pxor xmm4, xmmword ptr [r11 + 96]
    pxor xmm12, xmmword ptr [r11 + 48]
    pxor xmm14, xmmword ptr [r11 + 80]
    pshufb xmm14, xmmword ptr [rax + 32]
    movdqa xmm2, xmm7
    psrlq xmm2, 1
    movdqa xmm6, xmm3
    psllq xmm6, 1
    pshufb xmm12, xmmword ptr [rax + 32]
    pxor xmm1, xmm3
    pshufb xmm4, xmmword ptr [rax + 32]
    pxor xmm11, xmm6
    pxor xmm5, xmm14
    movdqa xmm3, xmm4
    psrlq xmm3, 1
    movdqa xmm6, xmm1
    psrlq xmm6, 2
    pxor xmm2, xmm12
    pand xmm2, xmmword ptr [r9]
    pshufb xmm0, xmmword ptr [rax + 32]
    pxor xmm12, xmm2
    pand xmm5, xmmword ptr [r9]
    pxor xmm3, xmm0
    movdqa xmm8, xmm5
    psllq xmm8, 1
    pand xmm3, xmmword ptr [r9]
    pxor xmm6, xmm12
    pxor xmm0, xmm3
    pxor xmm14, xmm5
    movdqa xmm5, xmm14
    psrlq xmm5, 2
    psllq xmm2, 1
    pand xmm6, xmmword ptr [r9 + 16]
    pxor xmm5, xmm0
    movdqa xmm9, xmm6
    psllq xmm9, 2
    pand xmm5, xmmword ptr [r9 + 16]
    movdqa xmm13, xmm11
    psrlq xmm13, 2
    pxor xmm7, xmm2
    psllq xmm3, 1
    pxor xmm12, xmm6
    pxor xmm4, xmm3
    pxor xmm13, xmm7
    pxor xmm10, xmm8
    movdqa xmm2, xmm12
    psrlq xmm2, 4
    pand xmm13, xmmword ptr [r9 + 16]
    pxor xmm7, xmm13
    movdqa xmm3, xmm10
    psrlq xmm3, 2
    pxor xmm3, xmm4
    pand xmm3, xmmword ptr [r9 + 16]
    movdqa xmm6, xmm5
    psllq xmm6, 2
    pxor xmm14, xmm6
    pxor xmm1, xmm9
    psllq xmm13, 2
    pxor xmm4, xmm3
    movdqa xmm6, xmm7
    psrlq xmm6, 4
    pxor xmm11, xmm13
    movdqa xmm8, xmm1
    psrlq xmm8, 4
    psllq xmm3, 2
    pxor xmm6, xmm4
    pxor xmm8, xmm14
    pxor xmm0, xmm5
    movdqa xmm5, xmm11
    psrlq xmm5, 4
    pxor xmm10, xmm3
    pxor xmm5, xmm10
    pand xmm6, xmmword ptr [r9 + 32]
    pxor xmm2, xmm0
    pand xmm8, xmmword ptr [r9 + 32]
    pand xmm5, xmmword ptr [r9 + 32]
    pand xmm2, xmmword ptr [r9 + 32]
    movdqa xmm3, xmm8
    psllq xmm3, 4
    movdqa xmm9, xmm2
    psllq xmm9, 4
    pxor xmm4, xmm6
    psllq xmm6, 4
    movdqa xmm13, xmm5
    psllq xmm13, 4
    pxor xmm1, xmm3
    pxor xmm14, xmm8
    pxor xmm0, xmm2
    pxor xmm11, xmm13
    pxor xmm12, xmm9
    pxor xmm7, xmm6
    pxor xmm10, xmm5
    movdqa xmm2, xmm7
    movdqa xmm3, xmm12
    movdqa xmm5, xmm14
    movdqa xmm6, xmm4
    movdqa xmm4, xmm10
    movdqa xmm7, xmm0
    movdqa xmm0, xmm11
    pxor xmm0, xmmword ptr [rdi + 256]
    movdqu xmm8, xmmword ptr [rdx]
    pxor xmm1, xmm8
    movdqu xmm8, xmmword ptr [rdx + 16]
    pxor xmm2, xmm8
    movdqu xmm8, xmmword ptr [rdx + 32]
    pxor xmm3, xmm8
    movdqu xmm8, xmmword ptr [rdx + 48]
    pxor xmm4, xmm8
    movdqu xmm8, xmmword ptr [rdx + 64]
    pxor xmm5, xmm8
    movdqu xmm8, xmmword ptr [rdx + 80]
    pxor xmm6, xmm8
    movdqu xmm8, xmmword ptr [rdx + 96]
    pxor xmm7, xmm8
    movdqu xmm8, xmmword ptr [rdx + 112]
    movdqa xmmword ptr [rdi + 256], xmm8
    movdqu xmmword ptr [rcx], xmm0
    movdqu xmmword ptr [rcx + 16], xmm1
    movdqu xmmword ptr [rcx + 32], xmm2
    movdqu xmmword ptr [rcx + 48], xmm3
    movdqu xmmword ptr [rcx + 64], xmm4
    movdqu xmmword ptr [rcx + 80], xmm5
    movdqu xmmword ptr [rcx + 96], xmm6
    movdqu xmmword ptr [rcx + 112], xmm7
    add rdx, 128
    add rcx, 128
    dec r8
    jnz 2b
    ret
