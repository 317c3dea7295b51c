# Written by `cargo xtask kernels` (xtask/src/kernels.rs).
    mov rax, [rdx]
    vmovdqu64 zmm29, zmmword ptr [rax]
    mov rax, [rdx + 8]
    mov r10, [rdx + 16]
    mov r11, [rdx + 24]
    vmovdqu64 zmm23, zmmword ptr [rcx]
    vpternlogd zmm22, zmm22, zmm22, 255
    vpsrlq zmm22, zmm22, 12
    vpxor xmm0, xmm0, xmm0
    vmovdqu64 zmm27, zmmword ptr [rsi]
    vpcmpeqq k1, zmm29, qword ptr [rax + 0]{1to8}
    vpmadd52luq zmm0, zmm27, zmm27
    vmovdqu64 zmm24, zmmword ptr [rsi]
    vmovdqu64 zmm28, zmmword ptr [rsi + 64]
    vpxor xmm1, xmm1, xmm1
    vpxor xmm2, xmm2, xmm2
    vmovdqu64 zmm30, zmmword ptr [r11]
    vpmadd52luq zmm1, zmm24, zmm28
    vpmadd52huq zmm2, zmm24, zmm28
    vmovdqu64 zmm27, zmmword ptr [rsi + 128]
    vpxor xmm3, xmm3, xmm3
    vmovdqu64 zmm30{k1}, zmmword ptr [r10]
    vpmadd52luq zmm2, zmm24, zmm27
    vpmadd52huq zmm3, zmm24, zmm27
    vmovdqu64 zmm28, zmmword ptr [rsi + 192]
    vpxor xmm4, xmm4, xmm4
    vpmadd52luq zmm3, zmm24, zmm28
    vmovdqu64 zmmword ptr [r11], zmm30
    vpmadd52huq zmm4, zmm24, zmm28
    vmovdqu64 zmm27, zmmword ptr [rsi + 256]
    vpxor xmm5, xmm5, xmm5
    vpmadd52luq zmm4, zmm24, zmm27
    vpmadd52huq zmm5, zmm24, zmm27
    vmovdqu64 zmm31, zmmword ptr [r11 + 64]
    vmovdqu64 zmm28, zmmword ptr [rsi + 320]
    vpxor xmm6, xmm6, xmm6
    vpmadd52luq zmm5, zmm24, zmm28
    vpmadd52huq zmm6, zmm24, zmm28
    vmovdqu64 zmm31{k1}, zmmword ptr [r10 + 64]
    vmovdqu64 zmm27, zmmword ptr [rsi + 384]
    vpxor xmm7, xmm7, xmm7
    vpmadd52luq zmm6, zmm24, zmm27
    vpmadd52huq zmm7, zmm24, zmm27
    vmovdqu64 zmm28, zmmword ptr [rsi + 448]
    vmovdqu64 zmmword ptr [r11 + 64], zmm31
    vpxor xmm8, xmm8, xmm8
    vpmadd52luq zmm7, zmm24, zmm28
    vpmadd52huq zmm8, zmm24, zmm28
    vmovdqu64 zmm27, zmmword ptr [rsi + 512]
    vpxor xmm9, xmm9, xmm9
    vmovdqu64 zmm30, zmmword ptr [r11 + 128]
    vpmadd52luq zmm8, zmm24, zmm27
    vpmadd52huq zmm9, zmm24, zmm27
    vmovdqu64 zmm28, zmmword ptr [rsi + 576]
    vpxor xmm10, xmm10, xmm10
    vmovdqu64 zmm30{k1}, zmmword ptr [r10 + 128]
    vpmadd52luq zmm9, zmm24, zmm28
    vpmadd52huq zmm10, zmm24, zmm28
    vpaddq zmm1, zmm1, zmm1
    vmovdqu64 zmm28, zmmword ptr [rsi]
    vpmadd52huq zmm1, zmm28, zmm28
    vmovdqu64 zmmword ptr [r11 + 128], zmm30
    vpaddq zmm2, zmm2, zmm2
    vmovdqu64 zmm27, zmmword ptr [rsi + 64]
    vpmadd52luq zmm2, zmm27, zmm27
    vmovdqu64 zmm24, zmmword ptr [rsi + 64]
    vmovdqu64 zmm31, zmmword ptr [r11 + 192]
    vmovdqu64 zmm27, zmmword ptr [rsi + 128]
    vpmadd52luq zmm3, zmm24, zmm27
    vpmadd52huq zmm4, zmm24, zmm27
    vmovdqu64 zmm28, zmmword ptr [rsi + 192]
    vpmadd52luq zmm4, zmm24, zmm28
    vmovdqu64 zmm31{k1}, zmmword ptr [r10 + 192]
    vpmadd52huq zmm5, zmm24, zmm28
    vmovdqu64 zmm27, zmmword ptr [rsi + 256]
    vpmadd52luq zmm5, zmm24, zmm27
    vpmadd52huq zmm6, zmm24, zmm27
    vmovdqu64 zmm28, zmmword ptr [rsi + 320]
    vmovdqu64 zmmword ptr [r11 + 192], zmm31
    vpmadd52luq zmm6, zmm24, zmm28
    vpmadd52huq zmm7, zmm24, zmm28
    vmovdqu64 zmm27, zmmword ptr [rsi + 384]
    vpmadd52luq zmm7, zmm24, zmm27
    vmovdqu64 zmm30, zmmword ptr [r11 + 256]
    vpmadd52huq zmm8, zmm24, zmm27
    vmovdqu64 zmm28, zmmword ptr [rsi + 448]
    vpmadd52luq zmm8, zmm24, zmm28
    vpmadd52huq zmm9, zmm24, zmm28
    vmovdqu64 zmm27, zmmword ptr [rsi + 512]
    vmovdqu64 zmm30{k1}, zmmword ptr [r10 + 256]
    vpmadd52luq zmm9, zmm24, zmm27
    vpmadd52huq zmm10, zmm24, zmm27
    vmovdqu64 zmm28, zmmword ptr [rsi + 576]
    vpxor xmm11, xmm11, xmm11
    vpmadd52luq zmm10, zmm24, zmm28
    vmovdqu64 zmmword ptr [r11 + 256], zmm30
    vpmadd52huq zmm11, zmm24, zmm28
    vpaddq zmm3, zmm3, zmm3
    vmovdqu64 zmm28, zmmword ptr [rsi + 64]
    vpmadd52huq zmm3, zmm28, zmm28
    vmovdqu64 zmm31, zmmword ptr [r11 + 320]
    vpaddq zmm4, zmm4, zmm4
    vmovdqu64 zmm27, zmmword ptr [rsi + 128]
    vpmadd52luq zmm4, zmm27, zmm27
    vmovdqu64 zmm24, zmmword ptr [rsi + 128]
    vmovdqu64 zmm28, zmmword ptr [rsi + 192]
    vmovdqu64 zmm31{k1}, zmmword ptr [r10 + 320]
    vpmadd52luq zmm5, zmm24, zmm28
    vpmadd52huq zmm6, zmm24, zmm28
    vmovdqu64 zmm27, zmmword ptr [rsi + 256]
    vpmadd52luq zmm6, zmm24, zmm27
    vpmadd52huq zmm7, zmm24, zmm27
    vmovdqu64 zmmword ptr [r11 + 320], zmm31
    vmovdqu64 zmm28, zmmword ptr [rsi + 320]
    vpmadd52luq zmm7, zmm24, zmm28
    vpmadd52huq zmm8, zmm24, zmm28
    vmovdqu64 zmm27, zmmword ptr [rsi + 384]
    vmovdqu64 zmm30, zmmword ptr [r11 + 384]
    vpmadd52luq zmm8, zmm24, zmm27
    vpmadd52huq zmm9, zmm24, zmm27
    vmovdqu64 zmm28, zmmword ptr [rsi + 448]
    vpmadd52luq zmm9, zmm24, zmm28
    vpmadd52huq zmm10, zmm24, zmm28
    vmovdqu64 zmm30{k1}, zmmword ptr [r10 + 384]
    vmovdqu64 zmm27, zmmword ptr [rsi + 512]
    vpmadd52luq zmm10, zmm24, zmm27
    vpmadd52huq zmm11, zmm24, zmm27
    vmovdqu64 zmm28, zmmword ptr [rsi + 576]
    vmovdqu64 zmmword ptr [r11 + 384], zmm30
    vpxor xmm12, xmm12, xmm12
    vpmadd52luq zmm11, zmm24, zmm28
    vpmadd52huq zmm12, zmm24, zmm28
    vpaddq zmm5, zmm5, zmm5
    vmovdqu64 zmm28, zmmword ptr [rsi + 128]
    vmovdqu64 zmm31, zmmword ptr [r11 + 448]
    vpmadd52huq zmm5, zmm28, zmm28
    vpaddq zmm6, zmm6, zmm6
    vmovdqu64 zmm27, zmmword ptr [rsi + 192]
    vpmadd52luq zmm6, zmm27, zmm27
    vmovdqu64 zmm24, zmmword ptr [rsi + 192]
    vmovdqu64 zmm31{k1}, zmmword ptr [r10 + 448]
    vmovdqu64 zmm27, zmmword ptr [rsi + 256]
    vpmadd52luq zmm7, zmm24, zmm27
    vpmadd52huq zmm8, zmm24, zmm27
    vmovdqu64 zmm28, zmmword ptr [rsi + 320]
    vmovdqu64 zmmword ptr [r11 + 448], zmm31
    vpmadd52luq zmm8, zmm24, zmm28
    vpmadd52huq zmm9, zmm24, zmm28
    vmovdqu64 zmm27, zmmword ptr [rsi + 384]
    vpmadd52luq zmm9, zmm24, zmm27
    vpmadd52huq zmm10, zmm24, zmm27
    vmovdqu64 zmm30, zmmword ptr [r11 + 512]
    vmovdqu64 zmm28, zmmword ptr [rsi + 448]
    vpmadd52luq zmm10, zmm24, zmm28
    vpmadd52huq zmm11, zmm24, zmm28
    vmovdqu64 zmm27, zmmword ptr [rsi + 512]
    vpmadd52luq zmm11, zmm24, zmm27
    vmovdqu64 zmm30{k1}, zmmword ptr [r10 + 512]
    vpmadd52huq zmm12, zmm24, zmm27
    vmovdqu64 zmm28, zmmword ptr [rsi + 576]
    vpxor xmm13, xmm13, xmm13
    vpmadd52luq zmm12, zmm24, zmm28
    vmovdqu64 zmmword ptr [r11 + 512], zmm30
    vpmadd52huq zmm13, zmm24, zmm28
    vpaddq zmm7, zmm7, zmm7
    vmovdqu64 zmm28, zmmword ptr [rsi + 192]
    vpmadd52huq zmm7, zmm28, zmm28
    vpaddq zmm8, zmm8, zmm8
    vmovdqu64 zmm31, zmmword ptr [r11 + 576]
    vmovdqu64 zmm27, zmmword ptr [rsi + 256]
    vpmadd52luq zmm8, zmm27, zmm27
    vmovdqu64 zmm24, zmmword ptr [rsi + 256]
    vmovdqu64 zmm28, zmmword ptr [rsi + 320]
    vmovdqu64 zmm31{k1}, zmmword ptr [r10 + 576]
    vpmadd52luq zmm9, zmm24, zmm28
    vpmadd52huq zmm10, zmm24, zmm28
    vmovdqu64 zmm27, zmmword ptr [rsi + 384]
    vpmadd52luq zmm10, zmm24, zmm27
    vpmadd52huq zmm11, zmm24, zmm27
    vmovdqu64 zmmword ptr [r11 + 576], zmm31
    vmovdqu64 zmm28, zmmword ptr [rsi + 448]
    vpmadd52luq zmm11, zmm24, zmm28
    vpmadd52huq zmm12, zmm24, zmm28
    vmovdqu64 zmm27, zmmword ptr [rsi + 512]
    vpmadd52luq zmm12, zmm24, zmm27
    add r10, 640
    vpmadd52huq zmm13, zmm24, zmm27
    vmovdqu64 zmm28, zmmword ptr [rsi + 576]
    vpxor xmm14, xmm14, xmm14
    vpmadd52luq zmm13, zmm24, zmm28
    vpcmpeqq k2, zmm29, qword ptr [rax + 8]{1to8}
    vpmadd52huq zmm14, zmm24, zmm28
    vpaddq zmm9, zmm9, zmm9
    vmovdqu64 zmm28, zmmword ptr [rsi + 256]
    vpmadd52huq zmm9, zmm28, zmm28
    vpaddq zmm10, zmm10, zmm10
    vmovdqu64 zmm30, zmmword ptr [r11]
    vmovdqu64 zmm27, zmmword ptr [rsi + 320]
    vpmadd52luq zmm10, zmm27, zmm27
    vpxord xmm21, xmm21, xmm21
    vpmadd52luq zmm21, zmm0, zmm23
    vmovdqu64 zmm24, zmmword ptr [rsi + 320]
    vmovdqu64 zmm30{k2}, zmmword ptr [r10]
    vpaddq zmm0, zmm0, zmm22
    vpsrlq zmm0, zmm0, 52
    vmovdqu64 zmm27, zmmword ptr [rsi + 384]
    vpaddq zmm1, zmm1, zmm0
    vmovdqu64 zmmword ptr [r11], zmm30
    vmovdqu64 zmm25, zmmword ptr [rcx + 64]
    vpmadd52luq zmm11, zmm24, zmm27
    vpmadd52huq zmm1, zmm21, zmm25
    vpmadd52huq zmm12, zmm24, zmm27
    vmovdqu64 zmm26, zmmword ptr [rcx + 128]
    vmovdqu64 zmm31, zmmword ptr [r11 + 64]
    vpmadd52luq zmm1, zmm21, zmm26
    vmovdqu64 zmm28, zmmword ptr [rsi + 448]
    vpmadd52huq zmm2, zmm21, zmm26
    vmovdqu64 zmm25, zmmword ptr [rcx + 192]
    vpmadd52luq zmm12, zmm24, zmm28
    vmovdqu64 zmm31{k2}, zmmword ptr [r10 + 64]
    vpmadd52luq zmm2, zmm21, zmm25
    vpmadd52huq zmm13, zmm24, zmm28
    vpmadd52huq zmm3, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 256]
    vmovdqu64 zmmword ptr [r11 + 64], zmm31
    vmovdqu64 zmm27, zmmword ptr [rsi + 512]
    vpmadd52luq zmm3, zmm21, zmm26
    vpmadd52huq zmm4, zmm21, zmm26
    vpmadd52luq zmm13, zmm24, zmm27
    vmovdqu64 zmm25, zmmword ptr [rcx + 320]
    vmovdqu64 zmm30, zmmword ptr [r11 + 128]
    vpmadd52huq zmm14, zmm24, zmm27
    vpmadd52luq zmm4, zmm21, zmm25
    vpmadd52huq zmm5, zmm21, zmm25
    vmovdqu64 zmm28, zmmword ptr [rsi + 576]
    vmovdqu64 zmm30{k2}, zmmword ptr [r10 + 128]
    vmovdqu64 zmm26, zmmword ptr [rcx + 384]
    vpmadd52luq zmm5, zmm21, zmm26
    vpxor xmm15, xmm15, xmm15
    vpmadd52huq zmm6, zmm21, zmm26
    vmovdqu64 zmm25, zmmword ptr [rcx + 448]
    vmovdqu64 zmmword ptr [r11 + 128], zmm30
    vpmadd52luq zmm14, zmm24, zmm28
    vpmadd52luq zmm6, zmm21, zmm25
    vpmadd52huq zmm15, zmm24, zmm28
    vpmadd52huq zmm7, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 512]
    vmovdqu64 zmm31, zmmword ptr [r11 + 192]
    vpaddq zmm11, zmm11, zmm11
    vpmadd52luq zmm7, zmm21, zmm26
    vpmadd52huq zmm8, zmm21, zmm26
    vmovdqu64 zmm28, zmmword ptr [rsi + 320]
    vmovdqu64 zmm31{k2}, zmmword ptr [r10 + 192]
    vmovdqu64 zmm25, zmmword ptr [rcx + 576]
    vpmadd52huq zmm11, zmm28, zmm28
    vpmadd52luq zmm8, zmm21, zmm25
    vpmadd52huq zmm9, zmm21, zmm25
    vpaddq zmm12, zmm12, zmm12
    vmovdqu64 zmmword ptr [r11 + 192], zmm31
    vmovdqu64 zmm26, zmmword ptr [rcx + 640]
    vpmadd52luq zmm9, zmm21, zmm26
    vmovdqu64 zmm27, zmmword ptr [rsi + 384]
    vpmadd52huq zmm10, zmm21, zmm26
    vpmadd52luq zmm12, zmm27, zmm27
    vmovdqu64 zmm30, zmmword ptr [r11 + 256]
    vpxord xmm21, xmm21, xmm21
    vpmadd52luq zmm21, zmm1, zmm23
    vmovdqu64 zmm24, zmmword ptr [rsi + 384]
    vpaddq zmm1, zmm1, zmm22
    vmovdqu64 zmm30{k2}, zmmword ptr [r10 + 256]
    vpsrlq zmm1, zmm1, 52
    vmovdqu64 zmm28, zmmword ptr [rsi + 448]
    vpaddq zmm2, zmm2, zmm1
    vmovdqu64 zmm25, zmmword ptr [rcx + 64]
    vpmadd52luq zmm13, zmm24, zmm28
    vmovdqu64 zmmword ptr [r11 + 256], zmm30
    vpmadd52huq zmm2, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 128]
    vpmadd52huq zmm14, zmm24, zmm28
    vpmadd52luq zmm2, zmm21, zmm26
    vpmadd52huq zmm3, zmm21, zmm26
    vmovdqu64 zmm31, zmmword ptr [r11 + 320]
    vmovdqu64 zmm27, zmmword ptr [rsi + 512]
    vmovdqu64 zmm25, zmmword ptr [rcx + 192]
    vpmadd52luq zmm3, zmm21, zmm25
    vpmadd52luq zmm14, zmm24, zmm27
    vmovdqu64 zmm31{k2}, zmmword ptr [r10 + 320]
    vpmadd52huq zmm4, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 256]
    vpmadd52huq zmm15, zmm24, zmm27
    vpmadd52luq zmm4, zmm21, zmm26
    vpmadd52huq zmm5, zmm21, zmm26
    vmovdqu64 zmmword ptr [r11 + 320], zmm31
    vmovdqu64 zmm28, zmmword ptr [rsi + 576]
    vmovdqu64 zmm25, zmmword ptr [rcx + 320]
    vpmadd52luq zmm5, zmm21, zmm25
    vpxord xmm16, xmm16, xmm16
    vmovdqu64 zmm30, zmmword ptr [r11 + 384]
    vpmadd52huq zmm6, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 384]
    vpmadd52luq zmm15, zmm24, zmm28
    vpmadd52luq zmm6, zmm21, zmm26
    vpmadd52huq zmm7, zmm21, zmm26
    vmovdqu64 zmm30{k2}, zmmword ptr [r10 + 384]
    vpmadd52huq zmm16, zmm24, zmm28
    vmovdqu64 zmm25, zmmword ptr [rcx + 448]
    vpmadd52luq zmm7, zmm21, zmm25
    vpaddq zmm13, zmm13, zmm13
    vpmadd52huq zmm8, zmm21, zmm25
    vmovdqu64 zmmword ptr [r11 + 384], zmm30
    vmovdqu64 zmm26, zmmword ptr [rcx + 512]
    vmovdqu64 zmm28, zmmword ptr [rsi + 384]
    vpmadd52luq zmm8, zmm21, zmm26
    vpmadd52huq zmm9, zmm21, zmm26
    vmovdqu64 zmm31, zmmword ptr [r11 + 448]
    vpmadd52huq zmm13, zmm28, zmm28
    vmovdqu64 zmm25, zmmword ptr [rcx + 576]
    vpmadd52luq zmm9, zmm21, zmm25
    vpaddq zmm14, zmm14, zmm14
    vpmadd52huq zmm10, zmm21, zmm25
    vmovdqu64 zmm31{k2}, zmmword ptr [r10 + 448]
    vmovdqu64 zmm26, zmmword ptr [rcx + 640]
    vmovdqu64 zmm27, zmmword ptr [rsi + 448]
    vpmadd52luq zmm10, zmm21, zmm26
    vpmadd52huq zmm11, zmm21, zmm26
    vpmadd52luq zmm14, zmm27, zmm27
    vmovdqu64 zmmword ptr [r11 + 448], zmm31
    vpxord xmm21, xmm21, xmm21
    vpmadd52luq zmm21, zmm2, zmm23
    vpaddq zmm2, zmm2, zmm22
    vmovdqu64 zmm24, zmmword ptr [rsi + 448]
    vmovdqu64 zmm30, zmmword ptr [r11 + 512]
    vpsrlq zmm2, zmm2, 52
    vpaddq zmm3, zmm3, zmm2
    vmovdqu64 zmm27, zmmword ptr [rsi + 512]
    vmovdqu64 zmm25, zmmword ptr [rcx + 64]
    vpmadd52huq zmm3, zmm21, zmm25
    vmovdqu64 zmm30{k2}, zmmword ptr [r10 + 512]
    vmovdqu64 zmm26, zmmword ptr [rcx + 128]
    vpmadd52luq zmm15, zmm24, zmm27
    vpmadd52luq zmm3, zmm21, zmm26
    vpmadd52huq zmm4, zmm21, zmm26
    vmovdqu64 zmmword ptr [r11 + 512], zmm30
    vpmadd52huq zmm16, zmm24, zmm27
    vmovdqu64 zmm25, zmmword ptr [rcx + 192]
    vpmadd52luq zmm4, zmm21, zmm25
    vpmadd52huq zmm5, zmm21, zmm25
    vmovdqu64 zmm28, zmmword ptr [rsi + 576]
    vmovdqu64 zmm31, zmmword ptr [r11 + 576]
    vmovdqu64 zmm26, zmmword ptr [rcx + 256]
    vpmadd52luq zmm5, zmm21, zmm26
    vpxord xmm17, xmm17, xmm17
    vpmadd52huq zmm6, zmm21, zmm26
    vmovdqu64 zmm25, zmmword ptr [rcx + 320]
    vmovdqu64 zmm31{k2}, zmmword ptr [r10 + 576]
    vpmadd52luq zmm16, zmm24, zmm28
    vpmadd52luq zmm6, zmm21, zmm25
    vpmadd52huq zmm7, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 384]
    vmovdqu64 zmmword ptr [r11 + 576], zmm31
    vpmadd52huq zmm17, zmm24, zmm28
    vpmadd52luq zmm7, zmm21, zmm26
    vpmadd52huq zmm8, zmm21, zmm26
    vpaddq zmm15, zmm15, zmm15
    vmovdqu64 zmm25, zmmword ptr [rcx + 448]
    add r10, 640
    vpmadd52luq zmm8, zmm21, zmm25
    vpmadd52huq zmm9, zmm21, zmm25
    vmovdqu64 zmm28, zmmword ptr [rsi + 448]
    vmovdqu64 zmm26, zmmword ptr [rcx + 512]
    vpmadd52luq zmm9, zmm21, zmm26
    vpcmpeqq k1, zmm29, qword ptr [rax + 16]{1to8}
    vpmadd52huq zmm15, zmm28, zmm28
    vpmadd52huq zmm10, zmm21, zmm26
    vmovdqu64 zmm25, zmmword ptr [rcx + 576]
    vpmadd52luq zmm10, zmm21, zmm25
    vmovdqu64 zmm30, zmmword ptr [r11]
    vpaddq zmm16, zmm16, zmm16
    vpmadd52huq zmm11, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 640]
    vmovdqu64 zmm27, zmmword ptr [rsi + 512]
    vpmadd52luq zmm11, zmm21, zmm26
    vmovdqu64 zmm30{k1}, zmmword ptr [r10]
    vpmadd52huq zmm12, zmm21, zmm26
    vpmadd52luq zmm16, zmm27, zmm27
    vpxord xmm21, xmm21, xmm21
    vpmadd52luq zmm21, zmm3, zmm23
    vpaddq zmm3, zmm3, zmm22
    vmovdqu64 zmmword ptr [r11], zmm30
    vpsrlq zmm3, zmm3, 52
    vmovdqu64 zmm24, zmmword ptr [rsi + 512]
    vpaddq zmm4, zmm4, zmm3
    vmovdqu64 zmm25, zmmword ptr [rcx + 64]
    vmovdqu64 zmm31, zmmword ptr [r11 + 64]
    vpmadd52huq zmm4, zmm21, zmm25
    vmovdqu64 zmm28, zmmword ptr [rsi + 576]
    vmovdqu64 zmm26, zmmword ptr [rcx + 128]
    vpmadd52luq zmm4, zmm21, zmm26
    vpmadd52huq zmm5, zmm21, zmm26
    vmovdqu64 zmm31{k1}, zmmword ptr [r10 + 64]
    vpxord xmm18, xmm18, xmm18
    vmovdqu64 zmm25, zmmword ptr [rcx + 192]
    vpmadd52luq zmm5, zmm21, zmm25
    vpmadd52huq zmm6, zmm21, zmm25
    vmovdqu64 zmmword ptr [r11 + 64], zmm31
    vpmadd52luq zmm17, zmm24, zmm28
    vmovdqu64 zmm26, zmmword ptr [rcx + 256]
    vpmadd52luq zmm6, zmm21, zmm26
    vpmadd52huq zmm7, zmm21, zmm26
    vpmadd52huq zmm18, zmm24, zmm28
    vmovdqu64 zmm30, zmmword ptr [r11 + 128]
    vmovdqu64 zmm25, zmmword ptr [rcx + 320]
    vpmadd52luq zmm7, zmm21, zmm25
    vpmadd52huq zmm8, zmm21, zmm25
    vpaddq zmm17, zmm17, zmm17
    vmovdqu64 zmm26, zmmword ptr [rcx + 384]
    vmovdqu64 zmm30{k1}, zmmword ptr [r10 + 128]
    vpmadd52luq zmm8, zmm21, zmm26
    vpmadd52huq zmm9, zmm21, zmm26
    vmovdqu64 zmm28, zmmword ptr [rsi + 512]
    vmovdqu64 zmm25, zmmword ptr [rcx + 448]
    vmovdqu64 zmmword ptr [r11 + 128], zmm30
    vpmadd52luq zmm9, zmm21, zmm25
    vpmadd52huq zmm10, zmm21, zmm25
    vpmadd52huq zmm17, zmm28, zmm28
    vmovdqu64 zmm26, zmmword ptr [rcx + 512]
    vpmadd52luq zmm10, zmm21, zmm26
    vmovdqu64 zmm31, zmmword ptr [r11 + 192]
    vpmadd52huq zmm11, zmm21, zmm26
    vpaddq zmm18, zmm18, zmm18
    vmovdqu64 zmm25, zmmword ptr [rcx + 576]
    vpmadd52luq zmm11, zmm21, zmm25
    vpmadd52huq zmm12, zmm21, zmm25
    vmovdqu64 zmm31{k1}, zmmword ptr [r10 + 192]
    vmovdqu64 zmm27, zmmword ptr [rsi + 576]
    vmovdqu64 zmm26, zmmword ptr [rcx + 640]
    vpmadd52luq zmm12, zmm21, zmm26
    vpmadd52huq zmm13, zmm21, zmm26
    vmovdqu64 zmmword ptr [r11 + 192], zmm31
    vpmadd52luq zmm18, zmm27, zmm27
    vpxord xmm21, xmm21, xmm21
    vpmadd52luq zmm21, zmm4, zmm23
    vpaddq zmm4, zmm4, zmm22
    vpsrlq zmm4, zmm4, 52
    vmovdqu64 zmm30, zmmword ptr [r11 + 256]
    vpaddq zmm5, zmm5, zmm4
    vmovdqu64 zmm25, zmmword ptr [rcx + 64]
    vpmadd52huq zmm5, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 128]
    vmovdqu64 zmm30{k1}, zmmword ptr [r10 + 256]
    vpmadd52luq zmm5, zmm21, zmm26
    vpmadd52huq zmm6, zmm21, zmm26
    vmovdqu64 zmm25, zmmword ptr [rcx + 192]
    vpmadd52luq zmm6, zmm21, zmm25
    vpxord xmm19, xmm19, xmm19
    vmovdqu64 zmmword ptr [r11 + 256], zmm30
    vpmadd52huq zmm7, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 256]
    vpmadd52luq zmm7, zmm21, zmm26
    vpmadd52huq zmm8, zmm21, zmm26
    vmovdqu64 zmm25, zmmword ptr [rcx + 320]
    vmovdqu64 zmm31, zmmword ptr [r11 + 320]
    vpmadd52luq zmm8, zmm21, zmm25
    vpmadd52huq zmm9, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 384]
    vpmadd52luq zmm9, zmm21, zmm26
    vmovdqu64 zmm31{k1}, zmmword ptr [r10 + 320]
    vpmadd52huq zmm10, zmm21, zmm26
    vmovdqu64 zmm25, zmmword ptr [rcx + 448]
    vmovdqu64 zmm28, zmmword ptr [rsi + 576]
    vpmadd52luq zmm10, zmm21, zmm25
    vpmadd52huq zmm11, zmm21, zmm25
    vmovdqu64 zmmword ptr [r11 + 320], zmm31
    vmovdqu64 zmm26, zmmword ptr [rcx + 512]
    vpmadd52luq zmm11, zmm21, zmm26
    vpmadd52huq zmm12, zmm21, zmm26
    vmovdqu64 zmm25, zmmword ptr [rcx + 576]
    vpmadd52luq zmm12, zmm21, zmm25
    vmovdqu64 zmm30, zmmword ptr [r11 + 384]
    vpmadd52huq zmm13, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 640]
    vpmadd52luq zmm13, zmm21, zmm26
    vpmadd52huq zmm14, zmm21, zmm26
    vmovdqu64 zmm30{k1}, zmmword ptr [r10 + 384]
    vpmadd52huq zmm19, zmm28, zmm28
    vpxord xmm21, xmm21, xmm21
    vpmadd52luq zmm21, zmm5, zmm23
    vpaddq zmm5, zmm5, zmm22
    vpsrlq zmm5, zmm5, 52
    vmovdqu64 zmmword ptr [r11 + 384], zmm30
    vpaddq zmm6, zmm6, zmm5
    vmovdqu64 zmm25, zmmword ptr [rcx + 64]
    vpmadd52huq zmm6, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 128]
    vpmadd52luq zmm6, zmm21, zmm26
    vmovdqu64 zmm31, zmmword ptr [r11 + 448]
    vpmadd52huq zmm7, zmm21, zmm26
    vmovdqu64 zmm25, zmmword ptr [rcx + 192]
    vpmadd52luq zmm7, zmm21, zmm25
    vpmadd52huq zmm8, zmm21, zmm25
    vmovdqu64 zmm31{k1}, zmmword ptr [r10 + 448]
    vmovdqu64 zmm26, zmmword ptr [rcx + 256]
    vpmadd52luq zmm8, zmm21, zmm26
    vpmadd52huq zmm9, zmm21, zmm26
    vmovdqu64 zmm25, zmmword ptr [rcx + 320]
    vpmadd52luq zmm9, zmm21, zmm25
    vmovdqu64 zmmword ptr [r11 + 448], zmm31
    vpmadd52huq zmm10, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 384]
    vpmadd52luq zmm10, zmm21, zmm26
    vpmadd52huq zmm11, zmm21, zmm26
    vmovdqu64 zmm30, zmmword ptr [r11 + 512]
    vmovdqu64 zmm25, zmmword ptr [rcx + 448]
    vpmadd52luq zmm11, zmm21, zmm25
    vpmadd52huq zmm12, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 512]
    vpmadd52luq zmm12, zmm21, zmm26
    vmovdqu64 zmm30{k1}, zmmword ptr [r10 + 512]
    vpmadd52huq zmm13, zmm21, zmm26
    vmovdqu64 zmm25, zmmword ptr [rcx + 576]
    vpmadd52luq zmm13, zmm21, zmm25
    vpmadd52huq zmm14, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 640]
    vmovdqu64 zmmword ptr [r11 + 512], zmm30
    vpmadd52luq zmm14, zmm21, zmm26
    vpmadd52huq zmm15, zmm21, zmm26
    vpxord xmm21, xmm21, xmm21
    vpmadd52luq zmm21, zmm6, zmm23
    vmovdqu64 zmm31, zmmword ptr [r11 + 576]
    vpaddq zmm6, zmm6, zmm22
    vpsrlq zmm6, zmm6, 52
    vpaddq zmm7, zmm7, zmm6
    vmovdqu64 zmm25, zmmword ptr [rcx + 64]
    vpmadd52huq zmm7, zmm21, zmm25
    vmovdqu64 zmm31{k1}, zmmword ptr [r10 + 576]
    vmovdqu64 zmm26, zmmword ptr [rcx + 128]
    vpmadd52luq zmm7, zmm21, zmm26
    vpmadd52huq zmm8, zmm21, zmm26
    vmovdqu64 zmm25, zmmword ptr [rcx + 192]
    vpmadd52luq zmm8, zmm21, zmm25
    vmovdqu64 zmmword ptr [r11 + 576], zmm31
    vpmadd52huq zmm9, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 256]
    vpmadd52luq zmm9, zmm21, zmm26
    vpmadd52huq zmm10, zmm21, zmm26
    add r10, 640
    vmovdqu64 zmm25, zmmword ptr [rcx + 320]
    vpmadd52luq zmm10, zmm21, zmm25
    vpmadd52huq zmm11, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 384]
    vpmadd52luq zmm11, zmm21, zmm26
    vpcmpeqq k2, zmm29, qword ptr [rax + 24]{1to8}
    vpmadd52huq zmm12, zmm21, zmm26
    vmovdqu64 zmm25, zmmword ptr [rcx + 448]
    vpmadd52luq zmm12, zmm21, zmm25
    vpmadd52huq zmm13, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 512]
    vmovdqu64 zmm30, zmmword ptr [r11]
    vpmadd52luq zmm13, zmm21, zmm26
    vpmadd52huq zmm14, zmm21, zmm26
    vmovdqu64 zmm25, zmmword ptr [rcx + 576]
    vpmadd52luq zmm14, zmm21, zmm25
    vmovdqu64 zmm30{k2}, zmmword ptr [r10]
    vpmadd52huq zmm15, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 640]
    vpmadd52luq zmm15, zmm21, zmm26
    vpmadd52huq zmm16, zmm21, zmm26
    vpxord xmm21, xmm21, xmm21
    vmovdqu64 zmmword ptr [r11], zmm30
    vpmadd52luq zmm21, zmm7, zmm23
    vpaddq zmm7, zmm7, zmm22
    vpsrlq zmm7, zmm7, 52
    vpaddq zmm8, zmm8, zmm7
    vmovdqu64 zmm31, zmmword ptr [r11 + 64]
    vmovdqu64 zmm25, zmmword ptr [rcx + 64]
    vpmadd52huq zmm8, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 128]
    vpmadd52luq zmm8, zmm21, zmm26
    vpmadd52huq zmm9, zmm21, zmm26
    vmovdqu64 zmm31{k2}, zmmword ptr [r10 + 64]
    vmovdqu64 zmm25, zmmword ptr [rcx + 192]
    vpmadd52luq zmm9, zmm21, zmm25
    vpmadd52huq zmm10, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 256]
    vpmadd52luq zmm10, zmm21, zmm26
    vmovdqu64 zmmword ptr [r11 + 64], zmm31
    vpmadd52huq zmm11, zmm21, zmm26
    vmovdqu64 zmm25, zmmword ptr [rcx + 320]
    vpmadd52luq zmm11, zmm21, zmm25
    vpmadd52huq zmm12, zmm21, zmm25
    vmovdqu64 zmm30, zmmword ptr [r11 + 128]
    vmovdqu64 zmm26, zmmword ptr [rcx + 384]
    vpmadd52luq zmm12, zmm21, zmm26
    vpmadd52huq zmm13, zmm21, zmm26
    vmovdqu64 zmm25, zmmword ptr [rcx + 448]
    vpmadd52luq zmm13, zmm21, zmm25
    vmovdqu64 zmm30{k2}, zmmword ptr [r10 + 128]
    vpmadd52huq zmm14, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 512]
    vpmadd52luq zmm14, zmm21, zmm26
    vpmadd52huq zmm15, zmm21, zmm26
    vmovdqu64 zmm25, zmmword ptr [rcx + 576]
    vmovdqu64 zmmword ptr [r11 + 128], zmm30
    vpmadd52luq zmm15, zmm21, zmm25
    vpmadd52huq zmm16, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 640]
    vpmadd52luq zmm16, zmm21, zmm26
    vmovdqu64 zmm31, zmmword ptr [r11 + 192]
    vpmadd52huq zmm17, zmm21, zmm26
    vpxord xmm21, xmm21, xmm21
    vpmadd52luq zmm21, zmm8, zmm23
    vpaddq zmm8, zmm8, zmm22
    vpsrlq zmm8, zmm8, 52
    vmovdqu64 zmm31{k2}, zmmword ptr [r10 + 192]
    vpaddq zmm9, zmm9, zmm8
    vmovdqu64 zmm25, zmmword ptr [rcx + 64]
    vpmadd52huq zmm9, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 128]
    vmovdqu64 zmmword ptr [r11 + 192], zmm31
    vpmadd52luq zmm9, zmm21, zmm26
    vpmadd52huq zmm10, zmm21, zmm26
    vmovdqu64 zmm25, zmmword ptr [rcx + 192]
    vpmadd52luq zmm10, zmm21, zmm25
    vpmadd52huq zmm11, zmm21, zmm25
    vmovdqu64 zmm30, zmmword ptr [r11 + 256]
    vmovdqu64 zmm26, zmmword ptr [rcx + 256]
    vpmadd52luq zmm11, zmm21, zmm26
    vpmadd52huq zmm12, zmm21, zmm26
    vmovdqu64 zmm25, zmmword ptr [rcx + 320]
    vpmadd52luq zmm12, zmm21, zmm25
    vmovdqu64 zmm30{k2}, zmmword ptr [r10 + 256]
    vpmadd52huq zmm13, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 384]
    vpmadd52luq zmm13, zmm21, zmm26
    vpmadd52huq zmm14, zmm21, zmm26
    vmovdqu64 zmmword ptr [r11 + 256], zmm30
    vmovdqu64 zmm25, zmmword ptr [rcx + 448]
    vpmadd52luq zmm14, zmm21, zmm25
    vpmadd52huq zmm15, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 512]
    vpmadd52luq zmm15, zmm21, zmm26
    vmovdqu64 zmm31, zmmword ptr [r11 + 320]
    vpmadd52huq zmm16, zmm21, zmm26
    vmovdqu64 zmm25, zmmword ptr [rcx + 576]
    vpmadd52luq zmm16, zmm21, zmm25
    vpmadd52huq zmm17, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 640]
    vmovdqu64 zmm31{k2}, zmmword ptr [r10 + 320]
    vpmadd52luq zmm17, zmm21, zmm26
    vpmadd52huq zmm18, zmm21, zmm26
    vpxord xmm21, xmm21, xmm21
    vpmadd52luq zmm21, zmm9, zmm23
    vmovdqu64 zmmword ptr [r11 + 320], zmm31
    vpaddq zmm9, zmm9, zmm22
    vpsrlq zmm9, zmm9, 52
    vpaddq zmm10, zmm10, zmm9
    vmovdqu64 zmm25, zmmword ptr [rcx + 64]
    vpmadd52huq zmm10, zmm21, zmm25
    vmovdqu64 zmm30, zmmword ptr [r11 + 384]
    vmovdqu64 zmm26, zmmword ptr [rcx + 128]
    vpmadd52luq zmm10, zmm21, zmm26
    vpmadd52huq zmm11, zmm21, zmm26
    vmovdqu64 zmm25, zmmword ptr [rcx + 192]
    vpmadd52luq zmm11, zmm21, zmm25
    vmovdqu64 zmm30{k2}, zmmword ptr [r10 + 384]
    vpmadd52huq zmm12, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 256]
    vpmadd52luq zmm12, zmm21, zmm26
    vpmadd52huq zmm13, zmm21, zmm26
    vmovdqu64 zmmword ptr [r11 + 384], zmm30
    vmovdqu64 zmm25, zmmword ptr [rcx + 320]
    vpmadd52luq zmm13, zmm21, zmm25
    vpmadd52huq zmm14, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 384]
    vpmadd52luq zmm14, zmm21, zmm26
    vmovdqu64 zmm31, zmmword ptr [r11 + 448]
    vpmadd52huq zmm15, zmm21, zmm26
    vmovdqu64 zmm25, zmmword ptr [rcx + 448]
    vpmadd52luq zmm15, zmm21, zmm25
    vpmadd52huq zmm16, zmm21, zmm25
    vmovdqu64 zmm31{k2}, zmmword ptr [r10 + 448]
    vmovdqu64 zmm26, zmmword ptr [rcx + 512]
    vpmadd52luq zmm16, zmm21, zmm26
    vpmadd52huq zmm17, zmm21, zmm26
    vmovdqu64 zmm25, zmmword ptr [rcx + 576]
    vpmadd52luq zmm17, zmm21, zmm25
    vmovdqu64 zmmword ptr [r11 + 448], zmm31
    vpmadd52huq zmm18, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 640]
    vpmadd52luq zmm18, zmm21, zmm26
    vpmadd52huq zmm19, zmm21, zmm26
    vpsrlq zmm21, zmm10, 52
    vmovdqu64 zmm30, zmmword ptr [r11 + 512]
    vmovdqu64 zmmword ptr [rdi], zmm10
    vpaddq zmm11, zmm11, zmm21
    vpsrlq zmm21, zmm11, 52
    vmovdqu64 zmmword ptr [rdi + 64], zmm11
    vmovdqu64 zmm30{k2}, zmmword ptr [r10 + 512]
    vpaddq zmm12, zmm12, zmm21
    vpsrlq zmm21, zmm12, 52
    vmovdqu64 zmmword ptr [rdi + 128], zmm12
    vpaddq zmm13, zmm13, zmm21
    vpsrlq zmm21, zmm13, 52
    vmovdqu64 zmmword ptr [r11 + 512], zmm30
    vmovdqu64 zmmword ptr [rdi + 192], zmm13
    vpaddq zmm14, zmm14, zmm21
    vpsrlq zmm21, zmm14, 52
    vmovdqu64 zmmword ptr [rdi + 256], zmm14
    vpaddq zmm15, zmm15, zmm21
    vmovdqu64 zmm31, zmmword ptr [r11 + 576]
    vpsrlq zmm21, zmm15, 52
    vmovdqu64 zmmword ptr [rdi + 320], zmm15
    vpaddq zmm16, zmm16, zmm21
    vpsrlq zmm21, zmm16, 52
    vmovdqu64 zmm31{k2}, zmmword ptr [r10 + 576]
    vmovdqu64 zmmword ptr [rdi + 384], zmm16
    vpaddq zmm17, zmm17, zmm21
    vpsrlq zmm21, zmm17, 52
    vmovdqu64 zmmword ptr [rdi + 448], zmm17
    vpaddq zmm18, zmm18, zmm21
    vmovdqu64 zmmword ptr [r11 + 576], zmm31
    vpsrlq zmm21, zmm18, 52
    vmovdqu64 zmmword ptr [rdi + 512], zmm18
    vpaddq zmm19, zmm19, zmm21
    vmovdqu64 zmmword ptr [rdi + 576], zmm19
    add r10, 640
    vzeroupper
    ret
