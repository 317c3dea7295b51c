# Written by `cargo xtask kernels` (xtask/src/kernels.rs).
    vmovdqu64 zmm0, zmmword ptr [rcx]
    vpcmpeqq k1, zmm0, qword ptr [rdx + 0]{1to8}
2:
    vmovdqu64 zmm1, zmmword ptr [rdi]
    vmovdqu64 zmm1{k1}, zmmword ptr [rsi]
    vmovdqu64 zmmword ptr [rdi], zmm1
    add rsi, 64
    add rdi, 64
    dec r8
    jnz 2b
    vzeroupper
    ret
