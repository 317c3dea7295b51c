# Written by `cargo xtask kernels` (xtask/src/kernels.rs).
    vmovdqu64 zmm0, zmmword ptr [rdx]
    mov eax, 1
    vpbroadcastq zmm1, rax
    vptestmq k1, zmm0, zmm1
    mov eax, 2
    vpbroadcastq zmm1, rax
    vptestmq k2, zmm0, zmm1
    mov eax, 4
    vpbroadcastq zmm1, rax
    vptestmq k3, zmm0, zmm1
    mov eax, 8
    vpbroadcastq zmm1, rax
    vptestmq k4, zmm0, zmm1
2:
    vmovdqu64 zmm0, zmmword ptr [rsi]
    vmovdqu64 zmm0{k1}, zmmword ptr [rsi + 64]
    vmovdqu64 zmm1, zmmword ptr [rsi + 128]
    vmovdqu64 zmm1{k1}, zmmword ptr [rsi + 192]
    vmovdqa64 zmm0{k2}, zmm1
    vmovdqu64 zmm1, zmmword ptr [rsi + 256]
    vmovdqu64 zmm1{k1}, zmmword ptr [rsi + 320]
    vmovdqu64 zmm2, zmmword ptr [rsi + 384]
    vmovdqu64 zmm2{k1}, zmmword ptr [rsi + 448]
    vmovdqa64 zmm1{k2}, zmm2
    vmovdqa64 zmm0{k3}, zmm1
    vmovdqu64 zmm1, zmmword ptr [rsi + 512]
    vmovdqu64 zmm1{k1}, zmmword ptr [rsi + 576]
    vmovdqu64 zmm2, zmmword ptr [rsi + 640]
    vmovdqu64 zmm2{k1}, zmmword ptr [rsi + 704]
    vmovdqa64 zmm1{k2}, zmm2
    vmovdqu64 zmm2, zmmword ptr [rsi + 768]
    vmovdqu64 zmm2{k1}, zmmword ptr [rsi + 832]
    vmovdqu64 zmm3, zmmword ptr [rsi + 896]
    vmovdqu64 zmm3{k1}, zmmword ptr [rsi + 960]
    vmovdqa64 zmm2{k2}, zmm3
    vmovdqa64 zmm1{k3}, zmm2
    vmovdqa64 zmm0{k4}, zmm1
    vmovdqu64 zmmword ptr [rdi], zmm0
    add rsi, 1024
    add rdi, 64
    dec rcx
    jnz 2b
    vzeroupper
    ret
