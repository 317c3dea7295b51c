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
    vmovdqu64 zmmword ptr [r8], zmm0
    vmovdqu64 zmm24, zmmword ptr [rsi]
    vmovdqu64 zmm28, zmmword ptr [rsi + 64]
    vmovdqu64 zmm30, zmmword ptr [r11]
    vpxor xmm1, xmm1, xmm1
    vpxor xmm2, xmm2, xmm2
    vpmadd52luq zmm1, zmm24, zmm28
    vpmadd52huq zmm2, zmm24, zmm28
    vmovdqu64 zmm27, zmmword ptr [rsi + 128]
    vmovdqu64 zmm30{k1}, zmmword ptr [r10]
    vpxor xmm3, xmm3, xmm3
    vpmadd52luq zmm2, zmm24, zmm27
    vpmadd52huq zmm3, zmm24, zmm27
    vmovdqu64 zmm28, zmmword ptr [rsi + 192]
    vmovdqu64 zmmword ptr [r11], zmm30
    vpxor xmm4, xmm4, xmm4
    vpmadd52luq zmm3, zmm24, zmm28
    vpmadd52huq zmm4, zmm24, zmm28
    vmovdqu64 zmm27, zmmword ptr [rsi + 256]
    vpxor xmm5, xmm5, xmm5
    vmovdqu64 zmm31, zmmword ptr [r11 + 64]
    vpmadd52luq zmm4, zmm24, zmm27
    vpmadd52huq zmm5, zmm24, zmm27
    vmovdqu64 zmm28, zmmword ptr [rsi + 320]
    vpxor xmm6, xmm6, xmm6
    vmovdqu64 zmm31{k1}, zmmword ptr [r10 + 64]
    vpmadd52luq zmm5, zmm24, zmm28
    vpmadd52huq zmm6, zmm24, zmm28
    vmovdqu64 zmm27, zmmword ptr [rsi + 384]
    vpxor xmm7, xmm7, xmm7
    vpmadd52luq zmm6, zmm24, zmm27
    vmovdqu64 zmmword ptr [r11 + 64], zmm31
    vpmadd52huq zmm7, zmm24, zmm27
    vmovdqu64 zmm28, zmmword ptr [rsi + 448]
    vpxor xmm8, xmm8, xmm8
    vpmadd52luq zmm7, zmm24, zmm28
    vmovdqu64 zmm30, zmmword ptr [r11 + 128]
    vpmadd52huq zmm8, zmm24, zmm28
    vmovdqu64 zmm27, zmmword ptr [rsi + 512]
    vpxor xmm9, xmm9, xmm9
    vpmadd52luq zmm8, zmm24, zmm27
    vmovdqu64 zmm30{k1}, zmmword ptr [r10 + 128]
    vpmadd52huq zmm9, zmm24, zmm27
    vmovdqu64 zmm28, zmmword ptr [rsi + 576]
    vpxor xmm10, xmm10, xmm10
    vpmadd52luq zmm9, zmm24, zmm28
    vpmadd52huq zmm10, zmm24, zmm28
    vmovdqu64 zmmword ptr [r11 + 128], zmm30
    vmovdqu64 zmm27, zmmword ptr [rsi + 640]
    vpxor xmm11, xmm11, xmm11
    vpmadd52luq zmm10, zmm24, zmm27
    vpmadd52huq zmm11, zmm24, zmm27
    vmovdqu64 zmm31, zmmword ptr [r11 + 192]
    vmovdqu64 zmm28, zmmword ptr [rsi + 704]
    vpxor xmm12, xmm12, xmm12
    vpmadd52luq zmm11, zmm24, zmm28
    vpmadd52huq zmm12, zmm24, zmm28
    vmovdqu64 zmm27, zmmword ptr [rsi + 768]
    vmovdqu64 zmm31{k1}, zmmword ptr [r10 + 192]
    vpxor xmm13, xmm13, xmm13
    vpmadd52luq zmm12, zmm24, zmm27
    vpmadd52huq zmm13, zmm24, zmm27
    vmovdqu64 zmm28, zmmword ptr [rsi + 832]
    vmovdqu64 zmmword ptr [r11 + 192], zmm31
    vpxor xmm14, xmm14, xmm14
    vpmadd52luq zmm13, zmm24, zmm28
    vpmadd52huq zmm14, zmm24, zmm28
    vmovdqu64 zmm27, zmmword ptr [rsi + 896]
    vpxor xmm15, xmm15, xmm15
    vmovdqu64 zmm30, zmmword ptr [r11 + 256]
    vpmadd52luq zmm14, zmm24, zmm27
    vpmadd52huq zmm15, zmm24, zmm27
    vmovdqu64 zmm28, zmmword ptr [rsi + 960]
    vpxord xmm16, xmm16, xmm16
    vmovdqu64 zmm30{k1}, zmmword ptr [r10 + 256]
    vpmadd52luq zmm15, zmm24, zmm28
    vpmadd52huq zmm16, zmm24, zmm28
    vmovdqu64 zmm27, zmmword ptr [rsi + 1024]
    vpxord xmm17, xmm17, xmm17
    vpmadd52luq zmm16, zmm24, zmm27
    vmovdqu64 zmmword ptr [r11 + 256], zmm30
    vpmadd52huq zmm17, zmm24, zmm27
    vmovdqu64 zmm28, zmmword ptr [rsi + 1088]
    vpxord xmm18, xmm18, xmm18
    vpmadd52luq zmm17, zmm24, zmm28
    vmovdqu64 zmm31, zmmword ptr [r11 + 320]
    vpmadd52huq zmm18, zmm24, zmm28
    vmovdqu64 zmm27, zmmword ptr [rsi + 1152]
    vpxord xmm19, xmm19, xmm19
    vpmadd52luq zmm18, zmm24, zmm27
    vmovdqu64 zmm31{k1}, zmmword ptr [r10 + 320]
    vpmadd52huq zmm19, zmm24, zmm27
    vmovdqu64 zmm28, zmmword ptr [rsi + 1216]
    vpxord xmm20, xmm20, xmm20
    vpmadd52luq zmm19, zmm24, zmm28
    vpmadd52huq zmm20, zmm24, zmm28
    vmovdqu64 zmmword ptr [r11 + 320], zmm31
    vpaddq zmm1, zmm1, zmm1
    vmovdqu64 zmm28, zmmword ptr [rsi]
    vpmadd52huq zmm1, zmm28, zmm28
    vmovdqu64 zmmword ptr [r8 + 64], zmm1
    vmovdqu64 zmm30, zmmword ptr [r11 + 384]
    vpaddq zmm2, zmm2, zmm2
    vmovdqu64 zmm27, zmmword ptr [rsi + 64]
    vpmadd52luq zmm2, zmm27, zmm27
    vmovdqu64 zmmword ptr [r8 + 128], zmm2
    vmovdqu64 zmm24, zmmword ptr [rsi + 64]
    vmovdqu64 zmm30{k1}, zmmword ptr [r10 + 384]
    vmovdqu64 zmm27, zmmword ptr [rsi + 128]
    vpmadd52luq zmm3, zmm24, zmm27
    vpmadd52huq zmm4, zmm24, zmm27
    vmovdqu64 zmm28, zmmword ptr [rsi + 192]
    vmovdqu64 zmmword ptr [r11 + 384], zmm30
    vpmadd52luq zmm4, zmm24, zmm28
    vpmadd52huq zmm5, zmm24, zmm28
    vmovdqu64 zmm27, zmmword ptr [rsi + 256]
    vpmadd52luq zmm5, zmm24, zmm27
    vpmadd52huq zmm6, zmm24, zmm27
    vmovdqu64 zmm31, zmmword ptr [r11 + 448]
    vmovdqu64 zmm28, zmmword ptr [rsi + 320]
    vpmadd52luq zmm6, zmm24, zmm28
    vpmadd52huq zmm7, zmm24, zmm28
    vmovdqu64 zmm27, zmmword ptr [rsi + 384]
    vmovdqu64 zmm31{k1}, zmmword ptr [r10 + 448]
    vpmadd52luq zmm7, zmm24, zmm27
    vpmadd52huq zmm8, zmm24, zmm27
    vmovdqu64 zmm28, zmmword ptr [rsi + 448]
    vpmadd52luq zmm8, zmm24, zmm28
    vpmadd52huq zmm9, zmm24, zmm28
    vmovdqu64 zmmword ptr [r11 + 448], zmm31
    vmovdqu64 zmm27, zmmword ptr [rsi + 512]
    vpmadd52luq zmm9, zmm24, zmm27
    vpmadd52huq zmm10, zmm24, zmm27
    vmovdqu64 zmm28, zmmword ptr [rsi + 576]
    vmovdqu64 zmm30, zmmword ptr [r11 + 512]
    vpmadd52luq zmm10, zmm24, zmm28
    vpmadd52huq zmm11, zmm24, zmm28
    vmovdqu64 zmm27, zmmword ptr [rsi + 640]
    vpmadd52luq zmm11, zmm24, zmm27
    vmovdqu64 zmm30{k1}, zmmword ptr [r10 + 512]
    vpmadd52huq zmm12, zmm24, zmm27
    vmovdqu64 zmm28, zmmword ptr [rsi + 704]
    vpmadd52luq zmm12, zmm24, zmm28
    vpmadd52huq zmm13, zmm24, zmm28
    vmovdqu64 zmm27, zmmword ptr [rsi + 768]
    vmovdqu64 zmmword ptr [r11 + 512], zmm30
    vpmadd52luq zmm13, zmm24, zmm27
    vpmadd52huq zmm14, zmm24, zmm27
    vmovdqu64 zmm28, zmmword ptr [rsi + 832]
    vpmadd52luq zmm14, zmm24, zmm28
    vmovdqu64 zmm31, zmmword ptr [r11 + 576]
    vpmadd52huq zmm15, zmm24, zmm28
    vmovdqu64 zmm27, zmmword ptr [rsi + 896]
    vpmadd52luq zmm15, zmm24, zmm27
    vpmadd52huq zmm16, zmm24, zmm27
    vmovdqu64 zmm28, zmmword ptr [rsi + 960]
    vmovdqu64 zmm31{k1}, zmmword ptr [r10 + 576]
    vpmadd52luq zmm16, zmm24, zmm28
    vpmadd52huq zmm17, zmm24, zmm28
    vmovdqu64 zmm27, zmmword ptr [rsi + 1024]
    vpmadd52luq zmm17, zmm24, zmm27
    vmovdqu64 zmmword ptr [r11 + 576], zmm31
    vpmadd52huq zmm18, zmm24, zmm27
    vmovdqu64 zmm28, zmmword ptr [rsi + 1088]
    vpmadd52luq zmm18, zmm24, zmm28
    vpmadd52huq zmm19, zmm24, zmm28
    vmovdqu64 zmm27, zmmword ptr [rsi + 1152]
    vmovdqu64 zmm30, zmmword ptr [r11 + 640]
    vpmadd52luq zmm19, zmm24, zmm27
    vpmadd52huq zmm20, zmm24, zmm27
    vmovdqu64 zmm28, zmmword ptr [rsi + 1216]
    vpxor xmm0, xmm0, xmm0
    vmovdqu64 zmm30{k1}, zmmword ptr [r10 + 640]
    vpmadd52luq zmm20, zmm24, zmm28
    vpmadd52huq zmm0, zmm24, zmm28
    vpaddq zmm3, zmm3, zmm3
    vmovdqu64 zmm28, zmmword ptr [rsi + 64]
    vpmadd52huq zmm3, zmm28, zmm28
    vmovdqu64 zmmword ptr [r11 + 640], zmm30
    vmovdqu64 zmmword ptr [r8 + 192], zmm3
    vpaddq zmm4, zmm4, zmm4
    vmovdqu64 zmm27, zmmword ptr [rsi + 128]
    vpmadd52luq zmm4, zmm27, zmm27
    vmovdqu64 zmm31, zmmword ptr [r11 + 704]
    vmovdqu64 zmmword ptr [r8 + 256], zmm4
    vmovdqu64 zmm24, zmmword ptr [rsi + 128]
    vmovdqu64 zmm28, zmmword ptr [rsi + 192]
    vpmadd52luq zmm5, zmm24, zmm28
    vmovdqu64 zmm31{k1}, zmmword ptr [r10 + 704]
    vpmadd52huq zmm6, zmm24, zmm28
    vmovdqu64 zmm27, zmmword ptr [rsi + 256]
    vpmadd52luq zmm6, zmm24, zmm27
    vpmadd52huq zmm7, zmm24, zmm27
    vmovdqu64 zmm28, zmmword ptr [rsi + 320]
    vmovdqu64 zmmword ptr [r11 + 704], zmm31
    vpmadd52luq zmm7, zmm24, zmm28
    vpmadd52huq zmm8, zmm24, zmm28
    vmovdqu64 zmm27, zmmword ptr [rsi + 384]
    vpmadd52luq zmm8, zmm24, zmm27
    vmovdqu64 zmm30, zmmword ptr [r11 + 768]
    vpmadd52huq zmm9, zmm24, zmm27
    vmovdqu64 zmm28, zmmword ptr [rsi + 448]
    vpmadd52luq zmm9, zmm24, zmm28
    vpmadd52huq zmm10, zmm24, zmm28
    vmovdqu64 zmm27, zmmword ptr [rsi + 512]
    vmovdqu64 zmm30{k1}, zmmword ptr [r10 + 768]
    vpmadd52luq zmm10, zmm24, zmm27
    vpmadd52huq zmm11, zmm24, zmm27
    vmovdqu64 zmm28, zmmword ptr [rsi + 576]
    vpmadd52luq zmm11, zmm24, zmm28
    vmovdqu64 zmmword ptr [r11 + 768], zmm30
    vpmadd52huq zmm12, zmm24, zmm28
    vmovdqu64 zmm27, zmmword ptr [rsi + 640]
    vpmadd52luq zmm12, zmm24, zmm27
    vpmadd52huq zmm13, zmm24, zmm27
    vmovdqu64 zmm28, zmmword ptr [rsi + 704]
    vmovdqu64 zmm31, zmmword ptr [r11 + 832]
    vpmadd52luq zmm13, zmm24, zmm28
    vpmadd52huq zmm14, zmm24, zmm28
    vmovdqu64 zmm27, zmmword ptr [rsi + 768]
    vpmadd52luq zmm14, zmm24, zmm27
    vmovdqu64 zmm31{k1}, zmmword ptr [r10 + 832]
    vpmadd52huq zmm15, zmm24, zmm27
    vmovdqu64 zmm28, zmmword ptr [rsi + 832]
    vpmadd52luq zmm15, zmm24, zmm28
    vpmadd52huq zmm16, zmm24, zmm28
    vmovdqu64 zmm27, zmmword ptr [rsi + 896]
    vmovdqu64 zmmword ptr [r11 + 832], zmm31
    vpmadd52luq zmm16, zmm24, zmm27
    vpmadd52huq zmm17, zmm24, zmm27
    vmovdqu64 zmm28, zmmword ptr [rsi + 960]
    vpmadd52luq zmm17, zmm24, zmm28
    vmovdqu64 zmm30, zmmword ptr [r11 + 896]
    vpmadd52huq zmm18, zmm24, zmm28
    vmovdqu64 zmm27, zmmword ptr [rsi + 1024]
    vpmadd52luq zmm18, zmm24, zmm27
    vpmadd52huq zmm19, zmm24, zmm27
    vmovdqu64 zmm30{k1}, zmmword ptr [r10 + 896]
    vmovdqu64 zmm28, zmmword ptr [rsi + 1088]
    vpmadd52luq zmm19, zmm24, zmm28
    vpmadd52huq zmm20, zmm24, zmm28
    vmovdqu64 zmm27, zmmword ptr [rsi + 1152]
    vpmadd52luq zmm20, zmm24, zmm27
    vmovdqu64 zmmword ptr [r11 + 896], zmm30
    vpmadd52huq zmm0, zmm24, zmm27
    vmovdqu64 zmm28, zmmword ptr [rsi + 1216]
    vpxor xmm1, xmm1, xmm1
    vpmadd52luq zmm0, zmm24, zmm28
    vmovdqu64 zmm31, zmmword ptr [r11 + 960]
    vpmadd52huq zmm1, zmm24, zmm28
    vpaddq zmm5, zmm5, zmm5
    vmovdqu64 zmm28, zmmword ptr [rsi + 128]
    vpmadd52huq zmm5, zmm28, zmm28
    vmovdqu64 zmmword ptr [r8 + 320], zmm5
    vmovdqu64 zmm31{k1}, zmmword ptr [r10 + 960]
    vpaddq zmm6, zmm6, zmm6
    vmovdqu64 zmm27, zmmword ptr [rsi + 192]
    vpmadd52luq zmm6, zmm27, zmm27
    vmovdqu64 zmmword ptr [r8 + 384], zmm6
    vmovdqu64 zmmword ptr [r11 + 960], zmm31
    vmovdqu64 zmm24, zmmword ptr [rsi + 192]
    vmovdqu64 zmm27, zmmword ptr [rsi + 256]
    vpmadd52luq zmm7, zmm24, zmm27
    vpmadd52huq zmm8, zmm24, zmm27
    vmovdqu64 zmm28, zmmword ptr [rsi + 320]
    vmovdqu64 zmm30, zmmword ptr [r11 + 1024]
    vpmadd52luq zmm8, zmm24, zmm28
    vpmadd52huq zmm9, zmm24, zmm28
    vmovdqu64 zmm27, zmmword ptr [rsi + 384]
    vpmadd52luq zmm9, zmm24, zmm27
    vmovdqu64 zmm30{k1}, zmmword ptr [r10 + 1024]
    vpmadd52huq zmm10, zmm24, zmm27
    vmovdqu64 zmm28, zmmword ptr [rsi + 448]
    vpmadd52luq zmm10, zmm24, zmm28
    vpmadd52huq zmm11, zmm24, zmm28
    vmovdqu64 zmm27, zmmword ptr [rsi + 512]
    vmovdqu64 zmmword ptr [r11 + 1024], zmm30
    vpmadd52luq zmm11, zmm24, zmm27
    vpmadd52huq zmm12, zmm24, zmm27
    vmovdqu64 zmm28, zmmword ptr [rsi + 576]
    vpmadd52luq zmm12, zmm24, zmm28
    vmovdqu64 zmm31, zmmword ptr [r11 + 1088]
    vpmadd52huq zmm13, zmm24, zmm28
    vmovdqu64 zmm27, zmmword ptr [rsi + 640]
    vpmadd52luq zmm13, zmm24, zmm27
    vpmadd52huq zmm14, zmm24, zmm27
    vmovdqu64 zmm31{k1}, zmmword ptr [r10 + 1088]
    vmovdqu64 zmm28, zmmword ptr [rsi + 704]
    vpmadd52luq zmm14, zmm24, zmm28
    vpmadd52huq zmm15, zmm24, zmm28
    vmovdqu64 zmm27, zmmword ptr [rsi + 768]
    vpmadd52luq zmm15, zmm24, zmm27
    vmovdqu64 zmmword ptr [r11 + 1088], zmm31
    vpmadd52huq zmm16, zmm24, zmm27
    vmovdqu64 zmm28, zmmword ptr [rsi + 832]
    vpmadd52luq zmm16, zmm24, zmm28
    vpmadd52huq zmm17, zmm24, zmm28
    vmovdqu64 zmm30, zmmword ptr [r11 + 1152]
    vmovdqu64 zmm27, zmmword ptr [rsi + 896]
    vpmadd52luq zmm17, zmm24, zmm27
    vpmadd52huq zmm18, zmm24, zmm27
    vmovdqu64 zmm28, zmmword ptr [rsi + 960]
    vpmadd52luq zmm18, zmm24, zmm28
    vmovdqu64 zmm30{k1}, zmmword ptr [r10 + 1152]
    vpmadd52huq zmm19, zmm24, zmm28
    vmovdqu64 zmm27, zmmword ptr [rsi + 1024]
    vpmadd52luq zmm19, zmm24, zmm27
    vpmadd52huq zmm20, zmm24, zmm27
    vmovdqu64 zmmword ptr [r11 + 1152], zmm30
    vmovdqu64 zmm28, zmmword ptr [rsi + 1088]
    vpmadd52luq zmm20, zmm24, zmm28
    vpmadd52huq zmm0, zmm24, zmm28
    vmovdqu64 zmm27, zmmword ptr [rsi + 1152]
    vpmadd52luq zmm0, zmm24, zmm27
    vmovdqu64 zmm31, zmmword ptr [r11 + 1216]
    vpmadd52huq zmm1, zmm24, zmm27
    vmovdqu64 zmm28, zmmword ptr [rsi + 1216]
    vpxor xmm2, xmm2, xmm2
    vpmadd52luq zmm1, zmm24, zmm28
    vmovdqu64 zmm31{k1}, zmmword ptr [r10 + 1216]
    vpmadd52huq zmm2, zmm24, zmm28
    vpaddq zmm7, zmm7, zmm7
    vmovdqu64 zmm28, zmmword ptr [rsi + 192]
    vpmadd52huq zmm7, zmm28, zmm28
    vmovdqu64 zmmword ptr [r11 + 1216], zmm31
    vmovdqu64 zmmword ptr [r8 + 448], zmm7
    vpaddq zmm8, zmm8, zmm8
    vmovdqu64 zmm27, zmmword ptr [rsi + 256]
    vpmadd52luq zmm8, zmm27, zmm27
    vmovdqu64 zmmword ptr [r8 + 512], zmm8
    vmovdqu64 zmm30, zmmword ptr [r11 + 1280]
    vmovdqu64 zmm24, zmmword ptr [rsi + 256]
    vmovdqu64 zmm28, zmmword ptr [rsi + 320]
    vpmadd52luq zmm9, zmm24, zmm28
    vpmadd52huq zmm10, zmm24, zmm28
    vmovdqu64 zmm30{k1}, zmmword ptr [r10 + 1280]
    vmovdqu64 zmm27, zmmword ptr [rsi + 384]
    vpmadd52luq zmm10, zmm24, zmm27
    vpmadd52huq zmm11, zmm24, zmm27
    vmovdqu64 zmm28, zmmword ptr [rsi + 448]
    vpmadd52luq zmm11, zmm24, zmm28
    vmovdqu64 zmmword ptr [r11 + 1280], zmm30
    vpmadd52huq zmm12, zmm24, zmm28
    vmovdqu64 zmm27, zmmword ptr [rsi + 512]
    vpmadd52luq zmm12, zmm24, zmm27
    vpmadd52huq zmm13, zmm24, zmm27
    vmovdqu64 zmm31, zmmword ptr [r11 + 1344]
    vmovdqu64 zmm28, zmmword ptr [rsi + 576]
    vpmadd52luq zmm13, zmm24, zmm28
    vpmadd52huq zmm14, zmm24, zmm28
    vmovdqu64 zmm27, zmmword ptr [rsi + 640]
    vpmadd52luq zmm14, zmm24, zmm27
    vmovdqu64 zmm31{k1}, zmmword ptr [r10 + 1344]
    vpmadd52huq zmm15, zmm24, zmm27
    vmovdqu64 zmm28, zmmword ptr [rsi + 704]
    vpmadd52luq zmm15, zmm24, zmm28
    vpmadd52huq zmm16, zmm24, zmm28
    vmovdqu64 zmmword ptr [r11 + 1344], zmm31
    vmovdqu64 zmm27, zmmword ptr [rsi + 768]
    vpmadd52luq zmm16, zmm24, zmm27
    vpmadd52huq zmm17, zmm24, zmm27
    vmovdqu64 zmm28, zmmword ptr [rsi + 832]
    vpmadd52luq zmm17, zmm24, zmm28
    vmovdqu64 zmm30, zmmword ptr [r11 + 1408]
    vpmadd52huq zmm18, zmm24, zmm28
    vmovdqu64 zmm27, zmmword ptr [rsi + 896]
    vpmadd52luq zmm18, zmm24, zmm27
    vpmadd52huq zmm19, zmm24, zmm27
    vmovdqu64 zmm30{k1}, zmmword ptr [r10 + 1408]
    vmovdqu64 zmm28, zmmword ptr [rsi + 960]
    vpmadd52luq zmm19, zmm24, zmm28
    vpmadd52huq zmm20, zmm24, zmm28
    vmovdqu64 zmm27, zmmword ptr [rsi + 1024]
    vmovdqu64 zmmword ptr [r11 + 1408], zmm30
    vpmadd52luq zmm20, zmm24, zmm27
    vpmadd52huq zmm0, zmm24, zmm27
    vmovdqu64 zmm28, zmmword ptr [rsi + 1088]
    vpmadd52luq zmm0, zmm24, zmm28
    vpmadd52huq zmm1, zmm24, zmm28
    vmovdqu64 zmm31, zmmword ptr [r11 + 1472]
    vmovdqu64 zmm27, zmmword ptr [rsi + 1152]
    vpmadd52luq zmm1, zmm24, zmm27
    vpmadd52huq zmm2, zmm24, zmm27
    vmovdqu64 zmm28, zmmword ptr [rsi + 1216]
    vmovdqu64 zmm31{k1}, zmmword ptr [r10 + 1472]
    vpxor xmm3, xmm3, xmm3
    vpmadd52luq zmm2, zmm24, zmm28
    vpmadd52huq zmm3, zmm24, zmm28
    vpaddq zmm9, zmm9, zmm9
    vmovdqu64 zmm28, zmmword ptr [rsi + 256]
    vmovdqu64 zmmword ptr [r11 + 1472], zmm31
    vpmadd52huq zmm9, zmm28, zmm28
    vmovdqu64 zmmword ptr [r8 + 576], zmm9
    vpaddq zmm10, zmm10, zmm10
    vmovdqu64 zmm27, zmmword ptr [rsi + 320]
    vmovdqu64 zmm30, zmmword ptr [r11 + 1536]
    vpmadd52luq zmm10, zmm27, zmm27
    vmovdqu64 zmmword ptr [r8 + 640], zmm10
    vmovdqu64 zmm24, zmmword ptr [rsi + 320]
    vmovdqu64 zmm27, zmmword ptr [rsi + 384]
    vpmadd52luq zmm11, zmm24, zmm27
    vmovdqu64 zmm30{k1}, zmmword ptr [r10 + 1536]
    vpmadd52huq zmm12, zmm24, zmm27
    vmovdqu64 zmm28, zmmword ptr [rsi + 448]
    vpmadd52luq zmm12, zmm24, zmm28
    vpmadd52huq zmm13, zmm24, zmm28
    vmovdqu64 zmmword ptr [r11 + 1536], zmm30
    vmovdqu64 zmm27, zmmword ptr [rsi + 512]
    vpmadd52luq zmm13, zmm24, zmm27
    vpmadd52huq zmm14, zmm24, zmm27
    vmovdqu64 zmm28, zmmword ptr [rsi + 576]
    vpmadd52luq zmm14, zmm24, zmm28
    vmovdqu64 zmm31, zmmword ptr [r11 + 1600]
    vpmadd52huq zmm15, zmm24, zmm28
    vmovdqu64 zmm27, zmmword ptr [rsi + 640]
    vpmadd52luq zmm15, zmm24, zmm27
    vpmadd52huq zmm16, zmm24, zmm27
    vmovdqu64 zmm31{k1}, zmmword ptr [r10 + 1600]
    vmovdqu64 zmm28, zmmword ptr [rsi + 704]
    vpmadd52luq zmm16, zmm24, zmm28
    vpmadd52huq zmm17, zmm24, zmm28
    vmovdqu64 zmm27, zmmword ptr [rsi + 768]
    vmovdqu64 zmmword ptr [r11 + 1600], zmm31
    vpmadd52luq zmm17, zmm24, zmm27
    vpmadd52huq zmm18, zmm24, zmm27
    vmovdqu64 zmm28, zmmword ptr [rsi + 832]
    vpmadd52luq zmm18, zmm24, zmm28
    vpmadd52huq zmm19, zmm24, zmm28
    vmovdqu64 zmm30, zmmword ptr [r11 + 1664]
    vmovdqu64 zmm27, zmmword ptr [rsi + 896]
    vpmadd52luq zmm19, zmm24, zmm27
    vpmadd52huq zmm20, zmm24, zmm27
    vmovdqu64 zmm28, zmmword ptr [rsi + 960]
    vmovdqu64 zmm30{k1}, zmmword ptr [r10 + 1664]
    vpmadd52luq zmm20, zmm24, zmm28
    vpmadd52huq zmm0, zmm24, zmm28
    vmovdqu64 zmm27, zmmword ptr [rsi + 1024]
    vpmadd52luq zmm0, zmm24, zmm27
    vpmadd52huq zmm1, zmm24, zmm27
    vmovdqu64 zmmword ptr [r11 + 1664], zmm30
    vmovdqu64 zmm28, zmmword ptr [rsi + 1088]
    vpmadd52luq zmm1, zmm24, zmm28
    vpmadd52huq zmm2, zmm24, zmm28
    vmovdqu64 zmm27, zmmword ptr [rsi + 1152]
    vmovdqu64 zmm31, zmmword ptr [r11 + 1728]
    vpmadd52luq zmm2, zmm24, zmm27
    vpmadd52huq zmm3, zmm24, zmm27
    vmovdqu64 zmm28, zmmword ptr [rsi + 1216]
    vpxor xmm4, xmm4, xmm4
    vpmadd52luq zmm3, zmm24, zmm28
    vmovdqu64 zmm31{k1}, zmmword ptr [r10 + 1728]
    vpmadd52huq zmm4, zmm24, zmm28
    vpaddq zmm11, zmm11, zmm11
    vmovdqu64 zmm28, zmmword ptr [rsi + 320]
    vpmadd52huq zmm11, zmm28, zmm28
    vmovdqu64 zmmword ptr [r11 + 1728], zmm31
    vmovdqu64 zmmword ptr [r8 + 704], zmm11
    vpaddq zmm12, zmm12, zmm12
    vmovdqu64 zmm27, zmmword ptr [rsi + 384]
    vpmadd52luq zmm12, zmm27, zmm27
    vmovdqu64 zmmword ptr [r8 + 768], zmm12
    vmovdqu64 zmm30, zmmword ptr [r11 + 1792]
    vmovdqu64 zmm24, zmmword ptr [rsi + 384]
    vmovdqu64 zmm28, zmmword ptr [rsi + 448]
    vpmadd52luq zmm13, zmm24, zmm28
    vpmadd52huq zmm14, zmm24, zmm28
    vmovdqu64 zmm30{k1}, zmmword ptr [r10 + 1792]
    vmovdqu64 zmm27, zmmword ptr [rsi + 512]
    vpmadd52luq zmm14, zmm24, zmm27
    vpmadd52huq zmm15, zmm24, zmm27
    vmovdqu64 zmm28, zmmword ptr [rsi + 576]
    vmovdqu64 zmmword ptr [r11 + 1792], zmm30
    vpmadd52luq zmm15, zmm24, zmm28
    vpmadd52huq zmm16, zmm24, zmm28
    vmovdqu64 zmm27, zmmword ptr [rsi + 640]
    vpmadd52luq zmm16, zmm24, zmm27
    vpmadd52huq zmm17, zmm24, zmm27
    vmovdqu64 zmm31, zmmword ptr [r11 + 1856]
    vmovdqu64 zmm28, zmmword ptr [rsi + 704]
    vpmadd52luq zmm17, zmm24, zmm28
    vpmadd52huq zmm18, zmm24, zmm28
    vmovdqu64 zmm27, zmmword ptr [rsi + 768]
    vmovdqu64 zmm31{k1}, zmmword ptr [r10 + 1856]
    vpmadd52luq zmm18, zmm24, zmm27
    vpmadd52huq zmm19, zmm24, zmm27
    vmovdqu64 zmm28, zmmword ptr [rsi + 832]
    vpmadd52luq zmm19, zmm24, zmm28
    vpmadd52huq zmm20, zmm24, zmm28
    vmovdqu64 zmmword ptr [r11 + 1856], zmm31
    vmovdqu64 zmm27, zmmword ptr [rsi + 896]
    vpmadd52luq zmm20, zmm24, zmm27
    vpmadd52huq zmm0, zmm24, zmm27
    vmovdqu64 zmm28, zmmword ptr [rsi + 960]
    vmovdqu64 zmm30, zmmword ptr [r11 + 1920]
    vpmadd52luq zmm0, zmm24, zmm28
    vpmadd52huq zmm1, zmm24, zmm28
    vmovdqu64 zmm27, zmmword ptr [rsi + 1024]
    vpmadd52luq zmm1, zmm24, zmm27
    vpmadd52huq zmm2, zmm24, zmm27
    vmovdqu64 zmm30{k1}, zmmword ptr [r10 + 1920]
    vmovdqu64 zmm28, zmmword ptr [rsi + 1088]
    vpmadd52luq zmm2, zmm24, zmm28
    vpmadd52huq zmm3, zmm24, zmm28
    vmovdqu64 zmm27, zmmword ptr [rsi + 1152]
    vmovdqu64 zmmword ptr [r11 + 1920], zmm30
    vpmadd52luq zmm3, zmm24, zmm27
    vpmadd52huq zmm4, zmm24, zmm27
    vmovdqu64 zmm28, zmmword ptr [rsi + 1216]
    vpxor xmm5, xmm5, xmm5
    vpmadd52luq zmm4, zmm24, zmm28
    vmovdqu64 zmm31, zmmword ptr [r11 + 1984]
    vpmadd52huq zmm5, zmm24, zmm28
    vpaddq zmm13, zmm13, zmm13
    vmovdqu64 zmm28, zmmword ptr [rsi + 384]
    vpmadd52huq zmm13, zmm28, zmm28
    vmovdqu64 zmm31{k1}, zmmword ptr [r10 + 1984]
    vmovdqu64 zmmword ptr [r8 + 832], zmm13
    vpaddq zmm14, zmm14, zmm14
    vmovdqu64 zmm27, zmmword ptr [rsi + 448]
    vpmadd52luq zmm14, zmm27, zmm27
    vmovdqu64 zmmword ptr [r11 + 1984], zmm31
    vmovdqu64 zmmword ptr [r8 + 896], zmm14
    vmovdqu64 zmm24, zmmword ptr [rsi + 448]
    vmovdqu64 zmm27, zmmword ptr [rsi + 512]
    vpmadd52luq zmm15, zmm24, zmm27
    vpmadd52huq zmm16, zmm24, zmm27
    vmovdqu64 zmm30, zmmword ptr [r11 + 2048]
    vmovdqu64 zmm28, zmmword ptr [rsi + 576]
    vpmadd52luq zmm16, zmm24, zmm28
    vpmadd52huq zmm17, zmm24, zmm28
    vmovdqu64 zmm27, zmmword ptr [rsi + 640]
    vmovdqu64 zmm30{k1}, zmmword ptr [r10 + 2048]
    vpmadd52luq zmm17, zmm24, zmm27
    vpmadd52huq zmm18, zmm24, zmm27
    vmovdqu64 zmm28, zmmword ptr [rsi + 704]
    vpmadd52luq zmm18, zmm24, zmm28
    vpmadd52huq zmm19, zmm24, zmm28
    vmovdqu64 zmmword ptr [r11 + 2048], zmm30
    vmovdqu64 zmm27, zmmword ptr [rsi + 768]
    vpmadd52luq zmm19, zmm24, zmm27
    vpmadd52huq zmm20, zmm24, zmm27
    vmovdqu64 zmm28, zmmword ptr [rsi + 832]
    vmovdqu64 zmm31, zmmword ptr [r11 + 2112]
    vpmadd52luq zmm20, zmm24, zmm28
    vpmadd52huq zmm0, zmm24, zmm28
    vmovdqu64 zmm27, zmmword ptr [rsi + 896]
    vpmadd52luq zmm0, zmm24, zmm27
    vpmadd52huq zmm1, zmm24, zmm27
    vmovdqu64 zmm31{k1}, zmmword ptr [r10 + 2112]
    vmovdqu64 zmm28, zmmword ptr [rsi + 960]
    vpmadd52luq zmm1, zmm24, zmm28
    vpmadd52huq zmm2, zmm24, zmm28
    vmovdqu64 zmm27, zmmword ptr [rsi + 1024]
    vmovdqu64 zmmword ptr [r11 + 2112], zmm31
    vpmadd52luq zmm2, zmm24, zmm27
    vpmadd52huq zmm3, zmm24, zmm27
    vmovdqu64 zmm28, zmmword ptr [rsi + 1088]
    vpmadd52luq zmm3, zmm24, zmm28
    vpmadd52huq zmm4, zmm24, zmm28
    vmovdqu64 zmm30, zmmword ptr [r11 + 2176]
    vmovdqu64 zmm27, zmmword ptr [rsi + 1152]
    vpmadd52luq zmm4, zmm24, zmm27
    vpmadd52huq zmm5, zmm24, zmm27
    vmovdqu64 zmm28, zmmword ptr [rsi + 1216]
    vmovdqu64 zmm30{k1}, zmmword ptr [r10 + 2176]
    vpxor xmm6, xmm6, xmm6
    vpmadd52luq zmm5, zmm24, zmm28
    vpmadd52huq zmm6, zmm24, zmm28
    vpaddq zmm15, zmm15, zmm15
    vmovdqu64 zmmword ptr [r11 + 2176], zmm30
    vmovdqu64 zmm28, zmmword ptr [rsi + 448]
    vpmadd52huq zmm15, zmm28, zmm28
    vmovdqu64 zmmword ptr [r8 + 960], zmm15
    vpaddq zmm16, zmm16, zmm16
    vmovdqu64 zmm27, zmmword ptr [rsi + 512]
    vmovdqu64 zmm31, zmmword ptr [r11 + 2240]
    vpmadd52luq zmm16, zmm27, zmm27
    vmovdqu64 zmmword ptr [r8 + 1024], zmm16
    vmovdqu64 zmm24, zmmword ptr [rsi + 512]
    vmovdqu64 zmm28, zmmword ptr [rsi + 576]
    vmovdqu64 zmm31{k1}, zmmword ptr [r10 + 2240]
    vpmadd52luq zmm17, zmm24, zmm28
    vpmadd52huq zmm18, zmm24, zmm28
    vmovdqu64 zmm27, zmmword ptr [rsi + 640]
    vpmadd52luq zmm18, zmm24, zmm27
    vpmadd52huq zmm19, zmm24, zmm27
    vmovdqu64 zmmword ptr [r11 + 2240], zmm31
    vmovdqu64 zmm28, zmmword ptr [rsi + 704]
    vpmadd52luq zmm19, zmm24, zmm28
    vpmadd52huq zmm20, zmm24, zmm28
    vmovdqu64 zmm27, zmmword ptr [rsi + 768]
    vmovdqu64 zmm30, zmmword ptr [r11 + 2304]
    vpmadd52luq zmm20, zmm24, zmm27
    vpmadd52huq zmm0, zmm24, zmm27
    vmovdqu64 zmm28, zmmword ptr [rsi + 832]
    vpmadd52luq zmm0, zmm24, zmm28
    vpmadd52huq zmm1, zmm24, zmm28
    vmovdqu64 zmm30{k1}, zmmword ptr [r10 + 2304]
    vmovdqu64 zmm27, zmmword ptr [rsi + 896]
    vpmadd52luq zmm1, zmm24, zmm27
    vpmadd52huq zmm2, zmm24, zmm27
    vmovdqu64 zmm28, zmmword ptr [rsi + 960]
    vmovdqu64 zmmword ptr [r11 + 2304], zmm30
    vpmadd52luq zmm2, zmm24, zmm28
    vpmadd52huq zmm3, zmm24, zmm28
    vmovdqu64 zmm27, zmmword ptr [rsi + 1024]
    vpmadd52luq zmm3, zmm24, zmm27
    vpmadd52huq zmm4, zmm24, zmm27
    vmovdqu64 zmm31, zmmword ptr [r11 + 2368]
    vmovdqu64 zmm28, zmmword ptr [rsi + 1088]
    vpmadd52luq zmm4, zmm24, zmm28
    vpmadd52huq zmm5, zmm24, zmm28
    vmovdqu64 zmm27, zmmword ptr [rsi + 1152]
    vmovdqu64 zmm31{k1}, zmmword ptr [r10 + 2368]
    vpmadd52luq zmm5, zmm24, zmm27
    vpmadd52huq zmm6, zmm24, zmm27
    vmovdqu64 zmm28, zmmword ptr [rsi + 1216]
    vpxor xmm7, xmm7, xmm7
    vmovdqu64 zmmword ptr [r11 + 2368], zmm31
    vpmadd52luq zmm6, zmm24, zmm28
    vpmadd52huq zmm7, zmm24, zmm28
    vpaddq zmm17, zmm17, zmm17
    vmovdqu64 zmm28, zmmword ptr [rsi + 512]
    vpmadd52huq zmm17, zmm28, zmm28
    vmovdqu64 zmm30, zmmword ptr [r11 + 2432]
    vmovdqu64 zmmword ptr [r8 + 1088], zmm17
    vpaddq zmm18, zmm18, zmm18
    vmovdqu64 zmm27, zmmword ptr [rsi + 576]
    vpmadd52luq zmm18, zmm27, zmm27
    vmovdqu64 zmm30{k1}, zmmword ptr [r10 + 2432]
    vmovdqu64 zmmword ptr [r8 + 1152], zmm18
    vmovdqu64 zmm24, zmmword ptr [rsi + 576]
    vmovdqu64 zmm27, zmmword ptr [rsi + 640]
    vpmadd52luq zmm19, zmm24, zmm27
    vpmadd52huq zmm20, zmm24, zmm27
    vmovdqu64 zmmword ptr [r11 + 2432], zmm30
    vmovdqu64 zmm28, zmmword ptr [rsi + 704]
    vpmadd52luq zmm20, zmm24, zmm28
    vpmadd52huq zmm0, zmm24, zmm28
    vmovdqu64 zmm27, zmmword ptr [rsi + 768]
    vmovdqu64 zmm31, zmmword ptr [r11 + 2496]
    vpmadd52luq zmm0, zmm24, zmm27
    vpmadd52huq zmm1, zmm24, zmm27
    vmovdqu64 zmm28, zmmword ptr [rsi + 832]
    vpmadd52luq zmm1, zmm24, zmm28
    vpmadd52huq zmm2, zmm24, zmm28
    vmovdqu64 zmm31{k1}, zmmword ptr [r10 + 2496]
    vmovdqu64 zmm27, zmmword ptr [rsi + 896]
    vpmadd52luq zmm2, zmm24, zmm27
    vpmadd52huq zmm3, zmm24, zmm27
    vmovdqu64 zmm28, zmmword ptr [rsi + 960]
    vmovdqu64 zmmword ptr [r11 + 2496], zmm31
    vpmadd52luq zmm3, zmm24, zmm28
    vpmadd52huq zmm4, zmm24, zmm28
    vmovdqu64 zmm27, zmmword ptr [rsi + 1024]
    vpmadd52luq zmm4, zmm24, zmm27
    add r10, 2560
    vpmadd52huq zmm5, zmm24, zmm27
    vmovdqu64 zmm28, zmmword ptr [rsi + 1088]
    vpmadd52luq zmm5, zmm24, zmm28
    vpmadd52huq zmm6, zmm24, zmm28
    vmovdqu64 zmm27, zmmword ptr [rsi + 1152]
    vpcmpeqq k2, zmm29, qword ptr [rax + 8]{1to8}
    vpmadd52luq zmm6, zmm24, zmm27
    vpmadd52huq zmm7, zmm24, zmm27
    vmovdqu64 zmm28, zmmword ptr [rsi + 1216]
    vpxor xmm8, xmm8, xmm8
    vmovdqu64 zmm30, zmmword ptr [r11]
    vpmadd52luq zmm7, zmm24, zmm28
    vpmadd52huq zmm8, zmm24, zmm28
    vpaddq zmm19, zmm19, zmm19
    vmovdqu64 zmm28, zmmword ptr [rsi + 576]
    vpmadd52huq zmm19, zmm28, zmm28
    vmovdqu64 zmm30{k2}, zmmword ptr [r10]
    vmovdqu64 zmmword ptr [r8 + 1216], zmm19
    vpaddq zmm20, zmm20, zmm20
    vmovdqu64 zmm27, zmmword ptr [rsi + 640]
    vpmadd52luq zmm20, zmm27, zmm27
    vmovdqu64 zmmword ptr [r11], zmm30
    vmovdqu64 zmmword ptr [r8 + 1280], zmm20
    vmovdqu64 zmm24, zmmword ptr [rsi + 640]
    vmovdqu64 zmm28, zmmword ptr [rsi + 704]
    vpmadd52luq zmm0, zmm24, zmm28
    vpmadd52huq zmm1, zmm24, zmm28
    vmovdqu64 zmm31, zmmword ptr [r11 + 64]
    vmovdqu64 zmm27, zmmword ptr [rsi + 768]
    vpmadd52luq zmm1, zmm24, zmm27
    vpmadd52huq zmm2, zmm24, zmm27
    vmovdqu64 zmm28, zmmword ptr [rsi + 832]
    vmovdqu64 zmm31{k2}, zmmword ptr [r10 + 64]
    vpmadd52luq zmm2, zmm24, zmm28
    vpmadd52huq zmm3, zmm24, zmm28
    vmovdqu64 zmm27, zmmword ptr [rsi + 896]
    vpmadd52luq zmm3, zmm24, zmm27
    vpmadd52huq zmm4, zmm24, zmm27
    vmovdqu64 zmmword ptr [r11 + 64], zmm31
    vmovdqu64 zmm28, zmmword ptr [rsi + 960]
    vpmadd52luq zmm4, zmm24, zmm28
    vpmadd52huq zmm5, zmm24, zmm28
    vmovdqu64 zmm27, zmmword ptr [rsi + 1024]
    vmovdqu64 zmm30, zmmword ptr [r11 + 128]
    vpmadd52luq zmm5, zmm24, zmm27
    vpmadd52huq zmm6, zmm24, zmm27
    vmovdqu64 zmm28, zmmword ptr [rsi + 1088]
    vpmadd52luq zmm6, zmm24, zmm28
    vmovdqu64 zmm30{k2}, zmmword ptr [r10 + 128]
    vpmadd52huq zmm7, zmm24, zmm28
    vmovdqu64 zmm27, zmmword ptr [rsi + 1152]
    vpmadd52luq zmm7, zmm24, zmm27
    vpmadd52huq zmm8, zmm24, zmm27
    vmovdqu64 zmm28, zmmword ptr [rsi + 1216]
    vmovdqu64 zmmword ptr [r11 + 128], zmm30
    vpxor xmm9, xmm9, xmm9
    vpmadd52luq zmm8, zmm24, zmm28
    vpmadd52huq zmm9, zmm24, zmm28
    vpaddq zmm0, zmm0, zmm0
    vmovdqu64 zmm31, zmmword ptr [r11 + 192]
    vmovdqu64 zmm28, zmmword ptr [rsi + 640]
    vpmadd52huq zmm0, zmm28, zmm28
    vmovdqu64 zmmword ptr [r8 + 1344], zmm0
    vpaddq zmm1, zmm1, zmm1
    vmovdqu64 zmm27, zmmword ptr [rsi + 704]
    vmovdqu64 zmm31{k2}, zmmword ptr [r10 + 192]
    vpmadd52luq zmm1, zmm27, zmm27
    vmovdqu64 zmmword ptr [r8 + 1408], zmm1
    vmovdqu64 zmm24, zmmword ptr [rsi + 704]
    vmovdqu64 zmm27, zmmword ptr [rsi + 768]
    vmovdqu64 zmmword ptr [r11 + 192], zmm31
    vpmadd52luq zmm2, zmm24, zmm27
    vpmadd52huq zmm3, zmm24, zmm27
    vmovdqu64 zmm28, zmmword ptr [rsi + 832]
    vpmadd52luq zmm3, zmm24, zmm28
    vpmadd52huq zmm4, zmm24, zmm28
    vmovdqu64 zmm30, zmmword ptr [r11 + 256]
    vmovdqu64 zmm27, zmmword ptr [rsi + 896]
    vpmadd52luq zmm4, zmm24, zmm27
    vpmadd52huq zmm5, zmm24, zmm27
    vmovdqu64 zmm28, zmmword ptr [rsi + 960]
    vmovdqu64 zmm30{k2}, zmmword ptr [r10 + 256]
    vpmadd52luq zmm5, zmm24, zmm28
    vpmadd52huq zmm6, zmm24, zmm28
    vmovdqu64 zmm27, zmmword ptr [rsi + 1024]
    vpmadd52luq zmm6, zmm24, zmm27
    vpmadd52huq zmm7, zmm24, zmm27
    vmovdqu64 zmmword ptr [r11 + 256], zmm30
    vmovdqu64 zmm28, zmmword ptr [rsi + 1088]
    vpmadd52luq zmm7, zmm24, zmm28
    vpmadd52huq zmm8, zmm24, zmm28
    vmovdqu64 zmm27, zmmword ptr [rsi + 1152]
    vmovdqu64 zmm31, zmmword ptr [r11 + 320]
    vpmadd52luq zmm8, zmm24, zmm27
    vpmadd52huq zmm9, zmm24, zmm27
    vmovdqu64 zmm28, zmmword ptr [rsi + 1216]
    vpxor xmm10, xmm10, xmm10
    vmovdqu64 zmm31{k2}, zmmword ptr [r10 + 320]
    vpmadd52luq zmm9, zmm24, zmm28
    vpmadd52huq zmm10, zmm24, zmm28
    vpaddq zmm2, zmm2, zmm2
    vmovdqu64 zmm28, zmmword ptr [rsi + 704]
    vpmadd52huq zmm2, zmm28, zmm28
    vmovdqu64 zmmword ptr [r11 + 320], zmm31
    vmovdqu64 zmmword ptr [r8 + 1472], zmm2
    vpaddq zmm3, zmm3, zmm3
    vmovdqu64 zmm27, zmmword ptr [rsi + 768]
    vpmadd52luq zmm3, zmm27, zmm27
    vmovdqu64 zmm30, zmmword ptr [r11 + 384]
    vmovdqu64 zmmword ptr [r8 + 1536], zmm3
    vmovdqu64 zmm24, zmmword ptr [rsi + 768]
    vmovdqu64 zmm28, zmmword ptr [rsi + 832]
    vpmadd52luq zmm4, zmm24, zmm28
    vpmadd52huq zmm5, zmm24, zmm28
    vmovdqu64 zmm30{k2}, zmmword ptr [r10 + 384]
    vmovdqu64 zmm27, zmmword ptr [rsi + 896]
    vpmadd52luq zmm5, zmm24, zmm27
    vpmadd52huq zmm6, zmm24, zmm27
    vmovdqu64 zmm28, zmmword ptr [rsi + 960]
    vmovdqu64 zmmword ptr [r11 + 384], zmm30
    vpmadd52luq zmm6, zmm24, zmm28
    vpmadd52huq zmm7, zmm24, zmm28
    vmovdqu64 zmm27, zmmword ptr [rsi + 1024]
    vpmadd52luq zmm7, zmm24, zmm27
    vpmadd52huq zmm8, zmm24, zmm27
    vmovdqu64 zmm31, zmmword ptr [r11 + 448]
    vmovdqu64 zmm28, zmmword ptr [rsi + 1088]
    vpmadd52luq zmm8, zmm24, zmm28
    vpmadd52huq zmm9, zmm24, zmm28
    vmovdqu64 zmm27, zmmword ptr [rsi + 1152]
    vmovdqu64 zmm31{k2}, zmmword ptr [r10 + 448]
    vpmadd52luq zmm9, zmm24, zmm27
    vpmadd52huq zmm10, zmm24, zmm27
    vmovdqu64 zmm28, zmmword ptr [rsi + 1216]
    vpxor xmm11, xmm11, xmm11
    vpmadd52luq zmm10, zmm24, zmm28
    vmovdqu64 zmmword ptr [r11 + 448], zmm31
    vpmadd52huq zmm11, zmm24, zmm28
    vpaddq zmm4, zmm4, zmm4
    vmovdqu64 zmm28, zmmword ptr [rsi + 768]
    vpmadd52huq zmm4, zmm28, zmm28
    vmovdqu64 zmm30, zmmword ptr [r11 + 512]
    vmovdqu64 zmmword ptr [r8 + 1600], zmm4
    vpaddq zmm5, zmm5, zmm5
    vmovdqu64 zmm27, zmmword ptr [rsi + 832]
    vpmadd52luq zmm5, zmm27, zmm27
    vmovdqu64 zmm30{k2}, zmmword ptr [r10 + 512]
    vmovdqu64 zmmword ptr [r8 + 1664], zmm5
    vmovdqu64 zmm24, zmmword ptr [rsi + 832]
    vmovdqu64 zmm27, zmmword ptr [rsi + 896]
    vpmadd52luq zmm6, zmm24, zmm27
    vpmadd52huq zmm7, zmm24, zmm27
    vmovdqu64 zmmword ptr [r11 + 512], zmm30
    vmovdqu64 zmm28, zmmword ptr [rsi + 960]
    vpmadd52luq zmm7, zmm24, zmm28
    vpmadd52huq zmm8, zmm24, zmm28
    vmovdqu64 zmm27, zmmword ptr [rsi + 1024]
    vmovdqu64 zmm31, zmmword ptr [r11 + 576]
    vpmadd52luq zmm8, zmm24, zmm27
    vpmadd52huq zmm9, zmm24, zmm27
    vmovdqu64 zmm28, zmmword ptr [rsi + 1088]
    vpmadd52luq zmm9, zmm24, zmm28
    vpmadd52huq zmm10, zmm24, zmm28
    vmovdqu64 zmm31{k2}, zmmword ptr [r10 + 576]
    vmovdqu64 zmm27, zmmword ptr [rsi + 1152]
    vpmadd52luq zmm10, zmm24, zmm27
    vpmadd52huq zmm11, zmm24, zmm27
    vmovdqu64 zmm28, zmmword ptr [rsi + 1216]
    vmovdqu64 zmmword ptr [r11 + 576], zmm31
    vpxor xmm12, xmm12, xmm12
    vpmadd52luq zmm11, zmm24, zmm28
    vpmadd52huq zmm12, zmm24, zmm28
    vpaddq zmm6, zmm6, zmm6
    vmovdqu64 zmm28, zmmword ptr [rsi + 832]
    vmovdqu64 zmm30, zmmword ptr [r11 + 640]
    vpmadd52huq zmm6, zmm28, zmm28
    vmovdqu64 zmmword ptr [r8 + 1728], zmm6
    vpaddq zmm7, zmm7, zmm7
    vmovdqu64 zmm27, zmmword ptr [rsi + 896]
    vmovdqu64 zmm30{k2}, zmmword ptr [r10 + 640]
    vpmadd52luq zmm7, zmm27, zmm27
    vmovdqu64 zmmword ptr [r8 + 1792], zmm7
    vmovdqu64 zmm24, zmmword ptr [rsi + 896]
    vmovdqu64 zmm28, zmmword ptr [rsi + 960]
    vpmadd52luq zmm8, zmm24, zmm28
    vmovdqu64 zmmword ptr [r11 + 640], zmm30
    vpmadd52huq zmm9, zmm24, zmm28
    vmovdqu64 zmm27, zmmword ptr [rsi + 1024]
    vpmadd52luq zmm9, zmm24, zmm27
    vpmadd52huq zmm10, zmm24, zmm27
    vmovdqu64 zmm31, zmmword ptr [r11 + 704]
    vmovdqu64 zmm28, zmmword ptr [rsi + 1088]
    vpmadd52luq zmm10, zmm24, zmm28
    vpmadd52huq zmm11, zmm24, zmm28
    vmovdqu64 zmm27, zmmword ptr [rsi + 1152]
    vmovdqu64 zmm31{k2}, zmmword ptr [r10 + 704]
    vpmadd52luq zmm11, zmm24, zmm27
    vpmadd52huq zmm12, zmm24, zmm27
    vmovdqu64 zmm28, zmmword ptr [rsi + 1216]
    vpxor xmm13, xmm13, xmm13
    vpmadd52luq zmm12, zmm24, zmm28
    vmovdqu64 zmmword ptr [r11 + 704], zmm31
    vpmadd52huq zmm13, zmm24, zmm28
    vpaddq zmm8, zmm8, zmm8
    vmovdqu64 zmm28, zmmword ptr [rsi + 896]
    vpmadd52huq zmm8, zmm28, zmm28
    vmovdqu64 zmm30, zmmword ptr [r11 + 768]
    vmovdqu64 zmmword ptr [r8 + 1856], zmm8
    vpaddq zmm9, zmm9, zmm9
    vmovdqu64 zmm27, zmmword ptr [rsi + 960]
    vpmadd52luq zmm9, zmm27, zmm27
    vmovdqu64 zmmword ptr [r8 + 1920], zmm9
    vmovdqu64 zmm30{k2}, zmmword ptr [r10 + 768]
    vmovdqu64 zmm24, zmmword ptr [rsi + 960]
    vmovdqu64 zmm27, zmmword ptr [rsi + 1024]
    vpmadd52luq zmm10, zmm24, zmm27
    vpmadd52huq zmm11, zmm24, zmm27
    vmovdqu64 zmmword ptr [r11 + 768], zmm30
    vmovdqu64 zmm28, zmmword ptr [rsi + 1088]
    vpmadd52luq zmm11, zmm24, zmm28
    vpmadd52huq zmm12, zmm24, zmm28
    vmovdqu64 zmm27, zmmword ptr [rsi + 1152]
    vpmadd52luq zmm12, zmm24, zmm27
    vmovdqu64 zmm31, zmmword ptr [r11 + 832]
    vpmadd52huq zmm13, zmm24, zmm27
    vmovdqu64 zmm28, zmmword ptr [rsi + 1216]
    vpxor xmm14, xmm14, xmm14
    vpmadd52luq zmm13, zmm24, zmm28
    vmovdqu64 zmm31{k2}, zmmword ptr [r10 + 832]
    vpmadd52huq zmm14, zmm24, zmm28
    vpaddq zmm10, zmm10, zmm10
    vmovdqu64 zmm28, zmmword ptr [rsi + 960]
    vpmadd52huq zmm10, zmm28, zmm28
    vmovdqu64 zmmword ptr [r8 + 1984], zmm10
    vmovdqu64 zmmword ptr [r11 + 832], zmm31
    vpaddq zmm11, zmm11, zmm11
    vmovdqu64 zmm27, zmmword ptr [rsi + 1024]
    vpmadd52luq zmm11, zmm27, zmm27
    vmovdqu64 zmmword ptr [r8 + 2048], zmm11
    vmovdqu64 zmm30, zmmword ptr [r11 + 896]
    vmovdqu64 zmm24, zmmword ptr [rsi + 1024]
    vmovdqu64 zmm28, zmmword ptr [rsi + 1088]
    vpmadd52luq zmm12, zmm24, zmm28
    vpmadd52huq zmm13, zmm24, zmm28
    vmovdqu64 zmm30{k2}, zmmword ptr [r10 + 896]
    vmovdqu64 zmm27, zmmword ptr [rsi + 1152]
    vpmadd52luq zmm13, zmm24, zmm27
    vpmadd52huq zmm14, zmm24, zmm27
    vmovdqu64 zmm28, zmmword ptr [rsi + 1216]
    vpxor xmm15, xmm15, xmm15
    vmovdqu64 zmmword ptr [r11 + 896], zmm30
    vpmadd52luq zmm14, zmm24, zmm28
    vpmadd52huq zmm15, zmm24, zmm28
    vpaddq zmm12, zmm12, zmm12
    vmovdqu64 zmm28, zmmword ptr [rsi + 1024]
    vmovdqu64 zmm31, zmmword ptr [r11 + 960]
    vpmadd52huq zmm12, zmm28, zmm28
    vmovdqu64 zmmword ptr [r8 + 2112], zmm12
    vpaddq zmm13, zmm13, zmm13
    vmovdqu64 zmm27, zmmword ptr [rsi + 1088]
    vpmadd52luq zmm13, zmm27, zmm27
    vmovdqu64 zmm31{k2}, zmmword ptr [r10 + 960]
    vmovdqu64 zmmword ptr [r8 + 2176], zmm13
    vmovdqu64 zmm24, zmmword ptr [rsi + 1088]
    vmovdqu64 zmm27, zmmword ptr [rsi + 1152]
    vpmadd52luq zmm14, zmm24, zmm27
    vmovdqu64 zmmword ptr [r11 + 960], zmm31
    vpmadd52huq zmm15, zmm24, zmm27
    vmovdqu64 zmm28, zmmword ptr [rsi + 1216]
    vpxord xmm16, xmm16, xmm16
    vpmadd52luq zmm15, zmm24, zmm28
    vpmadd52huq zmm16, zmm24, zmm28
    vmovdqu64 zmm30, zmmword ptr [r11 + 1024]
    vpaddq zmm14, zmm14, zmm14
    vmovdqu64 zmm28, zmmword ptr [rsi + 1088]
    vpmadd52huq zmm14, zmm28, zmm28
    vmovdqu64 zmmword ptr [r8 + 2240], zmm14
    vmovdqu64 zmm30{k2}, zmmword ptr [r10 + 1024]
    vpaddq zmm15, zmm15, zmm15
    vmovdqu64 zmm27, zmmword ptr [rsi + 1152]
    vpmadd52luq zmm15, zmm27, zmm27
    vmovdqu64 zmmword ptr [r8 + 2304], zmm15
    vmovdqu64 zmm24, zmmword ptr [rsi + 1152]
    vmovdqu64 zmmword ptr [r11 + 1024], zmm30
    vmovdqu64 zmm28, zmmword ptr [rsi + 1216]
    vpxord xmm17, xmm17, xmm17
    vpmadd52luq zmm16, zmm24, zmm28
    vpmadd52huq zmm17, zmm24, zmm28
    vmovdqu64 zmm31, zmmword ptr [r11 + 1088]
    vpaddq zmm16, zmm16, zmm16
    vmovdqu64 zmm28, zmmword ptr [rsi + 1152]
    vpmadd52huq zmm16, zmm28, zmm28
    vmovdqu64 zmmword ptr [r8 + 2368], zmm16
    vmovdqu64 zmm31{k2}, zmmword ptr [r10 + 1088]
    vpaddq zmm17, zmm17, zmm17
    vmovdqu64 zmm27, zmmword ptr [rsi + 1216]
    vpmadd52luq zmm17, zmm27, zmm27
    vmovdqu64 zmmword ptr [r8 + 2432], zmm17
    vpxord xmm18, xmm18, xmm18
    vmovdqu64 zmmword ptr [r11 + 1088], zmm31
    vmovdqu64 zmm28, zmmword ptr [rsi + 1216]
    vpmadd52huq zmm18, zmm28, zmm28
    vmovdqu64 zmmword ptr [r8 + 2496], zmm18
    vmovdqu64 zmm0, zmmword ptr [r8]
    vmovdqu64 zmm30, zmmword ptr [r11 + 1152]
    vmovdqu64 zmm1, zmmword ptr [r8 + 64]
    vmovdqu64 zmm2, zmmword ptr [r8 + 128]
    vmovdqu64 zmm3, zmmword ptr [r8 + 192]
    vmovdqu64 zmm4, zmmword ptr [r8 + 256]
    vmovdqu64 zmm5, zmmword ptr [r8 + 320]
    vmovdqu64 zmm30{k2}, zmmword ptr [r10 + 1152]
    vmovdqu64 zmm6, zmmword ptr [r8 + 384]
    vmovdqu64 zmm7, zmmword ptr [r8 + 448]
    vmovdqu64 zmm8, zmmword ptr [r8 + 512]
    vmovdqu64 zmm9, zmmword ptr [r8 + 576]
    vmovdqu64 zmmword ptr [r11 + 1152], zmm30
    vmovdqu64 zmm10, zmmword ptr [r8 + 640]
    vmovdqu64 zmm11, zmmword ptr [r8 + 704]
    vmovdqu64 zmm12, zmmword ptr [r8 + 768]
    vmovdqu64 zmm13, zmmword ptr [r8 + 832]
    vmovdqu64 zmm14, zmmword ptr [r8 + 896]
    vmovdqu64 zmm31, zmmword ptr [r11 + 1216]
    vmovdqu64 zmm15, zmmword ptr [r8 + 960]
    vmovdqu64 zmm16, zmmword ptr [r8 + 1024]
    vmovdqu64 zmm17, zmmword ptr [r8 + 1088]
    vmovdqu64 zmm18, zmmword ptr [r8 + 1152]
    vmovdqu64 zmm31{k2}, zmmword ptr [r10 + 1216]
    vmovdqu64 zmm19, zmmword ptr [r8 + 1216]
    vmovdqu64 zmm20, zmmword ptr [r8 + 1280]
    vpxord xmm21, xmm21, xmm21
    vpmadd52luq zmm21, zmm0, zmm23
    vmovdqu64 zmmword ptr [r11 + 1216], zmm31
    vpaddq zmm0, zmm0, zmm22
    vpsrlq zmm0, zmm0, 52
    vpaddq zmm1, zmm1, zmm0
    vmovdqu64 zmm25, zmmword ptr [rcx + 64]
    vpmadd52huq zmm1, zmm21, zmm25
    vmovdqu64 zmm30, zmmword ptr [r11 + 1280]
    vmovdqu64 zmm26, zmmword ptr [rcx + 128]
    vpmadd52luq zmm1, zmm21, zmm26
    vpmadd52huq zmm2, zmm21, zmm26
    vmovdqu64 zmm25, zmmword ptr [rcx + 192]
    vmovdqu64 zmm30{k2}, zmmword ptr [r10 + 1280]
    vpmadd52luq zmm2, zmm21, zmm25
    vpmadd52huq zmm3, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 256]
    vpmadd52luq zmm3, zmm21, zmm26
    vpmadd52huq zmm4, zmm21, zmm26
    vmovdqu64 zmmword ptr [r11 + 1280], zmm30
    vmovdqu64 zmm25, zmmword ptr [rcx + 320]
    vpmadd52luq zmm4, zmm21, zmm25
    vpmadd52huq zmm5, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 384]
    vmovdqu64 zmm31, zmmword ptr [r11 + 1344]
    vpmadd52luq zmm5, zmm21, zmm26
    vpmadd52huq zmm6, zmm21, zmm26
    vmovdqu64 zmm25, zmmword ptr [rcx + 448]
    vpmadd52luq zmm6, zmm21, zmm25
    vpmadd52huq zmm7, zmm21, zmm25
    vmovdqu64 zmm31{k2}, zmmword ptr [r10 + 1344]
    vmovdqu64 zmm26, zmmword ptr [rcx + 512]
    vpmadd52luq zmm7, zmm21, zmm26
    vpmadd52huq zmm8, zmm21, zmm26
    vmovdqu64 zmm25, zmmword ptr [rcx + 576]
    vmovdqu64 zmmword ptr [r11 + 1344], zmm31
    vpmadd52luq zmm8, zmm21, zmm25
    vpmadd52huq zmm9, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 640]
    vpmadd52luq zmm9, zmm21, zmm26
    vpmadd52huq zmm10, zmm21, zmm26
    vmovdqu64 zmm30, zmmword ptr [r11 + 1408]
    vmovdqu64 zmm25, zmmword ptr [rcx + 704]
    vpmadd52luq zmm10, zmm21, zmm25
    vpmadd52huq zmm11, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 768]
    vmovdqu64 zmm30{k2}, zmmword ptr [r10 + 1408]
    vpmadd52luq zmm11, zmm21, zmm26
    vpmadd52huq zmm12, zmm21, zmm26
    vmovdqu64 zmm25, zmmword ptr [rcx + 832]
    vpmadd52luq zmm12, zmm21, zmm25
    vmovdqu64 zmmword ptr [r11 + 1408], zmm30
    vpmadd52huq zmm13, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 896]
    vpmadd52luq zmm13, zmm21, zmm26
    vpmadd52huq zmm14, zmm21, zmm26
    vmovdqu64 zmm25, zmmword ptr [rcx + 960]
    vmovdqu64 zmm31, zmmword ptr [r11 + 1472]
    vpmadd52luq zmm14, zmm21, zmm25
    vpmadd52huq zmm15, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 1024]
    vpmadd52luq zmm15, zmm21, zmm26
    vmovdqu64 zmm31{k2}, zmmword ptr [r10 + 1472]
    vpmadd52huq zmm16, zmm21, zmm26
    vmovdqu64 zmm25, zmmword ptr [rcx + 1088]
    vpmadd52luq zmm16, zmm21, zmm25
    vpmadd52huq zmm17, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 1152]
    vmovdqu64 zmmword ptr [r11 + 1472], zmm31
    vpmadd52luq zmm17, zmm21, zmm26
    vpmadd52huq zmm18, zmm21, zmm26
    vmovdqu64 zmm25, zmmword ptr [rcx + 1216]
    vpmadd52luq zmm18, zmm21, zmm25
    vmovdqu64 zmm30, zmmword ptr [r11 + 1536]
    vpmadd52huq zmm19, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 1280]
    vpmadd52luq zmm19, zmm21, zmm26
    vpmadd52huq zmm20, zmm21, zmm26
    vmovdqu64 zmm0, zmmword ptr [r8 + 1344]
    vmovdqu64 zmm30{k2}, zmmword ptr [r10 + 1536]
    vpxord xmm21, xmm21, xmm21
    vpmadd52luq zmm21, zmm1, zmm23
    vpaddq zmm1, zmm1, zmm22
    vpsrlq zmm1, zmm1, 52
    vmovdqu64 zmmword ptr [r11 + 1536], zmm30
    vpaddq zmm2, zmm2, zmm1
    vmovdqu64 zmm25, zmmword ptr [rcx + 64]
    vpmadd52huq zmm2, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 128]
    vpmadd52luq zmm2, zmm21, zmm26
    vmovdqu64 zmm31, zmmword ptr [r11 + 1600]
    vpmadd52huq zmm3, zmm21, zmm26
    vmovdqu64 zmm25, zmmword ptr [rcx + 192]
    vpmadd52luq zmm3, zmm21, zmm25
    vpmadd52huq zmm4, zmm21, zmm25
    vmovdqu64 zmm31{k2}, zmmword ptr [r10 + 1600]
    vmovdqu64 zmm26, zmmword ptr [rcx + 256]
    vpmadd52luq zmm4, zmm21, zmm26
    vpmadd52huq zmm5, zmm21, zmm26
    vmovdqu64 zmm25, zmmword ptr [rcx + 320]
    vmovdqu64 zmmword ptr [r11 + 1600], zmm31
    vpmadd52luq zmm5, zmm21, zmm25
    vpmadd52huq zmm6, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 384]
    vpmadd52luq zmm6, zmm21, zmm26
    vpmadd52huq zmm7, zmm21, zmm26
    vmovdqu64 zmm30, zmmword ptr [r11 + 1664]
    vmovdqu64 zmm25, zmmword ptr [rcx + 448]
    vpmadd52luq zmm7, zmm21, zmm25
    vpmadd52huq zmm8, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 512]
    vmovdqu64 zmm30{k2}, zmmword ptr [r10 + 1664]
    vpmadd52luq zmm8, zmm21, zmm26
    vpmadd52huq zmm9, zmm21, zmm26
    vmovdqu64 zmm25, zmmword ptr [rcx + 576]
    vpmadd52luq zmm9, zmm21, zmm25
    vpmadd52huq zmm10, zmm21, zmm25
    vmovdqu64 zmmword ptr [r11 + 1664], zmm30
    vmovdqu64 zmm26, zmmword ptr [rcx + 640]
    vpmadd52luq zmm10, zmm21, zmm26
    vpmadd52huq zmm11, zmm21, zmm26
    vmovdqu64 zmm25, zmmword ptr [rcx + 704]
    vmovdqu64 zmm31, zmmword ptr [r11 + 1728]
    vpmadd52luq zmm11, zmm21, zmm25
    vpmadd52huq zmm12, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 768]
    vpmadd52luq zmm12, zmm21, zmm26
    vpmadd52huq zmm13, zmm21, zmm26
    vmovdqu64 zmm31{k2}, zmmword ptr [r10 + 1728]
    vmovdqu64 zmm25, zmmword ptr [rcx + 832]
    vpmadd52luq zmm13, zmm21, zmm25
    vpmadd52huq zmm14, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 896]
    vmovdqu64 zmmword ptr [r11 + 1728], zmm31
    vpmadd52luq zmm14, zmm21, zmm26
    vpmadd52huq zmm15, zmm21, zmm26
    vmovdqu64 zmm25, zmmword ptr [rcx + 960]
    vpmadd52luq zmm15, zmm21, zmm25
    vpmadd52huq zmm16, zmm21, zmm25
    vmovdqu64 zmm30, zmmword ptr [r11 + 1792]
    vmovdqu64 zmm26, zmmword ptr [rcx + 1024]
    vpmadd52luq zmm16, zmm21, zmm26
    vpmadd52huq zmm17, zmm21, zmm26
    vmovdqu64 zmm25, zmmword ptr [rcx + 1088]
    vmovdqu64 zmm30{k2}, zmmword ptr [r10 + 1792]
    vpmadd52luq zmm17, zmm21, zmm25
    vpmadd52huq zmm18, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 1152]
    vpmadd52luq zmm18, zmm21, zmm26
    vmovdqu64 zmmword ptr [r11 + 1792], zmm30
    vpmadd52huq zmm19, zmm21, zmm26
    vmovdqu64 zmm25, zmmword ptr [rcx + 1216]
    vpmadd52luq zmm19, zmm21, zmm25
    vpmadd52huq zmm20, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 1280]
    vmovdqu64 zmm31, zmmword ptr [r11 + 1856]
    vpmadd52luq zmm20, zmm21, zmm26
    vpmadd52huq zmm0, zmm21, zmm26
    vmovdqu64 zmm1, zmmword ptr [r8 + 1408]
    vpxord xmm21, xmm21, xmm21
    vmovdqu64 zmm31{k2}, zmmword ptr [r10 + 1856]
    vpmadd52luq zmm21, zmm2, zmm23
    vpaddq zmm2, zmm2, zmm22
    vpsrlq zmm2, zmm2, 52
    vpaddq zmm3, zmm3, zmm2
    vmovdqu64 zmm25, zmmword ptr [rcx + 64]
    vmovdqu64 zmmword ptr [r11 + 1856], zmm31
    vpmadd52huq zmm3, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 128]
    vpmadd52luq zmm3, zmm21, zmm26
    vpmadd52huq zmm4, zmm21, zmm26
    vmovdqu64 zmm30, zmmword ptr [r11 + 1920]
    vmovdqu64 zmm25, zmmword ptr [rcx + 192]
    vpmadd52luq zmm4, zmm21, zmm25
    vpmadd52huq zmm5, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 256]
    vpmadd52luq zmm5, zmm21, zmm26
    vmovdqu64 zmm30{k2}, zmmword ptr [r10 + 1920]
    vpmadd52huq zmm6, zmm21, zmm26
    vmovdqu64 zmm25, zmmword ptr [rcx + 320]
    vpmadd52luq zmm6, zmm21, zmm25
    vpmadd52huq zmm7, zmm21, zmm25
    vmovdqu64 zmmword ptr [r11 + 1920], zmm30
    vmovdqu64 zmm26, zmmword ptr [rcx + 384]
    vpmadd52luq zmm7, zmm21, zmm26
    vpmadd52huq zmm8, zmm21, zmm26
    vmovdqu64 zmm25, zmmword ptr [rcx + 448]
    vpmadd52luq zmm8, zmm21, zmm25
    vmovdqu64 zmm31, zmmword ptr [r11 + 1984]
    vpmadd52huq zmm9, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 512]
    vpmadd52luq zmm9, zmm21, zmm26
    vpmadd52huq zmm10, zmm21, zmm26
    vmovdqu64 zmm31{k2}, zmmword ptr [r10 + 1984]
    vmovdqu64 zmm25, zmmword ptr [rcx + 576]
    vpmadd52luq zmm10, zmm21, zmm25
    vpmadd52huq zmm11, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 640]
    vmovdqu64 zmmword ptr [r11 + 1984], zmm31
    vpmadd52luq zmm11, zmm21, zmm26
    vpmadd52huq zmm12, zmm21, zmm26
    vmovdqu64 zmm25, zmmword ptr [rcx + 704]
    vpmadd52luq zmm12, zmm21, zmm25
    vpmadd52huq zmm13, zmm21, zmm25
    vmovdqu64 zmm30, zmmword ptr [r11 + 2048]
    vmovdqu64 zmm26, zmmword ptr [rcx + 768]
    vpmadd52luq zmm13, zmm21, zmm26
    vpmadd52huq zmm14, zmm21, zmm26
    vmovdqu64 zmm25, zmmword ptr [rcx + 832]
    vmovdqu64 zmm30{k2}, zmmword ptr [r10 + 2048]
    vpmadd52luq zmm14, zmm21, zmm25
    vpmadd52huq zmm15, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 896]
    vpmadd52luq zmm15, zmm21, zmm26
    vpmadd52huq zmm16, zmm21, zmm26
    vmovdqu64 zmmword ptr [r11 + 2048], zmm30
    vmovdqu64 zmm25, zmmword ptr [rcx + 960]
    vpmadd52luq zmm16, zmm21, zmm25
    vpmadd52huq zmm17, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 1024]
    vmovdqu64 zmm31, zmmword ptr [r11 + 2112]
    vpmadd52luq zmm17, zmm21, zmm26
    vpmadd52huq zmm18, zmm21, zmm26
    vmovdqu64 zmm25, zmmword ptr [rcx + 1088]
    vpmadd52luq zmm18, zmm21, zmm25
    vpmadd52huq zmm19, zmm21, zmm25
    vmovdqu64 zmm31{k2}, zmmword ptr [r10 + 2112]
    vmovdqu64 zmm26, zmmword ptr [rcx + 1152]
    vpmadd52luq zmm19, zmm21, zmm26
    vpmadd52huq zmm20, zmm21, zmm26
    vmovdqu64 zmm25, zmmword ptr [rcx + 1216]
    vmovdqu64 zmmword ptr [r11 + 2112], zmm31
    vpmadd52luq zmm20, zmm21, zmm25
    vpmadd52huq zmm0, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 1280]
    vpmadd52luq zmm0, zmm21, zmm26
    vpmadd52huq zmm1, zmm21, zmm26
    vmovdqu64 zmm30, zmmword ptr [r11 + 2176]
    vmovdqu64 zmm2, zmmword ptr [r8 + 1472]
    vpxord xmm21, xmm21, xmm21
    vpmadd52luq zmm21, zmm3, zmm23
    vpaddq zmm3, zmm3, zmm22
    vmovdqu64 zmm30{k2}, zmmword ptr [r10 + 2176]
    vpsrlq zmm3, zmm3, 52
    vpaddq zmm4, zmm4, zmm3
    vmovdqu64 zmm25, zmmword ptr [rcx + 64]
    vpmadd52huq zmm4, zmm21, zmm25
    vmovdqu64 zmmword ptr [r11 + 2176], zmm30
    vmovdqu64 zmm26, zmmword ptr [rcx + 128]
    vpmadd52luq zmm4, zmm21, zmm26
    vpmadd52huq zmm5, zmm21, zmm26
    vmovdqu64 zmm25, zmmword ptr [rcx + 192]
    vpmadd52luq zmm5, zmm21, zmm25
    vmovdqu64 zmm31, zmmword ptr [r11 + 2240]
    vpmadd52huq zmm6, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 256]
    vpmadd52luq zmm6, zmm21, zmm26
    vpmadd52huq zmm7, zmm21, zmm26
    vmovdqu64 zmm31{k2}, zmmword ptr [r10 + 2240]
    vmovdqu64 zmm25, zmmword ptr [rcx + 320]
    vpmadd52luq zmm7, zmm21, zmm25
    vpmadd52huq zmm8, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 384]
    vpmadd52luq zmm8, zmm21, zmm26
    vmovdqu64 zmmword ptr [r11 + 2240], zmm31
    vpmadd52huq zmm9, zmm21, zmm26
    vmovdqu64 zmm25, zmmword ptr [rcx + 448]
    vpmadd52luq zmm9, zmm21, zmm25
    vpmadd52huq zmm10, zmm21, zmm25
    vmovdqu64 zmm30, zmmword ptr [r11 + 2304]
    vmovdqu64 zmm26, zmmword ptr [rcx + 512]
    vpmadd52luq zmm10, zmm21, zmm26
    vpmadd52huq zmm11, zmm21, zmm26
    vmovdqu64 zmm25, zmmword ptr [rcx + 576]
    vpmadd52luq zmm11, zmm21, zmm25
    vmovdqu64 zmm30{k2}, zmmword ptr [r10 + 2304]
    vpmadd52huq zmm12, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 640]
    vpmadd52luq zmm12, zmm21, zmm26
    vpmadd52huq zmm13, zmm21, zmm26
    vmovdqu64 zmmword ptr [r11 + 2304], zmm30
    vmovdqu64 zmm25, zmmword ptr [rcx + 704]
    vpmadd52luq zmm13, zmm21, zmm25
    vpmadd52huq zmm14, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 768]
    vpmadd52luq zmm14, zmm21, zmm26
    vmovdqu64 zmm31, zmmword ptr [r11 + 2368]
    vpmadd52huq zmm15, zmm21, zmm26
    vmovdqu64 zmm25, zmmword ptr [rcx + 832]
    vpmadd52luq zmm15, zmm21, zmm25
    vpmadd52huq zmm16, zmm21, zmm25
    vmovdqu64 zmm31{k2}, zmmword ptr [r10 + 2368]
    vmovdqu64 zmm26, zmmword ptr [rcx + 896]
    vpmadd52luq zmm16, zmm21, zmm26
    vpmadd52huq zmm17, zmm21, zmm26
    vmovdqu64 zmm25, zmmword ptr [rcx + 960]
    vmovdqu64 zmmword ptr [r11 + 2368], zmm31
    vpmadd52luq zmm17, zmm21, zmm25
    vpmadd52huq zmm18, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 1024]
    vpmadd52luq zmm18, zmm21, zmm26
    vpmadd52huq zmm19, zmm21, zmm26
    vmovdqu64 zmm30, zmmword ptr [r11 + 2432]
    vmovdqu64 zmm25, zmmword ptr [rcx + 1088]
    vpmadd52luq zmm19, zmm21, zmm25
    vpmadd52huq zmm20, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 1152]
    vmovdqu64 zmm30{k2}, zmmword ptr [r10 + 2432]
    vpmadd52luq zmm20, zmm21, zmm26
    vpmadd52huq zmm0, zmm21, zmm26
    vmovdqu64 zmm25, zmmword ptr [rcx + 1216]
    vpmadd52luq zmm0, zmm21, zmm25
    vpmadd52huq zmm1, zmm21, zmm25
    vmovdqu64 zmmword ptr [r11 + 2432], zmm30
    vmovdqu64 zmm26, zmmword ptr [rcx + 1280]
    vpmadd52luq zmm1, zmm21, zmm26
    vpmadd52huq zmm2, zmm21, zmm26
    vmovdqu64 zmm3, zmmword ptr [r8 + 1536]
    vmovdqu64 zmm31, zmmword ptr [r11 + 2496]
    vpxord xmm21, xmm21, xmm21
    vpmadd52luq zmm21, zmm4, zmm23
    vpaddq zmm4, zmm4, zmm22
    vpsrlq zmm4, zmm4, 52
    vpaddq zmm5, zmm5, zmm4
    vmovdqu64 zmm31{k2}, zmmword ptr [r10 + 2496]
    vmovdqu64 zmm25, zmmword ptr [rcx + 64]
    vpmadd52huq zmm5, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 128]
    vpmadd52luq zmm5, zmm21, zmm26
    vmovdqu64 zmmword ptr [r11 + 2496], zmm31
    vpmadd52huq zmm6, zmm21, zmm26
    vmovdqu64 zmm25, zmmword ptr [rcx + 192]
    vpmadd52luq zmm6, zmm21, zmm25
    vpmadd52huq zmm7, zmm21, zmm25
    add r10, 2560
    vmovdqu64 zmm26, zmmword ptr [rcx + 256]
    vpmadd52luq zmm7, zmm21, zmm26
    vpmadd52huq zmm8, zmm21, zmm26
    vmovdqu64 zmm25, zmmword ptr [rcx + 320]
    vpmadd52luq zmm8, zmm21, zmm25
    vpcmpeqq k1, zmm29, qword ptr [rax + 16]{1to8}
    vpmadd52huq zmm9, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 384]
    vpmadd52luq zmm9, zmm21, zmm26
    vpmadd52huq zmm10, zmm21, zmm26
    vmovdqu64 zmm30, zmmword ptr [r11]
    vmovdqu64 zmm25, zmmword ptr [rcx + 448]
    vpmadd52luq zmm10, zmm21, zmm25
    vpmadd52huq zmm11, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 512]
    vpmadd52luq zmm11, zmm21, zmm26
    vmovdqu64 zmm30{k1}, zmmword ptr [r10]
    vpmadd52huq zmm12, zmm21, zmm26
    vmovdqu64 zmm25, zmmword ptr [rcx + 576]
    vpmadd52luq zmm12, zmm21, zmm25
    vpmadd52huq zmm13, zmm21, zmm25
    vmovdqu64 zmmword ptr [r11], zmm30
    vmovdqu64 zmm26, zmmword ptr [rcx + 640]
    vpmadd52luq zmm13, zmm21, zmm26
    vpmadd52huq zmm14, zmm21, zmm26
    vmovdqu64 zmm25, zmmword ptr [rcx + 704]
    vpmadd52luq zmm14, zmm21, zmm25
    vmovdqu64 zmm31, zmmword ptr [r11 + 64]
    vpmadd52huq zmm15, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 768]
    vpmadd52luq zmm15, zmm21, zmm26
    vpmadd52huq zmm16, zmm21, zmm26
    vmovdqu64 zmm31{k1}, zmmword ptr [r10 + 64]
    vmovdqu64 zmm25, zmmword ptr [rcx + 832]
    vpmadd52luq zmm16, zmm21, zmm25
    vpmadd52huq zmm17, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 896]
    vpmadd52luq zmm17, zmm21, zmm26
    vmovdqu64 zmmword ptr [r11 + 64], zmm31
    vpmadd52huq zmm18, zmm21, zmm26
    vmovdqu64 zmm25, zmmword ptr [rcx + 960]
    vpmadd52luq zmm18, zmm21, zmm25
    vpmadd52huq zmm19, zmm21, zmm25
    vmovdqu64 zmm30, zmmword ptr [r11 + 128]
    vmovdqu64 zmm26, zmmword ptr [rcx + 1024]
    vpmadd52luq zmm19, zmm21, zmm26
    vpmadd52huq zmm20, zmm21, zmm26
    vmovdqu64 zmm25, zmmword ptr [rcx + 1088]
    vmovdqu64 zmm30{k1}, zmmword ptr [r10 + 128]
    vpmadd52luq zmm20, zmm21, zmm25
    vpmadd52huq zmm0, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 1152]
    vpmadd52luq zmm0, zmm21, zmm26
    vpmadd52huq zmm1, zmm21, zmm26
    vmovdqu64 zmmword ptr [r11 + 128], zmm30
    vmovdqu64 zmm25, zmmword ptr [rcx + 1216]
    vpmadd52luq zmm1, zmm21, zmm25
    vpmadd52huq zmm2, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 1280]
    vmovdqu64 zmm31, zmmword ptr [r11 + 192]
    vpmadd52luq zmm2, zmm21, zmm26
    vpmadd52huq zmm3, zmm21, zmm26
    vmovdqu64 zmm4, zmmword ptr [r8 + 1600]
    vpxord xmm21, xmm21, xmm21
    vpmadd52luq zmm21, zmm5, zmm23
    vmovdqu64 zmm31{k1}, zmmword ptr [r10 + 192]
    vpaddq zmm5, zmm5, zmm22
    vpsrlq zmm5, zmm5, 52
    vpaddq zmm6, zmm6, zmm5
    vmovdqu64 zmm25, zmmword ptr [rcx + 64]
    vmovdqu64 zmmword ptr [r11 + 192], zmm31
    vpmadd52huq zmm6, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 128]
    vpmadd52luq zmm6, zmm21, zmm26
    vpmadd52huq zmm7, zmm21, zmm26
    vmovdqu64 zmm25, zmmword ptr [rcx + 192]
    vmovdqu64 zmm30, zmmword ptr [r11 + 256]
    vpmadd52luq zmm7, zmm21, zmm25
    vpmadd52huq zmm8, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 256]
    vpmadd52luq zmm8, zmm21, zmm26
    vmovdqu64 zmm30{k1}, zmmword ptr [r10 + 256]
    vpmadd52huq zmm9, zmm21, zmm26
    vmovdqu64 zmm25, zmmword ptr [rcx + 320]
    vpmadd52luq zmm9, zmm21, zmm25
    vpmadd52huq zmm10, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 384]
    vmovdqu64 zmmword ptr [r11 + 256], zmm30
    vpmadd52luq zmm10, zmm21, zmm26
    vpmadd52huq zmm11, zmm21, zmm26
    vmovdqu64 zmm25, zmmword ptr [rcx + 448]
    vpmadd52luq zmm11, zmm21, zmm25
    vmovdqu64 zmm31, zmmword ptr [r11 + 320]
    vpmadd52huq zmm12, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 512]
    vpmadd52luq zmm12, zmm21, zmm26
    vpmadd52huq zmm13, zmm21, zmm26
    vmovdqu64 zmm31{k1}, zmmword ptr [r10 + 320]
    vmovdqu64 zmm25, zmmword ptr [rcx + 576]
    vpmadd52luq zmm13, zmm21, zmm25
    vpmadd52huq zmm14, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 640]
    vpmadd52luq zmm14, zmm21, zmm26
    vmovdqu64 zmmword ptr [r11 + 320], zmm31
    vpmadd52huq zmm15, zmm21, zmm26
    vmovdqu64 zmm25, zmmword ptr [rcx + 704]
    vpmadd52luq zmm15, zmm21, zmm25
    vpmadd52huq zmm16, zmm21, zmm25
    vmovdqu64 zmm30, zmmword ptr [r11 + 384]
    vmovdqu64 zmm26, zmmword ptr [rcx + 768]
    vpmadd52luq zmm16, zmm21, zmm26
    vpmadd52huq zmm17, zmm21, zmm26
    vmovdqu64 zmm25, zmmword ptr [rcx + 832]
    vpmadd52luq zmm17, zmm21, zmm25
    vmovdqu64 zmm30{k1}, zmmword ptr [r10 + 384]
    vpmadd52huq zmm18, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 896]
    vpmadd52luq zmm18, zmm21, zmm26
    vpmadd52huq zmm19, zmm21, zmm26
    vmovdqu64 zmmword ptr [r11 + 384], zmm30
    vmovdqu64 zmm25, zmmword ptr [rcx + 960]
    vpmadd52luq zmm19, zmm21, zmm25
    vpmadd52huq zmm20, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 1024]
    vpmadd52luq zmm20, zmm21, zmm26
    vmovdqu64 zmm31, zmmword ptr [r11 + 448]
    vpmadd52huq zmm0, zmm21, zmm26
    vmovdqu64 zmm25, zmmword ptr [rcx + 1088]
    vpmadd52luq zmm0, zmm21, zmm25
    vpmadd52huq zmm1, zmm21, zmm25
    vmovdqu64 zmm31{k1}, zmmword ptr [r10 + 448]
    vmovdqu64 zmm26, zmmword ptr [rcx + 1152]
    vpmadd52luq zmm1, zmm21, zmm26
    vpmadd52huq zmm2, zmm21, zmm26
    vmovdqu64 zmm25, zmmword ptr [rcx + 1216]
    vpmadd52luq zmm2, zmm21, zmm25
    vmovdqu64 zmmword ptr [r11 + 448], zmm31
    vpmadd52huq zmm3, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 1280]
    vpmadd52luq zmm3, zmm21, zmm26
    vpmadd52huq zmm4, zmm21, zmm26
    vmovdqu64 zmm30, zmmword ptr [r11 + 512]
    vmovdqu64 zmm5, zmmword ptr [r8 + 1664]
    vpxord xmm21, xmm21, xmm21
    vpmadd52luq zmm21, zmm6, zmm23
    vpaddq zmm6, zmm6, zmm22
    vmovdqu64 zmm30{k1}, zmmword ptr [r10 + 512]
    vpsrlq zmm6, zmm6, 52
    vpaddq zmm7, zmm7, zmm6
    vmovdqu64 zmm25, zmmword ptr [rcx + 64]
    vpmadd52huq zmm7, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 128]
    vmovdqu64 zmmword ptr [r11 + 512], zmm30
    vpmadd52luq zmm7, zmm21, zmm26
    vpmadd52huq zmm8, zmm21, zmm26
    vmovdqu64 zmm25, zmmword ptr [rcx + 192]
    vpmadd52luq zmm8, zmm21, zmm25
    vmovdqu64 zmm31, zmmword ptr [r11 + 576]
    vpmadd52huq zmm9, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 256]
    vpmadd52luq zmm9, zmm21, zmm26
    vpmadd52huq zmm10, zmm21, zmm26
    vmovdqu64 zmm25, zmmword ptr [rcx + 320]
    vmovdqu64 zmm31{k1}, zmmword ptr [r10 + 576]
    vpmadd52luq zmm10, zmm21, zmm25
    vpmadd52huq zmm11, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 384]
    vpmadd52luq zmm11, zmm21, zmm26
    vmovdqu64 zmmword ptr [r11 + 576], zmm31
    vpmadd52huq zmm12, zmm21, zmm26
    vmovdqu64 zmm25, zmmword ptr [rcx + 448]
    vpmadd52luq zmm12, zmm21, zmm25
    vpmadd52huq zmm13, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 512]
    vmovdqu64 zmm30, zmmword ptr [r11 + 640]
    vpmadd52luq zmm13, zmm21, zmm26
    vpmadd52huq zmm14, zmm21, zmm26
    vmovdqu64 zmm25, zmmword ptr [rcx + 576]
    vpmadd52luq zmm14, zmm21, zmm25
    vmovdqu64 zmm30{k1}, zmmword ptr [r10 + 640]
    vpmadd52huq zmm15, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 640]
    vpmadd52luq zmm15, zmm21, zmm26
    vpmadd52huq zmm16, zmm21, zmm26
    vmovdqu64 zmm25, zmmword ptr [rcx + 704]
    vmovdqu64 zmmword ptr [r11 + 640], zmm30
    vpmadd52luq zmm16, zmm21, zmm25
    vpmadd52huq zmm17, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 768]
    vpmadd52luq zmm17, zmm21, zmm26
    vmovdqu64 zmm31, zmmword ptr [r11 + 704]
    vpmadd52huq zmm18, zmm21, zmm26
    vmovdqu64 zmm25, zmmword ptr [rcx + 832]
    vpmadd52luq zmm18, zmm21, zmm25
    vpmadd52huq zmm19, zmm21, zmm25
    vmovdqu64 zmm31{k1}, zmmword ptr [r10 + 704]
    vmovdqu64 zmm26, zmmword ptr [rcx + 896]
    vpmadd52luq zmm19, zmm21, zmm26
    vpmadd52huq zmm20, zmm21, zmm26
    vmovdqu64 zmm25, zmmword ptr [rcx + 960]
    vpmadd52luq zmm20, zmm21, zmm25
    vmovdqu64 zmmword ptr [r11 + 704], zmm31
    vpmadd52huq zmm0, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 1024]
    vpmadd52luq zmm0, zmm21, zmm26
    vpmadd52huq zmm1, zmm21, zmm26
    vmovdqu64 zmm30, zmmword ptr [r11 + 768]
    vmovdqu64 zmm25, zmmword ptr [rcx + 1088]
    vpmadd52luq zmm1, zmm21, zmm25
    vpmadd52huq zmm2, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 1152]
    vpmadd52luq zmm2, zmm21, zmm26
    vmovdqu64 zmm30{k1}, zmmword ptr [r10 + 768]
    vpmadd52huq zmm3, zmm21, zmm26
    vmovdqu64 zmm25, zmmword ptr [rcx + 1216]
    vpmadd52luq zmm3, zmm21, zmm25
    vpmadd52huq zmm4, zmm21, zmm25
    vmovdqu64 zmmword ptr [r11 + 768], zmm30
    vmovdqu64 zmm26, zmmword ptr [rcx + 1280]
    vpmadd52luq zmm4, zmm21, zmm26
    vpmadd52huq zmm5, zmm21, zmm26
    vmovdqu64 zmm6, zmmword ptr [r8 + 1728]
    vpxord xmm21, xmm21, xmm21
    vmovdqu64 zmm31, zmmword ptr [r11 + 832]
    vpmadd52luq zmm21, zmm7, zmm23
    vpaddq zmm7, zmm7, zmm22
    vpsrlq zmm7, zmm7, 52
    vpaddq zmm8, zmm8, zmm7
    vmovdqu64 zmm31{k1}, zmmword ptr [r10 + 832]
    vmovdqu64 zmm25, zmmword ptr [rcx + 64]
    vpmadd52huq zmm8, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 128]
    vpmadd52luq zmm8, zmm21, zmm26
    vpmadd52huq zmm9, zmm21, zmm26
    vmovdqu64 zmmword ptr [r11 + 832], zmm31
    vmovdqu64 zmm25, zmmword ptr [rcx + 192]
    vpmadd52luq zmm9, zmm21, zmm25
    vpmadd52huq zmm10, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 256]
    vmovdqu64 zmm30, zmmword ptr [r11 + 896]
    vpmadd52luq zmm10, zmm21, zmm26
    vpmadd52huq zmm11, zmm21, zmm26
    vmovdqu64 zmm25, zmmword ptr [rcx + 320]
    vpmadd52luq zmm11, zmm21, zmm25
    vmovdqu64 zmm30{k1}, zmmword ptr [r10 + 896]
    vpmadd52huq zmm12, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 384]
    vpmadd52luq zmm12, zmm21, zmm26
    vpmadd52huq zmm13, zmm21, zmm26
    vmovdqu64 zmm25, zmmword ptr [rcx + 448]
    vmovdqu64 zmmword ptr [r11 + 896], zmm30
    vpmadd52luq zmm13, zmm21, zmm25
    vpmadd52huq zmm14, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 512]
    vpmadd52luq zmm14, zmm21, zmm26
    vmovdqu64 zmm31, zmmword ptr [r11 + 960]
    vpmadd52huq zmm15, zmm21, zmm26
    vmovdqu64 zmm25, zmmword ptr [rcx + 576]
    vpmadd52luq zmm15, zmm21, zmm25
    vpmadd52huq zmm16, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 640]
    vmovdqu64 zmm31{k1}, zmmword ptr [r10 + 960]
    vpmadd52luq zmm16, zmm21, zmm26
    vpmadd52huq zmm17, zmm21, zmm26
    vmovdqu64 zmm25, zmmword ptr [rcx + 704]
    vpmadd52luq zmm17, zmm21, zmm25
    vmovdqu64 zmmword ptr [r11 + 960], zmm31
    vpmadd52huq zmm18, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 768]
    vpmadd52luq zmm18, zmm21, zmm26
    vpmadd52huq zmm19, zmm21, zmm26
    vmovdqu64 zmm25, zmmword ptr [rcx + 832]
    vmovdqu64 zmm30, zmmword ptr [r11 + 1024]
    vpmadd52luq zmm19, zmm21, zmm25
    vpmadd52huq zmm20, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 896]
    vpmadd52luq zmm20, zmm21, zmm26
    vmovdqu64 zmm30{k1}, zmmword ptr [r10 + 1024]
    vpmadd52huq zmm0, zmm21, zmm26
    vmovdqu64 zmm25, zmmword ptr [rcx + 960]
    vpmadd52luq zmm0, zmm21, zmm25
    vpmadd52huq zmm1, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 1024]
    vmovdqu64 zmmword ptr [r11 + 1024], zmm30
    vpmadd52luq zmm1, zmm21, zmm26
    vpmadd52huq zmm2, zmm21, zmm26
    vmovdqu64 zmm25, zmmword ptr [rcx + 1088]
    vpmadd52luq zmm2, zmm21, zmm25
    vmovdqu64 zmm31, zmmword ptr [r11 + 1088]
    vpmadd52huq zmm3, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 1152]
    vpmadd52luq zmm3, zmm21, zmm26
    vpmadd52huq zmm4, zmm21, zmm26
    vmovdqu64 zmm31{k1}, zmmword ptr [r10 + 1088]
    vmovdqu64 zmm25, zmmword ptr [rcx + 1216]
    vpmadd52luq zmm4, zmm21, zmm25
    vpmadd52huq zmm5, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 1280]
    vpmadd52luq zmm5, zmm21, zmm26
    vmovdqu64 zmmword ptr [r11 + 1088], zmm31
    vpmadd52huq zmm6, zmm21, zmm26
    vmovdqu64 zmm7, zmmword ptr [r8 + 1792]
    vpxord xmm21, xmm21, xmm21
    vpmadd52luq zmm21, zmm8, zmm23
    vmovdqu64 zmm30, zmmword ptr [r11 + 1152]
    vpaddq zmm8, zmm8, zmm22
    vpsrlq zmm8, zmm8, 52
    vpaddq zmm9, zmm9, zmm8
    vmovdqu64 zmm25, zmmword ptr [rcx + 64]
    vpmadd52huq zmm9, zmm21, zmm25
    vmovdqu64 zmm30{k1}, zmmword ptr [r10 + 1152]
    vmovdqu64 zmm26, zmmword ptr [rcx + 128]
    vpmadd52luq zmm9, zmm21, zmm26
    vpmadd52huq zmm10, zmm21, zmm26
    vmovdqu64 zmm25, zmmword ptr [rcx + 192]
    vmovdqu64 zmmword ptr [r11 + 1152], zmm30
    vpmadd52luq zmm10, zmm21, zmm25
    vpmadd52huq zmm11, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 256]
    vpmadd52luq zmm11, zmm21, zmm26
    vpmadd52huq zmm12, zmm21, zmm26
    vmovdqu64 zmm31, zmmword ptr [r11 + 1216]
    vmovdqu64 zmm25, zmmword ptr [rcx + 320]
    vpmadd52luq zmm12, zmm21, zmm25
    vpmadd52huq zmm13, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 384]
    vmovdqu64 zmm31{k1}, zmmword ptr [r10 + 1216]
    vpmadd52luq zmm13, zmm21, zmm26
    vpmadd52huq zmm14, zmm21, zmm26
    vmovdqu64 zmm25, zmmword ptr [rcx + 448]
    vpmadd52luq zmm14, zmm21, zmm25
    vmovdqu64 zmmword ptr [r11 + 1216], zmm31
    vpmadd52huq zmm15, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 512]
    vpmadd52luq zmm15, zmm21, zmm26
    vpmadd52huq zmm16, zmm21, zmm26
    vmovdqu64 zmm25, zmmword ptr [rcx + 576]
    vmovdqu64 zmm30, zmmword ptr [r11 + 1280]
    vpmadd52luq zmm16, zmm21, zmm25
    vpmadd52huq zmm17, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 640]
    vpmadd52luq zmm17, zmm21, zmm26
    vmovdqu64 zmm30{k1}, zmmword ptr [r10 + 1280]
    vpmadd52huq zmm18, zmm21, zmm26
    vmovdqu64 zmm25, zmmword ptr [rcx + 704]
    vpmadd52luq zmm18, zmm21, zmm25
    vpmadd52huq zmm19, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 768]
    vmovdqu64 zmmword ptr [r11 + 1280], zmm30
    vpmadd52luq zmm19, zmm21, zmm26
    vpmadd52huq zmm20, zmm21, zmm26
    vmovdqu64 zmm25, zmmword ptr [rcx + 832]
    vpmadd52luq zmm20, zmm21, zmm25
    vmovdqu64 zmm31, zmmword ptr [r11 + 1344]
    vpmadd52huq zmm0, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 896]
    vpmadd52luq zmm0, zmm21, zmm26
    vpmadd52huq zmm1, zmm21, zmm26
    vmovdqu64 zmm25, zmmword ptr [rcx + 960]
    vmovdqu64 zmm31{k1}, zmmword ptr [r10 + 1344]
    vpmadd52luq zmm1, zmm21, zmm25
    vpmadd52huq zmm2, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 1024]
    vpmadd52luq zmm2, zmm21, zmm26
    vmovdqu64 zmmword ptr [r11 + 1344], zmm31
    vpmadd52huq zmm3, zmm21, zmm26
    vmovdqu64 zmm25, zmmword ptr [rcx + 1088]
    vpmadd52luq zmm3, zmm21, zmm25
    vpmadd52huq zmm4, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 1152]
    vmovdqu64 zmm30, zmmword ptr [r11 + 1408]
    vpmadd52luq zmm4, zmm21, zmm26
    vpmadd52huq zmm5, zmm21, zmm26
    vmovdqu64 zmm25, zmmword ptr [rcx + 1216]
    vpmadd52luq zmm5, zmm21, zmm25
    vmovdqu64 zmm30{k1}, zmmword ptr [r10 + 1408]
    vpmadd52huq zmm6, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 1280]
    vpmadd52luq zmm6, zmm21, zmm26
    vpmadd52huq zmm7, zmm21, zmm26
    vmovdqu64 zmmword ptr [r11 + 1408], zmm30
    vmovdqu64 zmm8, zmmword ptr [r8 + 1856]
    vpxord xmm21, xmm21, xmm21
    vpmadd52luq zmm21, zmm9, zmm23
    vpaddq zmm9, zmm9, zmm22
    vpsrlq zmm9, zmm9, 52
    vmovdqu64 zmm31, zmmword ptr [r11 + 1472]
    vpaddq zmm10, zmm10, zmm9
    vmovdqu64 zmm25, zmmword ptr [rcx + 64]
    vpmadd52huq zmm10, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 128]
    vmovdqu64 zmm31{k1}, zmmword ptr [r10 + 1472]
    vpmadd52luq zmm10, zmm21, zmm26
    vpmadd52huq zmm11, zmm21, zmm26
    vmovdqu64 zmm25, zmmword ptr [rcx + 192]
    vpmadd52luq zmm11, zmm21, zmm25
    vpmadd52huq zmm12, zmm21, zmm25
    vmovdqu64 zmmword ptr [r11 + 1472], zmm31
    vmovdqu64 zmm26, zmmword ptr [rcx + 256]
    vpmadd52luq zmm12, zmm21, zmm26
    vpmadd52huq zmm13, zmm21, zmm26
    vmovdqu64 zmm25, zmmword ptr [rcx + 320]
    vmovdqu64 zmm30, zmmword ptr [r11 + 1536]
    vpmadd52luq zmm13, zmm21, zmm25
    vpmadd52huq zmm14, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 384]
    vpmadd52luq zmm14, zmm21, zmm26
    vpmadd52huq zmm15, zmm21, zmm26
    vmovdqu64 zmm30{k1}, zmmword ptr [r10 + 1536]
    vmovdqu64 zmm25, zmmword ptr [rcx + 448]
    vpmadd52luq zmm15, zmm21, zmm25
    vpmadd52huq zmm16, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 512]
    vmovdqu64 zmmword ptr [r11 + 1536], zmm30
    vpmadd52luq zmm16, zmm21, zmm26
    vpmadd52huq zmm17, zmm21, zmm26
    vmovdqu64 zmm25, zmmword ptr [rcx + 576]
    vpmadd52luq zmm17, zmm21, zmm25
    vpmadd52huq zmm18, zmm21, zmm25
    vmovdqu64 zmm31, zmmword ptr [r11 + 1600]
    vmovdqu64 zmm26, zmmword ptr [rcx + 640]
    vpmadd52luq zmm18, zmm21, zmm26
    vpmadd52huq zmm19, zmm21, zmm26
    vmovdqu64 zmm25, zmmword ptr [rcx + 704]
    vmovdqu64 zmm31{k1}, zmmword ptr [r10 + 1600]
    vpmadd52luq zmm19, zmm21, zmm25
    vpmadd52huq zmm20, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 768]
    vpmadd52luq zmm20, zmm21, zmm26
    vmovdqu64 zmmword ptr [r11 + 1600], zmm31
    vpmadd52huq zmm0, zmm21, zmm26
    vmovdqu64 zmm25, zmmword ptr [rcx + 832]
    vpmadd52luq zmm0, zmm21, zmm25
    vpmadd52huq zmm1, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 896]
    vmovdqu64 zmm30, zmmword ptr [r11 + 1664]
    vpmadd52luq zmm1, zmm21, zmm26
    vpmadd52huq zmm2, zmm21, zmm26
    vmovdqu64 zmm25, zmmword ptr [rcx + 960]
    vpmadd52luq zmm2, zmm21, zmm25
    vmovdqu64 zmm30{k1}, zmmword ptr [r10 + 1664]
    vpmadd52huq zmm3, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 1024]
    vpmadd52luq zmm3, zmm21, zmm26
    vpmadd52huq zmm4, zmm21, zmm26
    vmovdqu64 zmm25, zmmword ptr [rcx + 1088]
    vmovdqu64 zmmword ptr [r11 + 1664], zmm30
    vpmadd52luq zmm4, zmm21, zmm25
    vpmadd52huq zmm5, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 1152]
    vpmadd52luq zmm5, zmm21, zmm26
    vmovdqu64 zmm31, zmmword ptr [r11 + 1728]
    vpmadd52huq zmm6, zmm21, zmm26
    vmovdqu64 zmm25, zmmword ptr [rcx + 1216]
    vpmadd52luq zmm6, zmm21, zmm25
    vpmadd52huq zmm7, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 1280]
    vmovdqu64 zmm31{k1}, zmmword ptr [r10 + 1728]
    vpmadd52luq zmm7, zmm21, zmm26
    vpmadd52huq zmm8, zmm21, zmm26
    vmovdqu64 zmm9, zmmword ptr [r8 + 1920]
    vpxord xmm21, xmm21, xmm21
    vmovdqu64 zmmword ptr [r11 + 1728], zmm31
    vpmadd52luq zmm21, zmm10, zmm23
    vpaddq zmm10, zmm10, zmm22
    vpsrlq zmm10, zmm10, 52
    vpaddq zmm11, zmm11, zmm10
    vmovdqu64 zmm25, zmmword ptr [rcx + 64]
    vmovdqu64 zmm30, zmmword ptr [r11 + 1792]
    vpmadd52huq zmm11, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 128]
    vpmadd52luq zmm11, zmm21, zmm26
    vpmadd52huq zmm12, zmm21, zmm26
    vmovdqu64 zmm30{k1}, zmmword ptr [r10 + 1792]
    vmovdqu64 zmm25, zmmword ptr [rcx + 192]
    vpmadd52luq zmm12, zmm21, zmm25
    vpmadd52huq zmm13, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 256]
    vmovdqu64 zmmword ptr [r11 + 1792], zmm30
    vpmadd52luq zmm13, zmm21, zmm26
    vpmadd52huq zmm14, zmm21, zmm26
    vmovdqu64 zmm25, zmmword ptr [rcx + 320]
    vpmadd52luq zmm14, zmm21, zmm25
    vpmadd52huq zmm15, zmm21, zmm25
    vmovdqu64 zmm31, zmmword ptr [r11 + 1856]
    vmovdqu64 zmm26, zmmword ptr [rcx + 384]
    vpmadd52luq zmm15, zmm21, zmm26
    vpmadd52huq zmm16, zmm21, zmm26
    vmovdqu64 zmm25, zmmword ptr [rcx + 448]
    vmovdqu64 zmm31{k1}, zmmword ptr [r10 + 1856]
    vpmadd52luq zmm16, zmm21, zmm25
    vpmadd52huq zmm17, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 512]
    vpmadd52luq zmm17, zmm21, zmm26
    vpmadd52huq zmm18, zmm21, zmm26
    vmovdqu64 zmmword ptr [r11 + 1856], zmm31
    vmovdqu64 zmm25, zmmword ptr [rcx + 576]
    vpmadd52luq zmm18, zmm21, zmm25
    vpmadd52huq zmm19, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 640]
    vmovdqu64 zmm30, zmmword ptr [r11 + 1920]
    vpmadd52luq zmm19, zmm21, zmm26
    vpmadd52huq zmm20, zmm21, zmm26
    vmovdqu64 zmm25, zmmword ptr [rcx + 704]
    vpmadd52luq zmm20, zmm21, zmm25
    vpmadd52huq zmm0, zmm21, zmm25
    vmovdqu64 zmm30{k1}, zmmword ptr [r10 + 1920]
    vmovdqu64 zmm26, zmmword ptr [rcx + 768]
    vpmadd52luq zmm0, zmm21, zmm26
    vpmadd52huq zmm1, zmm21, zmm26
    vmovdqu64 zmm25, zmmword ptr [rcx + 832]
    vmovdqu64 zmmword ptr [r11 + 1920], zmm30
    vpmadd52luq zmm1, zmm21, zmm25
    vpmadd52huq zmm2, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 896]
    vpmadd52luq zmm2, zmm21, zmm26
    vpmadd52huq zmm3, zmm21, zmm26
    vmovdqu64 zmm31, zmmword ptr [r11 + 1984]
    vmovdqu64 zmm25, zmmword ptr [rcx + 960]
    vpmadd52luq zmm3, zmm21, zmm25
    vpmadd52huq zmm4, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 1024]
    vmovdqu64 zmm31{k1}, zmmword ptr [r10 + 1984]
    vpmadd52luq zmm4, zmm21, zmm26
    vpmadd52huq zmm5, zmm21, zmm26
    vmovdqu64 zmm25, zmmword ptr [rcx + 1088]
    vpmadd52luq zmm5, zmm21, zmm25
    vmovdqu64 zmmword ptr [r11 + 1984], zmm31
    vpmadd52huq zmm6, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 1152]
    vpmadd52luq zmm6, zmm21, zmm26
    vpmadd52huq zmm7, zmm21, zmm26
    vmovdqu64 zmm25, zmmword ptr [rcx + 1216]
    vmovdqu64 zmm30, zmmword ptr [r11 + 2048]
    vpmadd52luq zmm7, zmm21, zmm25
    vpmadd52huq zmm8, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 1280]
    vpmadd52luq zmm8, zmm21, zmm26
    vmovdqu64 zmm30{k1}, zmmword ptr [r10 + 2048]
    vpmadd52huq zmm9, zmm21, zmm26
    vmovdqu64 zmm10, zmmword ptr [r8 + 1984]
    vpxord xmm21, xmm21, xmm21
    vpmadd52luq zmm21, zmm11, zmm23
    vpaddq zmm11, zmm11, zmm22
    vmovdqu64 zmmword ptr [r11 + 2048], zmm30
    vpsrlq zmm11, zmm11, 52
    vpaddq zmm12, zmm12, zmm11
    vmovdqu64 zmm25, zmmword ptr [rcx + 64]
    vpmadd52huq zmm12, zmm21, zmm25
    vmovdqu64 zmm31, zmmword ptr [r11 + 2112]
    vmovdqu64 zmm26, zmmword ptr [rcx + 128]
    vpmadd52luq zmm12, zmm21, zmm26
    vpmadd52huq zmm13, zmm21, zmm26
    vmovdqu64 zmm25, zmmword ptr [rcx + 192]
    vpmadd52luq zmm13, zmm21, zmm25
    vmovdqu64 zmm31{k1}, zmmword ptr [r10 + 2112]
    vpmadd52huq zmm14, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 256]
    vpmadd52luq zmm14, zmm21, zmm26
    vpmadd52huq zmm15, zmm21, zmm26
    vmovdqu64 zmmword ptr [r11 + 2112], zmm31
    vmovdqu64 zmm25, zmmword ptr [rcx + 320]
    vpmadd52luq zmm15, zmm21, zmm25
    vpmadd52huq zmm16, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 384]
    vpmadd52luq zmm16, zmm21, zmm26
    vmovdqu64 zmm30, zmmword ptr [r11 + 2176]
    vpmadd52huq zmm17, zmm21, zmm26
    vmovdqu64 zmm25, zmmword ptr [rcx + 448]
    vpmadd52luq zmm17, zmm21, zmm25
    vpmadd52huq zmm18, zmm21, zmm25
    vmovdqu64 zmm30{k1}, zmmword ptr [r10 + 2176]
    vmovdqu64 zmm26, zmmword ptr [rcx + 512]
    vpmadd52luq zmm18, zmm21, zmm26
    vpmadd52huq zmm19, zmm21, zmm26
    vmovdqu64 zmm25, zmmword ptr [rcx + 576]
    vmovdqu64 zmmword ptr [r11 + 2176], zmm30
    vpmadd52luq zmm19, zmm21, zmm25
    vpmadd52huq zmm20, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 640]
    vpmadd52luq zmm20, zmm21, zmm26
    vpmadd52huq zmm0, zmm21, zmm26
    vmovdqu64 zmm31, zmmword ptr [r11 + 2240]
    vmovdqu64 zmm25, zmmword ptr [rcx + 704]
    vpmadd52luq zmm0, zmm21, zmm25
    vpmadd52huq zmm1, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 768]
    vmovdqu64 zmm31{k1}, zmmword ptr [r10 + 2240]
    vpmadd52luq zmm1, zmm21, zmm26
    vpmadd52huq zmm2, zmm21, zmm26
    vmovdqu64 zmm25, zmmword ptr [rcx + 832]
    vpmadd52luq zmm2, zmm21, zmm25
    vpmadd52huq zmm3, zmm21, zmm25
    vmovdqu64 zmmword ptr [r11 + 2240], zmm31
    vmovdqu64 zmm26, zmmword ptr [rcx + 896]
    vpmadd52luq zmm3, zmm21, zmm26
    vpmadd52huq zmm4, zmm21, zmm26
    vmovdqu64 zmm25, zmmword ptr [rcx + 960]
    vmovdqu64 zmm30, zmmword ptr [r11 + 2304]
    vpmadd52luq zmm4, zmm21, zmm25
    vpmadd52huq zmm5, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 1024]
    vpmadd52luq zmm5, zmm21, zmm26
    vpmadd52huq zmm6, zmm21, zmm26
    vmovdqu64 zmm30{k1}, zmmword ptr [r10 + 2304]
    vmovdqu64 zmm25, zmmword ptr [rcx + 1088]
    vpmadd52luq zmm6, zmm21, zmm25
    vpmadd52huq zmm7, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 1152]
    vmovdqu64 zmmword ptr [r11 + 2304], zmm30
    vpmadd52luq zmm7, zmm21, zmm26
    vpmadd52huq zmm8, zmm21, zmm26
    vmovdqu64 zmm25, zmmword ptr [rcx + 1216]
    vpmadd52luq zmm8, zmm21, zmm25
    vpmadd52huq zmm9, zmm21, zmm25
    vmovdqu64 zmm31, zmmword ptr [r11 + 2368]
    vmovdqu64 zmm26, zmmword ptr [rcx + 1280]
    vpmadd52luq zmm9, zmm21, zmm26
    vpmadd52huq zmm10, zmm21, zmm26
    vmovdqu64 zmm11, zmmword ptr [r8 + 2048]
    vmovdqu64 zmm31{k1}, zmmword ptr [r10 + 2368]
    vpxord xmm21, xmm21, xmm21
    vpmadd52luq zmm21, zmm12, zmm23
    vpaddq zmm12, zmm12, zmm22
    vpsrlq zmm12, zmm12, 52
    vmovdqu64 zmmword ptr [r11 + 2368], zmm31
    vpaddq zmm13, zmm13, zmm12
    vmovdqu64 zmm25, zmmword ptr [rcx + 64]
    vpmadd52huq zmm13, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 128]
    vpmadd52luq zmm13, zmm21, zmm26
    vmovdqu64 zmm30, zmmword ptr [r11 + 2432]
    vpmadd52huq zmm14, zmm21, zmm26
    vmovdqu64 zmm25, zmmword ptr [rcx + 192]
    vpmadd52luq zmm14, zmm21, zmm25
    vpmadd52huq zmm15, zmm21, zmm25
    vmovdqu64 zmm30{k1}, zmmword ptr [r10 + 2432]
    vmovdqu64 zmm26, zmmword ptr [rcx + 256]
    vpmadd52luq zmm15, zmm21, zmm26
    vpmadd52huq zmm16, zmm21, zmm26
    vmovdqu64 zmm25, zmmword ptr [rcx + 320]
    vpmadd52luq zmm16, zmm21, zmm25
    vmovdqu64 zmmword ptr [r11 + 2432], zmm30
    vpmadd52huq zmm17, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 384]
    vpmadd52luq zmm17, zmm21, zmm26
    vpmadd52huq zmm18, zmm21, zmm26
    vmovdqu64 zmm31, zmmword ptr [r11 + 2496]
    vmovdqu64 zmm25, zmmword ptr [rcx + 448]
    vpmadd52luq zmm18, zmm21, zmm25
    vpmadd52huq zmm19, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 512]
    vpmadd52luq zmm19, zmm21, zmm26
    vmovdqu64 zmm31{k1}, zmmword ptr [r10 + 2496]
    vpmadd52huq zmm20, zmm21, zmm26
    vmovdqu64 zmm25, zmmword ptr [rcx + 576]
    vpmadd52luq zmm20, zmm21, zmm25
    vpmadd52huq zmm0, zmm21, zmm25
    vmovdqu64 zmmword ptr [r11 + 2496], zmm31
    vmovdqu64 zmm26, zmmword ptr [rcx + 640]
    vpmadd52luq zmm0, zmm21, zmm26
    vpmadd52huq zmm1, zmm21, zmm26
    vmovdqu64 zmm25, zmmword ptr [rcx + 704]
    add r10, 2560
    vpmadd52luq zmm1, zmm21, zmm25
    vpmadd52huq zmm2, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 768]
    vpmadd52luq zmm2, zmm21, zmm26
    vpmadd52huq zmm3, zmm21, zmm26
    vpcmpeqq k2, zmm29, qword ptr [rax + 24]{1to8}
    vmovdqu64 zmm25, zmmword ptr [rcx + 832]
    vpmadd52luq zmm3, zmm21, zmm25
    vpmadd52huq zmm4, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 896]
    vmovdqu64 zmm30, zmmword ptr [r11]
    vpmadd52luq zmm4, zmm21, zmm26
    vpmadd52huq zmm5, zmm21, zmm26
    vmovdqu64 zmm25, zmmword ptr [rcx + 960]
    vpmadd52luq zmm5, zmm21, zmm25
    vpmadd52huq zmm6, zmm21, zmm25
    vmovdqu64 zmm30{k2}, zmmword ptr [r10]
    vmovdqu64 zmm26, zmmword ptr [rcx + 1024]
    vpmadd52luq zmm6, zmm21, zmm26
    vpmadd52huq zmm7, zmm21, zmm26
    vmovdqu64 zmm25, zmmword ptr [rcx + 1088]
    vmovdqu64 zmmword ptr [r11], zmm30
    vpmadd52luq zmm7, zmm21, zmm25
    vpmadd52huq zmm8, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 1152]
    vpmadd52luq zmm8, zmm21, zmm26
    vpmadd52huq zmm9, zmm21, zmm26
    vmovdqu64 zmm31, zmmword ptr [r11 + 64]
    vmovdqu64 zmm25, zmmword ptr [rcx + 1216]
    vpmadd52luq zmm9, zmm21, zmm25
    vpmadd52huq zmm10, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 1280]
    vmovdqu64 zmm31{k2}, zmmword ptr [r10 + 64]
    vpmadd52luq zmm10, zmm21, zmm26
    vpmadd52huq zmm11, zmm21, zmm26
    vmovdqu64 zmm12, zmmword ptr [r8 + 2112]
    vpxord xmm21, xmm21, xmm21
    vpmadd52luq zmm21, zmm13, zmm23
    vmovdqu64 zmmword ptr [r11 + 64], zmm31
    vpaddq zmm13, zmm13, zmm22
    vpsrlq zmm13, zmm13, 52
    vpaddq zmm14, zmm14, zmm13
    vmovdqu64 zmm25, zmmword ptr [rcx + 64]
    vmovdqu64 zmm30, zmmword ptr [r11 + 128]
    vpmadd52huq zmm14, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 128]
    vpmadd52luq zmm14, zmm21, zmm26
    vpmadd52huq zmm15, zmm21, zmm26
    vmovdqu64 zmm30{k2}, zmmword ptr [r10 + 128]
    vmovdqu64 zmm25, zmmword ptr [rcx + 192]
    vpmadd52luq zmm15, zmm21, zmm25
    vpmadd52huq zmm16, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 256]
    vpmadd52luq zmm16, zmm21, zmm26
    vmovdqu64 zmmword ptr [r11 + 128], zmm30
    vpmadd52huq zmm17, zmm21, zmm26
    vmovdqu64 zmm25, zmmword ptr [rcx + 320]
    vpmadd52luq zmm17, zmm21, zmm25
    vpmadd52huq zmm18, zmm21, zmm25
    vmovdqu64 zmm31, zmmword ptr [r11 + 192]
    vmovdqu64 zmm26, zmmword ptr [rcx + 384]
    vpmadd52luq zmm18, zmm21, zmm26
    vpmadd52huq zmm19, zmm21, zmm26
    vmovdqu64 zmm25, zmmword ptr [rcx + 448]
    vpmadd52luq zmm19, zmm21, zmm25
    vmovdqu64 zmm31{k2}, zmmword ptr [r10 + 192]
    vpmadd52huq zmm20, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 512]
    vpmadd52luq zmm20, zmm21, zmm26
    vpmadd52huq zmm0, zmm21, zmm26
    vmovdqu64 zmmword ptr [r11 + 192], zmm31
    vmovdqu64 zmm25, zmmword ptr [rcx + 576]
    vpmadd52luq zmm0, zmm21, zmm25
    vpmadd52huq zmm1, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 640]
    vpmadd52luq zmm1, zmm21, zmm26
    vmovdqu64 zmm30, zmmword ptr [r11 + 256]
    vpmadd52huq zmm2, zmm21, zmm26
    vmovdqu64 zmm25, zmmword ptr [rcx + 704]
    vpmadd52luq zmm2, zmm21, zmm25
    vpmadd52huq zmm3, zmm21, zmm25
    vmovdqu64 zmm30{k2}, zmmword ptr [r10 + 256]
    vmovdqu64 zmm26, zmmword ptr [rcx + 768]
    vpmadd52luq zmm3, zmm21, zmm26
    vpmadd52huq zmm4, zmm21, zmm26
    vmovdqu64 zmm25, zmmword ptr [rcx + 832]
    vpmadd52luq zmm4, zmm21, zmm25
    vmovdqu64 zmmword ptr [r11 + 256], zmm30
    vpmadd52huq zmm5, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 896]
    vpmadd52luq zmm5, zmm21, zmm26
    vpmadd52huq zmm6, zmm21, zmm26
    vmovdqu64 zmm31, zmmword ptr [r11 + 320]
    vmovdqu64 zmm25, zmmword ptr [rcx + 960]
    vpmadd52luq zmm6, zmm21, zmm25
    vpmadd52huq zmm7, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 1024]
    vmovdqu64 zmm31{k2}, zmmword ptr [r10 + 320]
    vpmadd52luq zmm7, zmm21, zmm26
    vpmadd52huq zmm8, zmm21, zmm26
    vmovdqu64 zmm25, zmmword ptr [rcx + 1088]
    vpmadd52luq zmm8, zmm21, zmm25
    vpmadd52huq zmm9, zmm21, zmm25
    vmovdqu64 zmmword ptr [r11 + 320], zmm31
    vmovdqu64 zmm26, zmmword ptr [rcx + 1152]
    vpmadd52luq zmm9, zmm21, zmm26
    vpmadd52huq zmm10, zmm21, zmm26
    vmovdqu64 zmm25, zmmword ptr [rcx + 1216]
    vmovdqu64 zmm30, zmmword ptr [r11 + 384]
    vpmadd52luq zmm10, zmm21, zmm25
    vpmadd52huq zmm11, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 1280]
    vpmadd52luq zmm11, zmm21, zmm26
    vpmadd52huq zmm12, zmm21, zmm26
    vmovdqu64 zmm30{k2}, zmmword ptr [r10 + 384]
    vmovdqu64 zmm13, zmmword ptr [r8 + 2176]
    vpxord xmm21, xmm21, xmm21
    vpmadd52luq zmm21, zmm14, zmm23
    vpaddq zmm14, zmm14, zmm22
    vmovdqu64 zmmword ptr [r11 + 384], zmm30
    vpsrlq zmm14, zmm14, 52
    vpaddq zmm15, zmm15, zmm14
    vmovdqu64 zmm25, zmmword ptr [rcx + 64]
    vpmadd52huq zmm15, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 128]
    vmovdqu64 zmm31, zmmword ptr [r11 + 448]
    vpmadd52luq zmm15, zmm21, zmm26
    vpmadd52huq zmm16, zmm21, zmm26
    vmovdqu64 zmm25, zmmword ptr [rcx + 192]
    vpmadd52luq zmm16, zmm21, zmm25
    vmovdqu64 zmm31{k2}, zmmword ptr [r10 + 448]
    vpmadd52huq zmm17, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 256]
    vpmadd52luq zmm17, zmm21, zmm26
    vpmadd52huq zmm18, zmm21, zmm26
    vmovdqu64 zmm25, zmmword ptr [rcx + 320]
    vmovdqu64 zmmword ptr [r11 + 448], zmm31
    vpmadd52luq zmm18, zmm21, zmm25
    vpmadd52huq zmm19, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 384]
    vpmadd52luq zmm19, zmm21, zmm26
    vmovdqu64 zmm30, zmmword ptr [r11 + 512]
    vpmadd52huq zmm20, zmm21, zmm26
    vmovdqu64 zmm25, zmmword ptr [rcx + 448]
    vpmadd52luq zmm20, zmm21, zmm25
    vpmadd52huq zmm0, zmm21, zmm25
    vmovdqu64 zmm30{k2}, zmmword ptr [r10 + 512]
    vmovdqu64 zmm26, zmmword ptr [rcx + 512]
    vpmadd52luq zmm0, zmm21, zmm26
    vpmadd52huq zmm1, zmm21, zmm26
    vmovdqu64 zmm25, zmmword ptr [rcx + 576]
    vpmadd52luq zmm1, zmm21, zmm25
    vmovdqu64 zmmword ptr [r11 + 512], zmm30
    vpmadd52huq zmm2, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 640]
    vpmadd52luq zmm2, zmm21, zmm26
    vpmadd52huq zmm3, zmm21, zmm26
    vmovdqu64 zmm31, zmmword ptr [r11 + 576]
    vmovdqu64 zmm25, zmmword ptr [rcx + 704]
    vpmadd52luq zmm3, zmm21, zmm25
    vpmadd52huq zmm4, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 768]
    vpmadd52luq zmm4, zmm21, zmm26
    vmovdqu64 zmm31{k2}, zmmword ptr [r10 + 576]
    vpmadd52huq zmm5, zmm21, zmm26
    vmovdqu64 zmm25, zmmword ptr [rcx + 832]
    vpmadd52luq zmm5, zmm21, zmm25
    vpmadd52huq zmm6, zmm21, zmm25
    vmovdqu64 zmmword ptr [r11 + 576], zmm31
    vmovdqu64 zmm26, zmmword ptr [rcx + 896]
    vpmadd52luq zmm6, zmm21, zmm26
    vpmadd52huq zmm7, zmm21, zmm26
    vmovdqu64 zmm25, zmmword ptr [rcx + 960]
    vpmadd52luq zmm7, zmm21, zmm25
    vmovdqu64 zmm30, zmmword ptr [r11 + 640]
    vpmadd52huq zmm8, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 1024]
    vpmadd52luq zmm8, zmm21, zmm26
    vpmadd52huq zmm9, zmm21, zmm26
    vmovdqu64 zmm30{k2}, zmmword ptr [r10 + 640]
    vmovdqu64 zmm25, zmmword ptr [rcx + 1088]
    vpmadd52luq zmm9, zmm21, zmm25
    vpmadd52huq zmm10, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 1152]
    vpmadd52luq zmm10, zmm21, zmm26
    vmovdqu64 zmmword ptr [r11 + 640], zmm30
    vpmadd52huq zmm11, zmm21, zmm26
    vmovdqu64 zmm25, zmmword ptr [rcx + 1216]
    vpmadd52luq zmm11, zmm21, zmm25
    vpmadd52huq zmm12, zmm21, zmm25
    vmovdqu64 zmm31, zmmword ptr [r11 + 704]
    vmovdqu64 zmm26, zmmword ptr [rcx + 1280]
    vpmadd52luq zmm12, zmm21, zmm26
    vpmadd52huq zmm13, zmm21, zmm26
    vmovdqu64 zmm14, zmmword ptr [r8 + 2240]
    vmovdqu64 zmm31{k2}, zmmword ptr [r10 + 704]
    vpxord xmm21, xmm21, xmm21
    vpmadd52luq zmm21, zmm15, zmm23
    vpaddq zmm15, zmm15, zmm22
    vpsrlq zmm15, zmm15, 52
    vpaddq zmm16, zmm16, zmm15
    vmovdqu64 zmmword ptr [r11 + 704], zmm31
    vmovdqu64 zmm25, zmmword ptr [rcx + 64]
    vpmadd52huq zmm16, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 128]
    vpmadd52luq zmm16, zmm21, zmm26
    vmovdqu64 zmm30, zmmword ptr [r11 + 768]
    vpmadd52huq zmm17, zmm21, zmm26
    vmovdqu64 zmm25, zmmword ptr [rcx + 192]
    vpmadd52luq zmm17, zmm21, zmm25
    vpmadd52huq zmm18, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 256]
    vmovdqu64 zmm30{k2}, zmmword ptr [r10 + 768]
    vpmadd52luq zmm18, zmm21, zmm26
    vpmadd52huq zmm19, zmm21, zmm26
    vmovdqu64 zmm25, zmmword ptr [rcx + 320]
    vpmadd52luq zmm19, zmm21, zmm25
    vmovdqu64 zmmword ptr [r11 + 768], zmm30
    vpmadd52huq zmm20, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 384]
    vpmadd52luq zmm20, zmm21, zmm26
    vpmadd52huq zmm0, zmm21, zmm26
    vmovdqu64 zmm25, zmmword ptr [rcx + 448]
    vmovdqu64 zmm31, zmmword ptr [r11 + 832]
    vpmadd52luq zmm0, zmm21, zmm25
    vpmadd52huq zmm1, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 512]
    vpmadd52luq zmm1, zmm21, zmm26
    vmovdqu64 zmm31{k2}, zmmword ptr [r10 + 832]
    vpmadd52huq zmm2, zmm21, zmm26
    vmovdqu64 zmm25, zmmword ptr [rcx + 576]
    vpmadd52luq zmm2, zmm21, zmm25
    vpmadd52huq zmm3, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 640]
    vmovdqu64 zmmword ptr [r11 + 832], zmm31
    vpmadd52luq zmm3, zmm21, zmm26
    vpmadd52huq zmm4, zmm21, zmm26
    vmovdqu64 zmm25, zmmword ptr [rcx + 704]
    vpmadd52luq zmm4, zmm21, zmm25
    vmovdqu64 zmm30, zmmword ptr [r11 + 896]
    vpmadd52huq zmm5, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 768]
    vpmadd52luq zmm5, zmm21, zmm26
    vpmadd52huq zmm6, zmm21, zmm26
    vmovdqu64 zmm30{k2}, zmmword ptr [r10 + 896]
    vmovdqu64 zmm25, zmmword ptr [rcx + 832]
    vpmadd52luq zmm6, zmm21, zmm25
    vpmadd52huq zmm7, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 896]
    vpmadd52luq zmm7, zmm21, zmm26
    vmovdqu64 zmmword ptr [r11 + 896], zmm30
    vpmadd52huq zmm8, zmm21, zmm26
    vmovdqu64 zmm25, zmmword ptr [rcx + 960]
    vpmadd52luq zmm8, zmm21, zmm25
    vpmadd52huq zmm9, zmm21, zmm25
    vmovdqu64 zmm31, zmmword ptr [r11 + 960]
    vmovdqu64 zmm26, zmmword ptr [rcx + 1024]
    vpmadd52luq zmm9, zmm21, zmm26
    vpmadd52huq zmm10, zmm21, zmm26
    vmovdqu64 zmm25, zmmword ptr [rcx + 1088]
    vpmadd52luq zmm10, zmm21, zmm25
    vmovdqu64 zmm31{k2}, zmmword ptr [r10 + 960]
    vpmadd52huq zmm11, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 1152]
    vpmadd52luq zmm11, zmm21, zmm26
    vpmadd52huq zmm12, zmm21, zmm26
    vmovdqu64 zmmword ptr [r11 + 960], zmm31
    vmovdqu64 zmm25, zmmword ptr [rcx + 1216]
    vpmadd52luq zmm12, zmm21, zmm25
    vpmadd52huq zmm13, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 1280]
    vpmadd52luq zmm13, zmm21, zmm26
    vmovdqu64 zmm30, zmmword ptr [r11 + 1024]
    vpmadd52huq zmm14, zmm21, zmm26
    vmovdqu64 zmm15, zmmword ptr [r8 + 2304]
    vpxord xmm21, xmm21, xmm21
    vpmadd52luq zmm21, zmm16, zmm23
    vmovdqu64 zmm30{k2}, zmmword ptr [r10 + 1024]
    vpaddq zmm16, zmm16, zmm22
    vpsrlq zmm16, zmm16, 52
    vpaddq zmm17, zmm17, zmm16
    vmovdqu64 zmm25, zmmword ptr [rcx + 64]
    vpmadd52huq zmm17, zmm21, zmm25
    vmovdqu64 zmmword ptr [r11 + 1024], zmm30
    vmovdqu64 zmm26, zmmword ptr [rcx + 128]
    vpmadd52luq zmm17, zmm21, zmm26
    vpmadd52huq zmm18, zmm21, zmm26
    vmovdqu64 zmm25, zmmword ptr [rcx + 192]
    vmovdqu64 zmm31, zmmword ptr [r11 + 1088]
    vpmadd52luq zmm18, zmm21, zmm25
    vpmadd52huq zmm19, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 256]
    vpmadd52luq zmm19, zmm21, zmm26
    vmovdqu64 zmm31{k2}, zmmword ptr [r10 + 1088]
    vpmadd52huq zmm20, zmm21, zmm26
    vmovdqu64 zmm25, zmmword ptr [rcx + 320]
    vpmadd52luq zmm20, zmm21, zmm25
    vpmadd52huq zmm0, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 384]
    vmovdqu64 zmmword ptr [r11 + 1088], zmm31
    vpmadd52luq zmm0, zmm21, zmm26
    vpmadd52huq zmm1, zmm21, zmm26
    vmovdqu64 zmm25, zmmword ptr [rcx + 448]
    vpmadd52luq zmm1, zmm21, zmm25
    vmovdqu64 zmm30, zmmword ptr [r11 + 1152]
    vpmadd52huq zmm2, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 512]
    vpmadd52luq zmm2, zmm21, zmm26
    vpmadd52huq zmm3, zmm21, zmm26
    vmovdqu64 zmm25, zmmword ptr [rcx + 576]
    vmovdqu64 zmm30{k2}, zmmword ptr [r10 + 1152]
    vpmadd52luq zmm3, zmm21, zmm25
    vpmadd52huq zmm4, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 640]
    vpmadd52luq zmm4, zmm21, zmm26
    vmovdqu64 zmmword ptr [r11 + 1152], zmm30
    vpmadd52huq zmm5, zmm21, zmm26
    vmovdqu64 zmm25, zmmword ptr [rcx + 704]
    vpmadd52luq zmm5, zmm21, zmm25
    vpmadd52huq zmm6, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 768]
    vmovdqu64 zmm31, zmmword ptr [r11 + 1216]
    vpmadd52luq zmm6, zmm21, zmm26
    vpmadd52huq zmm7, zmm21, zmm26
    vmovdqu64 zmm25, zmmword ptr [rcx + 832]
    vpmadd52luq zmm7, zmm21, zmm25
    vmovdqu64 zmm31{k2}, zmmword ptr [r10 + 1216]
    vpmadd52huq zmm8, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 896]
    vpmadd52luq zmm8, zmm21, zmm26
    vpmadd52huq zmm9, zmm21, zmm26
    vmovdqu64 zmmword ptr [r11 + 1216], zmm31
    vmovdqu64 zmm25, zmmword ptr [rcx + 960]
    vpmadd52luq zmm9, zmm21, zmm25
    vpmadd52huq zmm10, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 1024]
    vpmadd52luq zmm10, zmm21, zmm26
    vmovdqu64 zmm30, zmmword ptr [r11 + 1280]
    vpmadd52huq zmm11, zmm21, zmm26
    vmovdqu64 zmm25, zmmword ptr [rcx + 1088]
    vpmadd52luq zmm11, zmm21, zmm25
    vpmadd52huq zmm12, zmm21, zmm25
    vmovdqu64 zmm30{k2}, zmmword ptr [r10 + 1280]
    vmovdqu64 zmm26, zmmword ptr [rcx + 1152]
    vpmadd52luq zmm12, zmm21, zmm26
    vpmadd52huq zmm13, zmm21, zmm26
    vmovdqu64 zmm25, zmmword ptr [rcx + 1216]
    vpmadd52luq zmm13, zmm21, zmm25
    vmovdqu64 zmmword ptr [r11 + 1280], zmm30
    vpmadd52huq zmm14, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 1280]
    vpmadd52luq zmm14, zmm21, zmm26
    vpmadd52huq zmm15, zmm21, zmm26
    vmovdqu64 zmm31, zmmword ptr [r11 + 1344]
    vmovdqu64 zmm16, zmmword ptr [r8 + 2368]
    vpxord xmm21, xmm21, xmm21
    vpmadd52luq zmm21, zmm17, zmm23
    vpaddq zmm17, zmm17, zmm22
    vpsrlq zmm17, zmm17, 52
    vmovdqu64 zmm31{k2}, zmmword ptr [r10 + 1344]
    vpaddq zmm18, zmm18, zmm17
    vmovdqu64 zmm25, zmmword ptr [rcx + 64]
    vpmadd52huq zmm18, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 128]
    vmovdqu64 zmmword ptr [r11 + 1344], zmm31
    vpmadd52luq zmm18, zmm21, zmm26
    vpmadd52huq zmm19, zmm21, zmm26
    vmovdqu64 zmm25, zmmword ptr [rcx + 192]
    vpmadd52luq zmm19, zmm21, zmm25
    vpmadd52huq zmm20, zmm21, zmm25
    vmovdqu64 zmm30, zmmword ptr [r11 + 1408]
    vmovdqu64 zmm26, zmmword ptr [rcx + 256]
    vpmadd52luq zmm20, zmm21, zmm26
    vpmadd52huq zmm0, zmm21, zmm26
    vmovdqu64 zmm25, zmmword ptr [rcx + 320]
    vmovdqu64 zmm30{k2}, zmmword ptr [r10 + 1408]
    vpmadd52luq zmm0, zmm21, zmm25
    vpmadd52huq zmm1, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 384]
    vpmadd52luq zmm1, zmm21, zmm26
    vmovdqu64 zmmword ptr [r11 + 1408], zmm30
    vpmadd52huq zmm2, zmm21, zmm26
    vmovdqu64 zmm25, zmmword ptr [rcx + 448]
    vpmadd52luq zmm2, zmm21, zmm25
    vpmadd52huq zmm3, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 512]
    vmovdqu64 zmm31, zmmword ptr [r11 + 1472]
    vpmadd52luq zmm3, zmm21, zmm26
    vpmadd52huq zmm4, zmm21, zmm26
    vmovdqu64 zmm25, zmmword ptr [rcx + 576]
    vpmadd52luq zmm4, zmm21, zmm25
    vmovdqu64 zmm31{k2}, zmmword ptr [r10 + 1472]
    vpmadd52huq zmm5, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 640]
    vpmadd52luq zmm5, zmm21, zmm26
    vpmadd52huq zmm6, zmm21, zmm26
    vmovdqu64 zmm25, zmmword ptr [rcx + 704]
    vmovdqu64 zmmword ptr [r11 + 1472], zmm31
    vpmadd52luq zmm6, zmm21, zmm25
    vpmadd52huq zmm7, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 768]
    vpmadd52luq zmm7, zmm21, zmm26
    vmovdqu64 zmm30, zmmword ptr [r11 + 1536]
    vpmadd52huq zmm8, zmm21, zmm26
    vmovdqu64 zmm25, zmmword ptr [rcx + 832]
    vpmadd52luq zmm8, zmm21, zmm25
    vpmadd52huq zmm9, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 896]
    vmovdqu64 zmm30{k2}, zmmword ptr [r10 + 1536]
    vpmadd52luq zmm9, zmm21, zmm26
    vpmadd52huq zmm10, zmm21, zmm26
    vmovdqu64 zmm25, zmmword ptr [rcx + 960]
    vpmadd52luq zmm10, zmm21, zmm25
    vmovdqu64 zmmword ptr [r11 + 1536], zmm30
    vpmadd52huq zmm11, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 1024]
    vpmadd52luq zmm11, zmm21, zmm26
    vpmadd52huq zmm12, zmm21, zmm26
    vmovdqu64 zmm25, zmmword ptr [rcx + 1088]
    vmovdqu64 zmm31, zmmword ptr [r11 + 1600]
    vpmadd52luq zmm12, zmm21, zmm25
    vpmadd52huq zmm13, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 1152]
    vpmadd52luq zmm13, zmm21, zmm26
    vmovdqu64 zmm31{k2}, zmmword ptr [r10 + 1600]
    vpmadd52huq zmm14, zmm21, zmm26
    vmovdqu64 zmm25, zmmword ptr [rcx + 1216]
    vpmadd52luq zmm14, zmm21, zmm25
    vpmadd52huq zmm15, zmm21, zmm25
    vmovdqu64 zmmword ptr [r11 + 1600], zmm31
    vmovdqu64 zmm26, zmmword ptr [rcx + 1280]
    vpmadd52luq zmm15, zmm21, zmm26
    vpmadd52huq zmm16, zmm21, zmm26
    vmovdqu64 zmm17, zmmword ptr [r8 + 2432]
    vpxord xmm21, xmm21, xmm21
    vmovdqu64 zmm30, zmmword ptr [r11 + 1664]
    vpmadd52luq zmm21, zmm18, zmm23
    vpaddq zmm18, zmm18, zmm22
    vpsrlq zmm18, zmm18, 52
    vpaddq zmm19, zmm19, zmm18
    vmovdqu64 zmm30{k2}, zmmword ptr [r10 + 1664]
    vmovdqu64 zmm25, zmmword ptr [rcx + 64]
    vpmadd52huq zmm19, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 128]
    vpmadd52luq zmm19, zmm21, zmm26
    vpmadd52huq zmm20, zmm21, zmm26
    vmovdqu64 zmmword ptr [r11 + 1664], zmm30
    vmovdqu64 zmm25, zmmword ptr [rcx + 192]
    vpmadd52luq zmm20, zmm21, zmm25
    vpmadd52huq zmm0, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 256]
    vmovdqu64 zmm31, zmmword ptr [r11 + 1728]
    vpmadd52luq zmm0, zmm21, zmm26
    vpmadd52huq zmm1, zmm21, zmm26
    vmovdqu64 zmm25, zmmword ptr [rcx + 320]
    vpmadd52luq zmm1, zmm21, zmm25
    vpmadd52huq zmm2, zmm21, zmm25
    vmovdqu64 zmm31{k2}, zmmword ptr [r10 + 1728]
    vmovdqu64 zmm26, zmmword ptr [rcx + 384]
    vpmadd52luq zmm2, zmm21, zmm26
    vpmadd52huq zmm3, zmm21, zmm26
    vmovdqu64 zmm25, zmmword ptr [rcx + 448]
    vmovdqu64 zmmword ptr [r11 + 1728], zmm31
    vpmadd52luq zmm3, zmm21, zmm25
    vpmadd52huq zmm4, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 512]
    vpmadd52luq zmm4, zmm21, zmm26
    vpmadd52huq zmm5, zmm21, zmm26
    vmovdqu64 zmm30, zmmword ptr [r11 + 1792]
    vmovdqu64 zmm25, zmmword ptr [rcx + 576]
    vpmadd52luq zmm5, zmm21, zmm25
    vpmadd52huq zmm6, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 640]
    vmovdqu64 zmm30{k2}, zmmword ptr [r10 + 1792]
    vpmadd52luq zmm6, zmm21, zmm26
    vpmadd52huq zmm7, zmm21, zmm26
    vmovdqu64 zmm25, zmmword ptr [rcx + 704]
    vpmadd52luq zmm7, zmm21, zmm25
    vmovdqu64 zmmword ptr [r11 + 1792], zmm30
    vpmadd52huq zmm8, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 768]
    vpmadd52luq zmm8, zmm21, zmm26
    vpmadd52huq zmm9, zmm21, zmm26
    vmovdqu64 zmm25, zmmword ptr [rcx + 832]
    vmovdqu64 zmm31, zmmword ptr [r11 + 1856]
    vpmadd52luq zmm9, zmm21, zmm25
    vpmadd52huq zmm10, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 896]
    vpmadd52luq zmm10, zmm21, zmm26
    vmovdqu64 zmm31{k2}, zmmword ptr [r10 + 1856]
    vpmadd52huq zmm11, zmm21, zmm26
    vmovdqu64 zmm25, zmmword ptr [rcx + 960]
    vpmadd52luq zmm11, zmm21, zmm25
    vpmadd52huq zmm12, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 1024]
    vmovdqu64 zmmword ptr [r11 + 1856], zmm31
    vpmadd52luq zmm12, zmm21, zmm26
    vpmadd52huq zmm13, zmm21, zmm26
    vmovdqu64 zmm25, zmmword ptr [rcx + 1088]
    vpmadd52luq zmm13, zmm21, zmm25
    vmovdqu64 zmm30, zmmword ptr [r11 + 1920]
    vpmadd52huq zmm14, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 1152]
    vpmadd52luq zmm14, zmm21, zmm26
    vpmadd52huq zmm15, zmm21, zmm26
    vmovdqu64 zmm25, zmmword ptr [rcx + 1216]
    vmovdqu64 zmm30{k2}, zmmword ptr [r10 + 1920]
    vpmadd52luq zmm15, zmm21, zmm25
    vpmadd52huq zmm16, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 1280]
    vpmadd52luq zmm16, zmm21, zmm26
    vmovdqu64 zmmword ptr [r11 + 1920], zmm30
    vpmadd52huq zmm17, zmm21, zmm26
    vmovdqu64 zmm18, zmmword ptr [r8 + 2496]
    vpxord xmm21, xmm21, xmm21
    vpmadd52luq zmm21, zmm19, zmm23
    vpaddq zmm19, zmm19, zmm22
    vmovdqu64 zmm31, zmmword ptr [r11 + 1984]
    vpsrlq zmm19, zmm19, 52
    vpaddq zmm20, zmm20, zmm19
    vmovdqu64 zmm25, zmmword ptr [rcx + 64]
    vpmadd52huq zmm20, zmm21, zmm25
    vmovdqu64 zmm31{k2}, zmmword ptr [r10 + 1984]
    vmovdqu64 zmm26, zmmword ptr [rcx + 128]
    vpmadd52luq zmm20, zmm21, zmm26
    vpmadd52huq zmm0, zmm21, zmm26
    vmovdqu64 zmm25, zmmword ptr [rcx + 192]
    vmovdqu64 zmmword ptr [r11 + 1984], zmm31
    vpmadd52luq zmm0, zmm21, zmm25
    vpmadd52huq zmm1, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 256]
    vpmadd52luq zmm1, zmm21, zmm26
    vpmadd52huq zmm2, zmm21, zmm26
    vmovdqu64 zmm30, zmmword ptr [r11 + 2048]
    vmovdqu64 zmm25, zmmword ptr [rcx + 320]
    vpmadd52luq zmm2, zmm21, zmm25
    vpmadd52huq zmm3, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 384]
    vmovdqu64 zmm30{k2}, zmmword ptr [r10 + 2048]
    vpmadd52luq zmm3, zmm21, zmm26
    vpmadd52huq zmm4, zmm21, zmm26
    vmovdqu64 zmm25, zmmword ptr [rcx + 448]
    vpmadd52luq zmm4, zmm21, zmm25
    vpmadd52huq zmm5, zmm21, zmm25
    vmovdqu64 zmmword ptr [r11 + 2048], zmm30
    vmovdqu64 zmm26, zmmword ptr [rcx + 512]
    vpmadd52luq zmm5, zmm21, zmm26
    vpmadd52huq zmm6, zmm21, zmm26
    vmovdqu64 zmm25, zmmword ptr [rcx + 576]
    vmovdqu64 zmm31, zmmword ptr [r11 + 2112]
    vpmadd52luq zmm6, zmm21, zmm25
    vpmadd52huq zmm7, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 640]
    vpmadd52luq zmm7, zmm21, zmm26
    vpmadd52huq zmm8, zmm21, zmm26
    vmovdqu64 zmm31{k2}, zmmword ptr [r10 + 2112]
    vmovdqu64 zmm25, zmmword ptr [rcx + 704]
    vpmadd52luq zmm8, zmm21, zmm25
    vpmadd52huq zmm9, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 768]
    vmovdqu64 zmmword ptr [r11 + 2112], zmm31
    vpmadd52luq zmm9, zmm21, zmm26
    vpmadd52huq zmm10, zmm21, zmm26
    vmovdqu64 zmm25, zmmword ptr [rcx + 832]
    vpmadd52luq zmm10, zmm21, zmm25
    vpmadd52huq zmm11, zmm21, zmm25
    vmovdqu64 zmm30, zmmword ptr [r11 + 2176]
    vmovdqu64 zmm26, zmmword ptr [rcx + 896]
    vpmadd52luq zmm11, zmm21, zmm26
    vpmadd52huq zmm12, zmm21, zmm26
    vmovdqu64 zmm25, zmmword ptr [rcx + 960]
    vmovdqu64 zmm30{k2}, zmmword ptr [r10 + 2176]
    vpmadd52luq zmm12, zmm21, zmm25
    vpmadd52huq zmm13, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 1024]
    vpmadd52luq zmm13, zmm21, zmm26
    vmovdqu64 zmmword ptr [r11 + 2176], zmm30
    vpmadd52huq zmm14, zmm21, zmm26
    vmovdqu64 zmm25, zmmword ptr [rcx + 1088]
    vpmadd52luq zmm14, zmm21, zmm25
    vpmadd52huq zmm15, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 1152]
    vmovdqu64 zmm31, zmmword ptr [r11 + 2240]
    vpmadd52luq zmm15, zmm21, zmm26
    vpmadd52huq zmm16, zmm21, zmm26
    vmovdqu64 zmm25, zmmword ptr [rcx + 1216]
    vpmadd52luq zmm16, zmm21, zmm25
    vmovdqu64 zmm31{k2}, zmmword ptr [r10 + 2240]
    vpmadd52huq zmm17, zmm21, zmm25
    vmovdqu64 zmm26, zmmword ptr [rcx + 1280]
    vpmadd52luq zmm17, zmm21, zmm26
    vpmadd52huq zmm18, zmm21, zmm26
    vpsrlq zmm21, zmm20, 52
    vmovdqu64 zmmword ptr [r11 + 2240], zmm31
    vmovdqu64 zmmword ptr [rdi], zmm20
    vpaddq zmm0, zmm0, zmm21
    vpsrlq zmm21, zmm0, 52
    vmovdqu64 zmmword ptr [rdi + 64], zmm0
    vmovdqu64 zmm30, zmmword ptr [r11 + 2304]
    vpaddq zmm1, zmm1, zmm21
    vpsrlq zmm21, zmm1, 52
    vmovdqu64 zmmword ptr [rdi + 128], zmm1
    vpaddq zmm2, zmm2, zmm21
    vpsrlq zmm21, zmm2, 52
    vmovdqu64 zmm30{k2}, zmmword ptr [r10 + 2304]
    vmovdqu64 zmmword ptr [rdi + 192], zmm2
    vpaddq zmm3, zmm3, zmm21
    vpsrlq zmm21, zmm3, 52
    vmovdqu64 zmmword ptr [rdi + 256], zmm3
    vmovdqu64 zmmword ptr [r11 + 2304], zmm30
    vpaddq zmm4, zmm4, zmm21
    vpsrlq zmm21, zmm4, 52
    vmovdqu64 zmmword ptr [rdi + 320], zmm4
    vpaddq zmm5, zmm5, zmm21
    vpsrlq zmm21, zmm5, 52
    vmovdqu64 zmm31, zmmword ptr [r11 + 2368]
    vmovdqu64 zmmword ptr [rdi + 384], zmm5
    vpaddq zmm6, zmm6, zmm21
    vpsrlq zmm21, zmm6, 52
    vmovdqu64 zmmword ptr [rdi + 448], zmm6
    vmovdqu64 zmm31{k2}, zmmword ptr [r10 + 2368]
    vpaddq zmm7, zmm7, zmm21
    vpsrlq zmm21, zmm7, 52
    vmovdqu64 zmmword ptr [rdi + 512], zmm7
    vpaddq zmm8, zmm8, zmm21
    vmovdqu64 zmmword ptr [r11 + 2368], zmm31
    vpsrlq zmm21, zmm8, 52
    vmovdqu64 zmmword ptr [rdi + 576], zmm8
    vpaddq zmm9, zmm9, zmm21
    vpsrlq zmm21, zmm9, 52
    vmovdqu64 zmmword ptr [rdi + 640], zmm9
    vmovdqu64 zmm30, zmmword ptr [r11 + 2432]
    vpaddq zmm10, zmm10, zmm21
    vpsrlq zmm21, zmm10, 52
    vmovdqu64 zmmword ptr [rdi + 704], zmm10
    vpaddq zmm11, zmm11, zmm21
    vmovdqu64 zmm30{k2}, zmmword ptr [r10 + 2432]
    vpsrlq zmm21, zmm11, 52
    vmovdqu64 zmmword ptr [rdi + 768], zmm11
    vpaddq zmm12, zmm12, zmm21
    vpsrlq zmm21, zmm12, 52
    vmovdqu64 zmmword ptr [rdi + 832], zmm12
    vmovdqu64 zmmword ptr [r11 + 2432], zmm30
    vpaddq zmm13, zmm13, zmm21
    vpsrlq zmm21, zmm13, 52
    vmovdqu64 zmmword ptr [rdi + 896], zmm13
    vpaddq zmm14, zmm14, zmm21
    vmovdqu64 zmm31, zmmword ptr [r11 + 2496]
    vpsrlq zmm21, zmm14, 52
    vmovdqu64 zmmword ptr [rdi + 960], zmm14
    vpaddq zmm15, zmm15, zmm21
    vpsrlq zmm21, zmm15, 52
    vmovdqu64 zmmword ptr [rdi + 1024], zmm15
    vmovdqu64 zmm31{k2}, zmmword ptr [r10 + 2496]
    vpaddq zmm16, zmm16, zmm21
    vpsrlq zmm21, zmm16, 52
    vmovdqu64 zmmword ptr [rdi + 1088], zmm16
    vpaddq zmm17, zmm17, zmm21
    vmovdqu64 zmmword ptr [r11 + 2496], zmm31
    vpsrlq zmm21, zmm17, 52
    vmovdqu64 zmmword ptr [rdi + 1152], zmm17
    vpaddq zmm18, zmm18, zmm21
    vmovdqu64 zmmword ptr [rdi + 1216], zmm18
    add r10, 2560
    vzeroupper
    ret
