// The same targets under libFuzzer (clang only): the target is the macro HLOSCOPE_FUZZ_TARGET.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "tests/fuzz/fuzz_targets.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  for (const hloscope::fuzz::TargetRow& target : hloscope::fuzz::Targets()) {
    if (target.name == HLOSCOPE_FUZZ_TARGET) {
      target.run({reinterpret_cast<const char*>(data), size});
      return 0;
    }
  }
  std::abort();
}
