// The end of what unit_begin.h began. There is no guard.
#if defined(HLOSCOPE_UNIT_AVX512) || defined(HLOSCOPE_UNIT_AVX2)
#pragma GCC pop_options
#endif
