# ducc0, the library of Fourier transforms, out of the sources that `scripts/setup build` fetched into HLOSCOPE_SOURCES.
set(DUCC0_SOURCES ${HLOSCOPE_SOURCES}/ducc0-0.37.1)
if(NOT EXISTS ${DUCC0_SOURCES}/ducc0/fft/fft1d_impl.h)
  message(FATAL_ERROR "no sources of ducc0 in ${DUCC0_SOURCES}; `scripts/setup build` fetches them")
endif()
# Transforms run on the threads of the evaluator, never on its own.
add_library(ducc0 STATIC ${DUCC0_SOURCES}/ducc0/infra/threading.cc ${DUCC0_SOURCES}/ducc0/infra/string_utils.cc)
target_compile_options(ducc0 PRIVATE -w -O2)
target_compile_definitions(ducc0 PUBLIC DUCC0_NO_LOWLEVEL_THREADING)
target_include_directories(ducc0 SYSTEM PUBLIC ${DUCC0_SOURCES})
