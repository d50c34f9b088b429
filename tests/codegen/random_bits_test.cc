// Kernels of rng-bit-generator, over several grains and with ends that fill no vector.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/codegen/kernel_cases.h"

namespace hloscope::codegen {
namespace {

TEST(RandomBits, AreTheEvaluators) {
  for (const std::string algorithm : {"rng_three_fry", "rng_philox", "rng_default"}) {
    for (const std::string state : {"u64[2]", "u64[3]"}) {
      for (const std::string bits :
           {"u32[1]", "u32[100001]", "u64[9000]", "s8[33,5,7]", "bf16[20,31]", "s4[64,40]", "u16[]",
            "f64[3,3]", "f8e5m2[7,1030]"}) {
        ExpectAsEvaluated(
            fmt::format("HloModule m\nENTRY e {{\n  s = {0} parameter(0)\n  ROOT r = "
                        "({0}, {1}) rng-bit-generator(s), algorithm={2}\n}}\n",
                        state, bits, algorithm));
      }
    }
  }
}

}  // namespace
}  // namespace hloscope::codegen
