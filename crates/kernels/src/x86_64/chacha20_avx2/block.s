# Written by `cargo xtask kernels` (xtask/src/kernels.rs).
    push rbx
    push rbp
    push r12
    push r13
    push r14
    push r15
    mov r14d, dword ptr [rdi + 232]
    mov dword ptr [rdi + 296], r14d
    mov r15d, dword ptr [rdi + 236]
    mov dword ptr [rdi + 300], r15d
    mov eax, dword ptr [rdi + 192]
    mov ecx, dword ptr [rdi + 196]
    mov edx, dword ptr [rdi + 200]
    mov ebx, dword ptr [rdi + 204]
    mov esi, dword ptr [rdi + 208]
    mov ebp, dword ptr [rdi + 212]
    mov r8d, dword ptr [rdi + 216]
    mov r9d, dword ptr [rdi + 220]
    mov r10d, dword ptr [rdi + 320]
    mov r11d, dword ptr [rdi + 244]
    mov r12d, dword ptr [rdi + 248]
    mov r13d, dword ptr [rdi + 252]
    mov r14d, dword ptr [rdi + 224]
    mov r15d, dword ptr [rdi + 228]
    mov qword ptr [rdi + 88], 10
2:
    add eax, esi
    add ecx, ebp
    xor r10d, eax
    xor r11d, ecx
    rol r10d, 16
    rol r11d, 16
    add r14d, r10d
    add r15d, r11d
    xor esi, r14d
    xor ebp, r15d
    rol esi, 12
    rol ebp, 12
    add eax, esi
    add ecx, ebp
    xor r10d, eax
    xor r11d, ecx
    rol r10d, 8
    rol r11d, 8
    add r14d, r10d
    add r15d, r11d
    xor esi, r14d
    xor ebp, r15d
    rol esi, 7
    rol ebp, 7
    mov dword ptr [rdi + 288], r14d
    mov dword ptr [rdi + 292], r15d
    mov r14d, dword ptr [rdi + 296]
    mov r15d, dword ptr [rdi + 300]
    add edx, r8d
    add ebx, r9d
    xor r12d, edx
    xor r13d, ebx
    rol r12d, 16
    rol r13d, 16
    add r14d, r12d
    add r15d, r13d
    xor r8d, r14d
    xor r9d, r15d
    rol r8d, 12
    rol r9d, 12
    add edx, r8d
    add ebx, r9d
    xor r12d, edx
    xor r13d, ebx
    rol r12d, 8
    rol r13d, 8
    add r14d, r12d
    add r15d, r13d
    xor r8d, r14d
    xor r9d, r15d
    rol r8d, 7
    rol r9d, 7
    add eax, ebp
    add ecx, r8d
    xor r13d, eax
    xor r10d, ecx
    rol r13d, 16
    rol r10d, 16
    add r14d, r13d
    add r15d, r10d
    xor ebp, r14d
    xor r8d, r15d
    rol ebp, 12
    rol r8d, 12
    add eax, ebp
    add ecx, r8d
    xor r13d, eax
    xor r10d, ecx
    rol r13d, 8
    rol r10d, 8
    add r14d, r13d
    add r15d, r10d
    xor ebp, r14d
    xor r8d, r15d
    rol ebp, 7
    rol r8d, 7
    mov dword ptr [rdi + 296], r14d
    mov dword ptr [rdi + 300], r15d
    mov r14d, dword ptr [rdi + 288]
    mov r15d, dword ptr [rdi + 292]
    add edx, r9d
    add ebx, esi
    xor r11d, edx
    xor r12d, ebx
    rol r11d, 16
    rol r12d, 16
    add r14d, r11d
    add r15d, r12d
    xor r9d, r14d
    xor esi, r15d
    rol r9d, 12
    rol esi, 12
    add edx, r9d
    add ebx, esi
    xor r11d, edx
    xor r12d, ebx
    rol r11d, 8
    rol r12d, 8
    add r14d, r11d
    add r15d, r12d
    xor r9d, r14d
    xor esi, r15d
    rol r9d, 7
    rol esi, 7
    dec qword ptr [rdi + 88]
    jnz 2b
    add eax, dword ptr [rdi + 192]
    add ecx, dword ptr [rdi + 196]
    shl rcx, 32
    or rax, rcx
    mov rcx, qword ptr [rdi + 304]
    xor rax, [rcx]
    mov rcx, qword ptr [rdi + 312]
    mov [rcx], rax
    mov rax, qword ptr [rdi + 304]
    add edx, dword ptr [rdi + 200]
    add ebx, dword ptr [rdi + 204]
    shl rbx, 32
    or rdx, rbx
    xor rdx, [rax + 8]
    mov [rcx + 8], rdx
    add esi, dword ptr [rdi + 208]
    add ebp, dword ptr [rdi + 212]
    shl rbp, 32
    or rsi, rbp
    xor rsi, [rax + 16]
    mov [rcx + 16], rsi
    add r8d, dword ptr [rdi + 216]
    add r9d, dword ptr [rdi + 220]
    shl r9, 32
    or r8, r9
    xor r8, [rax + 24]
    mov [rcx + 24], r8
    add r10d, dword ptr [rdi + 320]
    add r11d, dword ptr [rdi + 244]
    shl r11, 32
    or r10, r11
    xor r10, [rax + 48]
    mov [rcx + 48], r10
    add r12d, dword ptr [rdi + 248]
    add r13d, dword ptr [rdi + 252]
    shl r13, 32
    or r12, r13
    xor r12, [rax + 56]
    mov [rcx + 56], r12
    add r14d, dword ptr [rdi + 224]
    add r15d, dword ptr [rdi + 228]
    shl r15, 32
    or r14, r15
    xor r14, [rax + 32]
    mov [rcx + 32], r14
    mov esi, dword ptr [rdi + 296]
    mov ebp, dword ptr [rdi + 300]
    add esi, dword ptr [rdi + 232]
    add ebp, dword ptr [rdi + 236]
    shl rbp, 32
    or rsi, rbp
    xor rsi, [rax + 40]
    mov [rcx + 40], rsi
    pop r15
    pop r14
    pop r13
    pop r12
    pop rbp
    pop rbx
    ret
