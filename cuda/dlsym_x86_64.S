/* dlsym of the preloaded library. RTLD_NEXT and RTLD_DEFAULT look at the return address to see who asks, so this must
   not call the real dlsym but jump to it (HAMi-core#315 shows the import loops that a call leads to). */
        .text
        .globl  dlsym
        .type   dlsym, @function
dlsym:
        .cfi_startproc
        endbr64
        push    %rdi
        .cfi_adjust_cfa_offset 8
        push    %rsi
        .cfi_adjust_cfa_offset 8
        sub     $8, %rsp
        .cfi_adjust_cfa_offset 8
        call    tferry_dlsym_hook@PLT
        test    %rax, %rax
        jne     1f
        call    tferry_real_dlsym@PLT
        mov     %rax, %r11
        add     $8, %rsp
        .cfi_adjust_cfa_offset -8
        pop     %rsi
        .cfi_adjust_cfa_offset -8
        pop     %rdi
        .cfi_adjust_cfa_offset -8
        jmp     *%r11
1:      .cfi_adjust_cfa_offset 24
        add     $24, %rsp
        .cfi_adjust_cfa_offset -24
        ret
        .cfi_endproc
        .size   dlsym, .-dlsym
        .section .note.GNU-stack,"",@progbits
