// GAPWATCH_WIDE before a function: compiled twice, for any x86-64 and for those with 256-bit integer vectors; the machine at
// hand decides at the start. For loops over integers, and over reals (nothing is contracted): the results are the same bits. Elsewhere, and under
// sanitizers (which are not ready when that is decided), it is nothing.
#pragma once

#if defined(__x86_64__) && defined(__gnu_linux__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__) && \
    !defined(__SANITIZE_THREAD__)
#define GAPWATCH_WIDE __attribute__((target_clones("avx2", "default")))
#else
#define GAPWATCH_WIDE
#endif
