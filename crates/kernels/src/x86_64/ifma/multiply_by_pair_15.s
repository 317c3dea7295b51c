# Written by `cargo xtask kernels` (xtask/src/kernels.rs).
    vmovdqu64 zmm23, zmmword ptr [rcx]
    vpternlogd zmm22, zmm22, zmm22, 255
    vpsrlq zmm22, zmm22, 12
    vmovdqa64 zmm0, zmm22
    vmovdqa64 zmm1, zmm22
    vmovdqa64 zmm2, zmm22
    vmovdqa64 zmm3, zmm22
    vmovdqa64 zmm4, zmm22
    vmovdqa64 zmm5, zmm22
    vmovdqa64 zmm6, zmm22
    vmovdqa64 zmm7, zmm22
    vpxor xmm8, xmm8, xmm8
    vpxor xmm9, xmm9, xmm9
    vpxor xmm10, xmm10, xmm10
    vpxor xmm11, xmm11, xmm11
    vpxor xmm12, xmm12, xmm12
    vpxor xmm13, xmm13, xmm13
    vpxor xmm14, xmm14, xmm14
    vpxor xmm15, xmm15, xmm15
    vmovdqu64 zmm24, zmmword ptr [rsi]
    vmovdqu64 zmm25, zmmword ptr [rdx + 960]
    vpmadd52luq zmm0, zmm24, zmm25
    vpmadd52huq zmm1, zmm24, zmm25
    vmovdqu64 zmm26, zmmword ptr [rdx + 1024]
    vpmadd52luq zmm1, zmm24, zmm26
    vpmadd52huq zmm2, zmm24, zmm26
    vmovdqu64 zmm25, zmmword ptr [rdx + 1088]
    vpmadd52luq zmm2, zmm24, zmm25
    vpmadd52huq zmm3, zmm24, zmm25
    vmovdqu64 zmm26, zmmword ptr [rdx + 1152]
    vpmadd52luq zmm3, zmm24, zmm26
    vpmadd52huq zmm4, zmm24, zmm26
    vmovdqu64 zmm25, zmmword ptr [rdx + 1216]
    vpmadd52luq zmm4, zmm24, zmm25
    vpmadd52huq zmm5, zmm24, zmm25
    vmovdqu64 zmm26, zmmword ptr [rdx + 1280]
    vpmadd52luq zmm5, zmm24, zmm26
    vpmadd52huq zmm6, zmm24, zmm26
    vmovdqu64 zmm25, zmmword ptr [rdx + 1344]
    vpmadd52luq zmm6, zmm24, zmm25
    vpmadd52huq zmm7, zmm24, zmm25
    vmovdqu64 zmm26, zmmword ptr [rdx + 1408]
    vpmadd52luq zmm7, zmm24, zmm26
    vpmadd52huq zmm8, zmm24, zmm26
    vmovdqu64 zmm25, zmmword ptr [rdx + 1472]
    vpmadd52luq zmm8, zmm24, zmm25
    vpmadd52huq zmm9, zmm24, zmm25
    vmovdqu64 zmm26, zmmword ptr [rdx + 1536]
    vpmadd52luq zmm9, zmm24, zmm26
    vpmadd52huq zmm10, zmm24, zmm26
    vmovdqu64 zmm25, zmmword ptr [rdx + 1600]
    vpmadd52luq zmm10, zmm24, zmm25
    vpmadd52huq zmm11, zmm24, zmm25
    vmovdqu64 zmm26, zmmword ptr [rdx + 1664]
    vpmadd52luq zmm11, zmm24, zmm26
    vpmadd52huq zmm12, zmm24, zmm26
    vmovdqu64 zmm25, zmmword ptr [rdx + 1728]
    vpmadd52luq zmm12, zmm24, zmm25
    vpmadd52huq zmm13, zmm24, zmm25
    vmovdqu64 zmm26, zmmword ptr [rdx + 1792]
    vpmadd52luq zmm13, zmm24, zmm26
    vpmadd52huq zmm14, zmm24, zmm26
    vmovdqu64 zmm25, zmmword ptr [rdx + 1856]
    vpmadd52luq zmm14, zmm24, zmm25
    vpmadd52huq zmm15, zmm24, zmm25
    vmovdqu64 zmm24, zmmword ptr [rsi + 448]
    vmovdqu64 zmm25, zmmword ptr [rdx]
    vpmadd52luq zmm0, zmm24, zmm25
    vpmadd52huq zmm1, zmm24, zmm25
    vmovdqu64 zmm26, zmmword ptr [rdx + 64]
    vpmadd52luq zmm1, zmm24, zmm26
    vpmadd52huq zmm2, zmm24, zmm26
    vmovdqu64 zmm25, zmmword ptr [rdx + 128]
    vpmadd52luq zmm2, zmm24, zmm25
    vpmadd52huq zmm3, zmm24, zmm25
    vmovdqu64 zmm26, zmmword ptr [rdx + 192]
    vpmadd52luq zmm3, zmm24, zmm26
    vpmadd52huq zmm4, zmm24, zmm26
    vmovdqu64 zmm25, zmmword ptr [rdx + 256]
    vpmadd52luq zmm4, zmm24, zmm25
    vpmadd52huq zmm5, zmm24, zmm25
    vmovdqu64 zmm26, zmmword ptr [rdx + 320]
    vpmadd52luq zmm5, zmm24, zmm26
    vpmadd52huq zmm6, zmm24, zmm26
    vmovdqu64 zmm25, zmmword ptr [rdx + 384]
    vpmadd52luq zmm6, zmm24, zmm25
    vpmadd52huq zmm7, zmm24, zmm25
    vmovdqu64 zmm26, zmmword ptr [rdx + 448]
    vpmadd52luq zmm7, zmm24, zmm26
    vpmadd52huq zmm8, zmm24, zmm26
    vmovdqu64 zmm25, zmmword ptr [rdx + 512]
    vpmadd52luq zmm8, zmm24, zmm25
    vpmadd52huq zmm9, zmm24, zmm25
    vmovdqu64 zmm26, zmmword ptr [rdx + 576]
    vpmadd52luq zmm9, zmm24, zmm26
    vpmadd52huq zmm10, zmm24, zmm26
    vmovdqu64 zmm25, zmmword ptr [rdx + 640]
    vpmadd52luq zmm10, zmm24, zmm25
    vpmadd52huq zmm11, zmm24, zmm25
    vmovdqu64 zmm26, zmmword ptr [rdx + 704]
    vpmadd52luq zmm11, zmm24, zmm26
    vpmadd52huq zmm12, zmm24, zmm26
    vmovdqu64 zmm25, zmmword ptr [rdx + 768]
    vpmadd52luq zmm12, zmm24, zmm25
    vpmadd52huq zmm13, zmm24, zmm25
    vmovdqu64 zmm26, zmmword ptr [rdx + 832]
    vpmadd52luq zmm13, zmm24, zmm26
    vpmadd52huq zmm14, zmm24, zmm26
    vmovdqu64 zmm25, zmmword ptr [rdx + 896]
    vpmadd52luq zmm14, zmm24, zmm25
    vpmadd52huq zmm15, zmm24, zmm25
    vmovdqa64 zmm21, zmm23
    vpmadd52luq zmm21, zmm0, zmm23
    vpsrlq zmm0, zmm0, 52
    vpaddq zmm1, zmm1, zmm0
    vmovdqu64 zmm25, zmmword ptr [rcx + 64]
    vpmadd52huq zmm1, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 128]
    vpmadd52luq zmm1, zmm21, zmm26
    vpmadd52huq zmm2, zmm21, zmm26
    vmovdqu64 zmm25, zmmword ptr [rcx + 192]
    vpmadd52luq zmm2, zmm21, zmm25
    vpmadd52huq zmm3, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 256]
    vpmadd52luq zmm3, zmm21, zmm26
    vpmadd52huq zmm4, zmm21, zmm26
    vmovdqu64 zmm25, zmmword ptr [rcx + 320]
    vpmadd52luq zmm4, zmm21, zmm25
    vpmadd52huq zmm5, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 384]
    vpmadd52luq zmm5, zmm21, zmm26
    vpmadd52huq zmm6, zmm21, zmm26
    vmovdqu64 zmm25, zmmword ptr [rcx + 448]
    vpmadd52luq zmm6, zmm21, zmm25
    vpmadd52huq zmm7, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 512]
    vpmadd52luq zmm7, zmm21, zmm26
    vpmadd52huq zmm8, zmm21, zmm26
    vmovdqu64 zmm25, zmmword ptr [rcx + 576]
    vpmadd52luq zmm8, zmm21, zmm25
    vpmadd52huq zmm9, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 640]
    vpmadd52luq zmm9, zmm21, zmm26
    vpmadd52huq zmm10, zmm21, zmm26
    vmovdqu64 zmm25, zmmword ptr [rcx + 704]
    vpmadd52luq zmm10, zmm21, zmm25
    vpmadd52huq zmm11, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 768]
    vpmadd52luq zmm11, zmm21, zmm26
    vpmadd52huq zmm12, zmm21, zmm26
    vmovdqu64 zmm25, zmmword ptr [rcx + 832]
    vpmadd52luq zmm12, zmm21, zmm25
    vpmadd52huq zmm13, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 896]
    vpmadd52luq zmm13, zmm21, zmm26
    vpmadd52huq zmm14, zmm21, zmm26
    vmovdqu64 zmm25, zmmword ptr [rcx + 960]
    vpmadd52luq zmm14, zmm21, zmm25
    vpmadd52huq zmm15, zmm21, zmm25
    vpxor xmm0, xmm0, xmm0
    vmovdqu64 zmm24, zmmword ptr [rsi + 64]
    vmovdqu64 zmm25, zmmword ptr [rdx + 960]
    vpmadd52luq zmm1, zmm24, zmm25
    vpmadd52huq zmm2, zmm24, zmm25
    vmovdqu64 zmm26, zmmword ptr [rdx + 1024]
    vpmadd52luq zmm2, zmm24, zmm26
    vpmadd52huq zmm3, zmm24, zmm26
    vmovdqu64 zmm25, zmmword ptr [rdx + 1088]
    vpmadd52luq zmm3, zmm24, zmm25
    vpmadd52huq zmm4, zmm24, zmm25
    vmovdqu64 zmm26, zmmword ptr [rdx + 1152]
    vpmadd52luq zmm4, zmm24, zmm26
    vpmadd52huq zmm5, zmm24, zmm26
    vmovdqu64 zmm25, zmmword ptr [rdx + 1216]
    vpmadd52luq zmm5, zmm24, zmm25
    vpmadd52huq zmm6, zmm24, zmm25
    vmovdqu64 zmm26, zmmword ptr [rdx + 1280]
    vpmadd52luq zmm6, zmm24, zmm26
    vpmadd52huq zmm7, zmm24, zmm26
    vmovdqu64 zmm25, zmmword ptr [rdx + 1344]
    vpmadd52luq zmm7, zmm24, zmm25
    vpmadd52huq zmm8, zmm24, zmm25
    vmovdqu64 zmm26, zmmword ptr [rdx + 1408]
    vpmadd52luq zmm8, zmm24, zmm26
    vpmadd52huq zmm9, zmm24, zmm26
    vmovdqu64 zmm25, zmmword ptr [rdx + 1472]
    vpmadd52luq zmm9, zmm24, zmm25
    vpmadd52huq zmm10, zmm24, zmm25
    vmovdqu64 zmm26, zmmword ptr [rdx + 1536]
    vpmadd52luq zmm10, zmm24, zmm26
    vpmadd52huq zmm11, zmm24, zmm26
    vmovdqu64 zmm25, zmmword ptr [rdx + 1600]
    vpmadd52luq zmm11, zmm24, zmm25
    vpmadd52huq zmm12, zmm24, zmm25
    vmovdqu64 zmm26, zmmword ptr [rdx + 1664]
    vpmadd52luq zmm12, zmm24, zmm26
    vpmadd52huq zmm13, zmm24, zmm26
    vmovdqu64 zmm25, zmmword ptr [rdx + 1728]
    vpmadd52luq zmm13, zmm24, zmm25
    vpmadd52huq zmm14, zmm24, zmm25
    vmovdqu64 zmm26, zmmword ptr [rdx + 1792]
    vpmadd52luq zmm14, zmm24, zmm26
    vpmadd52huq zmm15, zmm24, zmm26
    vmovdqu64 zmm25, zmmword ptr [rdx + 1856]
    vpmadd52luq zmm15, zmm24, zmm25
    vpmadd52huq zmm0, zmm24, zmm25
    vmovdqu64 zmm24, zmmword ptr [rsi + 512]
    vmovdqu64 zmm25, zmmword ptr [rdx]
    vpmadd52luq zmm1, zmm24, zmm25
    vpmadd52huq zmm2, zmm24, zmm25
    vmovdqu64 zmm26, zmmword ptr [rdx + 64]
    vpmadd52luq zmm2, zmm24, zmm26
    vpmadd52huq zmm3, zmm24, zmm26
    vmovdqu64 zmm25, zmmword ptr [rdx + 128]
    vpmadd52luq zmm3, zmm24, zmm25
    vpmadd52huq zmm4, zmm24, zmm25
    vmovdqu64 zmm26, zmmword ptr [rdx + 192]
    vpmadd52luq zmm4, zmm24, zmm26
    vpmadd52huq zmm5, zmm24, zmm26
    vmovdqu64 zmm25, zmmword ptr [rdx + 256]
    vpmadd52luq zmm5, zmm24, zmm25
    vpmadd52huq zmm6, zmm24, zmm25
    vmovdqu64 zmm26, zmmword ptr [rdx + 320]
    vpmadd52luq zmm6, zmm24, zmm26
    vpmadd52huq zmm7, zmm24, zmm26
    vmovdqu64 zmm25, zmmword ptr [rdx + 384]
    vpmadd52luq zmm7, zmm24, zmm25
    vpmadd52huq zmm8, zmm24, zmm25
    vmovdqu64 zmm26, zmmword ptr [rdx + 448]
    vpmadd52luq zmm8, zmm24, zmm26
    vpmadd52huq zmm9, zmm24, zmm26
    vmovdqu64 zmm25, zmmword ptr [rdx + 512]
    vpmadd52luq zmm9, zmm24, zmm25
    vpmadd52huq zmm10, zmm24, zmm25
    vmovdqu64 zmm26, zmmword ptr [rdx + 576]
    vpmadd52luq zmm10, zmm24, zmm26
    vpmadd52huq zmm11, zmm24, zmm26
    vmovdqu64 zmm25, zmmword ptr [rdx + 640]
    vpmadd52luq zmm11, zmm24, zmm25
    vpmadd52huq zmm12, zmm24, zmm25
    vmovdqu64 zmm26, zmmword ptr [rdx + 704]
    vpmadd52luq zmm12, zmm24, zmm26
    vpmadd52huq zmm13, zmm24, zmm26
    vmovdqu64 zmm25, zmmword ptr [rdx + 768]
    vpmadd52luq zmm13, zmm24, zmm25
    vpmadd52huq zmm14, zmm24, zmm25
    vmovdqu64 zmm26, zmmword ptr [rdx + 832]
    vpmadd52luq zmm14, zmm24, zmm26
    vpmadd52huq zmm15, zmm24, zmm26
    vmovdqu64 zmm25, zmmword ptr [rdx + 896]
    vpmadd52luq zmm15, zmm24, zmm25
    vpmadd52huq zmm0, zmm24, zmm25
    vmovdqa64 zmm21, zmm23
    vpmadd52luq zmm21, zmm1, zmm23
    vpsrlq zmm1, zmm1, 52
    vpaddq zmm2, zmm2, zmm1
    vmovdqu64 zmm25, zmmword ptr [rcx + 64]
    vpmadd52huq zmm2, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 128]
    vpmadd52luq zmm2, zmm21, zmm26
    vpmadd52huq zmm3, zmm21, zmm26
    vmovdqu64 zmm25, zmmword ptr [rcx + 192]
    vpmadd52luq zmm3, zmm21, zmm25
    vpmadd52huq zmm4, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 256]
    vpmadd52luq zmm4, zmm21, zmm26
    vpmadd52huq zmm5, zmm21, zmm26
    vmovdqu64 zmm25, zmmword ptr [rcx + 320]
    vpmadd52luq zmm5, zmm21, zmm25
    vpmadd52huq zmm6, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 384]
    vpmadd52luq zmm6, zmm21, zmm26
    vpmadd52huq zmm7, zmm21, zmm26
    vmovdqu64 zmm25, zmmword ptr [rcx + 448]
    vpmadd52luq zmm7, zmm21, zmm25
    vpmadd52huq zmm8, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 512]
    vpmadd52luq zmm8, zmm21, zmm26
    vpmadd52huq zmm9, zmm21, zmm26
    vmovdqu64 zmm25, zmmword ptr [rcx + 576]
    vpmadd52luq zmm9, zmm21, zmm25
    vpmadd52huq zmm10, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 640]
    vpmadd52luq zmm10, zmm21, zmm26
    vpmadd52huq zmm11, zmm21, zmm26
    vmovdqu64 zmm25, zmmword ptr [rcx + 704]
    vpmadd52luq zmm11, zmm21, zmm25
    vpmadd52huq zmm12, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 768]
    vpmadd52luq zmm12, zmm21, zmm26
    vpmadd52huq zmm13, zmm21, zmm26
    vmovdqu64 zmm25, zmmword ptr [rcx + 832]
    vpmadd52luq zmm13, zmm21, zmm25
    vpmadd52huq zmm14, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 896]
    vpmadd52luq zmm14, zmm21, zmm26
    vpmadd52huq zmm15, zmm21, zmm26
    vmovdqu64 zmm25, zmmword ptr [rcx + 960]
    vpmadd52luq zmm15, zmm21, zmm25
    vpmadd52huq zmm0, zmm21, zmm25
    vpxor xmm1, xmm1, xmm1
    vmovdqu64 zmm24, zmmword ptr [rsi + 128]
    vmovdqu64 zmm25, zmmword ptr [rdx + 960]
    vpmadd52luq zmm2, zmm24, zmm25
    vpmadd52huq zmm3, zmm24, zmm25
    vmovdqu64 zmm26, zmmword ptr [rdx + 1024]
    vpmadd52luq zmm3, zmm24, zmm26
    vpmadd52huq zmm4, zmm24, zmm26
    vmovdqu64 zmm25, zmmword ptr [rdx + 1088]
    vpmadd52luq zmm4, zmm24, zmm25
    vpmadd52huq zmm5, zmm24, zmm25
    vmovdqu64 zmm26, zmmword ptr [rdx + 1152]
    vpmadd52luq zmm5, zmm24, zmm26
    vpmadd52huq zmm6, zmm24, zmm26
    vmovdqu64 zmm25, zmmword ptr [rdx + 1216]
    vpmadd52luq zmm6, zmm24, zmm25
    vpmadd52huq zmm7, zmm24, zmm25
    vmovdqu64 zmm26, zmmword ptr [rdx + 1280]
    vpmadd52luq zmm7, zmm24, zmm26
    vpmadd52huq zmm8, zmm24, zmm26
    vmovdqu64 zmm25, zmmword ptr [rdx + 1344]
    vpmadd52luq zmm8, zmm24, zmm25
    vpmadd52huq zmm9, zmm24, zmm25
    vmovdqu64 zmm26, zmmword ptr [rdx + 1408]
    vpmadd52luq zmm9, zmm24, zmm26
    vpmadd52huq zmm10, zmm24, zmm26
    vmovdqu64 zmm25, zmmword ptr [rdx + 1472]
    vpmadd52luq zmm10, zmm24, zmm25
    vpmadd52huq zmm11, zmm24, zmm25
    vmovdqu64 zmm26, zmmword ptr [rdx + 1536]
    vpmadd52luq zmm11, zmm24, zmm26
    vpmadd52huq zmm12, zmm24, zmm26
    vmovdqu64 zmm25, zmmword ptr [rdx + 1600]
    vpmadd52luq zmm12, zmm24, zmm25
    vpmadd52huq zmm13, zmm24, zmm25
    vmovdqu64 zmm26, zmmword ptr [rdx + 1664]
    vpmadd52luq zmm13, zmm24, zmm26
    vpmadd52huq zmm14, zmm24, zmm26
    vmovdqu64 zmm25, zmmword ptr [rdx + 1728]
    vpmadd52luq zmm14, zmm24, zmm25
    vpmadd52huq zmm15, zmm24, zmm25
    vmovdqu64 zmm26, zmmword ptr [rdx + 1792]
    vpmadd52luq zmm15, zmm24, zmm26
    vpmadd52huq zmm0, zmm24, zmm26
    vmovdqu64 zmm25, zmmword ptr [rdx + 1856]
    vpmadd52luq zmm0, zmm24, zmm25
    vpmadd52huq zmm1, zmm24, zmm25
    vmovdqu64 zmm24, zmmword ptr [rsi + 576]
    vmovdqu64 zmm25, zmmword ptr [rdx]
    vpmadd52luq zmm2, zmm24, zmm25
    vpmadd52huq zmm3, zmm24, zmm25
    vmovdqu64 zmm26, zmmword ptr [rdx + 64]
    vpmadd52luq zmm3, zmm24, zmm26
    vpmadd52huq zmm4, zmm24, zmm26
    vmovdqu64 zmm25, zmmword ptr [rdx + 128]
    vpmadd52luq zmm4, zmm24, zmm25
    vpmadd52huq zmm5, zmm24, zmm25
    vmovdqu64 zmm26, zmmword ptr [rdx + 192]
    vpmadd52luq zmm5, zmm24, zmm26
    vpmadd52huq zmm6, zmm24, zmm26
    vmovdqu64 zmm25, zmmword ptr [rdx + 256]
    vpmadd52luq zmm6, zmm24, zmm25
    vpmadd52huq zmm7, zmm24, zmm25
    vmovdqu64 zmm26, zmmword ptr [rdx + 320]
    vpmadd52luq zmm7, zmm24, zmm26
    vpmadd52huq zmm8, zmm24, zmm26
    vmovdqu64 zmm25, zmmword ptr [rdx + 384]
    vpmadd52luq zmm8, zmm24, zmm25
    vpmadd52huq zmm9, zmm24, zmm25
    vmovdqu64 zmm26, zmmword ptr [rdx + 448]
    vpmadd52luq zmm9, zmm24, zmm26
    vpmadd52huq zmm10, zmm24, zmm26
    vmovdqu64 zmm25, zmmword ptr [rdx + 512]
    vpmadd52luq zmm10, zmm24, zmm25
    vpmadd52huq zmm11, zmm24, zmm25
    vmovdqu64 zmm26, zmmword ptr [rdx + 576]
    vpmadd52luq zmm11, zmm24, zmm26
    vpmadd52huq zmm12, zmm24, zmm26
    vmovdqu64 zmm25, zmmword ptr [rdx + 640]
    vpmadd52luq zmm12, zmm24, zmm25
    vpmadd52huq zmm13, zmm24, zmm25
    vmovdqu64 zmm26, zmmword ptr [rdx + 704]
    vpmadd52luq zmm13, zmm24, zmm26
    vpmadd52huq zmm14, zmm24, zmm26
    vmovdqu64 zmm25, zmmword ptr [rdx + 768]
    vpmadd52luq zmm14, zmm24, zmm25
    vpmadd52huq zmm15, zmm24, zmm25
    vmovdqu64 zmm26, zmmword ptr [rdx + 832]
    vpmadd52luq zmm15, zmm24, zmm26
    vpmadd52huq zmm0, zmm24, zmm26
    vmovdqu64 zmm25, zmmword ptr [rdx + 896]
    vpmadd52luq zmm0, zmm24, zmm25
    vpmadd52huq zmm1, zmm24, zmm25
    vmovdqa64 zmm21, zmm23
    vpmadd52luq zmm21, zmm2, zmm23
    vpsrlq zmm2, zmm2, 52
    vpaddq zmm3, zmm3, zmm2
    vmovdqu64 zmm25, zmmword ptr [rcx + 64]
    vpmadd52huq zmm3, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 128]
    vpmadd52luq zmm3, zmm21, zmm26
    vpmadd52huq zmm4, zmm21, zmm26
    vmovdqu64 zmm25, zmmword ptr [rcx + 192]
    vpmadd52luq zmm4, zmm21, zmm25
    vpmadd52huq zmm5, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 256]
    vpmadd52luq zmm5, zmm21, zmm26
    vpmadd52huq zmm6, zmm21, zmm26
    vmovdqu64 zmm25, zmmword ptr [rcx + 320]
    vpmadd52luq zmm6, zmm21, zmm25
    vpmadd52huq zmm7, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 384]
    vpmadd52luq zmm7, zmm21, zmm26
    vpmadd52huq zmm8, zmm21, zmm26
    vmovdqu64 zmm25, zmmword ptr [rcx + 448]
    vpmadd52luq zmm8, zmm21, zmm25
    vpmadd52huq zmm9, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 512]
    vpmadd52luq zmm9, zmm21, zmm26
    vpmadd52huq zmm10, zmm21, zmm26
    vmovdqu64 zmm25, zmmword ptr [rcx + 576]
    vpmadd52luq zmm10, zmm21, zmm25
    vpmadd52huq zmm11, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 640]
    vpmadd52luq zmm11, zmm21, zmm26
    vpmadd52huq zmm12, zmm21, zmm26
    vmovdqu64 zmm25, zmmword ptr [rcx + 704]
    vpmadd52luq zmm12, zmm21, zmm25
    vpmadd52huq zmm13, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 768]
    vpmadd52luq zmm13, zmm21, zmm26
    vpmadd52huq zmm14, zmm21, zmm26
    vmovdqu64 zmm25, zmmword ptr [rcx + 832]
    vpmadd52luq zmm14, zmm21, zmm25
    vpmadd52huq zmm15, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 896]
    vpmadd52luq zmm15, zmm21, zmm26
    vpmadd52huq zmm0, zmm21, zmm26
    vmovdqu64 zmm25, zmmword ptr [rcx + 960]
    vpmadd52luq zmm0, zmm21, zmm25
    vpmadd52huq zmm1, zmm21, zmm25
    vpxor xmm2, xmm2, xmm2
    vmovdqu64 zmm24, zmmword ptr [rsi + 192]
    vmovdqu64 zmm25, zmmword ptr [rdx + 960]
    vpmadd52luq zmm3, zmm24, zmm25
    vpmadd52huq zmm4, zmm24, zmm25
    vmovdqu64 zmm26, zmmword ptr [rdx + 1024]
    vpmadd52luq zmm4, zmm24, zmm26
    vpmadd52huq zmm5, zmm24, zmm26
    vmovdqu64 zmm25, zmmword ptr [rdx + 1088]
    vpmadd52luq zmm5, zmm24, zmm25
    vpmadd52huq zmm6, zmm24, zmm25
    vmovdqu64 zmm26, zmmword ptr [rdx + 1152]
    vpmadd52luq zmm6, zmm24, zmm26
    vpmadd52huq zmm7, zmm24, zmm26
    vmovdqu64 zmm25, zmmword ptr [rdx + 1216]
    vpmadd52luq zmm7, zmm24, zmm25
    vpmadd52huq zmm8, zmm24, zmm25
    vmovdqu64 zmm26, zmmword ptr [rdx + 1280]
    vpmadd52luq zmm8, zmm24, zmm26
    vpmadd52huq zmm9, zmm24, zmm26
    vmovdqu64 zmm25, zmmword ptr [rdx + 1344]
    vpmadd52luq zmm9, zmm24, zmm25
    vpmadd52huq zmm10, zmm24, zmm25
    vmovdqu64 zmm26, zmmword ptr [rdx + 1408]
    vpmadd52luq zmm10, zmm24, zmm26
    vpmadd52huq zmm11, zmm24, zmm26
    vmovdqu64 zmm25, zmmword ptr [rdx + 1472]
    vpmadd52luq zmm11, zmm24, zmm25
    vpmadd52huq zmm12, zmm24, zmm25
    vmovdqu64 zmm26, zmmword ptr [rdx + 1536]
    vpmadd52luq zmm12, zmm24, zmm26
    vpmadd52huq zmm13, zmm24, zmm26
    vmovdqu64 zmm25, zmmword ptr [rdx + 1600]
    vpmadd52luq zmm13, zmm24, zmm25
    vpmadd52huq zmm14, zmm24, zmm25
    vmovdqu64 zmm26, zmmword ptr [rdx + 1664]
    vpmadd52luq zmm14, zmm24, zmm26
    vpmadd52huq zmm15, zmm24, zmm26
    vmovdqu64 zmm25, zmmword ptr [rdx + 1728]
    vpmadd52luq zmm15, zmm24, zmm25
    vpmadd52huq zmm0, zmm24, zmm25
    vmovdqu64 zmm26, zmmword ptr [rdx + 1792]
    vpmadd52luq zmm0, zmm24, zmm26
    vpmadd52huq zmm1, zmm24, zmm26
    vmovdqu64 zmm25, zmmword ptr [rdx + 1856]
    vpmadd52luq zmm1, zmm24, zmm25
    vpmadd52huq zmm2, zmm24, zmm25
    vmovdqu64 zmm24, zmmword ptr [rsi + 640]
    vmovdqu64 zmm25, zmmword ptr [rdx]
    vpmadd52luq zmm3, zmm24, zmm25
    vpmadd52huq zmm4, zmm24, zmm25
    vmovdqu64 zmm26, zmmword ptr [rdx + 64]
    vpmadd52luq zmm4, zmm24, zmm26
    vpmadd52huq zmm5, zmm24, zmm26
    vmovdqu64 zmm25, zmmword ptr [rdx + 128]
    vpmadd52luq zmm5, zmm24, zmm25
    vpmadd52huq zmm6, zmm24, zmm25
    vmovdqu64 zmm26, zmmword ptr [rdx + 192]
    vpmadd52luq zmm6, zmm24, zmm26
    vpmadd52huq zmm7, zmm24, zmm26
    vmovdqu64 zmm25, zmmword ptr [rdx + 256]
    vpmadd52luq zmm7, zmm24, zmm25
    vpmadd52huq zmm8, zmm24, zmm25
    vmovdqu64 zmm26, zmmword ptr [rdx + 320]
    vpmadd52luq zmm8, zmm24, zmm26
    vpmadd52huq zmm9, zmm24, zmm26
    vmovdqu64 zmm25, zmmword ptr [rdx + 384]
    vpmadd52luq zmm9, zmm24, zmm25
    vpmadd52huq zmm10, zmm24, zmm25
    vmovdqu64 zmm26, zmmword ptr [rdx + 448]
    vpmadd52luq zmm10, zmm24, zmm26
    vpmadd52huq zmm11, zmm24, zmm26
    vmovdqu64 zmm25, zmmword ptr [rdx + 512]
    vpmadd52luq zmm11, zmm24, zmm25
    vpmadd52huq zmm12, zmm24, zmm25
    vmovdqu64 zmm26, zmmword ptr [rdx + 576]
    vpmadd52luq zmm12, zmm24, zmm26
    vpmadd52huq zmm13, zmm24, zmm26
    vmovdqu64 zmm25, zmmword ptr [rdx + 640]
    vpmadd52luq zmm13, zmm24, zmm25
    vpmadd52huq zmm14, zmm24, zmm25
    vmovdqu64 zmm26, zmmword ptr [rdx + 704]
    vpmadd52luq zmm14, zmm24, zmm26
    vpmadd52huq zmm15, zmm24, zmm26
    vmovdqu64 zmm25, zmmword ptr [rdx + 768]
    vpmadd52luq zmm15, zmm24, zmm25
    vpmadd52huq zmm0, zmm24, zmm25
    vmovdqu64 zmm26, zmmword ptr [rdx + 832]
    vpmadd52luq zmm0, zmm24, zmm26
    vpmadd52huq zmm1, zmm24, zmm26
    vmovdqu64 zmm25, zmmword ptr [rdx + 896]
    vpmadd52luq zmm1, zmm24, zmm25
    vpmadd52huq zmm2, zmm24, zmm25
    vmovdqa64 zmm21, zmm23
    vpmadd52luq zmm21, zmm3, zmm23
    vpsrlq zmm3, zmm3, 52
    vpaddq zmm4, zmm4, zmm3
    vmovdqu64 zmm25, zmmword ptr [rcx + 64]
    vpmadd52huq zmm4, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 128]
    vpmadd52luq zmm4, zmm21, zmm26
    vpmadd52huq zmm5, zmm21, zmm26
    vmovdqu64 zmm25, zmmword ptr [rcx + 192]
    vpmadd52luq zmm5, zmm21, zmm25
    vpmadd52huq zmm6, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 256]
    vpmadd52luq zmm6, zmm21, zmm26
    vpmadd52huq zmm7, zmm21, zmm26
    vmovdqu64 zmm25, zmmword ptr [rcx + 320]
    vpmadd52luq zmm7, zmm21, zmm25
    vpmadd52huq zmm8, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 384]
    vpmadd52luq zmm8, zmm21, zmm26
    vpmadd52huq zmm9, zmm21, zmm26
    vmovdqu64 zmm25, zmmword ptr [rcx + 448]
    vpmadd52luq zmm9, zmm21, zmm25
    vpmadd52huq zmm10, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 512]
    vpmadd52luq zmm10, zmm21, zmm26
    vpmadd52huq zmm11, zmm21, zmm26
    vmovdqu64 zmm25, zmmword ptr [rcx + 576]
    vpmadd52luq zmm11, zmm21, zmm25
    vpmadd52huq zmm12, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 640]
    vpmadd52luq zmm12, zmm21, zmm26
    vpmadd52huq zmm13, zmm21, zmm26
    vmovdqu64 zmm25, zmmword ptr [rcx + 704]
    vpmadd52luq zmm13, zmm21, zmm25
    vpmadd52huq zmm14, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 768]
    vpmadd52luq zmm14, zmm21, zmm26
    vpmadd52huq zmm15, zmm21, zmm26
    vmovdqu64 zmm25, zmmword ptr [rcx + 832]
    vpmadd52luq zmm15, zmm21, zmm25
    vpmadd52huq zmm0, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 896]
    vpmadd52luq zmm0, zmm21, zmm26
    vpmadd52huq zmm1, zmm21, zmm26
    vmovdqu64 zmm25, zmmword ptr [rcx + 960]
    vpmadd52luq zmm1, zmm21, zmm25
    vpmadd52huq zmm2, zmm21, zmm25
    vpxor xmm3, xmm3, xmm3
    vmovdqu64 zmm24, zmmword ptr [rsi + 256]
    vmovdqu64 zmm25, zmmword ptr [rdx + 960]
    vpmadd52luq zmm4, zmm24, zmm25
    vpmadd52huq zmm5, zmm24, zmm25
    vmovdqu64 zmm26, zmmword ptr [rdx + 1024]
    vpmadd52luq zmm5, zmm24, zmm26
    vpmadd52huq zmm6, zmm24, zmm26
    vmovdqu64 zmm25, zmmword ptr [rdx + 1088]
    vpmadd52luq zmm6, zmm24, zmm25
    vpmadd52huq zmm7, zmm24, zmm25
    vmovdqu64 zmm26, zmmword ptr [rdx + 1152]
    vpmadd52luq zmm7, zmm24, zmm26
    vpmadd52huq zmm8, zmm24, zmm26
    vmovdqu64 zmm25, zmmword ptr [rdx + 1216]
    vpmadd52luq zmm8, zmm24, zmm25
    vpmadd52huq zmm9, zmm24, zmm25
    vmovdqu64 zmm26, zmmword ptr [rdx + 1280]
    vpmadd52luq zmm9, zmm24, zmm26
    vpmadd52huq zmm10, zmm24, zmm26
    vmovdqu64 zmm25, zmmword ptr [rdx + 1344]
    vpmadd52luq zmm10, zmm24, zmm25
    vpmadd52huq zmm11, zmm24, zmm25
    vmovdqu64 zmm26, zmmword ptr [rdx + 1408]
    vpmadd52luq zmm11, zmm24, zmm26
    vpmadd52huq zmm12, zmm24, zmm26
    vmovdqu64 zmm25, zmmword ptr [rdx + 1472]
    vpmadd52luq zmm12, zmm24, zmm25
    vpmadd52huq zmm13, zmm24, zmm25
    vmovdqu64 zmm26, zmmword ptr [rdx + 1536]
    vpmadd52luq zmm13, zmm24, zmm26
    vpmadd52huq zmm14, zmm24, zmm26
    vmovdqu64 zmm25, zmmword ptr [rdx + 1600]
    vpmadd52luq zmm14, zmm24, zmm25
    vpmadd52huq zmm15, zmm24, zmm25
    vmovdqu64 zmm26, zmmword ptr [rdx + 1664]
    vpmadd52luq zmm15, zmm24, zmm26
    vpmadd52huq zmm0, zmm24, zmm26
    vmovdqu64 zmm25, zmmword ptr [rdx + 1728]
    vpmadd52luq zmm0, zmm24, zmm25
    vpmadd52huq zmm1, zmm24, zmm25
    vmovdqu64 zmm26, zmmword ptr [rdx + 1792]
    vpmadd52luq zmm1, zmm24, zmm26
    vpmadd52huq zmm2, zmm24, zmm26
    vmovdqu64 zmm25, zmmword ptr [rdx + 1856]
    vpmadd52luq zmm2, zmm24, zmm25
    vpmadd52huq zmm3, zmm24, zmm25
    vmovdqu64 zmm24, zmmword ptr [rsi + 704]
    vmovdqu64 zmm25, zmmword ptr [rdx]
    vpmadd52luq zmm4, zmm24, zmm25
    vpmadd52huq zmm5, zmm24, zmm25
    vmovdqu64 zmm26, zmmword ptr [rdx + 64]
    vpmadd52luq zmm5, zmm24, zmm26
    vpmadd52huq zmm6, zmm24, zmm26
    vmovdqu64 zmm25, zmmword ptr [rdx + 128]
    vpmadd52luq zmm6, zmm24, zmm25
    vpmadd52huq zmm7, zmm24, zmm25
    vmovdqu64 zmm26, zmmword ptr [rdx + 192]
    vpmadd52luq zmm7, zmm24, zmm26
    vpmadd52huq zmm8, zmm24, zmm26
    vmovdqu64 zmm25, zmmword ptr [rdx + 256]
    vpmadd52luq zmm8, zmm24, zmm25
    vpmadd52huq zmm9, zmm24, zmm25
    vmovdqu64 zmm26, zmmword ptr [rdx + 320]
    vpmadd52luq zmm9, zmm24, zmm26
    vpmadd52huq zmm10, zmm24, zmm26
    vmovdqu64 zmm25, zmmword ptr [rdx + 384]
    vpmadd52luq zmm10, zmm24, zmm25
    vpmadd52huq zmm11, zmm24, zmm25
    vmovdqu64 zmm26, zmmword ptr [rdx + 448]
    vpmadd52luq zmm11, zmm24, zmm26
    vpmadd52huq zmm12, zmm24, zmm26
    vmovdqu64 zmm25, zmmword ptr [rdx + 512]
    vpmadd52luq zmm12, zmm24, zmm25
    vpmadd52huq zmm13, zmm24, zmm25
    vmovdqu64 zmm26, zmmword ptr [rdx + 576]
    vpmadd52luq zmm13, zmm24, zmm26
    vpmadd52huq zmm14, zmm24, zmm26
    vmovdqu64 zmm25, zmmword ptr [rdx + 640]
    vpmadd52luq zmm14, zmm24, zmm25
    vpmadd52huq zmm15, zmm24, zmm25
    vmovdqu64 zmm26, zmmword ptr [rdx + 704]
    vpmadd52luq zmm15, zmm24, zmm26
    vpmadd52huq zmm0, zmm24, zmm26
    vmovdqu64 zmm25, zmmword ptr [rdx + 768]
    vpmadd52luq zmm0, zmm24, zmm25
    vpmadd52huq zmm1, zmm24, zmm25
    vmovdqu64 zmm26, zmmword ptr [rdx + 832]
    vpmadd52luq zmm1, zmm24, zmm26
    vpmadd52huq zmm2, zmm24, zmm26
    vmovdqu64 zmm25, zmmword ptr [rdx + 896]
    vpmadd52luq zmm2, zmm24, zmm25
    vpmadd52huq zmm3, zmm24, zmm25
    vmovdqa64 zmm21, zmm23
    vpmadd52luq zmm21, zmm4, zmm23
    vpsrlq zmm4, zmm4, 52
    vpaddq zmm5, zmm5, zmm4
    vmovdqu64 zmm25, zmmword ptr [rcx + 64]
    vpmadd52huq zmm5, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 128]
    vpmadd52luq zmm5, zmm21, zmm26
    vpmadd52huq zmm6, zmm21, zmm26
    vmovdqu64 zmm25, zmmword ptr [rcx + 192]
    vpmadd52luq zmm6, zmm21, zmm25
    vpmadd52huq zmm7, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 256]
    vpmadd52luq zmm7, zmm21, zmm26
    vpmadd52huq zmm8, zmm21, zmm26
    vmovdqu64 zmm25, zmmword ptr [rcx + 320]
    vpmadd52luq zmm8, zmm21, zmm25
    vpmadd52huq zmm9, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 384]
    vpmadd52luq zmm9, zmm21, zmm26
    vpmadd52huq zmm10, zmm21, zmm26
    vmovdqu64 zmm25, zmmword ptr [rcx + 448]
    vpmadd52luq zmm10, zmm21, zmm25
    vpmadd52huq zmm11, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 512]
    vpmadd52luq zmm11, zmm21, zmm26
    vpmadd52huq zmm12, zmm21, zmm26
    vmovdqu64 zmm25, zmmword ptr [rcx + 576]
    vpmadd52luq zmm12, zmm21, zmm25
    vpmadd52huq zmm13, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 640]
    vpmadd52luq zmm13, zmm21, zmm26
    vpmadd52huq zmm14, zmm21, zmm26
    vmovdqu64 zmm25, zmmword ptr [rcx + 704]
    vpmadd52luq zmm14, zmm21, zmm25
    vpmadd52huq zmm15, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 768]
    vpmadd52luq zmm15, zmm21, zmm26
    vpmadd52huq zmm0, zmm21, zmm26
    vmovdqu64 zmm25, zmmword ptr [rcx + 832]
    vpmadd52luq zmm0, zmm21, zmm25
    vpmadd52huq zmm1, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 896]
    vpmadd52luq zmm1, zmm21, zmm26
    vpmadd52huq zmm2, zmm21, zmm26
    vmovdqu64 zmm25, zmmword ptr [rcx + 960]
    vpmadd52luq zmm2, zmm21, zmm25
    vpmadd52huq zmm3, zmm21, zmm25
    vpxor xmm4, xmm4, xmm4
    vmovdqu64 zmm24, zmmword ptr [rsi + 320]
    vmovdqu64 zmm25, zmmword ptr [rdx + 960]
    vpmadd52luq zmm5, zmm24, zmm25
    vpmadd52huq zmm6, zmm24, zmm25
    vmovdqu64 zmm26, zmmword ptr [rdx + 1024]
    vpmadd52luq zmm6, zmm24, zmm26
    vpmadd52huq zmm7, zmm24, zmm26
    vmovdqu64 zmm25, zmmword ptr [rdx + 1088]
    vpmadd52luq zmm7, zmm24, zmm25
    vpmadd52huq zmm8, zmm24, zmm25
    vmovdqu64 zmm26, zmmword ptr [rdx + 1152]
    vpmadd52luq zmm8, zmm24, zmm26
    vpmadd52huq zmm9, zmm24, zmm26
    vmovdqu64 zmm25, zmmword ptr [rdx + 1216]
    vpmadd52luq zmm9, zmm24, zmm25
    vpmadd52huq zmm10, zmm24, zmm25
    vmovdqu64 zmm26, zmmword ptr [rdx + 1280]
    vpmadd52luq zmm10, zmm24, zmm26
    vpmadd52huq zmm11, zmm24, zmm26
    vmovdqu64 zmm25, zmmword ptr [rdx + 1344]
    vpmadd52luq zmm11, zmm24, zmm25
    vpmadd52huq zmm12, zmm24, zmm25
    vmovdqu64 zmm26, zmmword ptr [rdx + 1408]
    vpmadd52luq zmm12, zmm24, zmm26
    vpmadd52huq zmm13, zmm24, zmm26
    vmovdqu64 zmm25, zmmword ptr [rdx + 1472]
    vpmadd52luq zmm13, zmm24, zmm25
    vpmadd52huq zmm14, zmm24, zmm25
    vmovdqu64 zmm26, zmmword ptr [rdx + 1536]
    vpmadd52luq zmm14, zmm24, zmm26
    vpmadd52huq zmm15, zmm24, zmm26
    vmovdqu64 zmm25, zmmword ptr [rdx + 1600]
    vpmadd52luq zmm15, zmm24, zmm25
    vpmadd52huq zmm0, zmm24, zmm25
    vmovdqu64 zmm26, zmmword ptr [rdx + 1664]
    vpmadd52luq zmm0, zmm24, zmm26
    vpmadd52huq zmm1, zmm24, zmm26
    vmovdqu64 zmm25, zmmword ptr [rdx + 1728]
    vpmadd52luq zmm1, zmm24, zmm25
    vpmadd52huq zmm2, zmm24, zmm25
    vmovdqu64 zmm26, zmmword ptr [rdx + 1792]
    vpmadd52luq zmm2, zmm24, zmm26
    vpmadd52huq zmm3, zmm24, zmm26
    vmovdqu64 zmm25, zmmword ptr [rdx + 1856]
    vpmadd52luq zmm3, zmm24, zmm25
    vpmadd52huq zmm4, zmm24, zmm25
    vmovdqu64 zmm24, zmmword ptr [rsi + 768]
    vmovdqu64 zmm25, zmmword ptr [rdx]
    vpmadd52luq zmm5, zmm24, zmm25
    vpmadd52huq zmm6, zmm24, zmm25
    vmovdqu64 zmm26, zmmword ptr [rdx + 64]
    vpmadd52luq zmm6, zmm24, zmm26
    vpmadd52huq zmm7, zmm24, zmm26
    vmovdqu64 zmm25, zmmword ptr [rdx + 128]
    vpmadd52luq zmm7, zmm24, zmm25
    vpmadd52huq zmm8, zmm24, zmm25
    vmovdqu64 zmm26, zmmword ptr [rdx + 192]
    vpmadd52luq zmm8, zmm24, zmm26
    vpmadd52huq zmm9, zmm24, zmm26
    vmovdqu64 zmm25, zmmword ptr [rdx + 256]
    vpmadd52luq zmm9, zmm24, zmm25
    vpmadd52huq zmm10, zmm24, zmm25
    vmovdqu64 zmm26, zmmword ptr [rdx + 320]
    vpmadd52luq zmm10, zmm24, zmm26
    vpmadd52huq zmm11, zmm24, zmm26
    vmovdqu64 zmm25, zmmword ptr [rdx + 384]
    vpmadd52luq zmm11, zmm24, zmm25
    vpmadd52huq zmm12, zmm24, zmm25
    vmovdqu64 zmm26, zmmword ptr [rdx + 448]
    vpmadd52luq zmm12, zmm24, zmm26
    vpmadd52huq zmm13, zmm24, zmm26
    vmovdqu64 zmm25, zmmword ptr [rdx + 512]
    vpmadd52luq zmm13, zmm24, zmm25
    vpmadd52huq zmm14, zmm24, zmm25
    vmovdqu64 zmm26, zmmword ptr [rdx + 576]
    vpmadd52luq zmm14, zmm24, zmm26
    vpmadd52huq zmm15, zmm24, zmm26
    vmovdqu64 zmm25, zmmword ptr [rdx + 640]
    vpmadd52luq zmm15, zmm24, zmm25
    vpmadd52huq zmm0, zmm24, zmm25
    vmovdqu64 zmm26, zmmword ptr [rdx + 704]
    vpmadd52luq zmm0, zmm24, zmm26
    vpmadd52huq zmm1, zmm24, zmm26
    vmovdqu64 zmm25, zmmword ptr [rdx + 768]
    vpmadd52luq zmm1, zmm24, zmm25
    vpmadd52huq zmm2, zmm24, zmm25
    vmovdqu64 zmm26, zmmword ptr [rdx + 832]
    vpmadd52luq zmm2, zmm24, zmm26
    vpmadd52huq zmm3, zmm24, zmm26
    vmovdqu64 zmm25, zmmword ptr [rdx + 896]
    vpmadd52luq zmm3, zmm24, zmm25
    vpmadd52huq zmm4, zmm24, zmm25
    vmovdqa64 zmm21, zmm23
    vpmadd52luq zmm21, zmm5, zmm23
    vpsrlq zmm5, zmm5, 52
    vpaddq zmm6, zmm6, zmm5
    vmovdqu64 zmm25, zmmword ptr [rcx + 64]
    vpmadd52huq zmm6, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 128]
    vpmadd52luq zmm6, zmm21, zmm26
    vpmadd52huq zmm7, zmm21, zmm26
    vmovdqu64 zmm25, zmmword ptr [rcx + 192]
    vpmadd52luq zmm7, zmm21, zmm25
    vpmadd52huq zmm8, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 256]
    vpmadd52luq zmm8, zmm21, zmm26
    vpmadd52huq zmm9, zmm21, zmm26
    vmovdqu64 zmm25, zmmword ptr [rcx + 320]
    vpmadd52luq zmm9, zmm21, zmm25
    vpmadd52huq zmm10, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 384]
    vpmadd52luq zmm10, zmm21, zmm26
    vpmadd52huq zmm11, zmm21, zmm26
    vmovdqu64 zmm25, zmmword ptr [rcx + 448]
    vpmadd52luq zmm11, zmm21, zmm25
    vpmadd52huq zmm12, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 512]
    vpmadd52luq zmm12, zmm21, zmm26
    vpmadd52huq zmm13, zmm21, zmm26
    vmovdqu64 zmm25, zmmword ptr [rcx + 576]
    vpmadd52luq zmm13, zmm21, zmm25
    vpmadd52huq zmm14, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 640]
    vpmadd52luq zmm14, zmm21, zmm26
    vpmadd52huq zmm15, zmm21, zmm26
    vmovdqu64 zmm25, zmmword ptr [rcx + 704]
    vpmadd52luq zmm15, zmm21, zmm25
    vpmadd52huq zmm0, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 768]
    vpmadd52luq zmm0, zmm21, zmm26
    vpmadd52huq zmm1, zmm21, zmm26
    vmovdqu64 zmm25, zmmword ptr [rcx + 832]
    vpmadd52luq zmm1, zmm21, zmm25
    vpmadd52huq zmm2, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 896]
    vpmadd52luq zmm2, zmm21, zmm26
    vpmadd52huq zmm3, zmm21, zmm26
    vmovdqu64 zmm25, zmmword ptr [rcx + 960]
    vpmadd52luq zmm3, zmm21, zmm25
    vpmadd52huq zmm4, zmm21, zmm25
    vpxor xmm5, xmm5, xmm5
    vmovdqu64 zmm24, zmmword ptr [rsi + 384]
    vmovdqu64 zmm25, zmmword ptr [rdx + 960]
    vpmadd52luq zmm6, zmm24, zmm25
    vpmadd52huq zmm7, zmm24, zmm25
    vmovdqu64 zmm26, zmmword ptr [rdx + 1024]
    vpmadd52luq zmm7, zmm24, zmm26
    vpmadd52huq zmm8, zmm24, zmm26
    vmovdqu64 zmm25, zmmword ptr [rdx + 1088]
    vpmadd52luq zmm8, zmm24, zmm25
    vpmadd52huq zmm9, zmm24, zmm25
    vmovdqu64 zmm26, zmmword ptr [rdx + 1152]
    vpmadd52luq zmm9, zmm24, zmm26
    vpmadd52huq zmm10, zmm24, zmm26
    vmovdqu64 zmm25, zmmword ptr [rdx + 1216]
    vpmadd52luq zmm10, zmm24, zmm25
    vpmadd52huq zmm11, zmm24, zmm25
    vmovdqu64 zmm26, zmmword ptr [rdx + 1280]
    vpmadd52luq zmm11, zmm24, zmm26
    vpmadd52huq zmm12, zmm24, zmm26
    vmovdqu64 zmm25, zmmword ptr [rdx + 1344]
    vpmadd52luq zmm12, zmm24, zmm25
    vpmadd52huq zmm13, zmm24, zmm25
    vmovdqu64 zmm26, zmmword ptr [rdx + 1408]
    vpmadd52luq zmm13, zmm24, zmm26
    vpmadd52huq zmm14, zmm24, zmm26
    vmovdqu64 zmm25, zmmword ptr [rdx + 1472]
    vpmadd52luq zmm14, zmm24, zmm25
    vpmadd52huq zmm15, zmm24, zmm25
    vmovdqu64 zmm26, zmmword ptr [rdx + 1536]
    vpmadd52luq zmm15, zmm24, zmm26
    vpmadd52huq zmm0, zmm24, zmm26
    vmovdqu64 zmm25, zmmword ptr [rdx + 1600]
    vpmadd52luq zmm0, zmm24, zmm25
    vpmadd52huq zmm1, zmm24, zmm25
    vmovdqu64 zmm26, zmmword ptr [rdx + 1664]
    vpmadd52luq zmm1, zmm24, zmm26
    vpmadd52huq zmm2, zmm24, zmm26
    vmovdqu64 zmm25, zmmword ptr [rdx + 1728]
    vpmadd52luq zmm2, zmm24, zmm25
    vpmadd52huq zmm3, zmm24, zmm25
    vmovdqu64 zmm26, zmmword ptr [rdx + 1792]
    vpmadd52luq zmm3, zmm24, zmm26
    vpmadd52huq zmm4, zmm24, zmm26
    vmovdqu64 zmm25, zmmword ptr [rdx + 1856]
    vpmadd52luq zmm4, zmm24, zmm25
    vpmadd52huq zmm5, zmm24, zmm25
    vmovdqu64 zmm24, zmmword ptr [rsi + 832]
    vmovdqu64 zmm25, zmmword ptr [rdx]
    vpmadd52luq zmm6, zmm24, zmm25
    vpmadd52huq zmm7, zmm24, zmm25
    vmovdqu64 zmm26, zmmword ptr [rdx + 64]
    vpmadd52luq zmm7, zmm24, zmm26
    vpmadd52huq zmm8, zmm24, zmm26
    vmovdqu64 zmm25, zmmword ptr [rdx + 128]
    vpmadd52luq zmm8, zmm24, zmm25
    vpmadd52huq zmm9, zmm24, zmm25
    vmovdqu64 zmm26, zmmword ptr [rdx + 192]
    vpmadd52luq zmm9, zmm24, zmm26
    vpmadd52huq zmm10, zmm24, zmm26
    vmovdqu64 zmm25, zmmword ptr [rdx + 256]
    vpmadd52luq zmm10, zmm24, zmm25
    vpmadd52huq zmm11, zmm24, zmm25
    vmovdqu64 zmm26, zmmword ptr [rdx + 320]
    vpmadd52luq zmm11, zmm24, zmm26
    vpmadd52huq zmm12, zmm24, zmm26
    vmovdqu64 zmm25, zmmword ptr [rdx + 384]
    vpmadd52luq zmm12, zmm24, zmm25
    vpmadd52huq zmm13, zmm24, zmm25
    vmovdqu64 zmm26, zmmword ptr [rdx + 448]
    vpmadd52luq zmm13, zmm24, zmm26
    vpmadd52huq zmm14, zmm24, zmm26
    vmovdqu64 zmm25, zmmword ptr [rdx + 512]
    vpmadd52luq zmm14, zmm24, zmm25
    vpmadd52huq zmm15, zmm24, zmm25
    vmovdqu64 zmm26, zmmword ptr [rdx + 576]
    vpmadd52luq zmm15, zmm24, zmm26
    vpmadd52huq zmm0, zmm24, zmm26
    vmovdqu64 zmm25, zmmword ptr [rdx + 640]
    vpmadd52luq zmm0, zmm24, zmm25
    vpmadd52huq zmm1, zmm24, zmm25
    vmovdqu64 zmm26, zmmword ptr [rdx + 704]
    vpmadd52luq zmm1, zmm24, zmm26
    vpmadd52huq zmm2, zmm24, zmm26
    vmovdqu64 zmm25, zmmword ptr [rdx + 768]
    vpmadd52luq zmm2, zmm24, zmm25
    vpmadd52huq zmm3, zmm24, zmm25
    vmovdqu64 zmm26, zmmword ptr [rdx + 832]
    vpmadd52luq zmm3, zmm24, zmm26
    vpmadd52huq zmm4, zmm24, zmm26
    vmovdqu64 zmm25, zmmword ptr [rdx + 896]
    vpmadd52luq zmm4, zmm24, zmm25
    vpmadd52huq zmm5, zmm24, zmm25
    vmovdqa64 zmm21, zmm23
    vpmadd52luq zmm21, zmm6, zmm23
    vpsrlq zmm6, zmm6, 52
    vpaddq zmm7, zmm7, zmm6
    vmovdqu64 zmm25, zmmword ptr [rcx + 64]
    vpmadd52huq zmm7, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 128]
    vpmadd52luq zmm7, zmm21, zmm26
    vpmadd52huq zmm8, zmm21, zmm26
    vmovdqu64 zmm25, zmmword ptr [rcx + 192]
    vpmadd52luq zmm8, zmm21, zmm25
    vpmadd52huq zmm9, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 256]
    vpmadd52luq zmm9, zmm21, zmm26
    vpmadd52huq zmm10, zmm21, zmm26
    vmovdqu64 zmm25, zmmword ptr [rcx + 320]
    vpmadd52luq zmm10, zmm21, zmm25
    vpmadd52huq zmm11, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 384]
    vpmadd52luq zmm11, zmm21, zmm26
    vpmadd52huq zmm12, zmm21, zmm26
    vmovdqu64 zmm25, zmmword ptr [rcx + 448]
    vpmadd52luq zmm12, zmm21, zmm25
    vpmadd52huq zmm13, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 512]
    vpmadd52luq zmm13, zmm21, zmm26
    vpmadd52huq zmm14, zmm21, zmm26
    vmovdqu64 zmm25, zmmword ptr [rcx + 576]
    vpmadd52luq zmm14, zmm21, zmm25
    vpmadd52huq zmm15, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 640]
    vpmadd52luq zmm15, zmm21, zmm26
    vpmadd52huq zmm0, zmm21, zmm26
    vmovdqu64 zmm25, zmmword ptr [rcx + 704]
    vpmadd52luq zmm0, zmm21, zmm25
    vpmadd52huq zmm1, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 768]
    vpmadd52luq zmm1, zmm21, zmm26
    vpmadd52huq zmm2, zmm21, zmm26
    vmovdqu64 zmm25, zmmword ptr [rcx + 832]
    vpmadd52luq zmm2, zmm21, zmm25
    vpmadd52huq zmm3, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 896]
    vpmadd52luq zmm3, zmm21, zmm26
    vpmadd52huq zmm4, zmm21, zmm26
    vmovdqu64 zmm25, zmmword ptr [rcx + 960]
    vpmadd52luq zmm4, zmm21, zmm25
    vpmadd52huq zmm5, zmm21, zmm25
    vpxor xmm6, xmm6, xmm6
    vmovdqu64 zmm24, zmmword ptr [rsi + 896]
    vmovdqu64 zmm25, zmmword ptr [rdx]
    vpmadd52luq zmm7, zmm24, zmm25
    vpmadd52huq zmm8, zmm24, zmm25
    vmovdqu64 zmm26, zmmword ptr [rdx + 64]
    vpmadd52luq zmm8, zmm24, zmm26
    vpmadd52huq zmm9, zmm24, zmm26
    vmovdqu64 zmm25, zmmword ptr [rdx + 128]
    vpmadd52luq zmm9, zmm24, zmm25
    vpmadd52huq zmm10, zmm24, zmm25
    vmovdqu64 zmm26, zmmword ptr [rdx + 192]
    vpmadd52luq zmm10, zmm24, zmm26
    vpmadd52huq zmm11, zmm24, zmm26
    vmovdqu64 zmm25, zmmword ptr [rdx + 256]
    vpmadd52luq zmm11, zmm24, zmm25
    vpmadd52huq zmm12, zmm24, zmm25
    vmovdqu64 zmm26, zmmword ptr [rdx + 320]
    vpmadd52luq zmm12, zmm24, zmm26
    vpmadd52huq zmm13, zmm24, zmm26
    vmovdqu64 zmm25, zmmword ptr [rdx + 384]
    vpmadd52luq zmm13, zmm24, zmm25
    vpmadd52huq zmm14, zmm24, zmm25
    vmovdqu64 zmm26, zmmword ptr [rdx + 448]
    vpmadd52luq zmm14, zmm24, zmm26
    vpmadd52huq zmm15, zmm24, zmm26
    vmovdqu64 zmm25, zmmword ptr [rdx + 512]
    vpmadd52luq zmm15, zmm24, zmm25
    vpmadd52huq zmm0, zmm24, zmm25
    vmovdqu64 zmm26, zmmword ptr [rdx + 576]
    vpmadd52luq zmm0, zmm24, zmm26
    vpmadd52huq zmm1, zmm24, zmm26
    vmovdqu64 zmm25, zmmword ptr [rdx + 640]
    vpmadd52luq zmm1, zmm24, zmm25
    vpmadd52huq zmm2, zmm24, zmm25
    vmovdqu64 zmm26, zmmword ptr [rdx + 704]
    vpmadd52luq zmm2, zmm24, zmm26
    vpmadd52huq zmm3, zmm24, zmm26
    vmovdqu64 zmm25, zmmword ptr [rdx + 768]
    vpmadd52luq zmm3, zmm24, zmm25
    vpmadd52huq zmm4, zmm24, zmm25
    vmovdqu64 zmm26, zmmword ptr [rdx + 832]
    vpmadd52luq zmm4, zmm24, zmm26
    vpmadd52huq zmm5, zmm24, zmm26
    vmovdqu64 zmm25, zmmword ptr [rdx + 896]
    vpmadd52luq zmm5, zmm24, zmm25
    vpmadd52huq zmm6, zmm24, zmm25
    vmovdqa64 zmm21, zmm23
    vpmadd52luq zmm21, zmm7, zmm23
    vpsrlq zmm7, zmm7, 52
    vpaddq zmm8, zmm8, zmm7
    vmovdqu64 zmm25, zmmword ptr [rcx + 64]
    vpmadd52huq zmm8, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 128]
    vpmadd52luq zmm8, zmm21, zmm26
    vpmadd52huq zmm9, zmm21, zmm26
    vmovdqu64 zmm25, zmmword ptr [rcx + 192]
    vpmadd52luq zmm9, zmm21, zmm25
    vpmadd52huq zmm10, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 256]
    vpmadd52luq zmm10, zmm21, zmm26
    vpmadd52huq zmm11, zmm21, zmm26
    vmovdqu64 zmm25, zmmword ptr [rcx + 320]
    vpmadd52luq zmm11, zmm21, zmm25
    vpmadd52huq zmm12, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 384]
    vpmadd52luq zmm12, zmm21, zmm26
    vpmadd52huq zmm13, zmm21, zmm26
    vmovdqu64 zmm25, zmmword ptr [rcx + 448]
    vpmadd52luq zmm13, zmm21, zmm25
    vpmadd52huq zmm14, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 512]
    vpmadd52luq zmm14, zmm21, zmm26
    vpmadd52huq zmm15, zmm21, zmm26
    vmovdqu64 zmm25, zmmword ptr [rcx + 576]
    vpmadd52luq zmm15, zmm21, zmm25
    vpmadd52huq zmm0, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 640]
    vpmadd52luq zmm0, zmm21, zmm26
    vpmadd52huq zmm1, zmm21, zmm26
    vmovdqu64 zmm25, zmmword ptr [rcx + 704]
    vpmadd52luq zmm1, zmm21, zmm25
    vpmadd52huq zmm2, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 768]
    vpmadd52luq zmm2, zmm21, zmm26
    vpmadd52huq zmm3, zmm21, zmm26
    vmovdqu64 zmm25, zmmword ptr [rcx + 832]
    vpmadd52luq zmm3, zmm21, zmm25
    vpmadd52huq zmm4, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 896]
    vpmadd52luq zmm4, zmm21, zmm26
    vpmadd52huq zmm5, zmm21, zmm26
    vmovdqu64 zmm25, zmmword ptr [rcx + 960]
    vpmadd52luq zmm5, zmm21, zmm25
    vpmadd52huq zmm6, zmm21, zmm25
    vpsrlq zmm21, zmm8, 52
    vmovdqu64 zmmword ptr [rdi], zmm8
    vpaddq zmm9, zmm9, zmm21
    vpsrlq zmm21, zmm9, 52
    vmovdqu64 zmmword ptr [rdi + 64], zmm9
    vpaddq zmm10, zmm10, zmm21
    vpsrlq zmm21, zmm10, 52
    vmovdqu64 zmmword ptr [rdi + 128], zmm10
    vpaddq zmm11, zmm11, zmm21
    vpsrlq zmm21, zmm11, 52
    vmovdqu64 zmmword ptr [rdi + 192], zmm11
    vpaddq zmm12, zmm12, zmm21
    vpsrlq zmm21, zmm12, 52
    vmovdqu64 zmmword ptr [rdi + 256], zmm12
    vpaddq zmm13, zmm13, zmm21
    vpsrlq zmm21, zmm13, 52
    vmovdqu64 zmmword ptr [rdi + 320], zmm13
    vpaddq zmm14, zmm14, zmm21
    vpsrlq zmm21, zmm14, 52
    vmovdqu64 zmmword ptr [rdi + 384], zmm14
    vpaddq zmm15, zmm15, zmm21
    vpsrlq zmm21, zmm15, 52
    vmovdqu64 zmmword ptr [rdi + 448], zmm15
    vpaddq zmm0, zmm0, zmm21
    vpsrlq zmm21, zmm0, 52
    vmovdqu64 zmmword ptr [rdi + 512], zmm0
    vpaddq zmm1, zmm1, zmm21
    vpsrlq zmm21, zmm1, 52
    vmovdqu64 zmmword ptr [rdi + 576], zmm1
    vpaddq zmm2, zmm2, zmm21
    vpsrlq zmm21, zmm2, 52
    vmovdqu64 zmmword ptr [rdi + 640], zmm2
    vpaddq zmm3, zmm3, zmm21
    vpsrlq zmm21, zmm3, 52
    vmovdqu64 zmmword ptr [rdi + 704], zmm3
    vpaddq zmm4, zmm4, zmm21
    vpsrlq zmm21, zmm4, 52
    vmovdqu64 zmmword ptr [rdi + 768], zmm4
    vpaddq zmm5, zmm5, zmm21
    vpsrlq zmm21, zmm5, 52
    vmovdqu64 zmmword ptr [rdi + 832], zmm5
    vpaddq zmm6, zmm6, zmm21
    vmovdqu64 zmmword ptr [rdi + 896], zmm6
    vzeroupper
    ret
