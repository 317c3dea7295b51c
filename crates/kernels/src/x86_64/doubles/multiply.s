# Written by `cargo xtask kernels` (xtask/src/kernels.rs).
    push rbx
    push rbp
    push r12
    push r13
    push r14
    push r15
    sub rsp, 16
    stmxcsr dword ptr [rsp]
    lea rbp, [rip + {tables}]
    ldmxcsr dword ptr [rbp + 176]
    imul r10, r9, 160
    mov rax, rsi
    mov rbx, r8
    lea r13, [r9 + r9*4]
7:
    vmovdqa ymm13, ymmword ptr [rax]
    vpand ymm13, ymm13, ymmword ptr [rbp + 0]
    vpor ymm13, ymm13, ymmword ptr [rbp + 32]
    vsubpd ymm13, ymm13, ymmword ptr [rbp + 32]
    vmovapd ymmword ptr [rbx], ymm13
    add rax, 64
    add rbx, 32
    dec r13
    jnz 7b
    lea r11, [r8 + r10]
    mov rax, rdx
    mov rbx, r11
    lea r13, [r9 + r9*4]
7:
    vmovdqa ymm13, ymmword ptr [rax]
    vpand ymm13, ymm13, ymmword ptr [rbp + 0]
    vpor ymm13, ymm13, ymmword ptr [rbp + 32]
    vsubpd ymm13, ymm13, ymmword ptr [rbp + 32]
    vmovapd ymmword ptr [rbx], ymm13
    add rax, 64
    add rbx, 32
    dec r13
    jnz 7b
    lea rdx, [r11 + r10*2]
    lea r10, [r8 + r10*2]
    mov r15, r10
    vmovapd ymm11, ymmword ptr [rbp + 64]
    vmovapd ymm12, ymmword ptr [rbp + 96]
    vpxor ymm13, ymm13, ymm13
    vmovdqa ymmword ptr [rdx + 0], ymm13
    vmovdqa ymmword ptr [rdx + 32], ymm13
    vmovdqa ymmword ptr [rdx + 64], ymm13
    vmovdqa ymmword ptr [rdx + 96], ymm13
    vmovdqa ymmword ptr [rdx + 128], ymm13
    xor r14d, r14d
2:
    mov rax, r8
    lea r12, [r14 + 1]
    imul rbx, r14, 160
    mov rsi, r14
    add rbx, r11
    shl rsi, 7
    add rsi, rbp
    vpbroadcastq ymm0, qword ptr [rsi + 192]
    vpbroadcastq ymm1, qword ptr [rsi + 200]
    vpbroadcastq ymm2, qword ptr [rsi + 208]
    vpbroadcastq ymm3, qword ptr [rsi + 216]
    vpbroadcastq ymm4, qword ptr [rsi + 224]
    vpbroadcastq ymm5, qword ptr [rsi + 232]
    vpbroadcastq ymm6, qword ptr [rsi + 240]
    vpbroadcastq ymm7, qword ptr [rsi + 248]
    vpbroadcastq ymm8, qword ptr [rsi + 256]
    vpbroadcastq ymm9, qword ptr [rsi + 264]
    test r12, r12
    jz 4f
3:
    vmovapd ymm10, ymmword ptr [rbx + 0]
    vmovapd ymm13, ymm11
    vfmadd231pd ymm13, ymm10, ymmword ptr [rax + 0]
    vsubpd ymm14, ymm12, ymm13
    vfmadd231pd ymm14, ymm10, ymmword ptr [rax + 0]
    vpaddq ymm1, ymm1, ymm13
    vpaddq ymm0, ymm0, ymm14
    vmovapd ymm13, ymm11
    vfmadd231pd ymm13, ymm10, ymmword ptr [rax + 32]
    vsubpd ymm14, ymm12, ymm13
    vfmadd231pd ymm14, ymm10, ymmword ptr [rax + 32]
    vpaddq ymm2, ymm2, ymm13
    vpaddq ymm1, ymm1, ymm14
    vmovapd ymm13, ymm11
    vfmadd231pd ymm13, ymm10, ymmword ptr [rax + 64]
    vsubpd ymm14, ymm12, ymm13
    vfmadd231pd ymm14, ymm10, ymmword ptr [rax + 64]
    vpaddq ymm3, ymm3, ymm13
    vpaddq ymm2, ymm2, ymm14
    vmovapd ymm13, ymm11
    vfmadd231pd ymm13, ymm10, ymmword ptr [rax + 96]
    vsubpd ymm14, ymm12, ymm13
    vfmadd231pd ymm14, ymm10, ymmword ptr [rax + 96]
    vpaddq ymm4, ymm4, ymm13
    vpaddq ymm3, ymm3, ymm14
    vmovapd ymm13, ymm11
    vfmadd231pd ymm13, ymm10, ymmword ptr [rax + 128]
    vsubpd ymm14, ymm12, ymm13
    vfmadd231pd ymm14, ymm10, ymmword ptr [rax + 128]
    vpaddq ymm5, ymm5, ymm13
    vpaddq ymm4, ymm4, ymm14
    vmovapd ymm10, ymmword ptr [rbx + 32]
    vmovapd ymm13, ymm11
    vfmadd231pd ymm13, ymm10, ymmword ptr [rax + 0]
    vsubpd ymm14, ymm12, ymm13
    vfmadd231pd ymm14, ymm10, ymmword ptr [rax + 0]
    vpaddq ymm2, ymm2, ymm13
    vpaddq ymm1, ymm1, ymm14
    vmovapd ymm13, ymm11
    vfmadd231pd ymm13, ymm10, ymmword ptr [rax + 32]
    vsubpd ymm14, ymm12, ymm13
    vfmadd231pd ymm14, ymm10, ymmword ptr [rax + 32]
    vpaddq ymm3, ymm3, ymm13
    vpaddq ymm2, ymm2, ymm14
    vmovapd ymm13, ymm11
    vfmadd231pd ymm13, ymm10, ymmword ptr [rax + 64]
    vsubpd ymm14, ymm12, ymm13
    vfmadd231pd ymm14, ymm10, ymmword ptr [rax + 64]
    vpaddq ymm4, ymm4, ymm13
    vpaddq ymm3, ymm3, ymm14
    vmovapd ymm13, ymm11
    vfmadd231pd ymm13, ymm10, ymmword ptr [rax + 96]
    vsubpd ymm14, ymm12, ymm13
    vfmadd231pd ymm14, ymm10, ymmword ptr [rax + 96]
    vpaddq ymm5, ymm5, ymm13
    vpaddq ymm4, ymm4, ymm14
    vmovapd ymm13, ymm11
    vfmadd231pd ymm13, ymm10, ymmword ptr [rax + 128]
    vsubpd ymm14, ymm12, ymm13
    vfmadd231pd ymm14, ymm10, ymmword ptr [rax + 128]
    vpaddq ymm6, ymm6, ymm13
    vpaddq ymm5, ymm5, ymm14
    vmovapd ymm10, ymmword ptr [rbx + 64]
    vmovapd ymm13, ymm11
    vfmadd231pd ymm13, ymm10, ymmword ptr [rax + 0]
    vsubpd ymm14, ymm12, ymm13
    vfmadd231pd ymm14, ymm10, ymmword ptr [rax + 0]
    vpaddq ymm3, ymm3, ymm13
    vpaddq ymm2, ymm2, ymm14
    vmovapd ymm13, ymm11
    vfmadd231pd ymm13, ymm10, ymmword ptr [rax + 32]
    vsubpd ymm14, ymm12, ymm13
    vfmadd231pd ymm14, ymm10, ymmword ptr [rax + 32]
    vpaddq ymm4, ymm4, ymm13
    vpaddq ymm3, ymm3, ymm14
    vmovapd ymm13, ymm11
    vfmadd231pd ymm13, ymm10, ymmword ptr [rax + 64]
    vsubpd ymm14, ymm12, ymm13
    vfmadd231pd ymm14, ymm10, ymmword ptr [rax + 64]
    vpaddq ymm5, ymm5, ymm13
    vpaddq ymm4, ymm4, ymm14
    vmovapd ymm13, ymm11
    vfmadd231pd ymm13, ymm10, ymmword ptr [rax + 96]
    vsubpd ymm14, ymm12, ymm13
    vfmadd231pd ymm14, ymm10, ymmword ptr [rax + 96]
    vpaddq ymm6, ymm6, ymm13
    vpaddq ymm5, ymm5, ymm14
    vmovapd ymm13, ymm11
    vfmadd231pd ymm13, ymm10, ymmword ptr [rax + 128]
    vsubpd ymm14, ymm12, ymm13
    vfmadd231pd ymm14, ymm10, ymmword ptr [rax + 128]
    vpaddq ymm7, ymm7, ymm13
    vpaddq ymm6, ymm6, ymm14
    vmovapd ymm10, ymmword ptr [rbx + 96]
    vmovapd ymm13, ymm11
    vfmadd231pd ymm13, ymm10, ymmword ptr [rax + 0]
    vsubpd ymm14, ymm12, ymm13
    vfmadd231pd ymm14, ymm10, ymmword ptr [rax + 0]
    vpaddq ymm4, ymm4, ymm13
    vpaddq ymm3, ymm3, ymm14
    vmovapd ymm13, ymm11
    vfmadd231pd ymm13, ymm10, ymmword ptr [rax + 32]
    vsubpd ymm14, ymm12, ymm13
    vfmadd231pd ymm14, ymm10, ymmword ptr [rax + 32]
    vpaddq ymm5, ymm5, ymm13
    vpaddq ymm4, ymm4, ymm14
    vmovapd ymm13, ymm11
    vfmadd231pd ymm13, ymm10, ymmword ptr [rax + 64]
    vsubpd ymm14, ymm12, ymm13
    vfmadd231pd ymm14, ymm10, ymmword ptr [rax + 64]
    vpaddq ymm6, ymm6, ymm13
    vpaddq ymm5, ymm5, ymm14
    vmovapd ymm13, ymm11
    vfmadd231pd ymm13, ymm10, ymmword ptr [rax + 96]
    vsubpd ymm14, ymm12, ymm13
    vfmadd231pd ymm14, ymm10, ymmword ptr [rax + 96]
    vpaddq ymm7, ymm7, ymm13
    vpaddq ymm6, ymm6, ymm14
    vmovapd ymm13, ymm11
    vfmadd231pd ymm13, ymm10, ymmword ptr [rax + 128]
    vsubpd ymm14, ymm12, ymm13
    vfmadd231pd ymm14, ymm10, ymmword ptr [rax + 128]
    vpaddq ymm8, ymm8, ymm13
    vpaddq ymm7, ymm7, ymm14
    vmovapd ymm10, ymmword ptr [rbx + 128]
    vmovapd ymm13, ymm11
    vfmadd231pd ymm13, ymm10, ymmword ptr [rax + 0]
    vsubpd ymm14, ymm12, ymm13
    vfmadd231pd ymm14, ymm10, ymmword ptr [rax + 0]
    vpaddq ymm5, ymm5, ymm13
    vpaddq ymm4, ymm4, ymm14
    vmovapd ymm13, ymm11
    vfmadd231pd ymm13, ymm10, ymmword ptr [rax + 32]
    vsubpd ymm14, ymm12, ymm13
    vfmadd231pd ymm14, ymm10, ymmword ptr [rax + 32]
    vpaddq ymm6, ymm6, ymm13
    vpaddq ymm5, ymm5, ymm14
    vmovapd ymm13, ymm11
    vfmadd231pd ymm13, ymm10, ymmword ptr [rax + 64]
    vsubpd ymm14, ymm12, ymm13
    vfmadd231pd ymm14, ymm10, ymmword ptr [rax + 64]
    vpaddq ymm7, ymm7, ymm13
    vpaddq ymm6, ymm6, ymm14
    vmovapd ymm13, ymm11
    vfmadd231pd ymm13, ymm10, ymmword ptr [rax + 96]
    vsubpd ymm14, ymm12, ymm13
    vfmadd231pd ymm14, ymm10, ymmword ptr [rax + 96]
    vpaddq ymm8, ymm8, ymm13
    vpaddq ymm7, ymm7, ymm14
    vmovapd ymm13, ymm11
    vfmadd231pd ymm13, ymm10, ymmword ptr [rax + 128]
    vsubpd ymm14, ymm12, ymm13
    vfmadd231pd ymm14, ymm10, ymmword ptr [rax + 128]
    vpaddq ymm9, ymm9, ymm13
    vpaddq ymm8, ymm8, ymm14
    add rax, 160
    sub rbx, 160
    dec r12
    jnz 3b
4:
    vpaddq ymm0, ymm0, ymmword ptr [rdx + 0]
    vpaddq ymm1, ymm1, ymmword ptr [rdx + 32]
    vpaddq ymm2, ymm2, ymmword ptr [rdx + 64]
    vpaddq ymm3, ymm3, ymmword ptr [rdx + 96]
    vpaddq ymm4, ymm4, ymmword ptr [rdx + 128]
    mov rax, r10
    mov r13, r14
    imul rbx, r14, 320
    lea rbx, [rcx + rbx + 320]
    test r13, r13
    jz 4f
3:
    vmovapd ymm10, ymmword ptr [rbx + 0]
    vmovapd ymm13, ymm11
    vfmadd231pd ymm13, ymm10, ymmword ptr [rax + 0]
    vsubpd ymm14, ymm12, ymm13
    vfmadd231pd ymm14, ymm10, ymmword ptr [rax + 0]
    vpaddq ymm1, ymm1, ymm13
    vpaddq ymm0, ymm0, ymm14
    vmovapd ymm13, ymm11
    vfmadd231pd ymm13, ymm10, ymmword ptr [rax + 32]
    vsubpd ymm14, ymm12, ymm13
    vfmadd231pd ymm14, ymm10, ymmword ptr [rax + 32]
    vpaddq ymm2, ymm2, ymm13
    vpaddq ymm1, ymm1, ymm14
    vmovapd ymm13, ymm11
    vfmadd231pd ymm13, ymm10, ymmword ptr [rax + 64]
    vsubpd ymm14, ymm12, ymm13
    vfmadd231pd ymm14, ymm10, ymmword ptr [rax + 64]
    vpaddq ymm3, ymm3, ymm13
    vpaddq ymm2, ymm2, ymm14
    vmovapd ymm13, ymm11
    vfmadd231pd ymm13, ymm10, ymmword ptr [rax + 96]
    vsubpd ymm14, ymm12, ymm13
    vfmadd231pd ymm14, ymm10, ymmword ptr [rax + 96]
    vpaddq ymm4, ymm4, ymm13
    vpaddq ymm3, ymm3, ymm14
    vmovapd ymm13, ymm11
    vfmadd231pd ymm13, ymm10, ymmword ptr [rax + 128]
    vsubpd ymm14, ymm12, ymm13
    vfmadd231pd ymm14, ymm10, ymmword ptr [rax + 128]
    vpaddq ymm5, ymm5, ymm13
    vpaddq ymm4, ymm4, ymm14
    vmovapd ymm10, ymmword ptr [rbx + 64]
    vmovapd ymm13, ymm11
    vfmadd231pd ymm13, ymm10, ymmword ptr [rax + 0]
    vsubpd ymm14, ymm12, ymm13
    vfmadd231pd ymm14, ymm10, ymmword ptr [rax + 0]
    vpaddq ymm2, ymm2, ymm13
    vpaddq ymm1, ymm1, ymm14
    vmovapd ymm13, ymm11
    vfmadd231pd ymm13, ymm10, ymmword ptr [rax + 32]
    vsubpd ymm14, ymm12, ymm13
    vfmadd231pd ymm14, ymm10, ymmword ptr [rax + 32]
    vpaddq ymm3, ymm3, ymm13
    vpaddq ymm2, ymm2, ymm14
    vmovapd ymm13, ymm11
    vfmadd231pd ymm13, ymm10, ymmword ptr [rax + 64]
    vsubpd ymm14, ymm12, ymm13
    vfmadd231pd ymm14, ymm10, ymmword ptr [rax + 64]
    vpaddq ymm4, ymm4, ymm13
    vpaddq ymm3, ymm3, ymm14
    vmovapd ymm13, ymm11
    vfmadd231pd ymm13, ymm10, ymmword ptr [rax + 96]
    vsubpd ymm14, ymm12, ymm13
    vfmadd231pd ymm14, ymm10, ymmword ptr [rax + 96]
    vpaddq ymm5, ymm5, ymm13
    vpaddq ymm4, ymm4, ymm14
    vmovapd ymm13, ymm11
    vfmadd231pd ymm13, ymm10, ymmword ptr [rax + 128]
    vsubpd ymm14, ymm12, ymm13
    vfmadd231pd ymm14, ymm10, ymmword ptr [rax + 128]
    vpaddq ymm6, ymm6, ymm13
    vpaddq ymm5, ymm5, ymm14
    vmovapd ymm10, ymmword ptr [rbx + 128]
    vmovapd ymm13, ymm11
    vfmadd231pd ymm13, ymm10, ymmword ptr [rax + 0]
    vsubpd ymm14, ymm12, ymm13
    vfmadd231pd ymm14, ymm10, ymmword ptr [rax + 0]
    vpaddq ymm3, ymm3, ymm13
    vpaddq ymm2, ymm2, ymm14
    vmovapd ymm13, ymm11
    vfmadd231pd ymm13, ymm10, ymmword ptr [rax + 32]
    vsubpd ymm14, ymm12, ymm13
    vfmadd231pd ymm14, ymm10, ymmword ptr [rax + 32]
    vpaddq ymm4, ymm4, ymm13
    vpaddq ymm3, ymm3, ymm14
    vmovapd ymm13, ymm11
    vfmadd231pd ymm13, ymm10, ymmword ptr [rax + 64]
    vsubpd ymm14, ymm12, ymm13
    vfmadd231pd ymm14, ymm10, ymmword ptr [rax + 64]
    vpaddq ymm5, ymm5, ymm13
    vpaddq ymm4, ymm4, ymm14
    vmovapd ymm13, ymm11
    vfmadd231pd ymm13, ymm10, ymmword ptr [rax + 96]
    vsubpd ymm14, ymm12, ymm13
    vfmadd231pd ymm14, ymm10, ymmword ptr [rax + 96]
    vpaddq ymm6, ymm6, ymm13
    vpaddq ymm5, ymm5, ymm14
    vmovapd ymm13, ymm11
    vfmadd231pd ymm13, ymm10, ymmword ptr [rax + 128]
    vsubpd ymm14, ymm12, ymm13
    vfmadd231pd ymm14, ymm10, ymmword ptr [rax + 128]
    vpaddq ymm7, ymm7, ymm13
    vpaddq ymm6, ymm6, ymm14
    vmovapd ymm10, ymmword ptr [rbx + 192]
    vmovapd ymm13, ymm11
    vfmadd231pd ymm13, ymm10, ymmword ptr [rax + 0]
    vsubpd ymm14, ymm12, ymm13
    vfmadd231pd ymm14, ymm10, ymmword ptr [rax + 0]
    vpaddq ymm4, ymm4, ymm13
    vpaddq ymm3, ymm3, ymm14
    vmovapd ymm13, ymm11
    vfmadd231pd ymm13, ymm10, ymmword ptr [rax + 32]
    vsubpd ymm14, ymm12, ymm13
    vfmadd231pd ymm14, ymm10, ymmword ptr [rax + 32]
    vpaddq ymm5, ymm5, ymm13
    vpaddq ymm4, ymm4, ymm14
    vmovapd ymm13, ymm11
    vfmadd231pd ymm13, ymm10, ymmword ptr [rax + 64]
    vsubpd ymm14, ymm12, ymm13
    vfmadd231pd ymm14, ymm10, ymmword ptr [rax + 64]
    vpaddq ymm6, ymm6, ymm13
    vpaddq ymm5, ymm5, ymm14
    vmovapd ymm13, ymm11
    vfmadd231pd ymm13, ymm10, ymmword ptr [rax + 96]
    vsubpd ymm14, ymm12, ymm13
    vfmadd231pd ymm14, ymm10, ymmword ptr [rax + 96]
    vpaddq ymm7, ymm7, ymm13
    vpaddq ymm6, ymm6, ymm14
    vmovapd ymm13, ymm11
    vfmadd231pd ymm13, ymm10, ymmword ptr [rax + 128]
    vsubpd ymm14, ymm12, ymm13
    vfmadd231pd ymm14, ymm10, ymmword ptr [rax + 128]
    vpaddq ymm8, ymm8, ymm13
    vpaddq ymm7, ymm7, ymm14
    vmovapd ymm10, ymmword ptr [rbx + 256]
    vmovapd ymm13, ymm11
    vfmadd231pd ymm13, ymm10, ymmword ptr [rax + 0]
    vsubpd ymm14, ymm12, ymm13
    vfmadd231pd ymm14, ymm10, ymmword ptr [rax + 0]
    vpaddq ymm5, ymm5, ymm13
    vpaddq ymm4, ymm4, ymm14
    vmovapd ymm13, ymm11
    vfmadd231pd ymm13, ymm10, ymmword ptr [rax + 32]
    vsubpd ymm14, ymm12, ymm13
    vfmadd231pd ymm14, ymm10, ymmword ptr [rax + 32]
    vpaddq ymm6, ymm6, ymm13
    vpaddq ymm5, ymm5, ymm14
    vmovapd ymm13, ymm11
    vfmadd231pd ymm13, ymm10, ymmword ptr [rax + 64]
    vsubpd ymm14, ymm12, ymm13
    vfmadd231pd ymm14, ymm10, ymmword ptr [rax + 64]
    vpaddq ymm7, ymm7, ymm13
    vpaddq ymm6, ymm6, ymm14
    vmovapd ymm13, ymm11
    vfmadd231pd ymm13, ymm10, ymmword ptr [rax + 96]
    vsubpd ymm14, ymm12, ymm13
    vfmadd231pd ymm14, ymm10, ymmword ptr [rax + 96]
    vpaddq ymm8, ymm8, ymm13
    vpaddq ymm7, ymm7, ymm14
    vmovapd ymm13, ymm11
    vfmadd231pd ymm13, ymm10, ymmword ptr [rax + 128]
    vsubpd ymm14, ymm12, ymm13
    vfmadd231pd ymm14, ymm10, ymmword ptr [rax + 128]
    vpaddq ymm9, ymm9, ymm13
    vpaddq ymm8, ymm8, ymm14
    add rax, 160
    sub rbx, 320
    dec r13
    jnz 3b
4:
    vpsrlq ymm13, ymm0, 52
    vpand ymm0, ymm0, ymmword ptr [rbp + 0]
    vpor ymm0, ymm0, ymmword ptr [rbp + 32]
    vsubpd ymm0, ymm0, ymmword ptr [rbp + 32]
    vpaddq ymm1, ymm1, ymm13
    vpsrlq ymm13, ymm1, 52
    vpand ymm1, ymm1, ymmword ptr [rbp + 0]
    vpor ymm1, ymm1, ymmword ptr [rbp + 32]
    vsubpd ymm1, ymm1, ymmword ptr [rbp + 32]
    vpaddq ymm2, ymm2, ymm13
    vpsrlq ymm13, ymm2, 52
    vpand ymm2, ymm2, ymmword ptr [rbp + 0]
    vpor ymm2, ymm2, ymmword ptr [rbp + 32]
    vsubpd ymm2, ymm2, ymmword ptr [rbp + 32]
    vpaddq ymm3, ymm3, ymm13
    vpsrlq ymm13, ymm3, 52
    vpand ymm3, ymm3, ymmword ptr [rbp + 0]
    vpor ymm3, ymm3, ymmword ptr [rbp + 32]
    vsubpd ymm3, ymm3, ymmword ptr [rbp + 32]
    vpaddq ymm4, ymm4, ymm13
    vpsrlq ymm13, ymm4, 52
    vpand ymm4, ymm4, ymmword ptr [rbp + 0]
    vpor ymm4, ymm4, ymmword ptr [rbp + 32]
    vmovdqa ymmword ptr [rdx + 160], ymm4
    vsubpd ymm4, ymm4, ymmword ptr [rbp + 32]
    vpaddq ymm5, ymm5, ymm13
    vpbroadcastq ymm10, qword ptr [rbp + 128]
    vpbroadcastq ymm15, qword ptr [rbp + 136]
    vmovapd ymm13, ymm11
    vfmadd231pd ymm13, ymm0, ymmword ptr [rcx + 0]
    vsubpd ymm14, ymm12, ymm13
    vfmadd231pd ymm14, ymm0, ymmword ptr [rcx + 0]
    vpaddq ymm15, ymm15, ymm13
    vpaddq ymm10, ymm10, ymm14
    vpsrlq ymm13, ymm10, 52
    vpaddq ymm15, ymm15, ymm13
    vpand ymm10, ymm10, ymmword ptr [rbp + 0]
    vpor ymm10, ymm10, ymmword ptr [rbp + 32]
    vsubpd ymm10, ymm10, ymmword ptr [rbp + 32]
    vmovapd ymmword ptr [r15 + 0], ymm10
    vpbroadcastq ymm10, qword ptr [rbp + 144]
    vmovapd ymm13, ymm11
    vfmadd231pd ymm13, ymm0, ymmword ptr [rcx + 64]
    vsubpd ymm14, ymm12, ymm13
    vfmadd231pd ymm14, ymm0, ymmword ptr [rcx + 64]
    vpaddq ymm10, ymm10, ymm13
    vpaddq ymm15, ymm15, ymm14
    vmovapd ymm13, ymm11
    vfmadd231pd ymm13, ymm1, ymmword ptr [rcx + 0]
    vsubpd ymm14, ymm12, ymm13
    vfmadd231pd ymm14, ymm1, ymmword ptr [rcx + 0]
    vpaddq ymm10, ymm10, ymm13
    vpaddq ymm15, ymm15, ymm14
    vpsrlq ymm13, ymm15, 52
    vpaddq ymm10, ymm10, ymm13
    vpand ymm15, ymm15, ymmword ptr [rbp + 0]
    vpor ymm15, ymm15, ymmword ptr [rbp + 32]
    vsubpd ymm15, ymm15, ymmword ptr [rbp + 32]
    vmovapd ymmword ptr [r15 + 32], ymm15
    vpbroadcastq ymm15, qword ptr [rbp + 152]
    vmovapd ymm13, ymm11
    vfmadd231pd ymm13, ymm0, ymmword ptr [rcx + 128]
    vsubpd ymm14, ymm12, ymm13
    vfmadd231pd ymm14, ymm0, ymmword ptr [rcx + 128]
    vpaddq ymm15, ymm15, ymm13
    vpaddq ymm10, ymm10, ymm14
    vmovapd ymm13, ymm11
    vfmadd231pd ymm13, ymm1, ymmword ptr [rcx + 64]
    vsubpd ymm14, ymm12, ymm13
    vfmadd231pd ymm14, ymm1, ymmword ptr [rcx + 64]
    vpaddq ymm15, ymm15, ymm13
    vpaddq ymm10, ymm10, ymm14
    vmovapd ymm13, ymm11
    vfmadd231pd ymm13, ymm2, ymmword ptr [rcx + 0]
    vsubpd ymm14, ymm12, ymm13
    vfmadd231pd ymm14, ymm2, ymmword ptr [rcx + 0]
    vpaddq ymm15, ymm15, ymm13
    vpaddq ymm10, ymm10, ymm14
    vpsrlq ymm13, ymm10, 52
    vpaddq ymm15, ymm15, ymm13
    vpand ymm10, ymm10, ymmword ptr [rbp + 0]
    vpor ymm10, ymm10, ymmword ptr [rbp + 32]
    vsubpd ymm10, ymm10, ymmword ptr [rbp + 32]
    vmovapd ymmword ptr [r15 + 64], ymm10
    vpbroadcastq ymm10, qword ptr [rbp + 160]
    vmovapd ymm13, ymm11
    vfmadd231pd ymm13, ymm0, ymmword ptr [rcx + 192]
    vsubpd ymm14, ymm12, ymm13
    vfmadd231pd ymm14, ymm0, ymmword ptr [rcx + 192]
    vpaddq ymm10, ymm10, ymm13
    vpaddq ymm15, ymm15, ymm14
    vmovapd ymm13, ymm11
    vfmadd231pd ymm13, ymm1, ymmword ptr [rcx + 128]
    vsubpd ymm14, ymm12, ymm13
    vfmadd231pd ymm14, ymm1, ymmword ptr [rcx + 128]
    vpaddq ymm10, ymm10, ymm13
    vpaddq ymm15, ymm15, ymm14
    vmovapd ymm13, ymm11
    vfmadd231pd ymm13, ymm2, ymmword ptr [rcx + 64]
    vsubpd ymm14, ymm12, ymm13
    vfmadd231pd ymm14, ymm2, ymmword ptr [rcx + 64]
    vpaddq ymm10, ymm10, ymm13
    vpaddq ymm15, ymm15, ymm14
    vmovapd ymm13, ymm11
    vfmadd231pd ymm13, ymm3, ymmword ptr [rcx + 0]
    vsubpd ymm14, ymm12, ymm13
    vfmadd231pd ymm14, ymm3, ymmword ptr [rcx + 0]
    vpaddq ymm10, ymm10, ymm13
    vpaddq ymm15, ymm15, ymm14
    vpsrlq ymm13, ymm15, 52
    vpaddq ymm10, ymm10, ymm13
    vpand ymm15, ymm15, ymmword ptr [rbp + 0]
    vpor ymm15, ymm15, ymmword ptr [rbp + 32]
    vsubpd ymm15, ymm15, ymmword ptr [rbp + 32]
    vmovapd ymmword ptr [r15 + 96], ymm15
    vmovapd ymm13, ymm11
    vfmadd231pd ymm13, ymm0, ymmword ptr [rcx + 256]
    vsubpd ymm14, ymm12, ymm13
    vfmadd231pd ymm14, ymm0, ymmword ptr [rcx + 256]
    vpaddq ymm10, ymm10, ymm14
    vmovapd ymm13, ymm11
    vfmadd231pd ymm13, ymm1, ymmword ptr [rcx + 192]
    vsubpd ymm14, ymm12, ymm13
    vfmadd231pd ymm14, ymm1, ymmword ptr [rcx + 192]
    vpaddq ymm10, ymm10, ymm14
    vmovapd ymm13, ymm11
    vfmadd231pd ymm13, ymm2, ymmword ptr [rcx + 128]
    vsubpd ymm14, ymm12, ymm13
    vfmadd231pd ymm14, ymm2, ymmword ptr [rcx + 128]
    vpaddq ymm10, ymm10, ymm14
    vmovapd ymm13, ymm11
    vfmadd231pd ymm13, ymm3, ymmword ptr [rcx + 64]
    vsubpd ymm14, ymm12, ymm13
    vfmadd231pd ymm14, ymm3, ymmword ptr [rcx + 64]
    vpaddq ymm10, ymm10, ymm14
    vmovapd ymm13, ymm11
    vfmadd231pd ymm13, ymm4, ymmword ptr [rcx + 0]
    vsubpd ymm14, ymm12, ymm13
    vfmadd231pd ymm14, ymm4, ymmword ptr [rcx + 0]
    vpaddq ymm10, ymm10, ymm14
    vpand ymm10, ymm10, ymmword ptr [rbp + 0]
    vpor ymm10, ymm10, ymmword ptr [rbp + 32]
    vsubpd ymm10, ymm10, ymmword ptr [rbp + 32]
    vmovapd ymmword ptr [r15 + 128], ymm10
    vmovdqa ymm4, ymmword ptr [rdx + 160]
    vpbroadcastq ymm15, qword ptr [rbp + 168]
    vpaddq ymm4, ymm4, ymm15
    vmovapd ymm10, ymmword ptr [r15 + 0]
    vmovapd ymm13, ymm11
    vfmadd231pd ymm13, ymm10, ymmword ptr [rcx + 512]
    vpaddq ymm4, ymm4, ymm13
    vmovapd ymm13, ymm11
    vfmadd231pd ymm13, ymm10, ymmword ptr [rcx + 576]
    vsubpd ymm14, ymm12, ymm13
    vfmadd231pd ymm14, ymm10, ymmword ptr [rcx + 576]
    vpaddq ymm5, ymm5, ymm13
    vpaddq ymm4, ymm4, ymm14
    vmovapd ymm10, ymmword ptr [r15 + 32]
    vmovapd ymm13, ymm11
    vfmadd231pd ymm13, ymm10, ymmword ptr [rcx + 448]
    vpaddq ymm4, ymm4, ymm13
    vmovapd ymm13, ymm11
    vfmadd231pd ymm13, ymm10, ymmword ptr [rcx + 512]
    vsubpd ymm14, ymm12, ymm13
    vfmadd231pd ymm14, ymm10, ymmword ptr [rcx + 512]
    vpaddq ymm5, ymm5, ymm13
    vpaddq ymm4, ymm4, ymm14
    vmovapd ymm13, ymm11
    vfmadd231pd ymm13, ymm10, ymmword ptr [rcx + 576]
    vsubpd ymm14, ymm12, ymm13
    vfmadd231pd ymm14, ymm10, ymmword ptr [rcx + 576]
    vpaddq ymm6, ymm6, ymm13
    vpaddq ymm5, ymm5, ymm14
    vmovapd ymm10, ymmword ptr [r15 + 64]
    vmovapd ymm13, ymm11
    vfmadd231pd ymm13, ymm10, ymmword ptr [rcx + 384]
    vpaddq ymm4, ymm4, ymm13
    vmovapd ymm13, ymm11
    vfmadd231pd ymm13, ymm10, ymmword ptr [rcx + 448]
    vsubpd ymm14, ymm12, ymm13
    vfmadd231pd ymm14, ymm10, ymmword ptr [rcx + 448]
    vpaddq ymm5, ymm5, ymm13
    vpaddq ymm4, ymm4, ymm14
    vmovapd ymm13, ymm11
    vfmadd231pd ymm13, ymm10, ymmword ptr [rcx + 512]
    vsubpd ymm14, ymm12, ymm13
    vfmadd231pd ymm14, ymm10, ymmword ptr [rcx + 512]
    vpaddq ymm6, ymm6, ymm13
    vpaddq ymm5, ymm5, ymm14
    vmovapd ymm13, ymm11
    vfmadd231pd ymm13, ymm10, ymmword ptr [rcx + 576]
    vsubpd ymm14, ymm12, ymm13
    vfmadd231pd ymm14, ymm10, ymmword ptr [rcx + 576]
    vpaddq ymm7, ymm7, ymm13
    vpaddq ymm6, ymm6, ymm14
    vmovapd ymm10, ymmword ptr [r15 + 96]
    vmovapd ymm13, ymm11
    vfmadd231pd ymm13, ymm10, ymmword ptr [rcx + 320]
    vpaddq ymm4, ymm4, ymm13
    vmovapd ymm13, ymm11
    vfmadd231pd ymm13, ymm10, ymmword ptr [rcx + 384]
    vsubpd ymm14, ymm12, ymm13
    vfmadd231pd ymm14, ymm10, ymmword ptr [rcx + 384]
    vpaddq ymm5, ymm5, ymm13
    vpaddq ymm4, ymm4, ymm14
    vmovapd ymm13, ymm11
    vfmadd231pd ymm13, ymm10, ymmword ptr [rcx + 448]
    vsubpd ymm14, ymm12, ymm13
    vfmadd231pd ymm14, ymm10, ymmword ptr [rcx + 448]
    vpaddq ymm6, ymm6, ymm13
    vpaddq ymm5, ymm5, ymm14
    vmovapd ymm13, ymm11
    vfmadd231pd ymm13, ymm10, ymmword ptr [rcx + 512]
    vsubpd ymm14, ymm12, ymm13
    vfmadd231pd ymm14, ymm10, ymmword ptr [rcx + 512]
    vpaddq ymm7, ymm7, ymm13
    vpaddq ymm6, ymm6, ymm14
    vmovapd ymm13, ymm11
    vfmadd231pd ymm13, ymm10, ymmword ptr [rcx + 576]
    vsubpd ymm14, ymm12, ymm13
    vfmadd231pd ymm14, ymm10, ymmword ptr [rcx + 576]
    vpaddq ymm8, ymm8, ymm13
    vpaddq ymm7, ymm7, ymm14
    vmovapd ymm10, ymmword ptr [r15 + 128]
    vmovapd ymm13, ymm11
    vfmadd231pd ymm13, ymm10, ymmword ptr [rcx + 320]
    vsubpd ymm14, ymm12, ymm13
    vfmadd231pd ymm14, ymm10, ymmword ptr [rcx + 320]
    vpaddq ymm5, ymm5, ymm13
    vpaddq ymm4, ymm4, ymm14
    vmovapd ymm13, ymm11
    vfmadd231pd ymm13, ymm10, ymmword ptr [rcx + 384]
    vsubpd ymm14, ymm12, ymm13
    vfmadd231pd ymm14, ymm10, ymmword ptr [rcx + 384]
    vpaddq ymm6, ymm6, ymm13
    vpaddq ymm5, ymm5, ymm14
    vmovapd ymm13, ymm11
    vfmadd231pd ymm13, ymm10, ymmword ptr [rcx + 448]
    vsubpd ymm14, ymm12, ymm13
    vfmadd231pd ymm14, ymm10, ymmword ptr [rcx + 448]
    vpaddq ymm7, ymm7, ymm13
    vpaddq ymm6, ymm6, ymm14
    vmovapd ymm13, ymm11
    vfmadd231pd ymm13, ymm10, ymmword ptr [rcx + 512]
    vsubpd ymm14, ymm12, ymm13
    vfmadd231pd ymm14, ymm10, ymmword ptr [rcx + 512]
    vpaddq ymm8, ymm8, ymm13
    vpaddq ymm7, ymm7, ymm14
    vmovapd ymm13, ymm11
    vfmadd231pd ymm13, ymm10, ymmword ptr [rcx + 576]
    vsubpd ymm14, ymm12, ymm13
    vfmadd231pd ymm14, ymm10, ymmword ptr [rcx + 576]
    vpaddq ymm9, ymm9, ymm13
    vpaddq ymm8, ymm8, ymm14
    vpsrlq ymm4, ymm4, 52
    vpaddq ymm5, ymm5, ymm4
    vmovdqa ymmword ptr [rdx + 0], ymm5
    vmovdqa ymmword ptr [rdx + 32], ymm6
    vmovdqa ymmword ptr [rdx + 64], ymm7
    vmovdqa ymmword ptr [rdx + 96], ymm8
    vmovdqa ymmword ptr [rdx + 128], ymm9
    add r15, 160
    inc r14
    cmp r14, r9
    jb 2b
2:
    lea rax, [r9 + r9 - 1]
    cmp r14, rax
    jae 8f
    lea rax, [r14 + 1]
    sub rax, r9
    lea r12, [r9 + r9 - 1]
    sub r12, r14
    imul rax, rax, 160
    add rax, r8
    lea rbx, [r9 - 1]
    imul rbx, rbx, 160
    mov rsi, r12
    add rbx, r11
    shl rsi, 7
    add rsi, rbp
    vpbroadcastq ymm0, qword ptr [rsi + 2240]
    vpbroadcastq ymm1, qword ptr [rsi + 2248]
    vpbroadcastq ymm2, qword ptr [rsi + 2256]
    vpbroadcastq ymm3, qword ptr [rsi + 2264]
    vpbroadcastq ymm4, qword ptr [rsi + 2272]
    vpbroadcastq ymm5, qword ptr [rsi + 2280]
    vpbroadcastq ymm6, qword ptr [rsi + 2288]
    vpbroadcastq ymm7, qword ptr [rsi + 2296]
    vpbroadcastq ymm8, qword ptr [rsi + 2304]
    vpbroadcastq ymm9, qword ptr [rsi + 2312]
    test r12, r12
    jz 4f
3:
    vmovapd ymm10, ymmword ptr [rbx + 0]
    vmovapd ymm13, ymm11
    vfmadd231pd ymm13, ymm10, ymmword ptr [rax + 0]
    vsubpd ymm14, ymm12, ymm13
    vfmadd231pd ymm14, ymm10, ymmword ptr [rax + 0]
    vpaddq ymm1, ymm1, ymm13
    vpaddq ymm0, ymm0, ymm14
    vmovapd ymm13, ymm11
    vfmadd231pd ymm13, ymm10, ymmword ptr [rax + 32]
    vsubpd ymm14, ymm12, ymm13
    vfmadd231pd ymm14, ymm10, ymmword ptr [rax + 32]
    vpaddq ymm2, ymm2, ymm13
    vpaddq ymm1, ymm1, ymm14
    vmovapd ymm13, ymm11
    vfmadd231pd ymm13, ymm10, ymmword ptr [rax + 64]
    vsubpd ymm14, ymm12, ymm13
    vfmadd231pd ymm14, ymm10, ymmword ptr [rax + 64]
    vpaddq ymm3, ymm3, ymm13
    vpaddq ymm2, ymm2, ymm14
    vmovapd ymm13, ymm11
    vfmadd231pd ymm13, ymm10, ymmword ptr [rax + 96]
    vsubpd ymm14, ymm12, ymm13
    vfmadd231pd ymm14, ymm10, ymmword ptr [rax + 96]
    vpaddq ymm4, ymm4, ymm13
    vpaddq ymm3, ymm3, ymm14
    vmovapd ymm13, ymm11
    vfmadd231pd ymm13, ymm10, ymmword ptr [rax + 128]
    vsubpd ymm14, ymm12, ymm13
    vfmadd231pd ymm14, ymm10, ymmword ptr [rax + 128]
    vpaddq ymm5, ymm5, ymm13
    vpaddq ymm4, ymm4, ymm14
    vmovapd ymm10, ymmword ptr [rbx + 32]
    vmovapd ymm13, ymm11
    vfmadd231pd ymm13, ymm10, ymmword ptr [rax + 0]
    vsubpd ymm14, ymm12, ymm13
    vfmadd231pd ymm14, ymm10, ymmword ptr [rax + 0]
    vpaddq ymm2, ymm2, ymm13
    vpaddq ymm1, ymm1, ymm14
    vmovapd ymm13, ymm11
    vfmadd231pd ymm13, ymm10, ymmword ptr [rax + 32]
    vsubpd ymm14, ymm12, ymm13
    vfmadd231pd ymm14, ymm10, ymmword ptr [rax + 32]
    vpaddq ymm3, ymm3, ymm13
    vpaddq ymm2, ymm2, ymm14
    vmovapd ymm13, ymm11
    vfmadd231pd ymm13, ymm10, ymmword ptr [rax + 64]
    vsubpd ymm14, ymm12, ymm13
    vfmadd231pd ymm14, ymm10, ymmword ptr [rax + 64]
    vpaddq ymm4, ymm4, ymm13
    vpaddq ymm3, ymm3, ymm14
    vmovapd ymm13, ymm11
    vfmadd231pd ymm13, ymm10, ymmword ptr [rax + 96]
    vsubpd ymm14, ymm12, ymm13
    vfmadd231pd ymm14, ymm10, ymmword ptr [rax + 96]
    vpaddq ymm5, ymm5, ymm13
    vpaddq ymm4, ymm4, ymm14
    vmovapd ymm13, ymm11
    vfmadd231pd ymm13, ymm10, ymmword ptr [rax + 128]
    vsubpd ymm14, ymm12, ymm13
    vfmadd231pd ymm14, ymm10, ymmword ptr [rax + 128]
    vpaddq ymm6, ymm6, ymm13
    vpaddq ymm5, ymm5, ymm14
    vmovapd ymm10, ymmword ptr [rbx + 64]
    vmovapd ymm13, ymm11
    vfmadd231pd ymm13, ymm10, ymmword ptr [rax + 0]
    vsubpd ymm14, ymm12, ymm13
    vfmadd231pd ymm14, ymm10, ymmword ptr [rax + 0]
    vpaddq ymm3, ymm3, ymm13
    vpaddq ymm2, ymm2, ymm14
    vmovapd ymm13, ymm11
    vfmadd231pd ymm13, ymm10, ymmword ptr [rax + 32]
    vsubpd ymm14, ymm12, ymm13
    vfmadd231pd ymm14, ymm10, ymmword ptr [rax + 32]
    vpaddq ymm4, ymm4, ymm13
    vpaddq ymm3, ymm3, ymm14
    vmovapd ymm13, ymm11
    vfmadd231pd ymm13, ymm10, ymmword ptr [rax + 64]
    vsubpd ymm14, ymm12, ymm13
    vfmadd231pd ymm14, ymm10, ymmword ptr [rax + 64]
    vpaddq ymm5, ymm5, ymm13
    vpaddq ymm4, ymm4, ymm14
    vmovapd ymm13, ymm11
    vfmadd231pd ymm13, ymm10, ymmword ptr [rax + 96]
    vsubpd ymm14, ymm12, ymm13
    vfmadd231pd ymm14, ymm10, ymmword ptr [rax + 96]
    vpaddq ymm6, ymm6, ymm13
    vpaddq ymm5, ymm5, ymm14
    vmovapd ymm13, ymm11
    vfmadd231pd ymm13, ymm10, ymmword ptr [rax + 128]
    vsubpd ymm14, ymm12, ymm13
    vfmadd231pd ymm14, ymm10, ymmword ptr [rax + 128]
    vpaddq ymm7, ymm7, ymm13
    vpaddq ymm6, ymm6, ymm14
    vmovapd ymm10, ymmword ptr [rbx + 96]
    vmovapd ymm13, ymm11
    vfmadd231pd ymm13, ymm10, ymmword ptr [rax + 0]
    vsubpd ymm14, ymm12, ymm13
    vfmadd231pd ymm14, ymm10, ymmword ptr [rax + 0]
    vpaddq ymm4, ymm4, ymm13
    vpaddq ymm3, ymm3, ymm14
    vmovapd ymm13, ymm11
    vfmadd231pd ymm13, ymm10, ymmword ptr [rax + 32]
    vsubpd ymm14, ymm12, ymm13
    vfmadd231pd ymm14, ymm10, ymmword ptr [rax + 32]
    vpaddq ymm5, ymm5, ymm13
    vpaddq ymm4, ymm4, ymm14
    vmovapd ymm13, ymm11
    vfmadd231pd ymm13, ymm10, ymmword ptr [rax + 64]
    vsubpd ymm14, ymm12, ymm13
    vfmadd231pd ymm14, ymm10, ymmword ptr [rax + 64]
    vpaddq ymm6, ymm6, ymm13
    vpaddq ymm5, ymm5, ymm14
    vmovapd ymm13, ymm11
    vfmadd231pd ymm13, ymm10, ymmword ptr [rax + 96]
    vsubpd ymm14, ymm12, ymm13
    vfmadd231pd ymm14, ymm10, ymmword ptr [rax + 96]
    vpaddq ymm7, ymm7, ymm13
    vpaddq ymm6, ymm6, ymm14
    vmovapd ymm13, ymm11
    vfmadd231pd ymm13, ymm10, ymmword ptr [rax + 128]
    vsubpd ymm14, ymm12, ymm13
    vfmadd231pd ymm14, ymm10, ymmword ptr [rax + 128]
    vpaddq ymm8, ymm8, ymm13
    vpaddq ymm7, ymm7, ymm14
    vmovapd ymm10, ymmword ptr [rbx + 128]
    vmovapd ymm13, ymm11
    vfmadd231pd ymm13, ymm10, ymmword ptr [rax + 0]
    vsubpd ymm14, ymm12, ymm13
    vfmadd231pd ymm14, ymm10, ymmword ptr [rax + 0]
    vpaddq ymm5, ymm5, ymm13
    vpaddq ymm4, ymm4, ymm14
    vmovapd ymm13, ymm11
    vfmadd231pd ymm13, ymm10, ymmword ptr [rax + 32]
    vsubpd ymm14, ymm12, ymm13
    vfmadd231pd ymm14, ymm10, ymmword ptr [rax + 32]
    vpaddq ymm6, ymm6, ymm13
    vpaddq ymm5, ymm5, ymm14
    vmovapd ymm13, ymm11
    vfmadd231pd ymm13, ymm10, ymmword ptr [rax + 64]
    vsubpd ymm14, ymm12, ymm13
    vfmadd231pd ymm14, ymm10, ymmword ptr [rax + 64]
    vpaddq ymm7, ymm7, ymm13
    vpaddq ymm6, ymm6, ymm14
    vmovapd ymm13, ymm11
    vfmadd231pd ymm13, ymm10, ymmword ptr [rax + 96]
    vsubpd ymm14, ymm12, ymm13
    vfmadd231pd ymm14, ymm10, ymmword ptr [rax + 96]
    vpaddq ymm8, ymm8, ymm13
    vpaddq ymm7, ymm7, ymm14
    vmovapd ymm13, ymm11
    vfmadd231pd ymm13, ymm10, ymmword ptr [rax + 128]
    vsubpd ymm14, ymm12, ymm13
    vfmadd231pd ymm14, ymm10, ymmword ptr [rax + 128]
    vpaddq ymm9, ymm9, ymm13
    vpaddq ymm8, ymm8, ymm14
    add rax, 160
    sub rbx, 160
    dec r12
    jnz 3b
4:
    vpaddq ymm0, ymm0, ymmword ptr [rdx + 0]
    vpaddq ymm1, ymm1, ymmword ptr [rdx + 32]
    vpaddq ymm2, ymm2, ymmword ptr [rdx + 64]
    vpaddq ymm3, ymm3, ymmword ptr [rdx + 96]
    vpaddq ymm4, ymm4, ymmword ptr [rdx + 128]
    lea rax, [r14 + 1]
    sub rax, r9
    lea r13, [r9 + r9 - 1]
    sub r13, r14
    imul rax, rax, 160
    add rax, r10
    imul rbx, r9, 320
    add rbx, rcx
    test r13, r13
    jz 4f
3:
    vmovapd ymm10, ymmword ptr [rbx + 0]
    vmovapd ymm13, ymm11
    vfmadd231pd ymm13, ymm10, ymmword ptr [rax + 0]
    vsubpd ymm14, ymm12, ymm13
    vfmadd231pd ymm14, ymm10, ymmword ptr [rax + 0]
    vpaddq ymm1, ymm1, ymm13
    vpaddq ymm0, ymm0, ymm14
    vmovapd ymm13, ymm11
    vfmadd231pd ymm13, ymm10, ymmword ptr [rax + 32]
    vsubpd ymm14, ymm12, ymm13
    vfmadd231pd ymm14, ymm10, ymmword ptr [rax + 32]
    vpaddq ymm2, ymm2, ymm13
    vpaddq ymm1, ymm1, ymm14
    vmovapd ymm13, ymm11
    vfmadd231pd ymm13, ymm10, ymmword ptr [rax + 64]
    vsubpd ymm14, ymm12, ymm13
    vfmadd231pd ymm14, ymm10, ymmword ptr [rax + 64]
    vpaddq ymm3, ymm3, ymm13
    vpaddq ymm2, ymm2, ymm14
    vmovapd ymm13, ymm11
    vfmadd231pd ymm13, ymm10, ymmword ptr [rax + 96]
    vsubpd ymm14, ymm12, ymm13
    vfmadd231pd ymm14, ymm10, ymmword ptr [rax + 96]
    vpaddq ymm4, ymm4, ymm13
    vpaddq ymm3, ymm3, ymm14
    vmovapd ymm13, ymm11
    vfmadd231pd ymm13, ymm10, ymmword ptr [rax + 128]
    vsubpd ymm14, ymm12, ymm13
    vfmadd231pd ymm14, ymm10, ymmword ptr [rax + 128]
    vpaddq ymm5, ymm5, ymm13
    vpaddq ymm4, ymm4, ymm14
    vmovapd ymm10, ymmword ptr [rbx + 64]
    vmovapd ymm13, ymm11
    vfmadd231pd ymm13, ymm10, ymmword ptr [rax + 0]
    vsubpd ymm14, ymm12, ymm13
    vfmadd231pd ymm14, ymm10, ymmword ptr [rax + 0]
    vpaddq ymm2, ymm2, ymm13
    vpaddq ymm1, ymm1, ymm14
    vmovapd ymm13, ymm11
    vfmadd231pd ymm13, ymm10, ymmword ptr [rax + 32]
    vsubpd ymm14, ymm12, ymm13
    vfmadd231pd ymm14, ymm10, ymmword ptr [rax + 32]
    vpaddq ymm3, ymm3, ymm13
    vpaddq ymm2, ymm2, ymm14
    vmovapd ymm13, ymm11
    vfmadd231pd ymm13, ymm10, ymmword ptr [rax + 64]
    vsubpd ymm14, ymm12, ymm13
    vfmadd231pd ymm14, ymm10, ymmword ptr [rax + 64]
    vpaddq ymm4, ymm4, ymm13
    vpaddq ymm3, ymm3, ymm14
    vmovapd ymm13, ymm11
    vfmadd231pd ymm13, ymm10, ymmword ptr [rax + 96]
    vsubpd ymm14, ymm12, ymm13
    vfmadd231pd ymm14, ymm10, ymmword ptr [rax + 96]
    vpaddq ymm5, ymm5, ymm13
    vpaddq ymm4, ymm4, ymm14
    vmovapd ymm13, ymm11
    vfmadd231pd ymm13, ymm10, ymmword ptr [rax + 128]
    vsubpd ymm14, ymm12, ymm13
    vfmadd231pd ymm14, ymm10, ymmword ptr [rax + 128]
    vpaddq ymm6, ymm6, ymm13
    vpaddq ymm5, ymm5, ymm14
    vmovapd ymm10, ymmword ptr [rbx + 128]
    vmovapd ymm13, ymm11
    vfmadd231pd ymm13, ymm10, ymmword ptr [rax + 0]
    vsubpd ymm14, ymm12, ymm13
    vfmadd231pd ymm14, ymm10, ymmword ptr [rax + 0]
    vpaddq ymm3, ymm3, ymm13
    vpaddq ymm2, ymm2, ymm14
    vmovapd ymm13, ymm11
    vfmadd231pd ymm13, ymm10, ymmword ptr [rax + 32]
    vsubpd ymm14, ymm12, ymm13
    vfmadd231pd ymm14, ymm10, ymmword ptr [rax + 32]
    vpaddq ymm4, ymm4, ymm13
    vpaddq ymm3, ymm3, ymm14
    vmovapd ymm13, ymm11
    vfmadd231pd ymm13, ymm10, ymmword ptr [rax + 64]
    vsubpd ymm14, ymm12, ymm13
    vfmadd231pd ymm14, ymm10, ymmword ptr [rax + 64]
    vpaddq ymm5, ymm5, ymm13
    vpaddq ymm4, ymm4, ymm14
    vmovapd ymm13, ymm11
    vfmadd231pd ymm13, ymm10, ymmword ptr [rax + 96]
    vsubpd ymm14, ymm12, ymm13
    vfmadd231pd ymm14, ymm10, ymmword ptr [rax + 96]
    vpaddq ymm6, ymm6, ymm13
    vpaddq ymm5, ymm5, ymm14
    vmovapd ymm13, ymm11
    vfmadd231pd ymm13, ymm10, ymmword ptr [rax + 128]
    vsubpd ymm14, ymm12, ymm13
    vfmadd231pd ymm14, ymm10, ymmword ptr [rax + 128]
    vpaddq ymm7, ymm7, ymm13
    vpaddq ymm6, ymm6, ymm14
    vmovapd ymm10, ymmword ptr [rbx + 192]
    vmovapd ymm13, ymm11
    vfmadd231pd ymm13, ymm10, ymmword ptr [rax + 0]
    vsubpd ymm14, ymm12, ymm13
    vfmadd231pd ymm14, ymm10, ymmword ptr [rax + 0]
    vpaddq ymm4, ymm4, ymm13
    vpaddq ymm3, ymm3, ymm14
    vmovapd ymm13, ymm11
    vfmadd231pd ymm13, ymm10, ymmword ptr [rax + 32]
    vsubpd ymm14, ymm12, ymm13
    vfmadd231pd ymm14, ymm10, ymmword ptr [rax + 32]
    vpaddq ymm5, ymm5, ymm13
    vpaddq ymm4, ymm4, ymm14
    vmovapd ymm13, ymm11
    vfmadd231pd ymm13, ymm10, ymmword ptr [rax + 64]
    vsubpd ymm14, ymm12, ymm13
    vfmadd231pd ymm14, ymm10, ymmword ptr [rax + 64]
    vpaddq ymm6, ymm6, ymm13
    vpaddq ymm5, ymm5, ymm14
    vmovapd ymm13, ymm11
    vfmadd231pd ymm13, ymm10, ymmword ptr [rax + 96]
    vsubpd ymm14, ymm12, ymm13
    vfmadd231pd ymm14, ymm10, ymmword ptr [rax + 96]
    vpaddq ymm7, ymm7, ymm13
    vpaddq ymm6, ymm6, ymm14
    vmovapd ymm13, ymm11
    vfmadd231pd ymm13, ymm10, ymmword ptr [rax + 128]
    vsubpd ymm14, ymm12, ymm13
    vfmadd231pd ymm14, ymm10, ymmword ptr [rax + 128]
    vpaddq ymm8, ymm8, ymm13
    vpaddq ymm7, ymm7, ymm14
    vmovapd ymm10, ymmword ptr [rbx + 256]
    vmovapd ymm13, ymm11
    vfmadd231pd ymm13, ymm10, ymmword ptr [rax + 0]
    vsubpd ymm14, ymm12, ymm13
    vfmadd231pd ymm14, ymm10, ymmword ptr [rax + 0]
    vpaddq ymm5, ymm5, ymm13
    vpaddq ymm4, ymm4, ymm14
    vmovapd ymm13, ymm11
    vfmadd231pd ymm13, ymm10, ymmword ptr [rax + 32]
    vsubpd ymm14, ymm12, ymm13
    vfmadd231pd ymm14, ymm10, ymmword ptr [rax + 32]
    vpaddq ymm6, ymm6, ymm13
    vpaddq ymm5, ymm5, ymm14
    vmovapd ymm13, ymm11
    vfmadd231pd ymm13, ymm10, ymmword ptr [rax + 64]
    vsubpd ymm14, ymm12, ymm13
    vfmadd231pd ymm14, ymm10, ymmword ptr [rax + 64]
    vpaddq ymm7, ymm7, ymm13
    vpaddq ymm6, ymm6, ymm14
    vmovapd ymm13, ymm11
    vfmadd231pd ymm13, ymm10, ymmword ptr [rax + 96]
    vsubpd ymm14, ymm12, ymm13
    vfmadd231pd ymm14, ymm10, ymmword ptr [rax + 96]
    vpaddq ymm8, ymm8, ymm13
    vpaddq ymm7, ymm7, ymm14
    vmovapd ymm13, ymm11
    vfmadd231pd ymm13, ymm10, ymmword ptr [rax + 128]
    vsubpd ymm14, ymm12, ymm13
    vfmadd231pd ymm14, ymm10, ymmword ptr [rax + 128]
    vpaddq ymm9, ymm9, ymm13
    vpaddq ymm8, ymm8, ymm14
    add rax, 160
    sub rbx, 320
    dec r13
    jnz 3b
4:
    vpsrlq ymm13, ymm0, 52
    vmovdqa ymmword ptr [rdi + 0], ymm0
    vpaddq ymm1, ymm1, ymm13
    vpsrlq ymm13, ymm1, 52
    vmovdqa ymmword ptr [rdi + 64], ymm1
    vpaddq ymm2, ymm2, ymm13
    vpsrlq ymm13, ymm2, 52
    vmovdqa ymmword ptr [rdi + 128], ymm2
    vpaddq ymm3, ymm3, ymm13
    vpsrlq ymm13, ymm3, 52
    vmovdqa ymmword ptr [rdi + 192], ymm3
    vpaddq ymm4, ymm4, ymm13
    vpsrlq ymm13, ymm4, 52
    vmovdqa ymmword ptr [rdi + 256], ymm4
    add rdi, 320
    vpaddq ymm5, ymm5, ymm13
    vmovdqa ymmword ptr [rdx + 0], ymm5
    vmovdqa ymmword ptr [rdx + 32], ymm6
    vmovdqa ymmword ptr [rdx + 64], ymm7
    vmovdqa ymmword ptr [rdx + 96], ymm8
    vmovdqa ymmword ptr [rdx + 128], ymm9
    inc r14
    jmp 2b
8:
    vmovdqa ymm0, ymmword ptr [rdx + 0]
    vmovdqa ymm1, ymmword ptr [rdx + 32]
    vmovdqa ymm2, ymmword ptr [rdx + 64]
    vmovdqa ymm3, ymmword ptr [rdx + 96]
    vmovdqa ymm4, ymmword ptr [rdx + 128]
    vpsrlq ymm13, ymm0, 52
    vmovdqa ymmword ptr [rdi + 0], ymm0
    vpaddq ymm1, ymm1, ymm13
    vpsrlq ymm13, ymm1, 52
    vmovdqa ymmword ptr [rdi + 64], ymm1
    vpaddq ymm2, ymm2, ymm13
    vpsrlq ymm13, ymm2, 52
    vmovdqa ymmword ptr [rdi + 128], ymm2
    vpaddq ymm3, ymm3, ymm13
    vpsrlq ymm13, ymm3, 52
    vmovdqa ymmword ptr [rdi + 192], ymm3
    vpaddq ymm4, ymm4, ymm13
    vpsrlq ymm13, ymm4, 52
    vmovdqa ymmword ptr [rdi + 256], ymm4
    add rdi, 320
    ldmxcsr dword ptr [rsp]
    add rsp, 16
    pop r15
    pop r14
    pop r13
    pop r12
    pop rbp
    pop rbx
    vzeroupper
    ret
