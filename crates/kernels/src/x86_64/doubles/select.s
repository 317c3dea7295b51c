# Written by `cargo xtask kernels` (xtask/src/kernels.rs).
    vmovdqa ymm15, ymmword ptr [rdx]
    vpbroadcastq ymm0, qword ptr [rcx + 0]
    vpcmpeqq ymm0, ymm0, ymm15
    vpbroadcastq ymm1, qword ptr [rcx + 8]
    vpcmpeqq ymm1, ymm1, ymm15
    vpbroadcastq ymm2, qword ptr [rcx + 16]
    vpcmpeqq ymm2, ymm2, ymm15
    vpbroadcastq ymm3, qword ptr [rcx + 24]
    vpcmpeqq ymm3, ymm3, ymm15
    vpbroadcastq ymm4, qword ptr [rcx + 32]
    vpcmpeqq ymm4, ymm4, ymm15
    vpbroadcastq ymm5, qword ptr [rcx + 40]
    vpcmpeqq ymm5, ymm5, ymm15
    vpbroadcastq ymm6, qword ptr [rcx + 48]
    vpcmpeqq ymm6, ymm6, ymm15
    vpbroadcastq ymm7, qword ptr [rcx + 56]
    vpcmpeqq ymm7, ymm7, ymm15
    mov r10, rdi
    mov r11, r8
2:
    mov rax, rsi
    vpand ymm8, ymm0, ymmword ptr [rax]
    add rax, r9
    vpand ymm9, ymm1, ymmword ptr [rax]
    add rax, r9
    vpand ymm10, ymm2, ymmword ptr [rax]
    vpor ymm8, ymm8, ymm10
    add rax, r9
    vpand ymm10, ymm3, ymmword ptr [rax]
    vpor ymm9, ymm9, ymm10
    add rax, r9
    vpand ymm10, ymm4, ymmword ptr [rax]
    vpor ymm8, ymm8, ymm10
    add rax, r9
    vpand ymm10, ymm5, ymmword ptr [rax]
    vpor ymm9, ymm9, ymm10
    add rax, r9
    vpand ymm10, ymm6, ymmword ptr [rax]
    vpor ymm8, ymm8, ymm10
    add rax, r9
    vpand ymm10, ymm7, ymmword ptr [rax]
    vpor ymm9, ymm9, ymm10
    add rax, r9
    vpor ymm8, ymm8, ymm9
    vmovdqa ymmword ptr [r10], ymm8
    add rsi, 64
    add r10, 64
    dec r11
    jnz 2b
    mov rsi, rax
    mov rax, r8
    shl rax, 6
    sub rsi, rax
    add rsi, 64
    vpbroadcastq ymm0, qword ptr [rcx + 64]
    vpcmpeqq ymm0, ymm0, ymm15
    vpbroadcastq ymm1, qword ptr [rcx + 72]
    vpcmpeqq ymm1, ymm1, ymm15
    vpbroadcastq ymm2, qword ptr [rcx + 80]
    vpcmpeqq ymm2, ymm2, ymm15
    vpbroadcastq ymm3, qword ptr [rcx + 88]
    vpcmpeqq ymm3, ymm3, ymm15
    vpbroadcastq ymm4, qword ptr [rcx + 96]
    vpcmpeqq ymm4, ymm4, ymm15
    vpbroadcastq ymm5, qword ptr [rcx + 104]
    vpcmpeqq ymm5, ymm5, ymm15
    vpbroadcastq ymm6, qword ptr [rcx + 112]
    vpcmpeqq ymm6, ymm6, ymm15
    vpbroadcastq ymm7, qword ptr [rcx + 120]
    vpcmpeqq ymm7, ymm7, ymm15
    mov r10, rdi
    mov r11, r8
2:
    mov rax, rsi
    vpand ymm8, ymm0, ymmword ptr [rax]
    add rax, r9
    vpand ymm9, ymm1, ymmword ptr [rax]
    add rax, r9
    vpand ymm10, ymm2, ymmword ptr [rax]
    vpor ymm8, ymm8, ymm10
    add rax, r9
    vpand ymm10, ymm3, ymmword ptr [rax]
    vpor ymm9, ymm9, ymm10
    add rax, r9
    vpand ymm10, ymm4, ymmword ptr [rax]
    vpor ymm8, ymm8, ymm10
    add rax, r9
    vpand ymm10, ymm5, ymmword ptr [rax]
    vpor ymm9, ymm9, ymm10
    add rax, r9
    vpand ymm10, ymm6, ymmword ptr [rax]
    vpor ymm8, ymm8, ymm10
    add rax, r9
    vpand ymm10, ymm7, ymmword ptr [rax]
    vpor ymm9, ymm9, ymm10
    add rax, r9
    vpor ymm9, ymm9, ymmword ptr [r10]
    vpor ymm8, ymm8, ymm9
    vmovdqa ymmword ptr [r10], ymm8
    add rsi, 64
    add r10, 64
    dec r11
    jnz 2b
    vzeroupper
    ret
