# Written by `cargo xtask kernels` (xtask/src/kernels.rs).
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
    mov eax, 10
3:
    paddd xmm0, xmm4
    paddd xmm1, xmm5
    pxor xmm8, xmm0
    pxor xmm9, xmm1
    pshufb xmm8, xmmword ptr [rdi]
    pshufb xmm9, xmmword ptr [rdi]
    paddd xmm12, xmm8
    paddd xmm13, xmm9
    pxor xmm4, xmm12
    pxor xmm5, xmm13
    movdqa xmm14, xmm4
    pslld xmm14, 12
    psrld xmm4, 20
    movdqa xmm15, xmm5
    pslld xmm15, 12
    por xmm4, xmm14
    psrld xmm5, 20
    por xmm5, xmm15
    paddd xmm0, xmm4
    paddd xmm1, xmm5
    pxor xmm8, xmm0
    pxor xmm9, xmm1
    pshufb xmm8, xmmword ptr [rdi + 32]
    pshufb xmm9, xmmword ptr [rdi + 32]
    paddd xmm12, xmm8
    paddd xmm13, xmm9
    pxor xmm4, xmm12
    pxor xmm5, xmm13
    movdqa xmm14, xmm4
    pslld xmm14, 7
    psrld xmm4, 25
    movdqa xmm15, xmm5
    pslld xmm15, 7
    por xmm4, xmm14
    psrld xmm5, 25
    por xmm5, xmm15
    paddd xmm2, xmm6
    paddd xmm3, xmm7
    movdqa xmmword ptr [rdi - 128], xmm12
    movdqa xmmword ptr [rdi - 96], xmm13
    movdqa xmm12, xmmword ptr [rdi - 64]
    movdqa xmm13, xmmword ptr [rdi - 32]
    pxor xmm10, xmm2
    pxor xmm11, xmm3
    pshufb xmm10, xmmword ptr [rdi]
    pshufb xmm11, xmmword ptr [rdi]
    paddd xmm12, xmm10
    paddd xmm13, xmm11
    pxor xmm6, xmm12
    pxor xmm7, xmm13
    movdqa xmm14, xmm6
    pslld xmm14, 12
    psrld xmm6, 20
    movdqa xmm15, xmm7
    pslld xmm15, 12
    por xmm6, xmm14
    psrld xmm7, 20
    por xmm7, xmm15
    paddd xmm2, xmm6
    paddd xmm3, xmm7
    pxor xmm10, xmm2
    pxor xmm11, xmm3
    pshufb xmm10, xmmword ptr [rdi + 32]
    pshufb xmm11, xmmword ptr [rdi + 32]
    paddd xmm12, xmm10
    paddd xmm13, xmm11
    pxor xmm6, xmm12
    pxor xmm7, xmm13
    movdqa xmm14, xmm6
    pslld xmm14, 7
    psrld xmm6, 25
    movdqa xmm15, xmm7
    pslld xmm15, 7
    por xmm6, xmm14
    psrld xmm7, 25
    por xmm7, xmm15
    paddd xmm0, xmm5
    paddd xmm1, xmm6
    pxor xmm11, xmm0
    pxor xmm8, xmm1
    pshufb xmm11, xmmword ptr [rdi]
    pshufb xmm8, xmmword ptr [rdi]
    paddd xmm12, xmm11
    paddd xmm13, xmm8
    pxor xmm5, xmm12
    pxor xmm6, xmm13
    movdqa xmm14, xmm5
    pslld xmm14, 12
    psrld xmm5, 20
    movdqa xmm15, xmm6
    pslld xmm15, 12
    por xmm5, xmm14
    psrld xmm6, 20
    por xmm6, xmm15
    paddd xmm0, xmm5
    paddd xmm1, xmm6
    pxor xmm11, xmm0
    pxor xmm8, xmm1
    pshufb xmm11, xmmword ptr [rdi + 32]
    pshufb xmm8, xmmword ptr [rdi + 32]
    paddd xmm12, xmm11
    paddd xmm13, xmm8
    pxor xmm5, xmm12
    pxor xmm6, xmm13
    movdqa xmm14, xmm5
    pslld xmm14, 7
    psrld xmm5, 25
    movdqa xmm15, xmm6
    pslld xmm15, 7
    por xmm5, xmm14
    psrld xmm6, 25
    por xmm6, xmm15
    paddd xmm2, xmm7
    paddd xmm3, xmm4
    movdqa xmmword ptr [rdi - 64], xmm12
    movdqa xmmword ptr [rdi - 32], xmm13
    movdqa xmm12, xmmword ptr [rdi - 128]
    movdqa xmm13, xmmword ptr [rdi - 96]
    pxor xmm9, xmm2
    pxor xmm10, xmm3
    pshufb xmm9, xmmword ptr [rdi]
    pshufb xmm10, xmmword ptr [rdi]
    paddd xmm12, xmm9
    paddd xmm13, xmm10
    pxor xmm7, xmm12
    pxor xmm4, xmm13
    movdqa xmm14, xmm7
    pslld xmm14, 12
    psrld xmm7, 20
    movdqa xmm15, xmm4
    pslld xmm15, 12
    por xmm7, xmm14
    psrld xmm4, 20
    por xmm4, xmm15
    paddd xmm2, xmm7
    paddd xmm3, xmm4
    pxor xmm9, xmm2
    pxor xmm10, xmm3
    pshufb xmm9, xmmword ptr [rdi + 32]
    pshufb xmm10, xmmword ptr [rdi + 32]
    paddd xmm12, xmm9
    paddd xmm13, xmm10
    pxor xmm7, xmm12
    pxor xmm4, xmm13
    movdqa xmm14, xmm7
    pslld xmm14, 7
    psrld xmm7, 25
    movdqa xmm15, xmm4
    pslld xmm15, 7
    por xmm7, xmm14
    psrld xmm4, 25
    por xmm4, xmm15
    dec eax
    jnz 3b
    mov rcx, qword ptr [rdi + 112]
    mov rdx, qword ptr [rdi + 120]
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
    movdqu xmm15, xmmword ptr [rcx + 0]
    pxor xmm15, xmm1
    movdqu xmmword ptr [rdx + 0], xmm15
    movdqu xmm2, xmmword ptr [rcx + 64]
    pxor xmm2, xmm14
    movdqu xmmword ptr [rdx + 64], xmm2
    movdqu xmm15, xmmword ptr [rcx + 128]
    pxor xmm15, xmm3
    movdqu xmmword ptr [rdx + 128], xmm15
    movdqu xmm2, xmmword ptr [rcx + 192]
    pxor xmm2, xmm0
    movdqu xmmword ptr [rdx + 192], xmm2
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
    movdqu xmm2, xmmword ptr [rcx + 16]
    pxor xmm2, xmm5
    movdqu xmmword ptr [rdx + 16], xmm2
    movdqu xmm6, xmmword ptr [rcx + 80]
    pxor xmm6, xmm15
    movdqu xmmword ptr [rdx + 80], xmm6
    movdqu xmm2, xmmword ptr [rcx + 144]
    pxor xmm2, xmm7
    movdqu xmmword ptr [rdx + 144], xmm2
    movdqu xmm6, xmmword ptr [rcx + 208]
    pxor xmm6, xmm4
    movdqu xmmword ptr [rdx + 208], xmm6
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
    movdqu xmm6, xmmword ptr [rcx + 48]
    pxor xmm6, xmm9
    movdqu xmmword ptr [rdx + 48], xmm6
    movdqu xmm10, xmmword ptr [rcx + 112]
    pxor xmm10, xmm2
    movdqu xmmword ptr [rdx + 112], xmm10
    movdqu xmm6, xmmword ptr [rcx + 176]
    pxor xmm6, xmm11
    movdqu xmmword ptr [rdx + 176], xmm6
    movdqu xmm10, xmmword ptr [rcx + 240]
    pxor xmm10, xmm8
    movdqu xmmword ptr [rdx + 240], xmm10
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
    movdqu xmm10, xmmword ptr [rcx + 32]
    pxor xmm10, xmm13
    movdqu xmmword ptr [rdx + 32], xmm10
    movdqu xmm0, xmmword ptr [rcx + 96]
    pxor xmm0, xmm6
    movdqu xmmword ptr [rdx + 96], xmm0
    movdqu xmm10, xmmword ptr [rcx + 160]
    pxor xmm10, xmm1
    movdqu xmmword ptr [rdx + 160], xmm10
    movdqu xmm0, xmmword ptr [rcx + 224]
    pxor xmm0, xmm12
    movdqu xmmword ptr [rdx + 224], xmm0
    add qword ptr [rdi + 112], 256
    add qword ptr [rdi + 120], 256
    add dword ptr [rdi + 240], 4
    dec qword ptr [rdi + 104]
    jnz 2b
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
