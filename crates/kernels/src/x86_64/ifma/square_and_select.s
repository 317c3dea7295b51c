# Written by `cargo xtask kernels` (xtask/src/kernels.rs).
    push rbx
    push rbp
    push r12
    push r13
    push r14
    push r15
    vpxord xmm25, xmm25, xmm25
    vpxord xmm26, xmm26, xmm26
    vpxord xmm27, xmm27, xmm27
    vpxord xmm28, xmm28, xmm28
    vpxord xmm29, xmm29, xmm29
    mov r10, rsi
    mov r11, rsi
    xor r12d, r12d
    xor r14d, r14d
    mov r15, r8
    mov rbp, [rdx]
    vmovdqu64 zmm30, zmmword ptr [rbp]
    mov rbp, [rdx + 8]
    mov rsi, [rdx + 16]
    mov rdx, [rdx + 24]
2:
    vpxor xmm0, xmm0, xmm0
    vpxor xmm9, xmm9, xmm9
    vpxor xmm1, xmm1, xmm1
    vpxor xmm10, xmm10, xmm10
    vpxor xmm2, xmm2, xmm2
    vpxor xmm11, xmm11, xmm11
    vpxor xmm3, xmm3, xmm3
    vpxor xmm12, xmm12, xmm12
    vpxor xmm4, xmm4, xmm4
    vpxor xmm13, xmm13, xmm13
    vpxor xmm5, xmm5, xmm5
    vpxor xmm14, xmm14, xmm14
    vpxor xmm6, xmm6, xmm6
    vpxor xmm15, xmm15, xmm15
    vpxor xmm7, xmm7, xmm7
    vpxord xmm16, xmm16, xmm16
    vpxor xmm8, xmm8, xmm8
    vpxord xmm17, xmm17, xmm17
    mov rax, r10
    mov rbx, r11
    mov r13, r12
    test r13, r13
    jz 3f
9:
    vmovdqu64 zmm18, zmmword ptr [rax]
    vmovdqu64 zmm19, zmmword ptr [rax + 64]
    vmovdqu64 zmm20, zmmword ptr [rax + 128]
    vmovdqu64 zmm21, zmmword ptr [rax + 192]
    vmovdqu64 zmm22, zmmword ptr [rax + 256]
    vmovdqu64 zmm23, zmmword ptr [rbx]
    vpmadd52luq zmm0, zmm18, zmm23
    vpmadd52luq zmm1, zmm19, zmm23
    vpmadd52luq zmm2, zmm20, zmm23
    vpmadd52luq zmm3, zmm21, zmm23
    vpmadd52luq zmm4, zmm22, zmm23
    vpmadd52huq zmm9, zmm18, zmm23
    vpmadd52huq zmm10, zmm19, zmm23
    vpmadd52huq zmm11, zmm20, zmm23
    vpmadd52huq zmm12, zmm21, zmm23
    vpmadd52huq zmm13, zmm22, zmm23
    vmovdqu64 zmm24, zmmword ptr [rbx + 64]
    vpmadd52luq zmm1, zmm18, zmm24
    vpmadd52luq zmm2, zmm19, zmm24
    vpmadd52luq zmm3, zmm20, zmm24
    vpmadd52luq zmm4, zmm21, zmm24
    vpmadd52luq zmm5, zmm22, zmm24
    vpmadd52huq zmm10, zmm18, zmm24
    vpmadd52huq zmm11, zmm19, zmm24
    vpmadd52huq zmm12, zmm20, zmm24
    vpmadd52huq zmm13, zmm21, zmm24
    vpmadd52huq zmm14, zmm22, zmm24
    vmovdqu64 zmm23, zmmword ptr [rbx + 128]
    vpmadd52luq zmm2, zmm18, zmm23
    vpmadd52luq zmm3, zmm19, zmm23
    vpmadd52luq zmm4, zmm20, zmm23
    vpmadd52luq zmm5, zmm21, zmm23
    vpmadd52luq zmm6, zmm22, zmm23
    vpmadd52huq zmm11, zmm18, zmm23
    vpmadd52huq zmm12, zmm19, zmm23
    vpmadd52huq zmm13, zmm20, zmm23
    vpmadd52huq zmm14, zmm21, zmm23
    vpmadd52huq zmm15, zmm22, zmm23
    vmovdqu64 zmm24, zmmword ptr [rbx + 192]
    vpmadd52luq zmm3, zmm18, zmm24
    vpmadd52luq zmm4, zmm19, zmm24
    vpmadd52luq zmm5, zmm20, zmm24
    vpmadd52luq zmm6, zmm21, zmm24
    vpmadd52luq zmm7, zmm22, zmm24
    vpmadd52huq zmm12, zmm18, zmm24
    vpmadd52huq zmm13, zmm19, zmm24
    vpmadd52huq zmm14, zmm20, zmm24
    vpmadd52huq zmm15, zmm21, zmm24
    vpmadd52huq zmm16, zmm22, zmm24
    vmovdqu64 zmm23, zmmword ptr [rbx + 256]
    vpmadd52luq zmm4, zmm18, zmm23
    vpmadd52luq zmm5, zmm19, zmm23
    vpmadd52luq zmm6, zmm20, zmm23
    vpmadd52luq zmm7, zmm21, zmm23
    vpmadd52luq zmm8, zmm22, zmm23
    vpmadd52huq zmm13, zmm18, zmm23
    vpmadd52huq zmm14, zmm19, zmm23
    vpmadd52huq zmm15, zmm20, zmm23
    vpmadd52huq zmm16, zmm21, zmm23
    vpmadd52huq zmm17, zmm22, zmm23
    add rax, 320
    sub rbx, 320
    dec r13
    jnz 9b
3:
    test r14, 1
    jnz 4f
    mov rbx, rsi
    imul r13, r9, 320
    vmovdqu64 zmm18, zmmword ptr [rax]
    vpcmpeqq k1, zmm30, qword ptr [rbp + 0]{1to8}
    vmovdqu64 zmm19, zmmword ptr [rax + 64]
    vmovdqu64 zmm31, zmmword ptr [rdx]
    vmovdqu64 zmm20, zmmword ptr [rax + 128]
    vmovdqu64 zmm31{k1}, zmmword ptr [rbx]
    vmovdqu64 zmm21, zmmword ptr [rax + 192]
    vmovdqu64 zmmword ptr [rdx], zmm31
    vmovdqu64 zmm23, zmmword ptr [rdx + 64]
    vmovdqu64 zmm22, zmmword ptr [rax + 256]
    vmovdqu64 zmm23{k1}, zmmword ptr [rbx + 64]
    vpmadd52luq zmm1, zmm18, zmm19
    vmovdqu64 zmmword ptr [rdx + 64], zmm23
    vpmadd52huq zmm10, zmm18, zmm19
    vmovdqu64 zmm31, zmmword ptr [rdx + 128]
    vpmadd52luq zmm2, zmm18, zmm20
    vmovdqu64 zmm31{k1}, zmmword ptr [rbx + 128]
    vmovdqu64 zmmword ptr [rdx + 128], zmm31
    vpmadd52luq zmm3, zmm19, zmm20
    vmovdqu64 zmm23, zmmword ptr [rdx + 192]
    vpmadd52huq zmm11, zmm18, zmm20
    vmovdqu64 zmm23{k1}, zmmword ptr [rbx + 192]
    vpmadd52huq zmm12, zmm19, zmm20
    vmovdqu64 zmmword ptr [rdx + 192], zmm23
    vmovdqu64 zmm31, zmmword ptr [rdx + 256]
    vpmadd52luq zmm3, zmm18, zmm21
    vmovdqu64 zmm31{k1}, zmmword ptr [rbx + 256]
    vpmadd52luq zmm4, zmm19, zmm21
    vmovdqu64 zmmword ptr [rdx + 256], zmm31
    vpmadd52luq zmm5, zmm20, zmm21
    add rbx, r13
    vpmadd52huq zmm12, zmm18, zmm21
    vpcmpeqq k2, zmm30, qword ptr [rbp + 8]{1to8}
    vmovdqu64 zmm31, zmmword ptr [rdx]
    vpmadd52huq zmm13, zmm19, zmm21
    vmovdqu64 zmm31{k2}, zmmword ptr [rbx]
    vpmadd52huq zmm14, zmm20, zmm21
    vmovdqu64 zmmword ptr [rdx], zmm31
    vpmadd52luq zmm4, zmm18, zmm22
    vmovdqu64 zmm23, zmmword ptr [rdx + 64]
    vmovdqu64 zmm23{k2}, zmmword ptr [rbx + 64]
    vpmadd52luq zmm5, zmm19, zmm22
    vmovdqu64 zmmword ptr [rdx + 64], zmm23
    vpmadd52luq zmm6, zmm20, zmm22
    vmovdqu64 zmm31, zmmword ptr [rdx + 128]
    vpmadd52luq zmm7, zmm21, zmm22
    vmovdqu64 zmm31{k2}, zmmword ptr [rbx + 128]
    vpmadd52huq zmm13, zmm18, zmm22
    vmovdqu64 zmmword ptr [rdx + 128], zmm31
    vmovdqu64 zmm23, zmmword ptr [rdx + 192]
    vpmadd52huq zmm14, zmm19, zmm22
    vmovdqu64 zmm23{k2}, zmmword ptr [rbx + 192]
    vpmadd52huq zmm15, zmm20, zmm22
    vmovdqu64 zmmword ptr [rdx + 192], zmm23
    vpmadd52huq zmm16, zmm21, zmm22
    vmovdqu64 zmm31, zmmword ptr [rdx + 256]
    vmovdqu64 zmm31{k2}, zmmword ptr [rbx + 256]
    vpaddq zmm0, zmm0, zmm0
    vmovdqu64 zmmword ptr [rdx + 256], zmm31
    vpaddq zmm1, zmm1, zmm9
    add rbx, r13
    vpaddq zmm1, zmm1, zmm1
    vpcmpeqq k1, zmm30, qword ptr [rbp + 16]{1to8}
    vpaddq zmm2, zmm2, zmm10
    vmovdqu64 zmm31, zmmword ptr [rdx]
    vmovdqu64 zmm31{k1}, zmmword ptr [rbx]
    vpaddq zmm2, zmm2, zmm2
    vmovdqu64 zmmword ptr [rdx], zmm31
    vpaddq zmm3, zmm3, zmm11
    vmovdqu64 zmm23, zmmword ptr [rdx + 64]
    vpaddq zmm3, zmm3, zmm3
    vmovdqu64 zmm23{k1}, zmmword ptr [rbx + 64]
    vmovdqu64 zmmword ptr [rdx + 64], zmm23
    vpaddq zmm4, zmm4, zmm12
    vmovdqu64 zmm31, zmmword ptr [rdx + 128]
    vpaddq zmm4, zmm4, zmm4
    vmovdqu64 zmm31{k1}, zmmword ptr [rbx + 128]
    vpaddq zmm5, zmm5, zmm13
    vmovdqu64 zmmword ptr [rdx + 128], zmm31
    vpaddq zmm5, zmm5, zmm5
    vmovdqu64 zmm23, zmmword ptr [rdx + 192]
    vmovdqu64 zmm23{k1}, zmmword ptr [rbx + 192]
    vpaddq zmm6, zmm6, zmm14
    vmovdqu64 zmmword ptr [rdx + 192], zmm23
    vpaddq zmm6, zmm6, zmm6
    vmovdqu64 zmm31, zmmword ptr [rdx + 256]
    vpaddq zmm7, zmm7, zmm15
    vmovdqu64 zmm31{k1}, zmmword ptr [rbx + 256]
    vmovdqu64 zmmword ptr [rdx + 256], zmm31
    vpaddq zmm7, zmm7, zmm7
    add rbx, r13
    vpaddq zmm8, zmm8, zmm16
    vpcmpeqq k2, zmm30, qword ptr [rbp + 24]{1to8}
    vpaddq zmm8, zmm8, zmm8
    vmovdqu64 zmm31, zmmword ptr [rdx]
    vpaddq zmm17, zmm17, zmm17
    vmovdqu64 zmm31{k2}, zmmword ptr [rbx]
    vmovdqu64 zmmword ptr [rdx], zmm31
    vpmadd52luq zmm0, zmm18, zmm18
    vmovdqu64 zmm23, zmmword ptr [rdx + 64]
    vpmadd52huq zmm1, zmm18, zmm18
    vmovdqu64 zmm23{k2}, zmmword ptr [rbx + 64]
    vpmadd52luq zmm2, zmm19, zmm19
    vmovdqu64 zmmword ptr [rdx + 64], zmm23
    vmovdqu64 zmm31, zmmword ptr [rdx + 128]
    vpmadd52huq zmm3, zmm19, zmm19
    vmovdqu64 zmm31{k2}, zmmword ptr [rbx + 128]
    vpmadd52luq zmm4, zmm20, zmm20
    vmovdqu64 zmmword ptr [rdx + 128], zmm31
    vpmadd52huq zmm5, zmm20, zmm20
    vmovdqu64 zmm23, zmmword ptr [rdx + 192]
    vpmadd52luq zmm6, zmm21, zmm21
    vmovdqu64 zmm23{k2}, zmmword ptr [rbx + 192]
    vmovdqu64 zmmword ptr [rdx + 192], zmm23
    vpmadd52huq zmm7, zmm21, zmm21
    vmovdqu64 zmm31, zmmword ptr [rdx + 256]
    vpmadd52luq zmm8, zmm22, zmm22
    vmovdqu64 zmm31{k2}, zmmword ptr [rbx + 256]
    vpmadd52huq zmm17, zmm22, zmm22
    vmovdqu64 zmmword ptr [rdx + 256], zmm31
    add rbx, r13
    add rsi, 320
    add rdx, 320
    jmp 5f
4:
    vpaddq zmm0, zmm0, zmm0
    vpaddq zmm1, zmm1, zmm9
    vpaddq zmm1, zmm1, zmm1
    vpaddq zmm2, zmm2, zmm10
    vpaddq zmm2, zmm2, zmm2
    vpaddq zmm3, zmm3, zmm11
    vpaddq zmm3, zmm3, zmm3
    vpaddq zmm4, zmm4, zmm12
    vpaddq zmm4, zmm4, zmm4
    vpaddq zmm5, zmm5, zmm13
    vpaddq zmm5, zmm5, zmm5
    vpaddq zmm6, zmm6, zmm14
    vpaddq zmm6, zmm6, zmm6
    vpaddq zmm7, zmm7, zmm15
    vpaddq zmm7, zmm7, zmm7
    vpaddq zmm8, zmm8, zmm16
    vpaddq zmm8, zmm8, zmm8
    vpaddq zmm17, zmm17, zmm17
5:
    vpaddq zmm25, zmm25, zmm0
    vmovdqu64 zmmword ptr [r15], zmm25
    vmovdqa64 zmm25, zmm5
    vpaddq zmm26, zmm26, zmm1
    vmovdqu64 zmmword ptr [r15 + 64], zmm26
    vmovdqa64 zmm26, zmm6
    vpaddq zmm27, zmm27, zmm2
    vmovdqu64 zmmword ptr [r15 + 128], zmm27
    vmovdqa64 zmm27, zmm7
    vpaddq zmm28, zmm28, zmm3
    vmovdqu64 zmmword ptr [r15 + 192], zmm28
    vmovdqa64 zmm28, zmm8
    vpaddq zmm29, zmm29, zmm4
    vmovdqu64 zmmword ptr [r15 + 256], zmm29
    vmovdqa64 zmm29, zmm17
    add r15, 320
    inc r14
    lea r12, [r14 + 1]
    shr r12
    cmp r14, r9
    jae 6f
    add r11, 320
    jmp 2b
6:
    add r10, 320
    lea rax, [r14 + 1]
    sub rax, r9
    sub r12, rax
    lea rax, [r9 + r9 - 1]
    cmp r14, rax
    jb 2b
    vmovdqu64 zmmword ptr [r15], zmm25
    vmovdqu64 zmmword ptr [r15 + 64], zmm26
    vmovdqu64 zmmword ptr [r15 + 128], zmm27
    vmovdqu64 zmmword ptr [r15 + 192], zmm28
    vmovdqu64 zmmword ptr [r15 + 256], zmm29
    vpxord xmm25, xmm25, xmm25
    vpxord xmm26, xmm26, xmm26
    vpxord xmm27, xmm27, xmm27
    vpxord xmm28, xmm28, xmm28
    vpxord xmm29, xmm29, xmm29
    vmovdqu64 zmm30, zmmword ptr [rcx]
    vpternlogd zmm31, zmm31, zmm31, 255
    vpsrlq zmm31, zmm31, 12
    lea r11, [rcx + 64]
    mov r15, r8
    xor r12d, r12d
2:
    vpxor xmm0, xmm0, xmm0
    vpxor xmm9, xmm9, xmm9
    vpxor xmm1, xmm1, xmm1
    vpxor xmm10, xmm10, xmm10
    vpxor xmm2, xmm2, xmm2
    vpxor xmm11, xmm11, xmm11
    vpxor xmm3, xmm3, xmm3
    vpxor xmm12, xmm12, xmm12
    vpxor xmm4, xmm4, xmm4
    vpxor xmm13, xmm13, xmm13
    vpxor xmm5, xmm5, xmm5
    vpxor xmm14, xmm14, xmm14
    vpxor xmm6, xmm6, xmm6
    vpxor xmm15, xmm15, xmm15
    vpxor xmm7, xmm7, xmm7
    vpxord xmm16, xmm16, xmm16
    vpxor xmm8, xmm8, xmm8
    vpxord xmm17, xmm17, xmm17
    mov rax, r8
    mov rbx, r11
    mov r13, r12
    test r13, r13
    jz 3f
9:
    vmovdqu64 zmm18, zmmword ptr [rax]
    vmovdqu64 zmm19, zmmword ptr [rax + 64]
    vmovdqu64 zmm20, zmmword ptr [rax + 128]
    vmovdqu64 zmm21, zmmword ptr [rax + 192]
    vmovdqu64 zmm22, zmmword ptr [rax + 256]
    vmovdqu64 zmm23, zmmword ptr [rbx]
    vpmadd52luq zmm0, zmm18, zmm23
    vpmadd52luq zmm1, zmm19, zmm23
    vpmadd52luq zmm2, zmm20, zmm23
    vpmadd52luq zmm3, zmm21, zmm23
    vpmadd52luq zmm4, zmm22, zmm23
    vpmadd52huq zmm9, zmm18, zmm23
    vpmadd52huq zmm10, zmm19, zmm23
    vpmadd52huq zmm11, zmm20, zmm23
    vpmadd52huq zmm12, zmm21, zmm23
    vpmadd52huq zmm13, zmm22, zmm23
    vmovdqu64 zmm24, zmmword ptr [rbx + 64]
    vpmadd52luq zmm1, zmm18, zmm24
    vpmadd52luq zmm2, zmm19, zmm24
    vpmadd52luq zmm3, zmm20, zmm24
    vpmadd52luq zmm4, zmm21, zmm24
    vpmadd52luq zmm5, zmm22, zmm24
    vpmadd52huq zmm10, zmm18, zmm24
    vpmadd52huq zmm11, zmm19, zmm24
    vpmadd52huq zmm12, zmm20, zmm24
    vpmadd52huq zmm13, zmm21, zmm24
    vpmadd52huq zmm14, zmm22, zmm24
    vmovdqu64 zmm23, zmmword ptr [rbx + 128]
    vpmadd52luq zmm2, zmm18, zmm23
    vpmadd52luq zmm3, zmm19, zmm23
    vpmadd52luq zmm4, zmm20, zmm23
    vpmadd52luq zmm5, zmm21, zmm23
    vpmadd52luq zmm6, zmm22, zmm23
    vpmadd52huq zmm11, zmm18, zmm23
    vpmadd52huq zmm12, zmm19, zmm23
    vpmadd52huq zmm13, zmm20, zmm23
    vpmadd52huq zmm14, zmm21, zmm23
    vpmadd52huq zmm15, zmm22, zmm23
    vmovdqu64 zmm24, zmmword ptr [rbx + 192]
    vpmadd52luq zmm3, zmm18, zmm24
    vpmadd52luq zmm4, zmm19, zmm24
    vpmadd52luq zmm5, zmm20, zmm24
    vpmadd52luq zmm6, zmm21, zmm24
    vpmadd52luq zmm7, zmm22, zmm24
    vpmadd52huq zmm12, zmm18, zmm24
    vpmadd52huq zmm13, zmm19, zmm24
    vpmadd52huq zmm14, zmm20, zmm24
    vpmadd52huq zmm15, zmm21, zmm24
    vpmadd52huq zmm16, zmm22, zmm24
    vmovdqu64 zmm23, zmmword ptr [rbx + 256]
    vpmadd52luq zmm4, zmm18, zmm23
    vpmadd52luq zmm5, zmm19, zmm23
    vpmadd52luq zmm6, zmm20, zmm23
    vpmadd52luq zmm7, zmm21, zmm23
    vpmadd52luq zmm8, zmm22, zmm23
    vpmadd52huq zmm13, zmm18, zmm23
    vpmadd52huq zmm14, zmm19, zmm23
    vpmadd52huq zmm15, zmm20, zmm23
    vpmadd52huq zmm16, zmm21, zmm23
    vpmadd52huq zmm17, zmm22, zmm23
    add rax, 320
    sub rbx, 320
    dec r13
    jnz 9b
3:
    vpaddq zmm25, zmm25, zmmword ptr [r15]
    vpaddq zmm26, zmm26, zmmword ptr [r15 + 64]
    vpaddq zmm27, zmm27, zmmword ptr [r15 + 128]
    vpaddq zmm28, zmm28, zmmword ptr [r15 + 192]
    vpaddq zmm29, zmm29, zmmword ptr [r15 + 256]
    vpaddq zmm25, zmm25, zmm0
    vpxord xmm18, xmm18, xmm18
    vpmadd52luq zmm18, zmm25, zmm30
    vpmadd52huq zmm9, zmm18, zmmword ptr [rcx + 64]
    vpmadd52luq zmm1, zmm18, zmmword ptr [rcx + 128]
    vpmadd52huq zmm10, zmm18, zmmword ptr [rcx + 128]
    vpmadd52luq zmm2, zmm18, zmmword ptr [rcx + 192]
    vpmadd52huq zmm11, zmm18, zmmword ptr [rcx + 192]
    vpmadd52luq zmm3, zmm18, zmmword ptr [rcx + 256]
    vpmadd52huq zmm12, zmm18, zmmword ptr [rcx + 256]
    vpmadd52luq zmm4, zmm18, zmmword ptr [rcx + 320]
    vpmadd52huq zmm13, zmm18, zmmword ptr [rcx + 320]
    vmovdqu64 zmmword ptr [r15], zmm18
    vpaddq zmm25, zmm25, zmm31
    vpsrlq zmm25, zmm25, 52
    vpaddq zmm26, zmm26, zmm25
    vpaddq zmm26, zmm26, zmm1
    vpaddq zmm26, zmm26, zmm9
    vpxord xmm19, xmm19, xmm19
    vpmadd52luq zmm19, zmm26, zmm30
    vpmadd52huq zmm10, zmm19, zmmword ptr [rcx + 64]
    vpmadd52luq zmm2, zmm19, zmmword ptr [rcx + 128]
    vpmadd52huq zmm11, zmm19, zmmword ptr [rcx + 128]
    vpmadd52luq zmm3, zmm19, zmmword ptr [rcx + 192]
    vpmadd52huq zmm12, zmm19, zmmword ptr [rcx + 192]
    vpmadd52luq zmm4, zmm19, zmmword ptr [rcx + 256]
    vpmadd52huq zmm13, zmm19, zmmword ptr [rcx + 256]
    vpmadd52luq zmm5, zmm19, zmmword ptr [rcx + 320]
    vpmadd52huq zmm14, zmm19, zmmword ptr [rcx + 320]
    vmovdqu64 zmmword ptr [r15 + 64], zmm19
    vpaddq zmm26, zmm26, zmm31
    vpsrlq zmm26, zmm26, 52
    vpaddq zmm27, zmm27, zmm26
    vpaddq zmm27, zmm27, zmm2
    vpaddq zmm27, zmm27, zmm10
    vpxord xmm20, xmm20, xmm20
    vpmadd52luq zmm20, zmm27, zmm30
    vpmadd52huq zmm11, zmm20, zmmword ptr [rcx + 64]
    vpmadd52luq zmm3, zmm20, zmmword ptr [rcx + 128]
    vpmadd52huq zmm12, zmm20, zmmword ptr [rcx + 128]
    vpmadd52luq zmm4, zmm20, zmmword ptr [rcx + 192]
    vpmadd52huq zmm13, zmm20, zmmword ptr [rcx + 192]
    vpmadd52luq zmm5, zmm20, zmmword ptr [rcx + 256]
    vpmadd52huq zmm14, zmm20, zmmword ptr [rcx + 256]
    vpmadd52luq zmm6, zmm20, zmmword ptr [rcx + 320]
    vpmadd52huq zmm15, zmm20, zmmword ptr [rcx + 320]
    vmovdqu64 zmmword ptr [r15 + 128], zmm20
    vpaddq zmm27, zmm27, zmm31
    vpsrlq zmm27, zmm27, 52
    vpaddq zmm28, zmm28, zmm27
    vpaddq zmm28, zmm28, zmm3
    vpaddq zmm28, zmm28, zmm11
    vpxord xmm21, xmm21, xmm21
    vpmadd52luq zmm21, zmm28, zmm30
    vpmadd52huq zmm12, zmm21, zmmword ptr [rcx + 64]
    vpmadd52luq zmm4, zmm21, zmmword ptr [rcx + 128]
    vpmadd52huq zmm13, zmm21, zmmword ptr [rcx + 128]
    vpmadd52luq zmm5, zmm21, zmmword ptr [rcx + 192]
    vpmadd52huq zmm14, zmm21, zmmword ptr [rcx + 192]
    vpmadd52luq zmm6, zmm21, zmmword ptr [rcx + 256]
    vpmadd52huq zmm15, zmm21, zmmword ptr [rcx + 256]
    vpmadd52luq zmm7, zmm21, zmmword ptr [rcx + 320]
    vpmadd52huq zmm16, zmm21, zmmword ptr [rcx + 320]
    vmovdqu64 zmmword ptr [r15 + 192], zmm21
    vpaddq zmm28, zmm28, zmm31
    vpsrlq zmm28, zmm28, 52
    vpaddq zmm29, zmm29, zmm28
    vpaddq zmm29, zmm29, zmm4
    vpaddq zmm29, zmm29, zmm12
    vpxord xmm22, xmm22, xmm22
    vpmadd52luq zmm22, zmm29, zmm30
    vpmadd52huq zmm13, zmm22, zmmword ptr [rcx + 64]
    vpmadd52luq zmm5, zmm22, zmmword ptr [rcx + 128]
    vpmadd52huq zmm14, zmm22, zmmword ptr [rcx + 128]
    vpmadd52luq zmm6, zmm22, zmmword ptr [rcx + 192]
    vpmadd52huq zmm15, zmm22, zmmword ptr [rcx + 192]
    vpmadd52luq zmm7, zmm22, zmmword ptr [rcx + 256]
    vpmadd52huq zmm16, zmm22, zmmword ptr [rcx + 256]
    vpmadd52luq zmm8, zmm22, zmmword ptr [rcx + 320]
    vpmadd52huq zmm17, zmm22, zmmword ptr [rcx + 320]
    vmovdqu64 zmmword ptr [r15 + 256], zmm22
    vpaddq zmm29, zmm29, zmm31
    vpsrlq zmm29, zmm29, 52
    vpaddq zmm5, zmm5, zmm29
    vpaddq zmm25, zmm5, zmm13
    vpaddq zmm26, zmm6, zmm14
    vpaddq zmm27, zmm7, zmm15
    vpaddq zmm28, zmm8, zmm16
    vmovdqa64 zmm29, zmm17
    add r15, 320
    add r11, 320
    inc r12
    cmp r12, r9
    jb 2b
    vpxord xmm30, xmm30, xmm30
    sub r11, 320
    mov r10, r8
2:
    vpxor xmm0, xmm0, xmm0
    vpxor xmm9, xmm9, xmm9
    vpxor xmm1, xmm1, xmm1
    vpxor xmm10, xmm10, xmm10
    vpxor xmm2, xmm2, xmm2
    vpxor xmm11, xmm11, xmm11
    vpxor xmm3, xmm3, xmm3
    vpxor xmm12, xmm12, xmm12
    vpxor xmm4, xmm4, xmm4
    vpxor xmm13, xmm13, xmm13
    vpxor xmm5, xmm5, xmm5
    vpxor xmm14, xmm14, xmm14
    vpxor xmm6, xmm6, xmm6
    vpxor xmm15, xmm15, xmm15
    vpxor xmm7, xmm7, xmm7
    vpxord xmm16, xmm16, xmm16
    vpxor xmm8, xmm8, xmm8
    vpxord xmm17, xmm17, xmm17
    add r10, 320
    dec r12
    jz 3f
    mov rax, r10
    mov rbx, r11
    mov r13, r12
9:
    vmovdqu64 zmm18, zmmword ptr [rax]
    vmovdqu64 zmm19, zmmword ptr [rax + 64]
    vmovdqu64 zmm20, zmmword ptr [rax + 128]
    vmovdqu64 zmm21, zmmword ptr [rax + 192]
    vmovdqu64 zmm22, zmmword ptr [rax + 256]
    vmovdqu64 zmm23, zmmword ptr [rbx]
    vpmadd52luq zmm0, zmm18, zmm23
    vpmadd52luq zmm1, zmm19, zmm23
    vpmadd52luq zmm2, zmm20, zmm23
    vpmadd52luq zmm3, zmm21, zmm23
    vpmadd52luq zmm4, zmm22, zmm23
    vpmadd52huq zmm9, zmm18, zmm23
    vpmadd52huq zmm10, zmm19, zmm23
    vpmadd52huq zmm11, zmm20, zmm23
    vpmadd52huq zmm12, zmm21, zmm23
    vpmadd52huq zmm13, zmm22, zmm23
    vmovdqu64 zmm24, zmmword ptr [rbx + 64]
    vpmadd52luq zmm1, zmm18, zmm24
    vpmadd52luq zmm2, zmm19, zmm24
    vpmadd52luq zmm3, zmm20, zmm24
    vpmadd52luq zmm4, zmm21, zmm24
    vpmadd52luq zmm5, zmm22, zmm24
    vpmadd52huq zmm10, zmm18, zmm24
    vpmadd52huq zmm11, zmm19, zmm24
    vpmadd52huq zmm12, zmm20, zmm24
    vpmadd52huq zmm13, zmm21, zmm24
    vpmadd52huq zmm14, zmm22, zmm24
    vmovdqu64 zmm23, zmmword ptr [rbx + 128]
    vpmadd52luq zmm2, zmm18, zmm23
    vpmadd52luq zmm3, zmm19, zmm23
    vpmadd52luq zmm4, zmm20, zmm23
    vpmadd52luq zmm5, zmm21, zmm23
    vpmadd52luq zmm6, zmm22, zmm23
    vpmadd52huq zmm11, zmm18, zmm23
    vpmadd52huq zmm12, zmm19, zmm23
    vpmadd52huq zmm13, zmm20, zmm23
    vpmadd52huq zmm14, zmm21, zmm23
    vpmadd52huq zmm15, zmm22, zmm23
    vmovdqu64 zmm24, zmmword ptr [rbx + 192]
    vpmadd52luq zmm3, zmm18, zmm24
    vpmadd52luq zmm4, zmm19, zmm24
    vpmadd52luq zmm5, zmm20, zmm24
    vpmadd52luq zmm6, zmm21, zmm24
    vpmadd52luq zmm7, zmm22, zmm24
    vpmadd52huq zmm12, zmm18, zmm24
    vpmadd52huq zmm13, zmm19, zmm24
    vpmadd52huq zmm14, zmm20, zmm24
    vpmadd52huq zmm15, zmm21, zmm24
    vpmadd52huq zmm16, zmm22, zmm24
    vmovdqu64 zmm23, zmmword ptr [rbx + 256]
    vpmadd52luq zmm4, zmm18, zmm23
    vpmadd52luq zmm5, zmm19, zmm23
    vpmadd52luq zmm6, zmm20, zmm23
    vpmadd52luq zmm7, zmm21, zmm23
    vpmadd52luq zmm8, zmm22, zmm23
    vpmadd52huq zmm13, zmm18, zmm23
    vpmadd52huq zmm14, zmm19, zmm23
    vpmadd52huq zmm15, zmm20, zmm23
    vpmadd52huq zmm16, zmm21, zmm23
    vpmadd52huq zmm17, zmm22, zmm23
    add rax, 320
    sub rbx, 320
    dec r13
    jnz 9b
    vpaddq zmm25, zmm25, zmmword ptr [r15]
    vpaddq zmm25, zmm25, zmm0
    vpaddq zmm26, zmm26, zmmword ptr [r15 + 64]
    vpaddq zmm26, zmm26, zmm1
    vpaddq zmm26, zmm26, zmm9
    vpaddq zmm27, zmm27, zmmword ptr [r15 + 128]
    vpaddq zmm27, zmm27, zmm2
    vpaddq zmm27, zmm27, zmm10
    vpaddq zmm28, zmm28, zmmword ptr [r15 + 192]
    vpaddq zmm28, zmm28, zmm3
    vpaddq zmm28, zmm28, zmm11
    vpaddq zmm29, zmm29, zmmword ptr [r15 + 256]
    vpaddq zmm29, zmm29, zmm4
    vpaddq zmm29, zmm29, zmm12
    vpaddq zmm25, zmm25, zmm30
    vpsrlq zmm30, zmm25, 52
    vmovdqu64 zmmword ptr [rdi], zmm25
    vpaddq zmm26, zmm26, zmm30
    vpsrlq zmm30, zmm26, 52
    vmovdqu64 zmmword ptr [rdi + 64], zmm26
    vpaddq zmm27, zmm27, zmm30
    vpsrlq zmm30, zmm27, 52
    vmovdqu64 zmmword ptr [rdi + 128], zmm27
    vpaddq zmm28, zmm28, zmm30
    vpsrlq zmm30, zmm28, 52
    vmovdqu64 zmmword ptr [rdi + 192], zmm28
    vpaddq zmm29, zmm29, zmm30
    vpsrlq zmm30, zmm29, 52
    vmovdqu64 zmmword ptr [rdi + 256], zmm29
    vpaddq zmm25, zmm5, zmm13
    vpaddq zmm26, zmm6, zmm14
    vpaddq zmm27, zmm7, zmm15
    vpaddq zmm28, zmm8, zmm16
    vmovdqa64 zmm29, zmm17
    add r15, 320
    add rdi, 320
    jmp 2b
3:
    vpaddq zmm25, zmm25, zmmword ptr [r15]
    vpaddq zmm25, zmm25, zmm0
    vpaddq zmm26, zmm26, zmmword ptr [r15 + 64]
    vpaddq zmm26, zmm26, zmm1
    vpaddq zmm26, zmm26, zmm9
    vpaddq zmm27, zmm27, zmmword ptr [r15 + 128]
    vpaddq zmm27, zmm27, zmm2
    vpaddq zmm27, zmm27, zmm10
    vpaddq zmm28, zmm28, zmmword ptr [r15 + 192]
    vpaddq zmm28, zmm28, zmm3
    vpaddq zmm28, zmm28, zmm11
    vpaddq zmm29, zmm29, zmmword ptr [r15 + 256]
    vpaddq zmm29, zmm29, zmm4
    vpaddq zmm29, zmm29, zmm12
    vpaddq zmm25, zmm25, zmm30
    vpsrlq zmm30, zmm25, 52
    vmovdqu64 zmmword ptr [rdi], zmm25
    vpaddq zmm26, zmm26, zmm30
    vpsrlq zmm30, zmm26, 52
    vmovdqu64 zmmword ptr [rdi + 64], zmm26
    vpaddq zmm27, zmm27, zmm30
    vpsrlq zmm30, zmm27, 52
    vmovdqu64 zmmword ptr [rdi + 128], zmm27
    vpaddq zmm28, zmm28, zmm30
    vpsrlq zmm30, zmm28, 52
    vmovdqu64 zmmword ptr [rdi + 192], zmm28
    vpaddq zmm29, zmm29, zmm30
    vpsrlq zmm30, zmm29, 52
    vmovdqu64 zmmword ptr [rdi + 256], zmm29
    vpaddq zmm25, zmm5, zmm13
    vpaddq zmm26, zmm6, zmm14
    vpaddq zmm27, zmm7, zmm15
    vpaddq zmm28, zmm8, zmm16
    vmovdqa64 zmm29, zmm17
    pop r15
    pop r14
    pop r13
    pop r12
    pop rbp
    pop rbx
    vzeroupper
    ret
