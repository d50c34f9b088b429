// Code from here to unit_end.h is compiled once for each generation of vector units, each time in a
// namespace of its own; the build defines HLOSCOPE_UNIT_AVX2 or HLOSCOPE_UNIT_AVX512 for all but
// the first. Headers of the standard library come before: what they define runs on any processor,
// and the linker may take it from any file. There is no guard.
#ifndef HLOSCOPE_UNIT
#if defined(HLOSCOPE_UNIT_AVX512)
#define HLOSCOPE_UNIT avx512_unit
#elif defined(HLOSCOPE_UNIT_AVX2)
#define HLOSCOPE_UNIT avx2_unit
#else
#define HLOSCOPE_UNIT any_unit
#endif
#endif
#if defined(HLOSCOPE_UNIT_AVX512)
#pragma GCC push_options
#pragma GCC target( \
    "avx512f,avx512bw,avx512dq,avx512vl,avx512cd,avx2,fma,f16c,bmi,bmi2,lzcnt,popcnt")
#pragma GCC target("prefer-vector-width=512")
#elif defined(HLOSCOPE_UNIT_AVX2)
#pragma GCC push_options
#pragma GCC target("avx2,fma,f16c,bmi,bmi2,lzcnt,popcnt")
#endif
