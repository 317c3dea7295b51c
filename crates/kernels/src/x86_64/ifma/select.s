# Written by `cargo xtask kernels` (xtask/src/kernels.rs).
    vmovdqu64 zmm0, zmmword ptr [r8]
    vpcmpeqq k1, zmm0, qword ptr [rdx + 0]{1to8}
    vpcmpeqq k2, zmm0, qword ptr [rdx + 8]{1to8}
2:
    vmovdqu64 zmm0, zmmword ptr [rdi]
    vmovdqu64 zmm1{k1}{z}, zmmword ptr [rsi]
    vmovdqu64 zmm2{k2}{z}, zmmword ptr [rsi + 64]
    vpternlogq zmm0, zmm1, zmm2, 254
    vmovdqu64 zmmword ptr [rdi], zmm0
    add rsi, rcx
    add rdi, 64
    dec r9
    jnz 2b
    vzeroupper
    ret
