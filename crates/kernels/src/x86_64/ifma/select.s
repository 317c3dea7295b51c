# Written by `cargo xtask kernels` (xtask/src/kernels.rs).
    vmovdqu64 zmm23, zmmword ptr [rdx]
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
2:
    vmovdqu64 zmm23, zmmword ptr [rsi]
    vmovdqu64 zmm23{k1}, zmmword ptr [rsi + 64]
    vmovdqu64 zmm24, zmmword ptr [rsi + 128]
    vmovdqu64 zmm24{k1}, zmmword ptr [rsi + 192]
    vmovdqa64 zmm23{k2}, zmm24
    vmovdqu64 zmm24, zmmword ptr [rsi + 256]
    vmovdqu64 zmm24{k1}, zmmword ptr [rsi + 320]
    vmovdqu64 zmm30, zmmword ptr [rsi + 384]
    vmovdqu64 zmm30{k1}, zmmword ptr [rsi + 448]
    vmovdqa64 zmm24{k2}, zmm30
    vmovdqa64 zmm23{k3}, zmm24
    vmovdqu64 zmm24, zmmword ptr [rsi + 512]
    vmovdqu64 zmm24{k1}, zmmword ptr [rsi + 576]
    vmovdqu64 zmm30, zmmword ptr [rsi + 640]
    vmovdqu64 zmm30{k1}, zmmword ptr [rsi + 704]
    vmovdqa64 zmm24{k2}, zmm30
    vmovdqu64 zmm30, zmmword ptr [rsi + 768]
    vmovdqu64 zmm30{k1}, zmmword ptr [rsi + 832]
    vmovdqu64 zmm31, zmmword ptr [rsi + 896]
    vmovdqu64 zmm31{k1}, zmmword ptr [rsi + 960]
    vmovdqa64 zmm30{k2}, zmm31
    vmovdqa64 zmm24{k3}, zmm30
    vmovdqa64 zmm23{k4}, zmm24
    vmovdqu64 zmmword ptr [rdi], zmm23
    vmovdqu64 zmm23, zmmword ptr [rsi + 1024]
    vmovdqu64 zmm23{k1}, zmmword ptr [rsi + 1088]
    vmovdqu64 zmm24, zmmword ptr [rsi + 1152]
    vmovdqu64 zmm24{k1}, zmmword ptr [rsi + 1216]
    vmovdqa64 zmm23{k2}, zmm24
    vmovdqu64 zmm24, zmmword ptr [rsi + 1280]
    vmovdqu64 zmm24{k1}, zmmword ptr [rsi + 1344]
    vmovdqu64 zmm30, zmmword ptr [rsi + 1408]
    vmovdqu64 zmm30{k1}, zmmword ptr [rsi + 1472]
    vmovdqa64 zmm24{k2}, zmm30
    vmovdqa64 zmm23{k3}, zmm24
    vmovdqu64 zmm24, zmmword ptr [rsi + 1536]
    vmovdqu64 zmm24{k1}, zmmword ptr [rsi + 1600]
    vmovdqu64 zmm30, zmmword ptr [rsi + 1664]
    vmovdqu64 zmm30{k1}, zmmword ptr [rsi + 1728]
    vmovdqa64 zmm24{k2}, zmm30
    vmovdqu64 zmm30, zmmword ptr [rsi + 1792]
    vmovdqu64 zmm30{k1}, zmmword ptr [rsi + 1856]
    vmovdqu64 zmm31, zmmword ptr [rsi + 1920]
    vmovdqu64 zmm31{k1}, zmmword ptr [rsi + 1984]
    vmovdqa64 zmm30{k2}, zmm31
    vmovdqa64 zmm24{k3}, zmm30
    vmovdqa64 zmm23{k4}, zmm24
    vmovdqu64 zmm23{k5}, zmmword ptr [rdi]
    vmovdqu64 zmmword ptr [rdi], zmm23
    add rsi, 2048
    add rdi, 64
    dec rcx
    jnz 2b
    vzeroupper
    ret
