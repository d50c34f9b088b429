// The same targets under libFuzzer (clang only): the environment variable HLOSCOPE_FUZZ_TARGET
// names the one to run.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "tests/fuzz/fuzz_targets.h"

namespace hloscope::fuzz {
namespace {

/// The target that the environment names; ends the program where it names none.
Target NamedTarget() {
  const char* name = std::getenv("HLOSCOPE_FUZZ_TARGET");
  for (const TargetRow& target : Targets()) {
    if (name != nullptr && target.name == std::string_view(name)) return target.run;
  }
  std::fprintf(stderr, "HLOSCOPE_FUZZ_TARGET is no target; `fuzz_driver` lists them\n");
  std::exit(2);
}

}  // namespace
}  // namespace hloscope::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const hloscope::fuzz::Target run = hloscope::fuzz::NamedTarget();
  run({reinterpret_cast<const char*>(data), size});
  return 0;
}
