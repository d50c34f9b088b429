// Functions compiled for several generations of vector units.
#pragma once

// Before a function of plain loops: the processor's widest vectors are used. Without contraction of
// operations (-ffp-contract=off) all versions give the same bits. Sanitizers know only one.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(__x86_64__)
#define HLOSCOPE_WIDEST_VECTORS
#else
#define HLOSCOPE_WIDEST_VECTORS \
  __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#endif
