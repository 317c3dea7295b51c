# Written by `cargo xtask kernels` (xtask/src/kernels.rs).
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
    mov eax, 10
3:
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
    dec eax
    jnz 3b
    mov rcx, qword ptr [rdi + 112]
    mov rdx, qword ptr [rdi + 120]
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
    vpxor ymm4, ymm4, ymmword ptr [rcx + 0]
    vmovdqu ymmword ptr [rdx + 0], ymm4
    vpxor ymm1, ymm1, ymmword ptr [rcx + 256]
    vmovdqu ymmword ptr [rdx + 256], ymm1
    vperm2i128 ymm6, ymm3, ymm7, 0x20
    vperm2i128 ymm3, ymm3, ymm7, 0x31
    vpxor ymm6, ymm6, ymmword ptr [rcx + 64]
    vmovdqu ymmword ptr [rdx + 64], ymm6
    vpxor ymm3, ymm3, ymmword ptr [rcx + 320]
    vmovdqu ymmword ptr [rdx + 320], ymm3
    vperm2i128 ymm5, ymm14, ymm0, 0x20
    vperm2i128 ymm14, ymm14, ymm0, 0x31
    vpxor ymm5, ymm5, ymmword ptr [rcx + 128]
    vmovdqu ymmword ptr [rdx + 128], ymm5
    vpxor ymm14, ymm14, ymmword ptr [rcx + 384]
    vmovdqu ymmword ptr [rdx + 384], ymm14
    vperm2i128 ymm1, ymm15, ymm2, 0x20
    vperm2i128 ymm15, ymm15, ymm2, 0x31
    vpxor ymm1, ymm1, ymmword ptr [rcx + 192]
    vmovdqu ymmword ptr [rdx + 192], ymm1
    vpxor ymm15, ymm15, ymmword ptr [rcx + 448]
    vmovdqu ymmword ptr [rdx + 448], ymm15
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
    vpxor ymm12, ymm12, ymmword ptr [rcx + 32]
    vmovdqu ymmword ptr [rdx + 32], ymm12
    vpxor ymm13, ymm13, ymmword ptr [rcx + 288]
    vmovdqu ymmword ptr [rdx + 288], ymm13
    vperm2i128 ymm8, ymm10, ymm11, 0x20
    vperm2i128 ymm10, ymm10, ymm11, 0x31
    vpxor ymm8, ymm8, ymmword ptr [rcx + 96]
    vmovdqu ymmword ptr [rdx + 96], ymm8
    vpxor ymm10, ymm10, ymmword ptr [rcx + 352]
    vmovdqu ymmword ptr [rdx + 352], ymm10
    vperm2i128 ymm0, ymm3, ymm4, 0x20
    vperm2i128 ymm3, ymm3, ymm4, 0x31
    vpxor ymm0, ymm0, ymmword ptr [rcx + 160]
    vmovdqu ymmword ptr [rdx + 160], ymm0
    vpxor ymm3, ymm3, ymmword ptr [rcx + 416]
    vmovdqu ymmword ptr [rdx + 416], ymm3
    vperm2i128 ymm14, ymm6, ymm7, 0x20
    vperm2i128 ymm6, ymm6, ymm7, 0x31
    vpxor ymm14, ymm14, ymmword ptr [rcx + 224]
    vmovdqu ymmword ptr [rdx + 224], ymm14
    vpxor ymm6, ymm6, ymmword ptr [rcx + 480]
    vmovdqu ymmword ptr [rdx + 480], ymm6
    add qword ptr [rdi + 112], 512
    add qword ptr [rdi + 120], 512
    add dword ptr [rdi + 240], 8
    dec qword ptr [rdi + 104]
    jnz 2b
    vzeroupper
    ret
