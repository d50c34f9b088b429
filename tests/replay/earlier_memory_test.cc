// The memory before each of many launches, and how many launches that takes.
#include "core/backends/gpusim/earlier_memory.h"

#include <gtest/gtest.h>

namespace hloscope::replay {
namespace {

// Launch i writes i + 1 to a byte of its own.
void ExpectAll(uint64_t launches, uint64_t most_bytes, uint64_t most_runs) {
  uint64_t runs = 0;
  const auto launch = [&](uint64_t i, CaseMemory& memory) -> Status {
    ++runs;
    memory[0][i] = static_cast<std::byte>(i + 1);
    return {};
  };
  EarlierMemory memory({std::vector<std::byte>(launches)}, launches, launch, most_bytes);
  for (uint64_t i = launches; i-- > 0;) {
    const auto before = memory.Before(i);
    ASSERT_TRUE(before.has_value());
    for (uint64_t k = 0; k < launches; ++k) {
      ASSERT_EQ(static_cast<uint64_t>((**before)[0][k]), k < i ? k + 1 : 0) << "before " << i;
    }
  }
  EXPECT_LE(runs, most_runs) << launches;
}

TEST(EarlierMemory, RunsEachLaunchTwice) {
  for (const uint64_t launches : {1, 2, 3, 7, 100, 200}) ExpectAll(launches, 1 << 30, 2 * launches);
}

// With memory for ten copies of it: not n²/2.
TEST(EarlierMemory, KeepsToItsBytes) {
  ExpectAll(200, 10 * 201, 200 + 200 * 8);
  ExpectAll(200, 1, 200 * 199 / 2 + 200);  // nothing but the first: as many as there are
}

TEST(EarlierMemory, GivesTheErrorOfALaunch) {
  EarlierMemory memory({{}}, 5, [](uint64_t i, CaseMemory&) -> Status {
    return i == 2 ? Status(InputError("no")) : Status();
  });
  EXPECT_FALSE(memory.Before(4).has_value());
  EXPECT_TRUE(memory.Before(2).has_value());
}

}  // namespace
}  // namespace hloscope::replay
