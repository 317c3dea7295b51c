# Written by `cargo xtask kernels` (xtask/src/kernels.rs).
    mov rax, [rdx]
    vmovdqu64 zmm23, zmmword ptr [rax]
    mov eax, 1
    vpbroadcastq zmm24, rax
    vptestmq k1, zmm23, zmm24
    mov eax, 2
    vpbroadcastq zmm24, rax
    vptestmq k2, zmm23, zmm24
    mov eax, 4
    vpbroadcastq zmm24, rax
    vptestmq k3, zmm23, zmm24
    mov eax, 8
    vpbroadcastq zmm24, rax
    vptestmq k4, zmm23, zmm24
    mov eax, 16
    vpbroadcastq zmm24, rax
    vptestnmq k5, zmm23, zmm24
    mov r10, [rdx + 8]
    mov r11, [rdx + 16]
    vpxord xmm25, xmm25, xmm25
    vpxord xmm26, xmm26, xmm26
    vpxord xmm27, xmm27, xmm27
    vpxord xmm28, xmm28, xmm28
    vpxord xmm29, xmm29, xmm29
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
    vmovdqu64 zmm18, zmmword ptr [rsi]
    vmovdqu64 zmm19, zmmword ptr [rsi + 64]
    vmovdqu64 zmm23, zmmword ptr [r10]
    vmovdqu64 zmm20, zmmword ptr [rsi + 128]
    vmovdqu64 zmm23{k1}, zmmword ptr [r10 + 64]
    vmovdqu64 zmm21, zmmword ptr [rsi + 192]
    vmovdqu64 zmm24, zmmword ptr [r10 + 128]
    vmovdqu64 zmm22, zmmword ptr [rsi + 256]
    vmovdqu64 zmm24{k1}, zmmword ptr [r10 + 192]
    vpmadd52luq zmm1, zmm18, zmm19
    vmovdqa64 zmm23{k2}, zmm24
    vpmadd52huq zmm10, zmm18, zmm19
    vmovdqu64 zmm24, zmmword ptr [r10 + 256]
    vpmadd52luq zmm2, zmm18, zmm20
    vmovdqu64 zmm24{k1}, zmmword ptr [r10 + 320]
    vpmadd52luq zmm3, zmm19, zmm20
    vmovdqu64 zmm30, zmmword ptr [r10 + 384]
    vpmadd52huq zmm11, zmm18, zmm20
    vmovdqu64 zmm30{k1}, zmmword ptr [r10 + 448]
    vpmadd52huq zmm12, zmm19, zmm20
    vmovdqa64 zmm24{k2}, zmm30
    vpmadd52luq zmm3, zmm18, zmm21
    vmovdqa64 zmm23{k3}, zmm24
    vpmadd52luq zmm4, zmm19, zmm21
    vmovdqu64 zmm24, zmmword ptr [r10 + 512]
    vpmadd52luq zmm5, zmm20, zmm21
    vmovdqu64 zmm24{k1}, zmmword ptr [r10 + 576]
    vpmadd52huq zmm12, zmm18, zmm21
    vmovdqu64 zmm30, zmmword ptr [r10 + 640]
    vpmadd52huq zmm13, zmm19, zmm21
    vmovdqu64 zmm30{k1}, zmmword ptr [r10 + 704]
    vpmadd52huq zmm14, zmm20, zmm21
    vmovdqa64 zmm24{k2}, zmm30
    vpmadd52luq zmm4, zmm18, zmm22
    vmovdqu64 zmm30, zmmword ptr [r10 + 768]
    vpmadd52luq zmm5, zmm19, zmm22
    vmovdqu64 zmm30{k1}, zmmword ptr [r10 + 832]
    vpmadd52luq zmm6, zmm20, zmm22
    vmovdqu64 zmm31, zmmword ptr [r10 + 896]
    vpmadd52luq zmm7, zmm21, zmm22
    vmovdqu64 zmm31{k1}, zmmword ptr [r10 + 960]
    vpmadd52huq zmm13, zmm18, zmm22
    vmovdqa64 zmm30{k2}, zmm31
    vpmadd52huq zmm14, zmm19, zmm22
    vmovdqa64 zmm24{k3}, zmm30
    vpmadd52huq zmm15, zmm20, zmm22
    vmovdqa64 zmm23{k4}, zmm24
    vpmadd52huq zmm16, zmm21, zmm22
    vmovdqu64 zmmword ptr [r11], zmm23
    vpaddq zmm0, zmm0, zmm0
    vmovdqu64 zmm23, zmmword ptr [r10 + 1024]
    vpaddq zmm1, zmm1, zmm9
    vpaddq zmm1, zmm1, zmm1
    vmovdqu64 zmm23{k1}, zmmword ptr [r10 + 1088]
    vpaddq zmm2, zmm2, zmm10
    vmovdqu64 zmm24, zmmword ptr [r10 + 1152]
    vpaddq zmm2, zmm2, zmm2
    vmovdqu64 zmm24{k1}, zmmword ptr [r10 + 1216]
    vpaddq zmm3, zmm3, zmm11
    vmovdqa64 zmm23{k2}, zmm24
    vpaddq zmm3, zmm3, zmm3
    vmovdqu64 zmm24, zmmword ptr [r10 + 1280]
    vpaddq zmm4, zmm4, zmm12
    vmovdqu64 zmm24{k1}, zmmword ptr [r10 + 1344]
    vpaddq zmm4, zmm4, zmm4
    vmovdqu64 zmm30, zmmword ptr [r10 + 1408]
    vpaddq zmm5, zmm5, zmm13
    vmovdqu64 zmm30{k1}, zmmword ptr [r10 + 1472]
    vpaddq zmm5, zmm5, zmm5
    vmovdqa64 zmm24{k2}, zmm30
    vpaddq zmm6, zmm6, zmm14
    vmovdqa64 zmm23{k3}, zmm24
    vpaddq zmm6, zmm6, zmm6
    vmovdqu64 zmm24, zmmword ptr [r10 + 1536]
    vpaddq zmm7, zmm7, zmm15
    vmovdqu64 zmm24{k1}, zmmword ptr [r10 + 1600]
    vpaddq zmm7, zmm7, zmm7
    vmovdqu64 zmm30, zmmword ptr [r10 + 1664]
    vpaddq zmm8, zmm8, zmm16
    vmovdqu64 zmm30{k1}, zmmword ptr [r10 + 1728]
    vpaddq zmm8, zmm8, zmm8
    vmovdqa64 zmm24{k2}, zmm30
    vpaddq zmm17, zmm17, zmm17
    vmovdqu64 zmm30, zmmword ptr [r10 + 1792]
    vpmadd52luq zmm0, zmm18, zmm18
    vmovdqu64 zmm30{k1}, zmmword ptr [r10 + 1856]
    vpmadd52huq zmm1, zmm18, zmm18
    vmovdqu64 zmm31, zmmword ptr [r10 + 1920]
    vpmadd52luq zmm2, zmm19, zmm19
    vmovdqu64 zmm31{k1}, zmmword ptr [r10 + 1984]
    vpmadd52huq zmm3, zmm19, zmm19
    vmovdqa64 zmm30{k2}, zmm31
    vpmadd52luq zmm4, zmm20, zmm20
    vmovdqa64 zmm24{k3}, zmm30
    vpmadd52huq zmm5, zmm20, zmm20
    vmovdqa64 zmm23{k4}, zmm24
    vpmadd52luq zmm6, zmm21, zmm21
    vmovdqu64 zmm23{k5}, zmmword ptr [r11]
    vpmadd52huq zmm7, zmm21, zmm21
    vmovdqu64 zmmword ptr [r11], zmm23
    vpmadd52luq zmm8, zmm22, zmm22
    add r10, 2048
    vpmadd52huq zmm17, zmm22, zmm22
    add r11, 64
    vpaddq zmm25, zmm25, zmm0
    vmovdqu64 zmmword ptr [r8], zmm25
    vmovdqa64 zmm25, zmm5
    vpaddq zmm26, zmm26, zmm1
    vmovdqu64 zmmword ptr [r8 + 64], zmm26
    vmovdqa64 zmm26, zmm6
    vpaddq zmm27, zmm27, zmm2
    vmovdqu64 zmmword ptr [r8 + 128], zmm27
    vmovdqa64 zmm27, zmm7
    vpaddq zmm28, zmm28, zmm3
    vmovdqu64 zmmword ptr [r8 + 192], zmm28
    vmovdqa64 zmm28, zmm8
    vpaddq zmm29, zmm29, zmm4
    vmovdqu64 zmmword ptr [r8 + 256], zmm29
    vmovdqa64 zmm29, zmm17
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
    vmovdqu64 zmm18, zmmword ptr [rsi]
    vmovdqu64 zmm19, zmmword ptr [rsi + 64]
    vmovdqu64 zmm20, zmmword ptr [rsi + 128]
    vmovdqu64 zmm21, zmmword ptr [rsi + 192]
    vmovdqu64 zmm22, zmmword ptr [rsi + 256]
    vmovdqu64 zmm23, zmmword ptr [rsi + 320]
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
    vmovdqu64 zmm24, zmmword ptr [rsi + 384]
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
    vmovdqu64 zmm23, zmmword ptr [rsi + 448]
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
    vmovdqu64 zmm24, zmmword ptr [rsi + 512]
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
    vmovdqu64 zmm23, zmmword ptr [rsi + 576]
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
    vpaddq zmm25, zmm25, zmm0
    vmovdqu64 zmmword ptr [r8 + 320], zmm25
    vmovdqa64 zmm25, zmm5
    vpaddq zmm26, zmm26, zmm1
    vmovdqu64 zmmword ptr [r8 + 384], zmm26
    vmovdqa64 zmm26, zmm6
    vpaddq zmm27, zmm27, zmm2
    vmovdqu64 zmmword ptr [r8 + 448], zmm27
    vmovdqa64 zmm27, zmm7
    vpaddq zmm28, zmm28, zmm3
    vmovdqu64 zmmword ptr [r8 + 512], zmm28
    vmovdqa64 zmm28, zmm8
    vpaddq zmm29, zmm29, zmm4
    vmovdqu64 zmmword ptr [r8 + 576], zmm29
    vmovdqa64 zmm29, zmm17
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
    vmovdqu64 zmm18, zmmword ptr [rsi]
    vmovdqu64 zmm19, zmmword ptr [rsi + 64]
    vmovdqu64 zmm20, zmmword ptr [rsi + 128]
    vmovdqu64 zmm21, zmmword ptr [rsi + 192]
    vmovdqu64 zmm22, zmmword ptr [rsi + 256]
    vmovdqu64 zmm23, zmmword ptr [rsi + 640]
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
    vmovdqu64 zmm24, zmmword ptr [rsi + 704]
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
    vmovdqu64 zmm23, zmmword ptr [rsi + 768]
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
    vmovdqu64 zmm24, zmmword ptr [rsi + 832]
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
    vmovdqu64 zmm23, zmmword ptr [rsi + 896]
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
    vmovdqu64 zmm18, zmmword ptr [rsi + 320]
    vmovdqu64 zmm19, zmmword ptr [rsi + 384]
    vmovdqu64 zmm23, zmmword ptr [r10]
    vmovdqu64 zmm20, zmmword ptr [rsi + 448]
    vmovdqu64 zmm23{k1}, zmmword ptr [r10 + 64]
    vmovdqu64 zmm21, zmmword ptr [rsi + 512]
    vmovdqu64 zmm24, zmmword ptr [r10 + 128]
    vmovdqu64 zmm22, zmmword ptr [rsi + 576]
    vmovdqu64 zmm24{k1}, zmmword ptr [r10 + 192]
    vpmadd52luq zmm1, zmm18, zmm19
    vmovdqa64 zmm23{k2}, zmm24
    vpmadd52huq zmm10, zmm18, zmm19
    vmovdqu64 zmm24, zmmword ptr [r10 + 256]
    vpmadd52luq zmm2, zmm18, zmm20
    vmovdqu64 zmm24{k1}, zmmword ptr [r10 + 320]
    vpmadd52luq zmm3, zmm19, zmm20
    vmovdqu64 zmm30, zmmword ptr [r10 + 384]
    vpmadd52huq zmm11, zmm18, zmm20
    vmovdqu64 zmm30{k1}, zmmword ptr [r10 + 448]
    vpmadd52huq zmm12, zmm19, zmm20
    vmovdqa64 zmm24{k2}, zmm30
    vpmadd52luq zmm3, zmm18, zmm21
    vmovdqa64 zmm23{k3}, zmm24
    vpmadd52luq zmm4, zmm19, zmm21
    vmovdqu64 zmm24, zmmword ptr [r10 + 512]
    vpmadd52luq zmm5, zmm20, zmm21
    vmovdqu64 zmm24{k1}, zmmword ptr [r10 + 576]
    vpmadd52huq zmm12, zmm18, zmm21
    vmovdqu64 zmm30, zmmword ptr [r10 + 640]
    vpmadd52huq zmm13, zmm19, zmm21
    vmovdqu64 zmm30{k1}, zmmword ptr [r10 + 704]
    vpmadd52huq zmm14, zmm20, zmm21
    vmovdqa64 zmm24{k2}, zmm30
    vpmadd52luq zmm4, zmm18, zmm22
    vmovdqu64 zmm30, zmmword ptr [r10 + 768]
    vpmadd52luq zmm5, zmm19, zmm22
    vmovdqu64 zmm30{k1}, zmmword ptr [r10 + 832]
    vpmadd52luq zmm6, zmm20, zmm22
    vmovdqu64 zmm31, zmmword ptr [r10 + 896]
    vpmadd52luq zmm7, zmm21, zmm22
    vmovdqu64 zmm31{k1}, zmmword ptr [r10 + 960]
    vpmadd52huq zmm13, zmm18, zmm22
    vmovdqa64 zmm30{k2}, zmm31
    vpmadd52huq zmm14, zmm19, zmm22
    vmovdqa64 zmm24{k3}, zmm30
    vpmadd52huq zmm15, zmm20, zmm22
    vmovdqa64 zmm23{k4}, zmm24
    vpmadd52huq zmm16, zmm21, zmm22
    vmovdqu64 zmmword ptr [r11], zmm23
    vpaddq zmm0, zmm0, zmm0
    vmovdqu64 zmm23, zmmword ptr [r10 + 1024]
    vpaddq zmm1, zmm1, zmm9
    vpaddq zmm1, zmm1, zmm1
    vmovdqu64 zmm23{k1}, zmmword ptr [r10 + 1088]
    vpaddq zmm2, zmm2, zmm10
    vmovdqu64 zmm24, zmmword ptr [r10 + 1152]
    vpaddq zmm2, zmm2, zmm2
    vmovdqu64 zmm24{k1}, zmmword ptr [r10 + 1216]
    vpaddq zmm3, zmm3, zmm11
    vmovdqa64 zmm23{k2}, zmm24
    vpaddq zmm3, zmm3, zmm3
    vmovdqu64 zmm24, zmmword ptr [r10 + 1280]
    vpaddq zmm4, zmm4, zmm12
    vmovdqu64 zmm24{k1}, zmmword ptr [r10 + 1344]
    vpaddq zmm4, zmm4, zmm4
    vmovdqu64 zmm30, zmmword ptr [r10 + 1408]
    vpaddq zmm5, zmm5, zmm13
    vmovdqu64 zmm30{k1}, zmmword ptr [r10 + 1472]
    vpaddq zmm5, zmm5, zmm5
    vmovdqa64 zmm24{k2}, zmm30
    vpaddq zmm6, zmm6, zmm14
    vmovdqa64 zmm23{k3}, zmm24
    vpaddq zmm6, zmm6, zmm6
    vmovdqu64 zmm24, zmmword ptr [r10 + 1536]
    vpaddq zmm7, zmm7, zmm15
    vmovdqu64 zmm24{k1}, zmmword ptr [r10 + 1600]
    vpaddq zmm7, zmm7, zmm7
    vmovdqu64 zmm30, zmmword ptr [r10 + 1664]
    vpaddq zmm8, zmm8, zmm16
    vmovdqu64 zmm30{k1}, zmmword ptr [r10 + 1728]
    vpaddq zmm8, zmm8, zmm8
    vmovdqa64 zmm24{k2}, zmm30
    vpaddq zmm17, zmm17, zmm17
    vmovdqu64 zmm30, zmmword ptr [r10 + 1792]
    vpmadd52luq zmm0, zmm18, zmm18
    vmovdqu64 zmm30{k1}, zmmword ptr [r10 + 1856]
    vpmadd52huq zmm1, zmm18, zmm18
    vmovdqu64 zmm31, zmmword ptr [r10 + 1920]
    vpmadd52luq zmm2, zmm19, zmm19
    vmovdqu64 zmm31{k1}, zmmword ptr [r10 + 1984]
    vpmadd52huq zmm3, zmm19, zmm19
    vmovdqa64 zmm30{k2}, zmm31
    vpmadd52luq zmm4, zmm20, zmm20
    vmovdqa64 zmm24{k3}, zmm30
    vpmadd52huq zmm5, zmm20, zmm20
    vmovdqa64 zmm23{k4}, zmm24
    vpmadd52luq zmm6, zmm21, zmm21
    vmovdqu64 zmm23{k5}, zmmword ptr [r11]
    vpmadd52huq zmm7, zmm21, zmm21
    vmovdqu64 zmmword ptr [r11], zmm23
    vpmadd52luq zmm8, zmm22, zmm22
    add r10, 2048
    vpmadd52huq zmm17, zmm22, zmm22
    add r11, 64
    vpaddq zmm25, zmm25, zmm0
    vmovdqu64 zmmword ptr [r8 + 640], zmm25
    vmovdqa64 zmm25, zmm5
    vpaddq zmm26, zmm26, zmm1
    vmovdqu64 zmmword ptr [r8 + 704], zmm26
    vmovdqa64 zmm26, zmm6
    vpaddq zmm27, zmm27, zmm2
    vmovdqu64 zmmword ptr [r8 + 768], zmm27
    vmovdqa64 zmm27, zmm7
    vpaddq zmm28, zmm28, zmm3
    vmovdqu64 zmmword ptr [r8 + 832], zmm28
    vmovdqa64 zmm28, zmm8
    vpaddq zmm29, zmm29, zmm4
    vmovdqu64 zmmword ptr [r8 + 896], zmm29
    vmovdqa64 zmm29, zmm17
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
    vmovdqu64 zmm18, zmmword ptr [rsi + 320]
    vmovdqu64 zmm19, zmmword ptr [rsi + 384]
    vmovdqu64 zmm20, zmmword ptr [rsi + 448]
    vmovdqu64 zmm21, zmmword ptr [rsi + 512]
    vmovdqu64 zmm22, zmmword ptr [rsi + 576]
    vmovdqu64 zmm23, zmmword ptr [rsi + 640]
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
    vmovdqu64 zmm24, zmmword ptr [rsi + 704]
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
    vmovdqu64 zmm23, zmmword ptr [rsi + 768]
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
    vmovdqu64 zmm24, zmmword ptr [rsi + 832]
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
    vmovdqu64 zmm23, zmmword ptr [rsi + 896]
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
    vpaddq zmm25, zmm25, zmm0
    vmovdqu64 zmmword ptr [r8 + 960], zmm25
    vmovdqa64 zmm25, zmm5
    vpaddq zmm26, zmm26, zmm1
    vmovdqu64 zmmword ptr [r8 + 1024], zmm26
    vmovdqa64 zmm26, zmm6
    vpaddq zmm27, zmm27, zmm2
    vmovdqu64 zmmword ptr [r8 + 1088], zmm27
    vmovdqa64 zmm27, zmm7
    vpaddq zmm28, zmm28, zmm3
    vmovdqu64 zmmword ptr [r8 + 1152], zmm28
    vmovdqa64 zmm28, zmm8
    vpaddq zmm29, zmm29, zmm4
    vmovdqu64 zmmword ptr [r8 + 1216], zmm29
    vmovdqa64 zmm29, zmm17
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
    vmovdqu64 zmm18, zmmword ptr [rsi + 640]
    vmovdqu64 zmm19, zmmword ptr [rsi + 704]
    vmovdqu64 zmm23, zmmword ptr [r10]
    vmovdqu64 zmm20, zmmword ptr [rsi + 768]
    vmovdqu64 zmm23{k1}, zmmword ptr [r10 + 64]
    vmovdqu64 zmm21, zmmword ptr [rsi + 832]
    vmovdqu64 zmm24, zmmword ptr [r10 + 128]
    vmovdqu64 zmm22, zmmword ptr [rsi + 896]
    vmovdqu64 zmm24{k1}, zmmword ptr [r10 + 192]
    vpmadd52luq zmm1, zmm18, zmm19
    vmovdqa64 zmm23{k2}, zmm24
    vpmadd52huq zmm10, zmm18, zmm19
    vmovdqu64 zmm24, zmmword ptr [r10 + 256]
    vpmadd52luq zmm2, zmm18, zmm20
    vmovdqu64 zmm24{k1}, zmmword ptr [r10 + 320]
    vpmadd52luq zmm3, zmm19, zmm20
    vmovdqu64 zmm30, zmmword ptr [r10 + 384]
    vpmadd52huq zmm11, zmm18, zmm20
    vmovdqu64 zmm30{k1}, zmmword ptr [r10 + 448]
    vpmadd52huq zmm12, zmm19, zmm20
    vmovdqa64 zmm24{k2}, zmm30
    vpmadd52luq zmm3, zmm18, zmm21
    vmovdqa64 zmm23{k3}, zmm24
    vpmadd52luq zmm4, zmm19, zmm21
    vmovdqu64 zmm24, zmmword ptr [r10 + 512]
    vpmadd52luq zmm5, zmm20, zmm21
    vmovdqu64 zmm24{k1}, zmmword ptr [r10 + 576]
    vpmadd52huq zmm12, zmm18, zmm21
    vmovdqu64 zmm30, zmmword ptr [r10 + 640]
    vpmadd52huq zmm13, zmm19, zmm21
    vmovdqu64 zmm30{k1}, zmmword ptr [r10 + 704]
    vpmadd52huq zmm14, zmm20, zmm21
    vmovdqa64 zmm24{k2}, zmm30
    vpmadd52luq zmm4, zmm18, zmm22
    vmovdqu64 zmm30, zmmword ptr [r10 + 768]
    vpmadd52luq zmm5, zmm19, zmm22
    vmovdqu64 zmm30{k1}, zmmword ptr [r10 + 832]
    vpmadd52luq zmm6, zmm20, zmm22
    vmovdqu64 zmm31, zmmword ptr [r10 + 896]
    vpmadd52luq zmm7, zmm21, zmm22
    vmovdqu64 zmm31{k1}, zmmword ptr [r10 + 960]
    vpmadd52huq zmm13, zmm18, zmm22
    vmovdqa64 zmm30{k2}, zmm31
    vpmadd52huq zmm14, zmm19, zmm22
    vmovdqa64 zmm24{k3}, zmm30
    vpmadd52huq zmm15, zmm20, zmm22
    vmovdqa64 zmm23{k4}, zmm24
    vpmadd52huq zmm16, zmm21, zmm22
    vmovdqu64 zmmword ptr [r11], zmm23
    vpaddq zmm0, zmm0, zmm0
    vmovdqu64 zmm23, zmmword ptr [r10 + 1024]
    vpaddq zmm1, zmm1, zmm9
    vpaddq zmm1, zmm1, zmm1
    vmovdqu64 zmm23{k1}, zmmword ptr [r10 + 1088]
    vpaddq zmm2, zmm2, zmm10
    vmovdqu64 zmm24, zmmword ptr [r10 + 1152]
    vpaddq zmm2, zmm2, zmm2
    vmovdqu64 zmm24{k1}, zmmword ptr [r10 + 1216]
    vpaddq zmm3, zmm3, zmm11
    vmovdqa64 zmm23{k2}, zmm24
    vpaddq zmm3, zmm3, zmm3
    vmovdqu64 zmm24, zmmword ptr [r10 + 1280]
    vpaddq zmm4, zmm4, zmm12
    vmovdqu64 zmm24{k1}, zmmword ptr [r10 + 1344]
    vpaddq zmm4, zmm4, zmm4
    vmovdqu64 zmm30, zmmword ptr [r10 + 1408]
    vpaddq zmm5, zmm5, zmm13
    vmovdqu64 zmm30{k1}, zmmword ptr [r10 + 1472]
    vpaddq zmm5, zmm5, zmm5
    vmovdqa64 zmm24{k2}, zmm30
    vpaddq zmm6, zmm6, zmm14
    vmovdqa64 zmm23{k3}, zmm24
    vpaddq zmm6, zmm6, zmm6
    vmovdqu64 zmm24, zmmword ptr [r10 + 1536]
    vpaddq zmm7, zmm7, zmm15
    vmovdqu64 zmm24{k1}, zmmword ptr [r10 + 1600]
    vpaddq zmm7, zmm7, zmm7
    vmovdqu64 zmm30, zmmword ptr [r10 + 1664]
    vpaddq zmm8, zmm8, zmm16
    vmovdqu64 zmm30{k1}, zmmword ptr [r10 + 1728]
    vpaddq zmm8, zmm8, zmm8
    vmovdqa64 zmm24{k2}, zmm30
    vpaddq zmm17, zmm17, zmm17
    vmovdqu64 zmm30, zmmword ptr [r10 + 1792]
    vpmadd52luq zmm0, zmm18, zmm18
    vmovdqu64 zmm30{k1}, zmmword ptr [r10 + 1856]
    vpmadd52huq zmm1, zmm18, zmm18
    vmovdqu64 zmm31, zmmword ptr [r10 + 1920]
    vpmadd52luq zmm2, zmm19, zmm19
    vmovdqu64 zmm31{k1}, zmmword ptr [r10 + 1984]
    vpmadd52huq zmm3, zmm19, zmm19
    vmovdqa64 zmm30{k2}, zmm31
    vpmadd52luq zmm4, zmm20, zmm20
    vmovdqa64 zmm24{k3}, zmm30
    vpmadd52huq zmm5, zmm20, zmm20
    vmovdqa64 zmm23{k4}, zmm24
    vpmadd52luq zmm6, zmm21, zmm21
    vmovdqu64 zmm23{k5}, zmmword ptr [r11]
    vpmadd52huq zmm7, zmm21, zmm21
    vmovdqu64 zmmword ptr [r11], zmm23
    vpmadd52luq zmm8, zmm22, zmm22
    add r10, 2048
    vpmadd52huq zmm17, zmm22, zmm22
    add r11, 64
    vpaddq zmm25, zmm25, zmm0
    vmovdqu64 zmmword ptr [r8 + 1280], zmm25
    vmovdqa64 zmm25, zmm5
    vpaddq zmm26, zmm26, zmm1
    vmovdqu64 zmmword ptr [r8 + 1344], zmm26
    vmovdqa64 zmm26, zmm6
    vpaddq zmm27, zmm27, zmm2
    vmovdqu64 zmmword ptr [r8 + 1408], zmm27
    vmovdqa64 zmm27, zmm7
    vpaddq zmm28, zmm28, zmm3
    vmovdqu64 zmmword ptr [r8 + 1472], zmm28
    vmovdqa64 zmm28, zmm8
    vpaddq zmm29, zmm29, zmm4
    vmovdqu64 zmmword ptr [r8 + 1536], zmm29
    vmovdqa64 zmm29, zmm17
    vmovdqu64 zmmword ptr [r8 + 1600], zmm25
    vmovdqu64 zmmword ptr [r8 + 1664], zmm26
    vmovdqu64 zmmword ptr [r8 + 1728], zmm27
    vmovdqu64 zmmword ptr [r8 + 1792], zmm28
    vmovdqu64 zmmword ptr [r8 + 1856], zmm29
    vpxord xmm25, xmm25, xmm25
    vpxord xmm26, xmm26, xmm26
    vpxord xmm27, xmm27, xmm27
    vpxord xmm28, xmm28, xmm28
    vpxord xmm29, xmm29, xmm29
    vmovdqu64 zmm30, zmmword ptr [rcx]
    vpternlogd zmm31, zmm31, zmm31, 255
    vpsrlq zmm31, zmm31, 12
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
    vpaddq zmm25, zmm25, zmmword ptr [r8]
    vpaddq zmm26, zmm26, zmmword ptr [r8 + 64]
    vpaddq zmm27, zmm27, zmmword ptr [r8 + 128]
    vpaddq zmm28, zmm28, zmmword ptr [r8 + 192]
    vpaddq zmm29, zmm29, zmmword ptr [r8 + 256]
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
    vmovdqu64 zmmword ptr [r8], zmm18
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
    vmovdqu64 zmmword ptr [r8 + 64], zmm19
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
    vmovdqu64 zmmword ptr [r8 + 128], zmm20
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
    vmovdqu64 zmmword ptr [r8 + 192], zmm21
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
    vmovdqu64 zmmword ptr [r8 + 256], zmm22
    vpaddq zmm29, zmm29, zmm31
    vpsrlq zmm29, zmm29, 52
    vpaddq zmm5, zmm5, zmm29
    vpaddq zmm25, zmm5, zmm13
    vpaddq zmm26, zmm6, zmm14
    vpaddq zmm27, zmm7, zmm15
    vpaddq zmm28, zmm8, zmm16
    vmovdqa64 zmm29, zmm17
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
    vmovdqu64 zmm18, zmmword ptr [r8]
    vmovdqu64 zmm19, zmmword ptr [r8 + 64]
    vmovdqu64 zmm20, zmmword ptr [r8 + 128]
    vmovdqu64 zmm21, zmmword ptr [r8 + 192]
    vmovdqu64 zmm22, zmmword ptr [r8 + 256]
    vmovdqu64 zmm23, zmmword ptr [rcx + 384]
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
    vmovdqu64 zmm24, zmmword ptr [rcx + 448]
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
    vmovdqu64 zmm23, zmmword ptr [rcx + 512]
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
    vmovdqu64 zmm24, zmmword ptr [rcx + 576]
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
    vmovdqu64 zmm23, zmmword ptr [rcx + 640]
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
    vpaddq zmm25, zmm25, zmmword ptr [r8 + 320]
    vpaddq zmm26, zmm26, zmmword ptr [r8 + 384]
    vpaddq zmm27, zmm27, zmmword ptr [r8 + 448]
    vpaddq zmm28, zmm28, zmmword ptr [r8 + 512]
    vpaddq zmm29, zmm29, zmmword ptr [r8 + 576]
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
    vmovdqu64 zmmword ptr [r8 + 320], zmm18
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
    vmovdqu64 zmmword ptr [r8 + 384], zmm19
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
    vmovdqu64 zmmword ptr [r8 + 448], zmm20
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
    vmovdqu64 zmmword ptr [r8 + 512], zmm21
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
    vmovdqu64 zmmword ptr [r8 + 576], zmm22
    vpaddq zmm29, zmm29, zmm31
    vpsrlq zmm29, zmm29, 52
    vpaddq zmm5, zmm5, zmm29
    vpaddq zmm25, zmm5, zmm13
    vpaddq zmm26, zmm6, zmm14
    vpaddq zmm27, zmm7, zmm15
    vpaddq zmm28, zmm8, zmm16
    vmovdqa64 zmm29, zmm17
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
    vmovdqu64 zmm18, zmmword ptr [r8]
    vmovdqu64 zmm19, zmmword ptr [r8 + 64]
    vmovdqu64 zmm20, zmmword ptr [r8 + 128]
    vmovdqu64 zmm21, zmmword ptr [r8 + 192]
    vmovdqu64 zmm22, zmmword ptr [r8 + 256]
    vmovdqu64 zmm23, zmmword ptr [rcx + 704]
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
    vmovdqu64 zmm24, zmmword ptr [rcx + 768]
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
    vmovdqu64 zmm23, zmmword ptr [rcx + 832]
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
    vmovdqu64 zmm24, zmmword ptr [rcx + 896]
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
    vmovdqu64 zmm23, zmmword ptr [rcx + 960]
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
    vmovdqu64 zmm18, zmmword ptr [r8 + 320]
    vmovdqu64 zmm19, zmmword ptr [r8 + 384]
    vmovdqu64 zmm20, zmmword ptr [r8 + 448]
    vmovdqu64 zmm21, zmmword ptr [r8 + 512]
    vmovdqu64 zmm22, zmmword ptr [r8 + 576]
    vmovdqu64 zmm23, zmmword ptr [rcx + 384]
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
    vmovdqu64 zmm24, zmmword ptr [rcx + 448]
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
    vmovdqu64 zmm23, zmmword ptr [rcx + 512]
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
    vmovdqu64 zmm24, zmmword ptr [rcx + 576]
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
    vmovdqu64 zmm23, zmmword ptr [rcx + 640]
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
    vpaddq zmm25, zmm25, zmmword ptr [r8 + 640]
    vpaddq zmm26, zmm26, zmmword ptr [r8 + 704]
    vpaddq zmm27, zmm27, zmmword ptr [r8 + 768]
    vpaddq zmm28, zmm28, zmmword ptr [r8 + 832]
    vpaddq zmm29, zmm29, zmmword ptr [r8 + 896]
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
    vmovdqu64 zmmword ptr [r8 + 640], zmm18
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
    vmovdqu64 zmmword ptr [r8 + 704], zmm19
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
    vmovdqu64 zmmword ptr [r8 + 768], zmm20
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
    vmovdqu64 zmmword ptr [r8 + 832], zmm21
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
    vmovdqu64 zmmword ptr [r8 + 896], zmm22
    vpaddq zmm29, zmm29, zmm31
    vpsrlq zmm29, zmm29, 52
    vpaddq zmm5, zmm5, zmm29
    vpaddq zmm25, zmm5, zmm13
    vpaddq zmm26, zmm6, zmm14
    vpaddq zmm27, zmm7, zmm15
    vpaddq zmm28, zmm8, zmm16
    vmovdqa64 zmm29, zmm17
    vpxord xmm30, xmm30, xmm30
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
    vmovdqu64 zmm18, zmmword ptr [r8 + 320]
    vmovdqu64 zmm19, zmmword ptr [r8 + 384]
    vmovdqu64 zmm20, zmmword ptr [r8 + 448]
    vmovdqu64 zmm21, zmmword ptr [r8 + 512]
    vmovdqu64 zmm22, zmmword ptr [r8 + 576]
    vmovdqu64 zmm23, zmmword ptr [rcx + 704]
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
    vmovdqu64 zmm24, zmmword ptr [rcx + 768]
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
    vmovdqu64 zmm23, zmmword ptr [rcx + 832]
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
    vmovdqu64 zmm24, zmmword ptr [rcx + 896]
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
    vmovdqu64 zmm23, zmmword ptr [rcx + 960]
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
    vmovdqu64 zmm18, zmmword ptr [r8 + 640]
    vmovdqu64 zmm19, zmmword ptr [r8 + 704]
    vmovdqu64 zmm20, zmmword ptr [r8 + 768]
    vmovdqu64 zmm21, zmmword ptr [r8 + 832]
    vmovdqu64 zmm22, zmmword ptr [r8 + 896]
    vmovdqu64 zmm23, zmmword ptr [rcx + 384]
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
    vmovdqu64 zmm24, zmmword ptr [rcx + 448]
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
    vmovdqu64 zmm23, zmmword ptr [rcx + 512]
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
    vmovdqu64 zmm24, zmmword ptr [rcx + 576]
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
    vmovdqu64 zmm23, zmmword ptr [rcx + 640]
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
    vpaddq zmm25, zmm25, zmmword ptr [r8 + 960]
    vpaddq zmm25, zmm25, zmm0
    vpaddq zmm26, zmm26, zmmword ptr [r8 + 1024]
    vpaddq zmm26, zmm26, zmm1
    vpaddq zmm26, zmm26, zmm9
    vpaddq zmm27, zmm27, zmmword ptr [r8 + 1088]
    vpaddq zmm27, zmm27, zmm2
    vpaddq zmm27, zmm27, zmm10
    vpaddq zmm28, zmm28, zmmword ptr [r8 + 1152]
    vpaddq zmm28, zmm28, zmm3
    vpaddq zmm28, zmm28, zmm11
    vpaddq zmm29, zmm29, zmmword ptr [r8 + 1216]
    vpaddq zmm29, zmm29, zmm4
    vpaddq zmm29, zmm29, zmm12
    vpaddq zmm25, zmm25, zmm30
    vpandq zmm23, zmm25, zmm31
    vpsrlq zmm30, zmm25, 52
    vmovdqu64 zmmword ptr [rdi], zmm23
    vpaddq zmm26, zmm26, zmm30
    vpandq zmm24, zmm26, zmm31
    vpsrlq zmm30, zmm26, 52
    vmovdqu64 zmmword ptr [rdi + 64], zmm24
    vpaddq zmm27, zmm27, zmm30
    vpandq zmm23, zmm27, zmm31
    vpsrlq zmm30, zmm27, 52
    vmovdqu64 zmmword ptr [rdi + 128], zmm23
    vpaddq zmm28, zmm28, zmm30
    vpandq zmm24, zmm28, zmm31
    vpsrlq zmm30, zmm28, 52
    vmovdqu64 zmmword ptr [rdi + 192], zmm24
    vpaddq zmm29, zmm29, zmm30
    vpandq zmm23, zmm29, zmm31
    vpsrlq zmm30, zmm29, 52
    vmovdqu64 zmmword ptr [rdi + 256], zmm23
    vpaddq zmm25, zmm5, zmm13
    vpaddq zmm26, zmm6, zmm14
    vpaddq zmm27, zmm7, zmm15
    vpaddq zmm28, zmm8, zmm16
    vmovdqa64 zmm29, zmm17
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
    vmovdqu64 zmm18, zmmword ptr [r8 + 640]
    vmovdqu64 zmm19, zmmword ptr [r8 + 704]
    vmovdqu64 zmm20, zmmword ptr [r8 + 768]
    vmovdqu64 zmm21, zmmword ptr [r8 + 832]
    vmovdqu64 zmm22, zmmword ptr [r8 + 896]
    vmovdqu64 zmm23, zmmword ptr [rcx + 704]
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
    vmovdqu64 zmm24, zmmword ptr [rcx + 768]
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
    vmovdqu64 zmm23, zmmword ptr [rcx + 832]
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
    vmovdqu64 zmm24, zmmword ptr [rcx + 896]
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
    vmovdqu64 zmm23, zmmword ptr [rcx + 960]
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
    vpaddq zmm25, zmm25, zmmword ptr [r8 + 1280]
    vpaddq zmm25, zmm25, zmm0
    vpaddq zmm26, zmm26, zmmword ptr [r8 + 1344]
    vpaddq zmm26, zmm26, zmm1
    vpaddq zmm26, zmm26, zmm9
    vpaddq zmm27, zmm27, zmmword ptr [r8 + 1408]
    vpaddq zmm27, zmm27, zmm2
    vpaddq zmm27, zmm27, zmm10
    vpaddq zmm28, zmm28, zmmword ptr [r8 + 1472]
    vpaddq zmm28, zmm28, zmm3
    vpaddq zmm28, zmm28, zmm11
    vpaddq zmm29, zmm29, zmmword ptr [r8 + 1536]
    vpaddq zmm29, zmm29, zmm4
    vpaddq zmm29, zmm29, zmm12
    vpaddq zmm25, zmm25, zmm30
    vpandq zmm23, zmm25, zmm31
    vpsrlq zmm30, zmm25, 52
    vmovdqu64 zmmword ptr [rdi + 320], zmm23
    vpaddq zmm26, zmm26, zmm30
    vpandq zmm24, zmm26, zmm31
    vpsrlq zmm30, zmm26, 52
    vmovdqu64 zmmword ptr [rdi + 384], zmm24
    vpaddq zmm27, zmm27, zmm30
    vpandq zmm23, zmm27, zmm31
    vpsrlq zmm30, zmm27, 52
    vmovdqu64 zmmword ptr [rdi + 448], zmm23
    vpaddq zmm28, zmm28, zmm30
    vpandq zmm24, zmm28, zmm31
    vpsrlq zmm30, zmm28, 52
    vmovdqu64 zmmword ptr [rdi + 512], zmm24
    vpaddq zmm29, zmm29, zmm30
    vpandq zmm23, zmm29, zmm31
    vpsrlq zmm30, zmm29, 52
    vmovdqu64 zmmword ptr [rdi + 576], zmm23
    vpaddq zmm25, zmm5, zmm13
    vpaddq zmm26, zmm6, zmm14
    vpaddq zmm27, zmm7, zmm15
    vpaddq zmm28, zmm8, zmm16
    vmovdqa64 zmm29, zmm17
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
    vpaddq zmm25, zmm25, zmmword ptr [r8 + 1600]
    vpaddq zmm25, zmm25, zmm0
    vpaddq zmm26, zmm26, zmmword ptr [r8 + 1664]
    vpaddq zmm26, zmm26, zmm1
    vpaddq zmm26, zmm26, zmm9
    vpaddq zmm27, zmm27, zmmword ptr [r8 + 1728]
    vpaddq zmm27, zmm27, zmm2
    vpaddq zmm27, zmm27, zmm10
    vpaddq zmm28, zmm28, zmmword ptr [r8 + 1792]
    vpaddq zmm28, zmm28, zmm3
    vpaddq zmm28, zmm28, zmm11
    vpaddq zmm29, zmm29, zmmword ptr [r8 + 1856]
    vpaddq zmm29, zmm29, zmm4
    vpaddq zmm29, zmm29, zmm12
    vpaddq zmm25, zmm25, zmm30
    vpandq zmm23, zmm25, zmm31
    vpsrlq zmm30, zmm25, 52
    vmovdqu64 zmmword ptr [rdi + 640], zmm23
    vpaddq zmm26, zmm26, zmm30
    vpandq zmm24, zmm26, zmm31
    vpsrlq zmm30, zmm26, 52
    vmovdqu64 zmmword ptr [rdi + 704], zmm24
    vpaddq zmm27, zmm27, zmm30
    vpandq zmm23, zmm27, zmm31
    vpsrlq zmm30, zmm27, 52
    vmovdqu64 zmmword ptr [rdi + 768], zmm23
    vpaddq zmm28, zmm28, zmm30
    vpandq zmm24, zmm28, zmm31
    vpsrlq zmm30, zmm28, 52
    vmovdqu64 zmmword ptr [rdi + 832], zmm24
    vpaddq zmm29, zmm29, zmm30
    vpandq zmm23, zmm29, zmm31
    vpsrlq zmm30, zmm29, 52
    vmovdqu64 zmmword ptr [rdi + 896], zmm23
    vpaddq zmm25, zmm5, zmm13
    vpaddq zmm26, zmm6, zmm14
    vpaddq zmm27, zmm7, zmm15
    vpaddq zmm28, zmm8, zmm16
    vmovdqa64 zmm29, zmm17
    vzeroupper
    ret
